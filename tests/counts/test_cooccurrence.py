"""Co-occurrence counts against four nested loops; the same bits from any number of threads and any limit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.counts import cooccurrence as module
from firth.counts.cooccurrence import cells, cooccurrence
from firth.errors import FirthError

SIZE = 5
DOCUMENTS = st.lists(st.lists(st.integers(-1, SIZE - 1), max_size=12), max_size=5)
SENTENCE = ["A", "change", "in", "Quantity", "also", "entails", "a", "change", "in", "Quality"]


def arrays(documents):
    ids = np.array([i for document in documents for i in document], np.int32)
    return ids, np.cumsum([0, *map(len, documents)])


def brute(documents, size, window, side, distance):
    """Every pair of places, one by one, in fractions."""
    found = [[Fraction(0)] * size for _ in range(size)]
    for document in documents:
        for i, word in enumerate(document):
            for j, near in enumerate(document):
                wanted = {"both": i != j, "left": j < i, "right": j > i}[side]
                if wanted and abs(i - j) <= window and word >= 0 and near >= 0:
                    found[word][near] += Fraction(1, abs(i - j)) if distance == "inverse" else 1
    return found


def equal(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("rows", "cols", "weights"))


@given(DOCUMENTS, st.integers(1, 14), st.sampled_from(["both", "left", "right"]), st.sampled_from(["none", "inverse"]))
@settings(deadline=None, max_examples=60)
def test_counts_are_those_of_every_pair_of_places(documents, window, side, distance):
    options = {"window": window, "side": side, "distance": distance, "threads": 1}
    counted = cooccurrence(*arrays(documents), SIZE, **options)
    truth = np.array([[float(cell) for cell in row] for row in brute(documents, SIZE, window, side, distance)])
    assert counted.dtype == np.float64
    assert np.array_equal(counted.toarray(), truth)  # exact: whole sums, divided once
    assert counted.has_canonical_format
    assert counted.nnz == np.count_nonzero(truth)


@given(DOCUMENTS, st.integers(1, 3), st.integers(1, 2000), st.sampled_from(["both", "left"]))
@settings(deadline=None, max_examples=60)
def test_threads_and_limits_change_nothing(documents, threads, limit, side):
    text = arrays(documents)
    plain = cells(*text, SIZE, window=3, side=side, distance="inverse", threads=1)
    assert equal(plain, cells(*text, SIZE, window=3, side=side, distance="inverse", threads=threads, limit=limit))


@pytest.mark.parametrize("limit", [1, 1 << 14, 1 << 30])
def test_a_larger_text_in_files_is_the_same_as_in_memory(tmp_path, limit):
    rng = np.random.default_rng(1)
    ids = (rng.zipf(1.3, 20_000) % 700).astype(np.int32) - 1
    starts = np.unique(np.concatenate([[0, len(ids)], rng.integers(0, len(ids), 500)]))
    plain = cells(ids, starts, 699, window=7, threads=1)
    spilled = cells(ids, starts, 699, window=7, threads=2, limit=limit, place=tmp_path)
    assert isinstance(spilled.weights, np.memmap)
    assert (spilled.rows.dtype, spilled.cols.dtype, spilled.weights.dtype) == (np.int32, np.int32, np.float32)
    assert equal(plain, spilled)
    keys = spilled.rows.astype(np.int64) * 699 + spilled.cols
    assert (np.diff(keys) > 0).all()
    assert equal(plain, cells(ids, starts, 699, window=7, limit=limit))


def test_work_space_is_planned_within_the_limit():
    rng = np.random.default_rng(2)
    ids = (rng.zipf(1.2, 5000) % 300).astype(np.int32)
    plan, _ = module._planned(ids, np.array([0, 5000]), 300, 4, "both", "none")
    stretches = list(module._stretches(plan, 40_000, 2))
    assert [low for low, _ in stretches] == [0, *(high for _, high in stretches[:-1])]
    assert stretches[-1][1] == 300
    for low, high in stretches:
        _, cols, _ = module._counted(plan, low, high)
        assert high - low == 1 or len(cols) * 20 + plan.places[low:high].sum() * 8 <= 40_000


def test_the_handbooks_sentence_has_34_pairs():
    words = sorted(set(SENTENCE))
    ids = np.array([words.index(word) for word in SENTENCE], np.int32)
    assert cooccurrence(ids, np.array([0, 10]), len(words), window=2).sum() == 34


def test_both_sides_are_left_and_right_together():
    ids, starts = arrays([[0, 1, 1, 2], [3, 0, -1, 3]])
    both, left, right = (
        cooccurrence(ids, starts, 4, window=2, side=side).toarray() for side in ("both", "left", "right")
    )
    assert np.array_equal(left, right.T)
    assert np.array_equal(both, left + right)
    assert both[1, 1] == 2  # each sees the other


@pytest.mark.parametrize("window", [22, 23, 40, 1023])
def test_wide_windows_weigh_by_distance_too(window):
    ids = np.zeros(window + 1, np.int32)
    ids[0], ids[-1] = 1, 2
    found = cooccurrence(ids, np.array([0, window + 1]), 3, window=window, distance="inverse").toarray()
    assert found[1, 2] == pytest.approx(1 / window, rel=1e-7)
    assert found[1, 0] == pytest.approx(sum(1 / d for d in range(1, window)), rel=1e-7)


def test_sums_cannot_overflow():
    for window in (1, 10, 22, 23, 60, 1023):
        for words in (1, 10**6, 10**10, 10**13):
            unit = module._unit(window, words)
            assert unit >= 1
            assert sum(round(unit / d) for d in range(1, window + 1)) * 2 * words < 2**63


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"window": 0}, "a window of 0 places"),
        ({"window": 1024}, "a window of 1024 places"),
        ({"side": "lefty"}, "did you mean 'left'"),
        ({"distance": "square"}, "unknown distance 'square'"),
        ({"size": 2}, "not below 2"),
        ({"starts": np.array([0, 2])}, "starts do not fit"),
        ({"starts": np.array([0, 3, 2, 3])}, "starts do not fit"),
        ({"starts": np.array([], np.int64)}, "starts do not fit"),
    ],
)
def test_bad_input_is_one_clear_line(options, says):
    given = {"ids": np.array([0, 1, 2], np.int32), "starts": np.array([0, 3]), "size": 3}
    with pytest.raises(FirthError, match=says):
        cells(**given | options)


def test_no_words_no_cells(tmp_path):
    nothing = np.zeros(0, np.int32)
    assert len(cells(nothing, np.array([0]), 3)) == 0
    assert len(cells(nothing, np.array([0, 0]), 0, place=tmp_path)) == 0
    assert cooccurrence(nothing, np.array([0]), 3).shape == (3, 3)
