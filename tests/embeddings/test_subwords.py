"""Character n-grams and their hashes: worked values, compiled kernels against the reference, and fastText itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.embeddings.subwords import Subwords, char_ngrams, fnv1a, subword_table
from firth.embeddings.word_table import WordTable
from firth.errors import FirthError

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1, max_size=12)


def test_the_ngrams_of_fastest():
    assert char_ngrams("fastest", 4, 4) == ["<fas", "fast", "aste", "stes", "test", "est>"]
    assert len(char_ngrams("fastest", 3, 6)) == 22
    assert set(char_ngrams("fastest", 3, 6)) & set(char_ngrams("longest", 3, 6)) == {"est", "est>", "st>"}


def test_the_hashes_of_fastest():
    expected = [623499603, 43254447, 702717370, 3359906722, 2949673445, 1930460379]
    assert [fnv1a(ngram.encode()) for ngram in char_ngrams("fastest", 4, 4)] == expected
    subwords = Subwords(np.zeros((2_000_000, 1), np.float32), 4, 4)
    assert subwords.bucket_ids("fastest").tolist() == [1499603, 1254447, 717370, 1906722, 1673445, 460379]


def test_edges_and_the_end_of_a_line():
    assert char_ngrams("ab", 1, 2) == ["<a", "a", "ab", "b", "b>"]  # neither < nor >
    assert char_ngrams("</s>", 1, 6) == []
    assert char_ngrams("é", 3, 6) == ["<é>"]
    assert char_ngrams("ab", 0, 0) == []


@settings(deadline=None, max_examples=150)
@given(
    st.lists(TEXT | st.just("</s>"), min_size=1, max_size=6), st.integers(0, 4), st.integers(0, 4), st.integers(0, 99)
)
def test_compiled_is_the_reference(words, min_n, more, count):
    subwords = Subwords(np.zeros((count, 2), np.float32), min_n, min_n + more)
    table = subword_table(WordTable.of(words), min_n, min_n + more, count)
    for n, word in enumerate(words):
        assert table.buckets[table.first[n] : table.first[n + 1]].tolist() == subwords.bucket_ids(word).tolist()


def test_vectors_are_composed_and_decomposed():
    random = np.random.default_rng(0)
    words = ["one", "two", "</s>", "three"]
    buckets = random.normal(size=(30, 5)).astype(np.float32)
    word_rows = random.normal(size=(4, 5)).astype(np.float32)
    subwords = Subwords(buckets, 2, 4)
    vectors = subwords.compose(words, word_rows)
    for n, word in enumerate(words):
        rows = np.vstack([word_rows[n], *buckets[subwords.bucket_ids(word)]])
        assert vectors[n] == pytest.approx(rows.mean(axis=0), abs=1e-6)
    assert subwords.decompose(words, vectors) == pytest.approx(word_rows, abs=1e-5)
    assert Subwords(buckets, 2, 4, word_rows).decompose(words, vectors) is word_rows


def test_bad_sizes_of_ngrams():
    for buckets, min_n, max_n in [(np.zeros((3, 2)), 4, 3), (np.zeros((3, 2)), -1, 3), (np.zeros(3), 1, 3)]:
        with pytest.raises(FirthError, match="n-grams of"):
            Subwords(buckets, min_n, max_n)
