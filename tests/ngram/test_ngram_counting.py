"""n-gram counts against a dictionary; any memory limit and any number of threads give the same arrays."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.errors import FirthError
from firth.ngram.counts import count
from firth.tokenizers.special_tokens import SpecialTokens

UNKNOWN, START, END, PAD = 0, 1, 2, 3
SIZE = 8
SPECIAL = SpecialTokens(unknown=UNKNOWN, start=START, end=END, pad=PAD)
DOCUMENTS = st.lists(st.lists(st.sampled_from([0, 4, 5, 6, 7]), max_size=7), min_size=1, max_size=6)


def arrays(documents, kind=np.uint32):
    closed = [[*document, END] for document in documents]
    return np.array([i for document in closed for i in document], kind), np.cumsum([0, *map(len, closed)])


def brute_force_counts(documents, order, start=START):
    """Counts of all n-grams up to `order`; the start token has no count as a unigram."""
    counts = Counter()
    for document in documents:
        tokens = (start, *document, END)
        for low in range(len(tokens)):
            for high in range(low + 1, min(low + order, len(tokens)) + 1):
                if (low, high) != (0, 1):
                    counts[tokens[low:high]] += 1
    return counts


def as_dict(counts, values):
    """The n-grams with nonzero values."""
    ngrams = {}
    for order in range(1, counts.trie.order + 1):
        level = counts.trie.level(order)
        nonzero = np.flatnonzero(values[level])
        tokens = map(tuple, counts.trie.tokens(order, level.start, level.stop)[nonzero].tolist())
        rows = list(zip(tokens, values[level][nonzero].tolist(), strict=True))
        assert rows == sorted(rows)
        ngrams.update(rows)
    return ngrams


@given(DOCUMENTS, st.integers(1, 10))
@settings(deadline=None, max_examples=80)
def test_counts_are_those_of_brute_force(documents, order):
    counts = count(*arrays(documents), SIZE, SPECIAL, order=order, threads=1)
    truth = brute_force_counts(documents, order)
    assert as_dict(counts, counts.counts) == truth
    assert counts.trie.order == min(order, max(map(len, documents)) + 2)


@given(DOCUMENTS, st.integers(1, 6), st.sampled_from([START, END]))
@settings(deadline=None, max_examples=80)
def test_adjusted_counts_are_continuation_counts(documents, order, start):
    """Also where one token is both start and end."""
    special = SpecialTokens(unknown=UNKNOWN, end=END, start=START if start == START else None)
    counts = count(*arrays(documents), SIZE, special, order=order, threads=1)
    plain, order = brute_force_counts(documents, order, start), counts.trie.order
    whole = brute_force_counts(documents, order + 1, start)
    truth = {}
    for gram, value in plain.items():
        kept = len(gram) == order or (gram[0] == start and len(gram) > 1)
        truth[gram] = value if kept else len({longer[0] for longer in whole if longer[1:] == gram})
    assert as_dict(counts, counts.adjusted_counts()) == truth


@given(DOCUMENTS, st.integers(1, 7), st.integers(1, 4), st.integers(0, 3000))
@settings(deadline=None, max_examples=60)
def test_suffix_links_are_the_longest_proper_suffixes(documents, order, threads, memory_limit):
    trie = count(*arrays(documents), SIZE, SPECIAL, order=order, threads=threads, memory_limit=memory_limit).trie
    levels = [trie.level(n) for n in range(1, trie.order + 1)]
    grams = [tuple(g) for n, level in enumerate(levels, 1) for g in trie.tokens(n, level.start, level.stop).tolist()]
    for node, gram in enumerate(grams):
        assert trie.words[node] == gram[-1]
        assert (grams[trie.links[node]] if trie.links[node] >= 0 else ()) == gram[1:]


@given(DOCUMENTS, st.integers(1, 6), st.integers(1, 3), st.integers(0, 3000), st.sampled_from([np.uint16, np.uint32]))
@settings(deadline=None, max_examples=80)
def test_threads_limits_and_types_change_nothing(documents, order, threads, memory_limit, kind):
    plain = count(*arrays(documents), SIZE, SPECIAL, order=order, threads=1)
    other = count(*arrays(documents, kind), SIZE, SPECIAL, order=order, threads=threads, memory_limit=memory_limit)
    assert all(np.array_equal(one, two) for one, two in zip(plain.trie, other.trie, strict=True))
    assert np.array_equal(plain.counts, other.counts)


@pytest.mark.parametrize(("size", "order"), [(70_000, 10), (70_000, 4), (2**20, 3), (2**22, 2)])
def test_large_vocabularies_take_several_integers_per_key(size, order):
    random = np.random.default_rng(1)
    documents = [random.choice([4, 5, 300, size - 1], 12).tolist() for _ in range(30)]
    counts = count(*arrays(documents), size, SPECIAL, order=order, memory_limit=1 << 14, threads=2)
    assert as_dict(counts, counts.counts) == brute_force_counts(documents, order)


def test_an_end_token_in_the_middle_closes_a_document():
    ids = np.array([4, END, 5, END], np.uint32)
    one = count(ids, [0, 4], SIZE, SPECIAL, order=3, threads=1)
    assert as_dict(one, one.counts) == brute_force_counts([[4], [5]], 3)


def test_special_tokens_absent_from_the_text_are_not_predictable():
    counts = count(*arrays([[4]]), SIZE, SPECIAL, order=2, threads=1)
    assert np.flatnonzero(~counts.predictable).tolist() == [START, PAD]
    counts = count(*arrays([[4, PAD]]), SIZE, SPECIAL, order=2, threads=1)
    assert np.flatnonzero(~counts.predictable).tolist() == [START]


@pytest.mark.parametrize(
    ("ids", "starts", "special", "order", "message"),
    [
        ([9], [0, 1], SPECIAL, 2, "not below 8"),
        ([4, START], [0, 2], SPECIAL, 2, "start token occurs"),
        ([4], [0, 2], SPECIAL, 2, "do not fit"),
        ([4, 4], [0, 2, 1, 2], SPECIAL, 2, "not in ascending order"),
        ([4], [0, 1], SPECIAL, 11, "order 11 is out of range"),
        ([4], [0, 1], SPECIAL, 0, "order 0 is out of range"),
        ([], [0], SPECIAL, 2, "no tokens"),
        ([], [0, 0], SPECIAL, 2, "no tokens"),
        ([4], [0, 1], SpecialTokens(start=1), 2, "no end-of-document token"),
    ],
)
def test_invalid_input_is_an_error(ids, starts, special, order, message):
    with pytest.raises(FirthError, match=message):
        count(np.array(ids, np.uint32), np.array(starts), SIZE, special, order=order)
