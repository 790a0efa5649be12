"""Taggers without networks as runs: learning, the same bytes after an interruption, scores, spans, bad input."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import firth
from firth.datasets.examples import TaggedSentence
from firth.embeddings import array_bundle
from firth.errors import FirthError
from firth.generation.structured.tag_constraints import TagConstraints
from firth.runs.progress import Quiet
from firth.runs.summary import summary

PEOPLE, PLACES = ("Ada", "Grace Hopper", "Alan"), ("Oslo", "New York", "Lima")
VERBS = ("lives", "works", "sits")
PRESETS = ("most-frequent-tag", "hmm-tagger", "crf-tagger")
FEW = {"data.group_duplicates": False, "data.valid_fraction": 0.2, "data.test_fraction": 0.2}


class Recorder(Quiet):
    """Records what is said."""

    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)


def rows(person, verb, place):
    """The words of a sentence with part of speech and entity."""
    names = [
        (word, "NNP", f"{'I' if at else 'B'}-{label}")
        for text, label in ((person, "PER"), (place, "LOC"))
        for at, word in enumerate(text.split())
    ]
    size = len(person.split())
    return [*names[:size], (verb, "VBZ", "O"), ("in", "IN", "O"), *names[size:], (".", ".", "O")]


def conll(path, sentences=None):
    """A file in columns: word, part of speech, entity."""
    if sentences is None:
        sentences = [rows(*each) for each in itertools.product(PEOPLE, VERBS, PLACES)] * 3
    path.write_text("\n\n".join("\n".join(map(" ".join, sentence)) for sentence in sentences) + "\n")
    return str(path)


def trained(folder, preset, out="run", **more):
    text = more.pop("text", None) or conll(folder / "people.conll")
    columns = {"data.columns": "word=1,pos=2,entity=3", "data.layers": "entity"}
    return firth.train(
        preset, text=text, out=folder / out, settings={**FEW, **columns, **more.pop("settings", {})}, **more
    )


@pytest.fixture(scope="module", params=PRESETS)
def model(request, tmp_path_factory):
    return trained(tmp_path_factory.mktemp("run"), request.param)


def test_it_learns_and_has_good_scores(model):
    scores = {score["name"]: score["value"] for score in model.run.scores() if "split:test" in score["signature"]}
    least = 0.8 if "frequent" in model.run.record.preset else 1.0
    assert scores["accuracy"] >= least and scores["f1"] >= least and scores["accuracy_known_words"] >= least
    assert scores["accuracy_unknown_words"] is None
    assert model.tag("Ada lives in Oslo .") == model.tag(["Ada", "lives", "in", "Oslo", "."])
    assert [tag.partition("-")[2] for tag in model.tag("Ada sits in Oslo .")] == ["PER", "", "", "LOC", ""]
    assert summary(model.run.path)["state"] == "done" and "Oslo/" in (model.run.path / "report.html").read_text()


def test_probabilities_and_spans_are_exact(model):
    words = ["Grace", "Hopper", "lives", "in", "New", "York", "."]
    probabilities, tags = model.predict_proba(words), model.tag(words)
    assert np.allclose(probabilities.sum(1), 1) and probabilities.shape == (7, len(model.labels["entity"]))
    spans = model.spans(words)
    if "frequent" not in model.run.record.preset:
        assert [(span.text, span.label) for span in spans] == [("Grace Hopper", "PER"), ("New York", "LOC")]
    names = model.labels["entity"]
    for span in spans:
        marginals = [probabilities[at, names.index(tags[at])] for at in range(span.start, span.end)]
        assert 0 < span.probability <= min(marginals) + 1e-9
    alone = [model.tag(sentence) for sentence in (words, ["Lima"], ["xyzzy", "in", "Lima"])]
    assert model.tag([words, ["Lima"], ["xyzzy", "in", "Lima"]]) == alone


def test_constraints_and_answers(model):
    outside = TagConstraints(words={"Oslo": ["O"]})
    assert model.tag("Ada lives in Oslo .", constraints=outside)[3] == "O"
    answer = model.answer("Ada lives in Oslo .", {})
    assert answer["words"][0] == "Ada" and answer["tags"]["entity"][0][0].endswith("-PER")
    json.dumps(answer)
    assert model.format_answer(answer).startswith("Ada\t")
    analysis = model.error_analysis()
    assert analysis


def test_loading_gives_the_same_model(model):
    again, words = firth.load(model.run.path), "Grace Hopper sits in Lima ."
    assert np.array_equal(again.predict_proba(words), model.predict_proba(words)) and again.tag(words) == model.tag(
        words
    )
    assert [score.to_dict() for score in again.evaluate()] == [
        score for score in model.run.scores() if "split:test" in score["signature"]
    ]


def test_given_sentences_are_scored(model, tmp_path):
    right = TaggedSentence(("Ada", "lives"), (("B-PER", "O"),))
    scores = {score.name: score.value for score in model.evaluate([right])}
    assert scores["accuracy"] >= 0.5 and scores["accuracy_unknown_words"] is None
    path = conll(tmp_path / "other.conll", [[("Ada", "NNP", "B-PER"), ("xyzzy", "NN", "B-ODD")]])
    assert model.evaluate(path)[0].value <= 0.5


def files_of(run):
    return {name: (run / name).read_bytes() for name in ("model.safetensors", "config.json", "scores.json")}


@pytest.mark.parametrize("preset", PRESETS)
def test_an_interrupted_run_starts_again_with_the_same_result(preset, tmp_path, monkeypatch):
    whole = trained(tmp_path, preset, "whole")
    for function in ("write", "read"):
        with monkeypatch.context() as patch:
            patch.setattr(array_bundle, function, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                trained(tmp_path, preset, function)
        firth.resume(tmp_path / function)
        assert files_of(tmp_path / function) == files_of(whole.run.path)
    weights = tmp_path / "write" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])
    with pytest.raises(FirthError, match="not a file with a tagger, or truncated"):
        firth.load(tmp_path / "write")
    firth.resume(tmp_path / "write")
    assert files_of(tmp_path / "write") == files_of(whole.run.path)


def test_several_layers_and_parts_of_speech(tmp_path):
    model = trained(tmp_path, "hmm-tagger", settings={"data.layers": "pos,entity", "method.order": 1})
    assert model.tag("Ada sits in Oslo .", "pos") == ["NNP", "VBZ", "IN", "NNP", "."]
    assert {score.name for score in model.evaluate()} >= {"pos_accuracy", "entity_f1", "pos_accuracy_known_words"}
    with pytest.raises(FirthError, match="the tags of pos are of words, not of spans"):
        model.spans("Ada", "pos")


def test_given_layers_are_features(tmp_path):
    model = trained(tmp_path, "crf-tagger", settings={"method.given": "pos"})
    assert model.evaluate()[1].value == 1.0 and "given:pos" in model.evaluate()[0].signature
    unknown = model.tag("Zelda|NNP runs|VBZ in|IN Xyzzy|NNP .|.")
    assert unknown[0].endswith("-PER") and unknown[3].endswith("-LOC")
    assert any("given-1" in row.feature for row in model.most_informative("O", count=200))
    with pytest.raises(FirthError, match=r"'Zelda' is not a word with 1 given tag; write word\|tag"):
        model.tag("Zelda runs")
    assert model.evaluate(str(tmp_path / "people.conll"))[1].value == 1.0
    with pytest.raises(FirthError, match="the predicted layers must be named, and not given"):
        trained(tmp_path, "crf-tagger", "other", settings={"method.given": "pos", "data.layers": "pos,entity"})


def test_the_largest_weights(tmp_path):
    model = trained(tmp_path, "crf-tagger")
    rows = model.most_informative("O")
    assert rows[0].weight >= rows[1].weight > 0
    with pytest.raises(FirthError, match="unknown tag 'B-PRE'"):
        model.most_informative("B-PRE")
    with pytest.raises(FirthError, match="only conditional random fields have weights of features"):
        trained(tmp_path, "hmm-tagger", "hmm").most_informative("O")


def test_the_best_penalty_is_chosen_and_a_tag_unseen_in_training_is_named(tmp_path):
    odd = [[("Ada", "NNP", "B-ODD"), ("sits", "VBZ", "O")], *[rows("Ada", "sits", "Oslo")] * 4]
    recorder = Recorder()
    text, test = conll(tmp_path / "people.conll"), conll(tmp_path / "test.conll", odd)
    model = trained(tmp_path, "crf-tagger", text=text, test=test, progress=recorder, settings={"method.l2": "10,0.1"})
    (note,) = [line for line in recorder.lines if "ODD" in line]
    assert f"{test}:1: no training sentence has the entity tag" in note
    assert note.endswith("1 such words in test count as wrong") and 0.7 < model.evaluate()[0].value < 1
    assert [line["l2"] for line in model.history] == [10.0, 0.1]


def test_no_torch_is_needed(tmp_path):
    code = (
        "import sys, firth\n"
        "model = firth.train('hmm-tagger', text=sys.argv[1], out=sys.argv[2])\n"
        "firth.load(sys.argv[2]).evaluate(), model.tag('Ada sits')\n"
        "assert 'torch' not in sys.modules, 'torch'"
    )
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # too little to be worth compiling for
    arguments = [conll(tmp_path / "people.conll"), tmp_path / "run"]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, env=plain)


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        ("one two three\n", {"data.layers": "size"}, "unknown layer 'size'"),
        ("word\n", {}, "no column 2 for pos: there are 1"),
        ("a b c\n\nd\n", {}, ":3: 1 column, expected 3"),
        (None, {"method.l2": "-1"}, "must be above 0"),
        ("", {}, "the file is empty"),
    ],
)
def test_bad_input_is_one_line(content, settings, message, tmp_path):
    text = conll(tmp_path / "x.conll")
    if content is not None:
        (tmp_path / "x.conll").write_text(content)
    with pytest.raises(FirthError) as error:
        trained(tmp_path, "crf-tagger", text=text, settings=settings)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "run" / "model.safetensors").exists()
