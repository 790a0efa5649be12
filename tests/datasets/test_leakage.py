"""The leakage audit: what held-out text shares with the training text is found, said and signed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import firth
from firth.datasets import leakage, ngram_overlap
from firth.datasets.leakage import Overlap, audit, from_json, report, to_json

WORDS = [f"word{number}" for number in range(500)]


def texts(count: int, seed: int, length: int = 60) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=length)) for _ in range(count)]


def test_what_is_in_both_is_found():
    train, other = texts(50, 1), texts(20, 2)
    held_out = [*other, train[7].upper(), f"  {train[3]}\n"]
    overlap = audit(train, {"test": held_out}, shown=5)["test"]
    assert (overlap.texts, overlap.overlapping, overlap.near) == (22, 2, 0)
    assert [number for number, _ in overlap.examples] == [20, 21] and overlap.examples[0][1] == train[7].upper()[:60]
    size = sum(map(len, held_out))
    assert overlap.fraction == pytest.approx((size - sum(map(len, other))) / size)
    assert overlap.signed == {"leak": f"{overlap.fraction:.1%}"} and not audit(train, {"test": other})["test"].signed


def test_near_duplicates_are_found():
    train = texts(300, 1)
    changed = train[299].replace(" ", " other ", 1)
    overlap = audit(train, {"valid": texts(5, 2), "test": [changed]})
    assert overlap["valid"].overlapping == 0 and overlap["test"].near == overlap["test"].overlapping == 1


def test_a_document_made_of_training_lines_overlaps_wherever_it_was_cut():
    lines = texts(30, 1, length=9)
    train = ["\n".join(lines[:20]), "\n".join(lines[20:])]
    assert audit(train, {"test": ["\n".join(lines[15:25])]})["test"].overlapping == 1
    few = "\n".join([*lines[:3], *texts(10, 2, length=9)])
    assert audit(train, {"test": [few]})["test"].overlapping == 0


@pytest.mark.parametrize("joined", [" ".join, "\n".join])
def test_a_text_overlaps_however_its_lines_and_documents_are_divided(joined):
    documents = [text.replace(" word1", "\nword1") for text in texts(30, 1)]
    novel = joined(" ".join(text.split()) for text in documents)  # the same words, in one line or in one document
    for train, held_out in ((documents, [novel]), ([novel], documents)):
        overlap = audit(train, {"test": [*held_out, *texts(5, 2)]})["test"]
        assert overlap.overlapping == overlap.near == len(held_out)
    half = " ".join([*documents[0].split()[:30], *texts(1, 3, length=40)[0].split()])
    assert audit([novel], {"test": [half]})["test"].overlapping == 0


word_lists = st.lists(st.lists(st.sampled_from("ab"), max_size=60).map(" ".join), max_size=5)


@given(word_lists, word_lists)
def test_passages_are_found_where_comparing_words_finds_them(held_out, train):
    """Against sets of words; with so few words many are the same."""
    found = ngram_overlap.NgramOverlap(held_out)
    with ngram_overlap.reader([found.mark]) as read:
        for text in train:
            read(text)
    stream, size = " ".join(train).split(), ngram_overlap.WORDS
    known = {tuple(stream[n : n + size]) for n in range(len(stream) - size + 1)}
    for text, fraction in zip(held_out, found.known_fractions(), strict=True):
        words = text.split()
        starts = [n for n in range(len(words) - size + 1) if tuple(words[n : n + size]) in known]
        covered = {n + offset for n in starts for offset in range(size)}
        assert fraction == pytest.approx(len(covered) / max(1, len(words)))


def test_passages_do_not_depend_on_the_blocks_in_which_a_text_is_read(monkeypatch):
    monkeypatch.setattr(ngram_overlap, "_BLOCK", 50)
    train = texts(20, 1)
    found = ngram_overlap.NgramOverlap([" ".join(train)])
    with ngram_overlap.reader([found.mark]) as read:
        for text in train:
            read(text)
    assert found.known_fractions() == [1.0]


def test_large_texts_are_sampled_for_near_duplicates_and_compared_whole_for_lines(monkeypatch):
    train = texts(400, 1, length=ngram_overlap.WORDS - 4)
    near = [f"{text} more" for text in train]
    with monkeypatch.context() as patched:
        patched.setattr(leakage, "_BUDGET", 10**9)
        assert audit(train, {"test": near})["test"].near == 400
    monkeypatch.setattr(leakage, "_BUDGET", 20_000)
    overlap = audit(train, {"test": [*train[:10], *near]})["test"]
    assert overlap.overlapping - overlap.near == 10 and 0 < overlap.near < 200 and overlap.every > 1
    monkeypatch.setattr(leakage, "_MAX_BYTES", 4000)
    assert audit(train, {"test": train})["test"].texts < 30


def test_it_is_said_and_warned_of_above_a_threshold():
    said = []
    report({"valid": Overlap(100, 1, 1000, 5, examples=((3, "a b"),))}, said.append)
    assert said == ["also in train: 0.5% of valid"]
    report({"test": Overlap(100, 30, 1000, 400, 10, examples=((3, "a b"),))}, said.append)
    assert said[1] == "also in train: 40.0% of test"
    assert said[2] == (
        'warning: 30 of 100 test documents are in the training text too, 10 of them nearly (such as "a b"), so scores '
        "on them are too good; take them out of one or the other"
    )


def test_a_cached_audit_is_read_back_and_refused_if_changed():
    overlaps = {"test": Overlap(100, 30, 1000, 400, 10, examples=((3, "a b"),))}
    values = to_json(overlaps)
    assert from_json(values) == overlaps
    values["overlaps"]["test"]["overlapping"] = 0
    with pytest.raises(ValueError, match="damaged"):
        from_json(values)


def test_testing_on_the_training_text_is_signed(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(texts(200, 1, length=12)))
    path = str(tmp_path / "text.txt")
    settings = {"text": path, "document": "line"}
    honest = firth.train("ngram-lm:tiny", out=tmp_path / "honest", **settings)
    leaking = firth.train("ngram-lm:tiny", out=tmp_path / "leaking", **settings, test=path)
    scores = {score["name"]: score for score in leaking.run.scores()}
    assert "|leak:95" in scores["bits_per_byte"]["signature"]
    assert all("leak" not in score["signature"] for score in honest.run.scores())
    assert firth.load(leaking.run.path).evaluate()[0].signature == leaking.evaluate()[0].signature
    both = {"data.text": f"{path},{path}"}
    twice = firth.train("ngram-lm:tiny", out=tmp_path / "twice", settings=both, document="line")
    assert all("leak" not in score["signature"] for score in twice.run.scores())


def test_random_labels_cannot_be_learned_by_repeating_the_examples(tmp_path):
    """60 texts with random labels, six times each: copies in another split would be known by heart."""
    rng = random.Random(0)
    lines = [f"__label__{rng.choice('ab')} {text}\n" for text in texts(60, 3, length=8)]
    (tmp_path / "six.txt").write_text("".join(lines * 6))
    settings = {"data.text": str(tmp_path / "six.txt"), "data.test_fraction": 0.3, "train.epochs": 20}
    apart = {**settings, "data.group_duplicates": False}
    score = {}
    for name, each in (("together", settings), ("apart", apart)):
        model = firth.train("fasttext-classifier", out=tmp_path / name, settings=each)
        score[name] = model.evaluate()[0]
    assert score["apart"].value > 0.95 and "|leak:100.0%" in score["apart"].signature
    assert score["together"].value < 0.8 and "leak" not in score["together"].signature
