"""N-grams and their hashes: worked values, the compiled loop against the plain one, and fastText itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.errors import FirthError
from firth.vectors.subwords import Subwords, fnv, ngrams, table
from firth.vectors.words import Words

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1, max_size=12)


def test_the_ngrams_of_fastest():
    assert ngrams("fastest", 4, 4) == ["<fas", "fast", "aste", "stes", "test", "est>"]
    assert len(ngrams("fastest", 3, 6)) == 22
    assert set(ngrams("fastest", 3, 6)) & set(ngrams("longest", 3, 6)) == {"est", "est>", "st>"}


def test_the_hashes_of_fastest():
    expected = [623499603, 43254447, 702717370, 3359906722, 2949673445, 1930460379]
    assert [fnv(part.encode()) for part in ngrams("fastest", 4, 4)] == expected
    parts = Subwords(np.zeros((2_000_000, 1), np.float32), 4, 4)
    assert parts.hashes("fastest").tolist() == [1499603, 1254447, 717370, 1906722, 1673445, 460379]


def test_edges_and_the_end_of_a_line():
    assert ngrams("ab", 1, 2) == ["<a", "a", "ab", "b", "b>"]  # neither < nor >
    assert ngrams("</s>", 1, 6) == []
    assert ngrams("é", 3, 6) == ["<é>"]
    assert ngrams("ab", 0, 0) == []


@settings(deadline=None, max_examples=150)
@given(
    st.lists(TEXT | st.just("</s>"), min_size=1, max_size=6), st.integers(0, 4), st.integers(0, 4), st.integers(0, 99)
)
def test_compiled_is_plain(words, least, more, count):
    parts = Subwords(np.zeros((count, 2), np.float32), least, least + more)
    found = table(Words.of(words), least, least + more, count)
    for place, word in enumerate(words):
        assert found.buckets[found.first[place] : found.first[place + 1]].tolist() == parts.hashes(word).tolist()


def test_whole_vectors_are_composed_and_taken_apart():
    draw = np.random.default_rng(0)
    words = ["one", "two", "</s>", "three"]
    buckets, own = draw.normal(size=(30, 5)).astype(np.float32), draw.normal(size=(4, 5)).astype(np.float32)
    parts = Subwords(buckets, 2, 4)
    vectors = parts.compose(words, own)
    for place, word in enumerate(words):
        rows = np.vstack([own[place], *buckets[parts.hashes(word)]])
        assert vectors[place] == pytest.approx(rows.mean(axis=0), abs=1e-6)
    assert parts.divide(words, vectors) == pytest.approx(own, abs=1e-5)
    assert Subwords(buckets, 2, 4, own).divide(words, vectors) is own


def test_what_are_no_ngrams():
    for buckets, least, most in [(np.zeros((3, 2)), 4, 3), (np.zeros((3, 2)), -1, 3), (np.zeros(3), 1, 3)]:
        with pytest.raises(FirthError, match="n-grams of"):
            Subwords(buckets, least, most)
