"""Counts of n-grams against dictionaries; the same arrays from any limit and any number of threads."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.counts.ngram.counting import count
from firth.errors import FirthError
from firth.text.special import Special

UNKNOWN, START, END, PAD = 0, 1, 2, 3
SIZE = 8
SPECIAL = Special(unknown=UNKNOWN, start=START, end=END, pad=PAD)
DOCUMENTS = st.lists(st.lists(st.sampled_from([0, 4, 5, 6, 7]), max_size=7), min_size=1, max_size=6)


def arrays(documents, kind=np.uint32):
    closed = [[*document, END] for document in documents]
    return np.array([i for document in closed for i in document], kind), np.cumsum([0, *map(len, closed)])


def brute(documents, order, start=START):
    """Every run of up to `order` tokens; a document's start is not itself counted."""
    found = Counter()
    for document in documents:
        tokens = (start, *document, END)
        for low in range(len(tokens)):
            for high in range(low + 1, min(low + order, len(tokens)) + 1):
                if (low, high) != (0, 1):
                    found[tokens[low:high]] += 1
    return found


def listed(counts, values):
    """The n-grams that occur, with their values."""
    found = {}
    for order in range(1, counts.trie.order + 1):
        level = counts.trie.level(order)
        some = np.flatnonzero(values[level])
        tokens = map(tuple, counts.trie.tokens(order, level.start, level.stop)[some].tolist())
        rows = list(zip(tokens, values[level][some].tolist(), strict=True))
        assert rows == sorted(rows)
        found.update(rows)
    return found


@given(DOCUMENTS, st.integers(1, 10))
@settings(deadline=None, max_examples=80)
def test_counts_are_those_of_every_run(documents, order):
    counts = count(*arrays(documents), SIZE, SPECIAL, order=order, threads=1)
    truth = brute(documents, order)
    assert listed(counts, counts.counts) == truth
    assert counts.trie.order == min(order, max(map(len, documents)) + 2)


@given(DOCUMENTS, st.integers(1, 6), st.sampled_from([START, END]))
@settings(deadline=None, max_examples=80)
def test_adjusted_counts_are_those_of_different_tokens_before(documents, order, start):
    """Also where one token is start and end."""
    special = Special(unknown=UNKNOWN, end=END, start=START if start == START else None)
    counts = count(*arrays(documents), SIZE, special, order=order, threads=1)
    plain, order = brute(documents, order, start), counts.trie.order
    whole = brute(documents, order + 1, start)
    truth = {}
    for gram, value in plain.items():
        kept = len(gram) == order or (gram[0] == start and len(gram) > 1)
        truth[gram] = value if kept else len({longer[0] for longer in whole if longer[1:] == gram})
    assert listed(counts, counts.adjusted()) == truth


@given(DOCUMENTS, st.integers(1, 7), st.integers(1, 4), st.integers(0, 3000))
@settings(deadline=None, max_examples=60)
def test_links_are_the_longest_other_ngrams_with_the_same_end(documents, order, threads, limit):
    trie = count(*arrays(documents), SIZE, SPECIAL, order=order, threads=threads, limit=limit).trie
    levels = [trie.level(n) for n in range(1, trie.order + 1)]
    grams = [tuple(g) for n, level in enumerate(levels, 1) for g in trie.tokens(n, level.start, level.stop).tolist()]
    for node, gram in enumerate(grams):
        assert trie.words[node] == gram[-1]
        assert (grams[trie.links[node]] if trie.links[node] >= 0 else ()) == gram[1:]


@given(DOCUMENTS, st.integers(1, 6), st.integers(1, 3), st.integers(0, 3000), st.sampled_from([np.uint16, np.uint32]))
@settings(deadline=None, max_examples=80)
def test_threads_limits_and_types_change_nothing(documents, order, threads, limit, kind):
    plain = count(*arrays(documents), SIZE, SPECIAL, order=order, threads=1)
    other = count(*arrays(documents, kind), SIZE, SPECIAL, order=order, threads=threads, limit=limit)
    assert all(np.array_equal(one, two) for one, two in zip(plain.trie, other.trie, strict=True))
    assert np.array_equal(plain.counts, other.counts)


@pytest.mark.parametrize(("size", "order"), [(70_000, 10), (70_000, 4), (2**20, 3), (2**22, 2)])
def test_large_vocabularies_take_several_whole_numbers(size, order):
    random = np.random.default_rng(1)
    documents = [random.choice([4, 5, 300, size - 1], 12).tolist() for _ in range(30)]
    counts = count(*arrays(documents), size, SPECIAL, order=order, limit=1 << 14, threads=2)
    assert listed(counts, counts.counts) == brute(documents, order)


def test_an_end_in_the_middle_closes_a_document():
    ids = np.array([4, END, 5, END], np.uint32)
    one = count(ids, [0, 4], SIZE, SPECIAL, order=3, threads=1)
    assert listed(one, one.counts) == brute([[4], [5]], 3)


def test_what_can_come_next():
    counts = count(*arrays([[4]]), SIZE, SPECIAL, order=2, threads=1)
    assert np.flatnonzero(~counts.events).tolist() == [START, PAD]  # special ones that never come
    counts = count(*arrays([[4, PAD]]), SIZE, SPECIAL, order=2, threads=1)
    assert np.flatnonzero(~counts.events).tolist() == [START]


@pytest.mark.parametrize(
    ("ids", "starts", "special", "order", "told"),
    [
        ([9], [0, 1], SPECIAL, 2, "not below 8"),
        ([4, START], [0, 2], SPECIAL, 2, "start of a document"),
        ([4], [0, 2], SPECIAL, 2, "do not fit"),
        ([4, 4], [0, 2, 1, 2], SPECIAL, 2, "not in order"),
        ([4], [0, 1], SPECIAL, 11, "order of 11"),
        ([4], [0, 1], SPECIAL, 0, "order of 0"),
        ([], [0], SPECIAL, 2, "no tokens"),
        ([], [0, 0], SPECIAL, 2, "no tokens"),
        ([4], [0, 1], Special(start=1), 2, "end of a document"),
    ],
)
def test_bad_input_is_told(ids, starts, special, order, told):
    with pytest.raises(FirthError, match=told):
        count(np.array(ids, np.uint32), np.array(starts), SIZE, special, order=order)
