"""Senses of words in sentences, and words in context (WiC)."""

import json

import pytest

from firth.datasets import numbered_lines, readers
from firth.datasets.readers.word_senses import Senses, WordsInContext
from firth.datasets.records import Pair, WordSense
from firth.errors import FirthError

BANK = {"words": ["a", "steep", "bank"], "position": 2, "sense": "bank.n.01"}


def test_the_word_itself_is_the_lemma_if_none_is_given(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(BANK) + "\n" + json.dumps({**BANK, "word": "banks", "definition": "a slope"}) + "\n")
    found = [
        WordSense(("a", "steep", "bank"), 2, "bank", "bank.n.01", line=1),
        WordSense(("a", "steep", "bank"), 2, "banks", "bank.n.01", "a slope", 2),
    ]
    assert list(readers.guess(path).read(path)) == found
    numbered_lines.save_lines(tmp_path / "again", Senses().rows(found))
    assert list(Senses().read(tmp_path / "again")) == found


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"position": 3}, "s.jsonl:1: position 3 of 3 words; count the words from 0"),
        ({"position": -1}, "position -1 of 3 words"),
        ({"position": True}, "position is not an integer"),
        ({"words": "a bank"}, "words is not a list"),
        ({"words": ["a", 1, "b"]}, r"words\[1\] is not text"),
        ({"lemma": "bank"}, "a further key 'lemma'"),
    ],
)
def test_what_is_wrong_with_a_line(tmp_path, change, error):
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({**BANK, **change}))
    with pytest.raises(FirthError, match=error):
        list(Senses().read(path))


def test_labels_in_a_second_file_or_a_sixth_column(tmp_path):
    data, gold = tmp_path / "d.txt", tmp_path / "g.txt"
    data.write_text("bank\tN\t2-0\ta steep bank\tbanks lend\nrun\tV\t1-1\twe run\tthey run\n")
    gold.write_text("F\nT\n")
    both = list(WordsInContext().read((data, gold)))
    fields = (("word", "bank"), ("pos", "N"), ("positions", "2-0"))
    assert both[0] == Pair("a steep bank", "banks lend", "F", None, 1, fields) and both[1].label == "T"
    assert [pair.label for pair in WordsInContext().read(data)] == [None, None]
    numbered_lines.save_lines(tmp_path / "one", WordsInContext().rows(both))
    assert list(WordsInContext().read(tmp_path / "one")) == both
    gold.write_text("F\n")
    with pytest.raises(FirthError, match=r"g\.txt: it ends before line 2 of the other file"):
        list(WordsInContext().read((data, gold)))


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("bank\tN\t3-0\ta steep bank\tbanks lend", "w:1: '3-0' are no positions in sentences of 3 and 2 words"),
        ("bank\tN\t2\ta steep bank\tbanks lend", "'2' are no positions"),
        ("bank\tN\t2-0\ta steep bank\tbanks lend\tyes", "label 'yes'; write T .the same sense. or F"),
        ("bank\tN", "2 columns, expected 6"),
    ],
)
def test_what_is_wrong_with_a_pair(tmp_path, line, error):
    (tmp_path / "w").write_text(line)
    with pytest.raises(FirthError, match=error):
        list(WordsInContext().read(tmp_path / "w"))
