"""Collocations, association measures, dispersion and keyness against plain Python and NLTK."""

from __future__ import annotations

import sys
from collections import Counter
from math import log, log2, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.collocations import BigramAssocMeasures, BigramCollocationFinder

from firth.corpus import association_measures, collocations, count_collocates, index, index_documents, keyness
from firth.corpus.collocations import PARTS
from firth.corpus.keyness import collocate_keyness
from firth.datasets.world import World
from firth.errors import FirthError
from firth.tokenizers import split

TEXTS = list(World().documents(150))
DOCUMENTS = [split.split_words(text) for text in TEXTS]
tokenized_documents = st.lists(st.lists(st.sampled_from("abcx"), min_size=1, max_size=25), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def world():
    return index_documents(TEXTS)


def brute(documents, query, before, after):
    """The (position in the corpus, word) pairs within the windows of the hits."""
    start, near = 0, set()
    for words in documents:
        for at in range(len(words) - len(query) + 1):
            if words[at : at + len(query)] == query:
                steps = [at - n for n in range(1, before + 1)] + [at + len(query) + n for n in range(after)]
                near |= {(start + place, words[place]) for place in steps if 0 <= place < len(words)}
        start += len(words)
    return near


@settings(max_examples=30, deadline=None)
@given(
    tokenized_documents,
    st.sampled_from(["a", "a b", "a a"]),
    st.integers(1, 6),
    st.sampled_from(["left", "right", "both"]),
)
def test_every_place_near_a_hit_counts_once(documents, query, window, side):
    found = count_collocates(index_documents([" ".join(words) for words in documents]), query, window=window, side=side)
    near = brute(documents, query.split(), window * (side != "right"), window * (side != "left"))
    names = sorted({word for words in documents for word in words})
    counts = {names[n]: c for n, c in zip(found.type_ids, found.counts.tolist(), strict=True)}
    assert counts == Counter(word for _, word in near) and found.window_tokens == len(near)
    size = sum(map(len, documents))
    for name, row in zip(found.type_ids, found.parts, strict=True):
        parts = Counter(place * PARTS // size for place, word in near if word == names[name])
        assert row.tolist() == [parts[part] for part in range(PARTS)]


@pytest.mark.parametrize("word", ["the", "is", "king"])
def test_collocate_counts_do_not_depend_on_the_batch_size(world, word, monkeypatch):
    whole = count_collocates(world, word, window=4)
    monkeypatch.setattr(sys.modules["firth.corpus.collocations"], "_POSITIONS", 50)  # the name is also a function's
    monkeypatch.setattr("firth.corpus.query.CHUNK", 11)
    parts = count_collocates(world, word, window=4)
    assert parts.window_tokens == whole.window_tokens and parts.hits == whole.hits == sum(
        words.count(word) for words in DOCUMENTS
    )
    assert parts.type_ids.tolist() == whole.type_ids.tolist() and parts.parts.tolist() == whole.parts.tolist()
    near = brute(DOCUMENTS, [word], 4, 4)
    assert whole.window_tokens == len(near)


def test_scores_are_those_of_nltk():
    """On pairs of neighbours, where both mean the same table; a last word that is never first is added."""
    words = [word for document in DOCUMENTS for word in document] + ["END"]
    index = index_documents([" ".join(words)])
    finder = BigramCollocationFinder.from_words(words)
    table = {"log-likelihood": "likelihood_ratio", "t-score": "student_t", "pmi": "pmi", "count": "raw_freq"}
    for first in ("the", "is", "king"):
        for measure, name in table.items():
            scored = finder.score_ngrams(getattr(BigramAssocMeasures, name))
            theirs = {second: score for (one, second), score in scored if one == first}
            ours = collocations(index, first, window=1, side="right", measure=measure, min_count=1, limit=10**6)
            assert {c.word for c in ours} == set(theirs)
            for c in ours:
                score = c.score / len(words) if measure == "count" else abs(c.score)
                assert score == pytest.approx(abs(theirs[c.word]), rel=1e-9, abs=1e-7)


def g2(table):
    total = sum(map(sum, table))
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
    return 2 * sum(
        cell * log(cell * total / (rows[i] * columns[j]))
        for i, row in enumerate(table)
        for j, cell in enumerate(row)
        if cell
    )


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 50), st.integers(1, 10**6))
def test_measures_are_what_their_papers_say(both, word_only, near_only, neither):
    near, word, everything = both + near_only, both + word_only, both + word_only + near_only + neither
    chance = near * word / everything
    wanted = {
        "log-likelihood": g2([[both, word_only], [near_only, neither]]) * (-1 if both < chance else 1),
        "t-score": (both - chance) / sqrt(both),
        "pmi": log2(both / chance),
        "pmi2": log2(both**2 / chance),
        "pmi3": log2(both**3 / chance),
        "npmi": log2(both / chance) / -log2(both / everything),
        "count": both,
    }
    assert set(wanted) == set(association_measures.MEASURES)
    for name, value in wanted.items():
        ours = association_measures.MEASURES[name](np.array([both]), near, np.array([word]), everything)[0]
        assert ours == pytest.approx(value, rel=1e-6, abs=1e-6)


