"""The Unigram trainer against enumeration by brute force."""

from __future__ import annotations

from collections import Counter
from math import exp, inf, isclose, lgamma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer_samples import CORPUS

from firth.config.schema import Tokenizer as Config
from firth.tokenizers import Tokenizer, unigram

COUNTS = {"banana": 3, "ban": 2, "nab": 1, "a": 5, "bandana": 1}
words = st.text("abc", min_size=1, max_size=7)
words_with_counts = st.dictionaries(words, st.integers(1, 5), min_size=1, max_size=6)


def spell(corpus: unigram.Corpus, pieces: unigram.Pieces) -> list[str]:
    text = corpus.characters.tobytes().decode("utf-32-le")
    return [text[w : w + n] for w, n in zip(pieces.position, pieces.length, strict=True)]


def segmentations(word: str, score: dict[str, float]) -> list[tuple[list[str], float]]:
    """All segmentations of a word, with their log-probabilities."""
    if not word:
        return [([], 0.0)]
    result = []
    for n in range(1, len(word) + 1):
        if score.get(word[:n], -inf) > -inf:
            result += [([word[:n], *rest], score[word[:n]] + s) for rest, s in segmentations(word[n:], score)]
    return result


@given(words_with_counts)
@settings(deadline=None)
def test_seeds_are_the_closed_substrings(counts):
    corpus = unigram.build_corpus(counts)
    pieces = unigram.seed_pieces(corpus, 2)
    every = Counter()
    for word, n in counts.items():
        for a in range(len(word)):
            for b in range(a + 1, len(word) + 1):
                every[word[a:b]] += n
    inside = {s for t, n in every.items() for s in (t[1:], t[:-1]) if every[s] == n}
    expected = {s for s, n in every.items() if len(s) == 1 or (n >= 2 and s not in inside)}
    spellings = spell(corpus, pieces)
    assert len(spellings) == len(set(spellings))
    assert set(spellings) == expected
    assert all(every[s] == n for s, n in zip(spellings, pieces.count, strict=True))


@given(words_with_counts)
@settings(deadline=None)
def test_expected_counts_are_sums_over_all_segmentations(counts):
    corpus = unigram.build_corpus(counts)
    pieces = unigram.seed_pieces(corpus, 2)
    names = spell(corpus, pieces)
    score = np.log(np.linspace(1, 2, len(names)) / len(names))
    table = dict(zip(names, score, strict=True))
    expected = Counter()
    for word, n in counts.items():
        ways = segmentations(word, table)
        total = sum(exp(s) for _, s in ways)
        for way, s in ways:
            for piece in way:
                expected[piece] += n * exp(s) / total
    computed = unigram.expected_counts(corpus, pieces, score)
    assert all(isclose(expected[name], x, abs_tol=1e-9) for name, x in zip(names, computed, strict=True))


def test_the_best_alternative_to_a_piece():
    corpus = unigram.build_corpus(COUNTS)
    pieces = unigram.seed_pieces(corpus, 2)
    names = spell(corpus, pieces)
    score = np.log(np.linspace(1, 2, len(names)) / len(names))
    table = dict(zip(names, score, strict=True))
    alternatives = unigram._best_alternatives(pieces, score)
    for name, best in zip(names, alternatives, strict=True):
        if len(name) > 1:
            assert isclose(best, max(s for way, s in segmentations(name, table) if way != [name]))


@pytest.mark.parametrize("x", [0.5, 1.0, 2.5, 10.0, 1e6])
def test_digamma(x):
    step = 1e-4 * x
    slope = (lgamma(x + step) - lgamma(x - step)) / (2 * step)
    assert isclose(float(unigram._digamma(np.float64(x))), slope, rel_tol=1e-6, abs_tol=1e-6)


def test_the_pieces_cover_every_character_and_sum_to_about_one():
    vocabulary = dict(unigram.train_unigram(COUNTS, 8, 2))
    assert {"b", "a", "n", "d"} <= vocabulary.keys()
    assert len(vocabulary) <= 8
    assert sum(map(exp, vocabulary.values())) < 1.0 + 1e-9


def test_frequent_words_are_pieces():
    counts = {"river": 50, "rivers": 20, "mill": 30, "mills": 10, "sea": 5}
    vocabulary = dict(unigram.train_unigram(counts, 14, 2))
    assert {"river", "mill"} <= vocabulary.keys()


def test_words_beyond_the_bound_are_left_out(monkeypatch):
    monkeypatch.setattr(unigram, "_MAX_CHARACTERS", 7)
    corpus = unigram.build_corpus(COUNTS)
    assert len(corpus.characters) == 7  # a, banana: the commonest


def test_many_groups_are_as_one(monkeypatch):
    text = Counter("".join(CORPUS).split())
    whole = unigram.train_unigram(text, 200, 2)
    monkeypatch.setattr(unigram, "_BLOCK_SIZE", 16)
    parted = dict(unigram.train_unigram(text, 200, 2))
    assert parted.keys() == dict(whole).keys()
    assert all(isclose(parted[piece], score, rel_tol=1e-9) for piece, score in whole)


def test_fewer_tokens_than_characters():
    tokenizer = Tokenizer.train(Config(model="unigram", vocabulary_size=400), CORPUS)
    assert sum(map(len, tokenizer.encode_batch(CORPUS))) < sum(map(len, CORPUS)) / 2.5
