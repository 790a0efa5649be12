"""Co-occurrence counts against nested loops; the same bits from any number of threads and any memory limit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.embeddings import cooccurrence as module
from firth.embeddings.cooccurrence import cooccurrence_matrix, count_cooccurrences
from firth.errors import FirthError

SIZE = 5
DOCUMENTS = st.lists(st.lists(st.integers(-1, SIZE - 1), max_size=12), max_size=5)
SENTENCE = ["A", "change", "in", "Quantity", "also", "entails", "a", "change", "in", "Quality"]


def arrays(documents):
    ids = np.array([i for document in documents for i in document], np.int32)
    return ids, np.cumsum([0, *map(len, documents)])


def brute_force(documents, size, window, context, distance_weighting):
    """Every pair of positions, one by one, in fractions."""
    counts = [[Fraction(0)] * size for _ in range(size)]
    for document in documents:
        for i, word in enumerate(document):
            for j, neighbour in enumerate(document):
                in_context = {"symmetric": i != j, "left": j < i, "right": j > i}[context]
                if in_context and abs(i - j) <= window and word >= 0 and neighbour >= 0:
                    counts[word][neighbour] += Fraction(1, abs(i - j)) if distance_weighting == "inverse" else 1
    return counts


def equal(left, right):
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in ("rows", "cols", "weights"))


@given(
    DOCUMENTS, st.integers(1, 14), st.sampled_from(["symmetric", "left", "right"]), st.sampled_from(["none", "inverse"])
)
@settings(deadline=None, max_examples=60)
def test_counts_are_those_of_every_pair_of_positions(documents, window, context, weighting):
    options = {"window": window, "context": context, "distance_weighting": weighting, "threads": 1}
    counts = cooccurrence_matrix(*arrays(documents), SIZE, **options)
    expected = brute_force(documents, SIZE, window, context, weighting)
    expected = np.array([[float(cell) for cell in row] for row in expected])
    assert counts.dtype == np.float64
    assert np.array_equal(counts.toarray(), expected)  # exact: integer sums, divided once
    assert counts.has_canonical_format
    assert counts.nnz == np.count_nonzero(expected)


@given(DOCUMENTS, st.integers(1, 3), st.integers(1, 2000), st.sampled_from(["symmetric", "left"]))
@settings(deadline=None, max_examples=60)
def test_threads_and_limits_change_nothing(documents, threads, limit, context):
    text, options = arrays(documents), {"window": 3, "context": context, "distance_weighting": "inverse"}
    plain = count_cooccurrences(*text, SIZE, **options, threads=1)
    assert equal(plain, count_cooccurrences(*text, SIZE, **options, threads=threads, memory_limit=limit))


@pytest.mark.parametrize("limit", [1, 1 << 14, 1 << 30])
def test_a_larger_text_in_files_is_the_same_as_in_memory(tmp_path, limit):
    rng = np.random.default_rng(1)
    ids = (rng.zipf(1.3, 20_000) % 700).astype(np.int32) - 1
    starts = np.unique(np.concatenate([[0, len(ids)], rng.integers(0, len(ids), 500)]))
    plain = count_cooccurrences(ids, starts, 699, window=7, threads=1)
    spilled = count_cooccurrences(ids, starts, 699, window=7, threads=2, memory_limit=limit, folder=tmp_path)
    assert isinstance(spilled.weights, np.memmap)
    assert (spilled.rows.dtype, spilled.cols.dtype, spilled.weights.dtype) == (np.int32, np.int32, np.float32)
    assert equal(plain, spilled)
    keys = spilled.rows.astype(np.int64) * 699 + spilled.cols
    assert (np.diff(keys) > 0).all()
    assert equal(plain, count_cooccurrences(ids, starts, 699, window=7, memory_limit=limit))


def test_work_space_is_planned_within_the_limit():
    rng = np.random.default_rng(2)
    ids = (rng.zipf(1.2, 5000) % 300).astype(np.int32)
    plan, _ = module._make_plan(ids, np.array([0, 5000]), 300, 4, "symmetric", "none")
    chunks = list(module._row_chunks(plan, 40_000, 2))
    assert [low for low, _ in chunks] == [0, *(high for _, high in chunks[:-1])]
    assert chunks[-1][1] == 300
    for low, high in chunks:
        _, cols, _ = module._count_chunk(plan, low, high)
        assert high - low == 1 or len(cols) * 20 + plan.counts[low:high].sum() * 8 <= 40_000


def test_the_textbooks_sentence_has_34_pairs():
    words = sorted(set(SENTENCE))
    ids = np.array([words.index(word) for word in SENTENCE], np.int32)
    assert cooccurrence_matrix(ids, np.array([0, 10]), len(words), window=2).sum() == 34


def test_both_sides_are_left_and_right_together():
    ids, starts = arrays([[0, 1, 1, 2], [3, 0, -1, 3]])
    both, left, right = (
        cooccurrence_matrix(ids, starts, 4, window=2, context=context).toarray()
        for context in ("symmetric", "left", "right")
    )
    assert np.array_equal(left, right.T)
    assert np.array_equal(both, left + right)
    assert both[1, 1] == 2  # each is the other's neighbour


@pytest.mark.parametrize("window", [22, 23, 40, 1023])
def test_wide_windows_weigh_by_distance_too(window):
    ids = np.zeros(window + 1, np.int32)
    ids[0], ids[-1] = 1, 2
    starts = np.array([0, window + 1])
    counts = cooccurrence_matrix(ids, starts, 3, window=window, distance_weighting="inverse").toarray()
    assert counts[1, 2] == pytest.approx(1 / window, rel=1e-7)
    assert counts[1, 0] == pytest.approx(sum(1 / d for d in range(1, window)), rel=1e-7)


def test_sums_cannot_overflow():
    for window in (1, 10, 22, 23, 60, 1023):
        for words in (1, 10**6, 10**10, 10**13):
            unit = module._fixed_point_unit(window, words)
            assert unit >= 1
            assert sum(round(unit / d) for d in range(1, window + 1)) * 2 * words < 2**63


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "a window of 0 words"),
        ({"window": 1024}, "a window of 1024 words"),
        ({"context": "lefty"}, "did you mean 'left'"),
        ({"distance_weighting": "square"}, "unknown distance weighting 'square'"),
        ({"vocabulary_size": 2}, "outside the vocabulary of 2 words"),
        ({"starts": np.array([0, 2])}, "starts do not fit"),
        ({"starts": np.array([0, 3, 2, 3])}, "starts do not fit"),
        ({"starts": np.array([], np.int64)}, "starts do not fit"),
    ],
)
def test_bad_input_is_one_clear_line(options, message):
    arguments = {"ids": np.array([0, 1, 2], np.int32), "starts": np.array([0, 3]), "vocabulary_size": 3}
    with pytest.raises(FirthError, match=message):
        count_cooccurrences(**arguments | options)


def test_no_words_no_cells(tmp_path):
    nothing = np.zeros(0, np.int32)
    assert len(count_cooccurrences(nothing, np.array([0]), 3)) == 0
    assert len(count_cooccurrences(nothing, np.array([0, 0]), 0, folder=tmp_path)) == 0
    assert cooccurrence_matrix(nothing, np.array([0]), 3).shape == (3, 3)
