"""Tagged sentences as training data: tokenizers, tags by id, and what is said about unknown tags and long sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firth.config import schema
from firth.datasets.training_data import read_training_data
from firth.datasets.word_dataset import encode_sentences
from firth.runs.progress import Progress
from firth.types import Sizes
from word_samples import config, split

TRAIN = "\n".join(f"w{n % 4} N\nruns V\n. P\n" for n in range(12))


class Said(Progress):
    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)

    def stage(self, text):
        pass


def read(tmp_path, test="w1 N\n", reads="words", **settings):
    for name, text in {"train": TRAIN, "valid": "w2 N\nruns V\n", "test": test}.items():
        (tmp_path / f"{name}.conll").write_text(text)
    names = {name: (str(tmp_path / f"{name}.conll"),) for name in ("valid", "test")}
    data = schema.TaggedWords(text=(str(tmp_path / "train.conll"),), **names)
    system, progress = config(reads, data=data, **settings), Said()
    tokenizers, splits = read_training_data(system, {}, tmp_path, progress)
    return tokenizers, splits, progress.lines


def test_words_have_a_tokenizer_of_their_own(tmp_path):
    tokenizers, splits, said = read(tmp_path)
    assert set(tokenizers) == {"words"} and tokenizers["words"].kind == "word"
    train = splits["train"]
    assert train.metadata == {"labels": {"tag": ["N", "P", "V"]}, "schemes": {}} and "tag: 3 tags: N, P, V" in said
    assert Sizes.of_run(tokenizers, train.metadata).labels == {"tag": 3}
    assert len(train) == 12 and train.tally.tokens == len(train.ids) == 36
    assert any(line.startswith("train") and '"w0/N runs/V ./P"' in line for line in said)


def test_subwords_need_a_tokenizer_of_the_text(tmp_path):
    tokenizers, splits, _ = read(tmp_path, reads="subwords")
    assert set(tokenizers) == {"text"} and splits["train"].word_ids is None
    again = read_training_data(config("subwords", data=tagged_data(tmp_path)), tokenizers, tmp_path, Said())[0]
    assert again["text"] is tokenizers["text"]


def tagged_data(tmp_path):
    return schema.TaggedWords(text=(str(tmp_path / "train.conll"),))


def test_an_unknown_tag_of_held_out_text_is_named_once(tmp_path):
    _, splits, said = read(tmp_path, test="w1 N\nwhy ADV\n\nso ADV\n! X\n")
    notes = [line for line in said if line.startswith("note")]
    place = f"{tmp_path / 'test.conll'}:2"
    what = "no training sentence has the tag tag 'ADV'; 3 words have such a tag in test, and they do not count"
    assert notes == [f"note: {place}: {what}"]
    assert splits["test"].tags["tag"].tolist() == [0, -1, -1, -1]


@pytest.mark.parametrize("reads", ["words", "subwords"])
def test_sentences_that_are_cut_are_named(tmp_path, reads):
    long = "w1 N\n" * 30
    batching = replace(config(reads).batching, length=12)
    _, _, said = read(tmp_path, test=long, reads=reads, batching=batching)
    assert not [line for line in said if line.startswith("note")]  # evaluation has whole sentences
    backbone = schema.Transformer(width=8, depth=1, heads=1)
    _, _, said = read(tmp_path, test=long, reads=reads, batching=batching, backbone=backbone)
    unit, place = "subwords" if reads == "subwords" else "words", f"{tmp_path / 'test.conll'}:1"
    note = f"note: {place}: 1 sentence is cut between words: more than 12 {unit} in test"
    assert [line for line in said if line.startswith("note")] == [note]


def test_sentences_without_tags(tmp_path):
    tokenizers, splits, _ = read(tmp_path)
    given = encode_sentences([["w1", "walks"], []], splits["train"].labels, tokenizers, config())
    assert given.word_ids.tolist() == [*tokenizers["words"].encode("w1"), 1]
    assert given.starts.tolist() == [0, 2, 2] and given.tags["tag"].tolist() == [-1, -1]


def test_the_key_depends_on_words_and_tags_alone(tmp_path):
    keys = {read(tmp_path, reads=reads)[1]["train"].key for reads in ("words", "subwords")}
    assert len(keys) == 1 and read(tmp_path, test="w1 V\n")[1]["test"].key != read(tmp_path)[1]["test"].key


def test_spellings_are_kept_apart_however_they_normalise():
    part = split([["The", "the", "THE"]], config())
    assert part.spellings == ("The", "the", "THE") and part.casing.tolist() == [2, 1, 3]