def test_dispersion_of_even_and_uneven_words():
    parts = np.array([[4, 4, 4, 4], [16, 0, 0, 0], [8, 8, 0, 0]])
    assert association_measures.juilland_d(parts).tolist() == pytest.approx([1, 0, 1 - 1 / sqrt(3)])
    assert association_measures.gries_dp(parts, np.array([10, 10, 10, 10])).tolist() == pytest.approx([0, 0.75, 0.5])
    assert association_measures.gries_dp(np.array([[3, 1]]), np.array([30, 10])).tolist() == [0]


@given(st.integers(1, 500), st.integers(1, 20))
def test_parts_are_equal_but_for_one(size, parts):
    found = np.bincount(association_measures.part_of(np.arange(size), size, parts), minlength=parts)
    assert found.tolist() == association_measures.part_sizes(size, parts).tolist() and found.max() - found.min() <= 1


def test_the_order_is_that_of_the_measure(world):
    for measure in (*association_measures.MEASURES, "dispersion"):
        rows = collocations(world, "king", measure=measure, min_count=2, limit=15)
        keys = [(-row.score, -row.count, row.word) for row in rows]
        assert keys == sorted(keys) and len(rows) == 15 and all(row.count >= 2 for row in rows)


def test_a_part_of_the_text_has_its_own_totals(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("text\tby\nx a b\tone\nx a c\ttwo\nx b b\ttwo\n")
    part = index(str(path), column="text").where("by", "two")
    rows = {row.word: (row.count, row.total, row.expected) for row in collocations(part, "x", min_count=1)}
    assert rows == {"a": (1, 1, 4 / 6), "b": (2, 2, 8 / 6), "c": (1, 1, 4 / 6)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "loglikelihood"}, "unknown measure 'loglikelihood'; did you mean 'log-likelihood'"),
        ({"side": "up"}, "unknown side 'up'"),
        ({"window": 0}, "a window of 0 words"),
    ],
)
def test_bad_settings_are_refused(world, options, message):
    with pytest.raises(FirthError, match=message):
        collocations(world, "the", **options)


def test_a_word_that_does_not_occur_has_no_collocates(world):
    assert collocations(world, "nowhere") == [] and count_collocates(world, "nowhere").window_tokens == 0


# --- two texts ------------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from("aAbc"), min_size=1, max_size=40),
    st.lists(st.sampled_from("abBd"), min_size=1, max_size=40),
)
def test_keywords_are_counted_and_scored_in_both_directions(here, there):
    found = keyness(index_documents([" ".join(here)]), index_documents([" ".join(there)]), min_count=1, limit=99)
    for rows, one, two in ((found.target, here, there), (found.reference, there, here)):
        more = {w for w in one if one.count(w) / len(one) > max(two.count(w), 0.5) / len(two)}
        assert {row.word for row in rows} == more
        assert [row.log_likelihood for row in rows] == sorted((row.log_likelihood for row in rows), reverse=True)
        for row in rows:
            a, b = one.count(row.word), two.count(row.word)
            ratio = (a / len(one)) / (max(b, 0.5) / len(two))
            assert (row.count, row.other_count) == (a, b)
            assert abs(row.log_likelihood) == pytest.approx(g2([[a, b], [len(one) - a, len(two) - b]]), abs=1e-7)
            assert row.log_ratio == pytest.approx(log2(ratio))
            assert row.difference == pytest.approx(100 * (ratio - 1), abs=1e-9)


def test_two_parts_of_one_text_compare_like_two_texts(tmp_path):
    path = tmp_path / "table.tsv"
    rows = [(text, "even" if n % 2 else "odd") for n, text in enumerate(TEXTS)]
    path.write_text("text\tkind\n" + "".join(f"{text}\t{kind}\n" for text, kind in rows))
    both = index(str(path), column="text")
    parts = keyness(both.where("kind", "odd"), both.where("kind", "odd", negate=True))
    apart = keyness(*(index_documents([text for text, kind in rows if kind == wanted]) for wanted in ("odd", "even")))
    assert parts == apart and parts.target and parts.reference


def test_case_is_ignored_on_both_sides_or_on_none():
    one, two = index_documents(["The the cat"]), index_documents(["a dog The"])
    found = {
        row.word: (row.count, row.other_count) for row in keyness(one.fold_case(), two.fold_case(), min_count=1).target
    }
    assert found["the"] == (2, 1)
    with pytest.raises(FirthError, match="split into words differently"):
        keyness(one, two.fold_case())
    with pytest.raises(FirthError, match="unknown measure 'ratio'"):
        keyness(one, two, measure="ratio")


def test_keyness_of_the_collocates_in_two_corpora():
    one, two = index_documents(["river bank x river bank y"]), index_documents(["money bank x money bank z money"])
    found = collocate_keyness(
        one, count_collocates(one, "bank", window=1), two, count_collocates(two, "bank", window=1), min_count=1
    )
    assert [(row.word, row.count, row.other_count) for row in found.target] == [("river", 2, 0), ("y", 1, 0)]
    assert [(row.word, row.count, row.other_count) for row in found.reference] == [("money", 2, 0), ("z", 1, 0)]
