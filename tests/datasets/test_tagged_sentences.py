"""Tagged sentences: which layers are predicted, where words stand, and tags that break their scheme."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.config.schema import TaggedWords
from firth.datasets import span_layers, tagged_sentences
from firth.datasets.examples import TaggedSentence
from firth.datasets.readers.tag_schemes import faults, tags_to_spans
from firth.datasets.sources import keep_documents
from firth.errors import FirthError

COLUMNS = """\
-DOCSTART- -X- O O

Ann NNP B-NP B-PER
lives VBZ B-VP O
in IN B-PP O
Oslo NNP B-NP B-LOC

She PRP B-NP O
knows VBZ B-VP O
Ann NNP B-NP B-PER
Lee NNP I-NP I-PER

Oslo NNP B-NP B-LOC
sleeps VBZ B-VP O
"""
CONLLU = """\
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tV\tMood=Imp\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\tS\t_\t5\tcase\t_\t_
4\tel\tel\tDET\tD\t_\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\tN\t_\t1\tobl\t_\t_
5.1\tx\tx\tX\t_\t_\t_\t_\t_\t_

"""


@pytest.fixture
def columns(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(COLUMNS)
    return str(path)


def read(*names, **settings):
    said = []
    config = TaggedWords(text=names, valid_fraction=0.0, test_fraction=0.0, **settings)
    return tagged_sentences.read(config, 1, said.append), said


def sentences(data, split="train"):
    return data.splits[split].examples


@pytest.mark.parametrize(
    ("task", "layer", "tags"),
    [
        ("tagging", "pos", ("NNP", "VBZ", "IN", "NNP")),
        ("chunking", "chunk", ("B-NP", "B-VP", "B-PP", "B-NP")),
        ("ner", "entity", ("B-PER", "O", "O", "B-LOC")),
    ],
)
def test_the_task_chooses_the_layer_and_says_so(columns, task, layer, tags):
    data, said = read(columns, tasks=(task,))
    assert data.layers == (layer,) and sentences(data)[0].tags == (tags,)
    assert said == [f"tags: {layer}; to predict others too or instead: --set data.layers=pos,chunk,entity"]
    assert data.schemes == ({} if task == "tagging" else {layer: "iob2"})


def test_layers_by_name_and_words_by_line(columns):
    data, said = read(columns, layers=("ner", "upos"))  # as the task calls them, not the file
    assert data.layers == ("ner", "upos") and said == []
    assert [sentence.place(0) for sentence in sentences(data)] == [f"{columns}:{line}" for line in (3, 8, 13)]
    assert sentences(data)[1].tags == (("O", "O", "B-PER", "I-PER"), ("PRP", "VBZ", "NNP", "NNP"))


def test_syntactic_words_of_conllu_and_their_lines(tmp_path):
    (path := tmp_path / "a.conllu").write_text(CONLLU)
    data, _ = read(str(path), layers=("upos", "xpos", "feats", "lemma"))
    (sentence,) = sentences(data)
    assert sentence.words == ("vamos", "nos", "a", "el", "mar")
    assert [sentence.place(word) for word in range(5)] == [f"{path}:{line}" for line in (3, 4, 6, 7, 8)]
    assert [tags[1] for tags in sentence.tags] == ["PRON", "P", "_", "nosotros"]


def test_columns_in_another_order(tmp_path):
    (path := tmp_path / "german.tsv").write_text("1\tSchartau\tB-PER\tO\n2\tsagte\tO\tO\n\n1\tOslo\tB-LOC\tO\n")
    data, _ = read(str(path), tasks=("ner",), columns=("word=2", "ner=3"))
    assert [(s.words, s.tags) for s in sentences(data)] == [
        (("Schartau", "sagte"), (("B-PER", "O"),)),
        (("Oslo",), (("B-LOC",),)),
    ]
    with pytest.raises(FirthError, match="no column 9 for ner: there are 4"):
        read(str(path), columns=("word=2", "ner=9"))
    with pytest.raises(FirthError, match="'ner' does not number a column"):
        read(str(path), columns=("ner",))


def test_splits_of_their_own_and_fractions(columns):
    config = TaggedWords(text=(columns,), test=(columns,), valid_fraction=0.34, tasks=("ner",))
    said = []
    data = tagged_sentences.read(config, 1, said.append)
    assert {name: len(split.examples) for name, split in data.splits.items()} == {"train": 2, "valid": 1, "test": 3}
    assert data.splits["test"].overlap.overlapping == 2 and any("also in train" in line for line in said)
    again = tagged_sentences.read(replace(config, tasks=("tagging",)), 1)
    assert again.splits["test"].key != data.splits["test"].key


def test_the_world_has_parts_of_speech_and_entities():
    reader = tagged_sentences.SentenceReader(TaggedWords(layers=("upos", "entity")))
    for sentence, _ in zip(reader.world("valid"), range(50), strict=False):
        assert {len(sentence.words)} == set(map(len, sentence.tags)) and sentence.place(0) == "world"
        assert all(tag == "PROPN" for tag, entity in zip(*sentence.tags, strict=True) if entity != "O")


def test_sentences_from_python(tmp_path):
    given = [[("Ann", "B-PER"), ("runs", "O")], [("Oslo", "B-LOC")]]
    name = keep_documents(tagged_sentences.as_documents(given), tmp_path / "spool")
    data, _ = read(name, tasks=("ner",))
    assert [(s.words, s.tags) for s in sentences(data)] == [
        (("Ann", "runs"), (("B-PER", "O"),)),
        (("Oslo",), (("B-LOC",),)),
    ]
    with pytest.raises(FirthError, match="sentence 1: some words have more tags than others"):
        read(keep_documents(["Ann\tB-PER\nruns"], tmp_path / "spool"))
    for wrong in ([("Ann", "")], [("a\tb", "O")], [], [3]):
        with pytest.raises(FirthError, match="Python documents: sentence 1: a word or a tag that is empty"):
            list(tagged_sentences.as_documents([wrong]))


@pytest.mark.parametrize(
    ("name", "content", "settings", "error"),
    [
        ("a.conll", COLUMNS, {"layers": ("lemma",)}, r"a.conll:3: unknown layer 'lemma'; known: chunk, entity, pos"),
        ("a.conllu", CONLLU, {"tasks": ("ner",)}, r"a.conllu:1: no layer for ner \(there are upos, xpos, feats, lemma"),
        ("a.conllu", CONLLU.replace("\tS\t", "\t_\t"), {"tasks": ("words",)}, "unknown task of words 'words'"),
        ("a.txt", "Ann\nruns\n\nBo\n", {}, "a.txt:1: words without tags: one column"),
        ("a.jsonl", '{"text": "a"}\n', {"format": "jsonl"}, "a.jsonl:1: the task tagging needs sentences with a tag"),
        ("a.conll", "Ann NNP\nruns\n", {}, "a.conll:2: 1 column, expected 2"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path, name, content, settings, error):
    (path := tmp_path / name).write_text(content)
    with pytest.raises(FirthError, match=error):
        read(str(path), **settings)


def test_an_empty_layer_is_refused(tmp_path):
    (path := tmp_path / "a.conllu").write_text(CONLLU.replace("Mood=Imp", "_"))
    with pytest.raises(FirthError, match="the layer feats is empty: _ for every word"):
        read(str(path), layers=("feats",))


# --- broken tags ------------------------------------------------------------------------------------------------------


def test_broken_tags_are_named_and_refused_or_mended(tmp_path):
    good = "".join(f"w{n} B-PER\nx I-PER\ny O\n\n" for n in range(9))
    (path := tmp_path / "a.conll").write_text(good + "a O\nb I-LOC\nc I-LOC\n")
    with pytest.raises(FirthError, match=r"a.conll:38: 'I-LOC' between O and I-LOC in iob2, expected 'B-LOC'; 1 such"):
        read(str(path), broken_tags="refuse", tasks=("ner",))
    data, said = read(str(path), tasks=("ner",))
    assert sentences(data)[-1].tags == (("O", "B-LOC", "I-LOC"),)
    assert said[-1].startswith(f"note: {path}:38: ") and said[-1].endswith("mended")


def test_broken_tags_of_held_out_text_stay_and_are_named(columns, tmp_path):
    (path := tmp_path / "test.conll").write_text("a DT I-NP O\nb NN I-NP I-PER\n")
    said = []
    data = tagged_sentences.read(TaggedWords(text=(columns,), test=(str(path),), tasks=("ner",)), 1, said.append)
    assert sentences(data, "test")[0].tags == (("O", "I-PER"),)
    assert any(line.startswith(f"note: {path}:2: 'I-PER' between O and the end") for line in said)


def test_a_tag_of_no_scheme_is_refused_whatever_the_setting(tmp_path):
    good = "".join(f"w{n} B-PER\nx I-PER\ny O\n\n" for n in range(9))
    (path := tmp_path / "a.conll").write_text(good + "a PER\n")
    with pytest.raises(FirthError, match=r"a.conll:37: 'PER' is not a tag of iob2"):
        read(str(path), broken_tags="mend", tasks=("ner",))


TAGS = ["O", *(f"{prefix}-{label}" for prefix in "BIES" for label in "XY")]


@given(
    tags=st.lists(st.lists(st.sampled_from(TAGS), max_size=8), max_size=4),
    scheme=st.sampled_from(["keep", "iob2", "bioes"]),
)
def test_mending_and_converting_keep_the_spans(tags, scheme):
    before = [TaggedSentence(tuple("w" * len(each)), (tuple(each),)) for each in tags]
    after, schemes = span_layers.prepare({"train": before}, ("ner",), TaggedWords(scheme=scheme), lambda _: None)
    for one, other in zip(before, after["train"], strict=True):
        assert tags_to_spans(one.tags[0]) == tags_to_spans(other.tags[0])
        assert not schemes or not faults(other.tags[0], schemes["ner"])
