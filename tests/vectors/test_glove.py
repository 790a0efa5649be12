"""GloVe: cells against plain counting, passes against plain ones written anew, gradients against finite differences."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import GloVe
from firth.errors import FirthError
from firth.vectors import glove_kernels
from firth.vectors.corpus import Corpus
from firth.vectors.glove import Model
from firth.vectors.kernels import END, NONE
from firth.vectors.store import WordVectors


def corpus(documents, words=10):
    """Documents of word numbers; −1 is a word without a row."""
    tokens = np.concatenate([[*(words + 1 if word < 0 else word for word in row), words] for row in documents])
    starts = np.concatenate([[0], np.cumsum([len(row) + 1 for row in documents])])
    row_of = np.append(np.arange(words, dtype=np.int32), np.array([END, NONE], np.int32))
    counts = np.bincount(tokens, minlength=words)[:words].astype(np.int64)
    return Corpus(tokens.astype(np.uint16), starts, row_of, [f"w{n}" for n in range(words)], counts)


def drawn(sentences=60, seed=1, words=10):
    random = np.random.default_rng(seed)
    return [(random.zipf(1.3, random.integers(2, 14)) % (words + 1) - 1).tolist() for _ in range(sentences)]


def plain_cells(documents, config):
    """Neighbours counted pair by pair."""
    found = Counter()
    for row in documents:
        for i, word in enumerate(row):
            for j, other in enumerate(row):
                near = i != j and abs(i - j) <= config.window
                wanted = {"both": True, "left": j < i, "right": j > i}[config.side]
                if near and wanted and word >= 0 and other >= 0:
                    found[word, other] += 1 / abs(i - j) if config.distance == "inverse" else 1
    return found


def epoch(model, number=0, threads=1):
    with ThreadPoolExecutor(threads) as pool:
        losses = list(pool.map(lambda piece: model.work(number, piece), range(model.pieces)))
    return sum(losses[1:], losses[0])


def parts(model, name):
    """Vectors and biases of one side in double precision."""
    width, array = model.config.width, model.arrays[name].astype(float)
    return array[:, :width], array[:, width + (name == "contexts")]


def plain_loss(model, found):
    (words, left), (contexts, right) = parts(model, "words"), parts(model, "contexts")
    total = 0.0
    for (row, col), x in found.items():
        gap = words[row] @ contexts[col] + left[row] + right[col] - np.log(x)
        total += 0.5 * min(1, (x / model.config.top) ** model.config.exponent) * gap**2
    return total


def lively(config, documents=None, seed=3):
    """A model whose vectors are far from zero."""
    model = Model(corpus(documents or drawn()), config, seed, 1)
    random = np.random.default_rng(0)
    for name, partner in (("words", config.width + 1), ("contexts", config.width)):
        array = model.arrays[name]
        array[:, : config.width + 2] = random.normal(0, 0.4, (len(array), config.width + 2))
        array[:, partner] = 1
    return model


@pytest.mark.parametrize("side", ["both", "left", "right"])
@pytest.mark.parametrize("distance", ["inverse", "none"])
def test_pieces_hold_every_cell_once_with_its_logarithm_and_weight(side, distance):
    config = GloVe(width=4, window=3, side=side, distance=distance, top=4, exponent=0.6)
    expected = plain_cells(drawn(), config)
    dealt = Model(corpus(drawn()), config, 1, 2)._dealt
    assert {tuple(place) for place in dealt.places.tolist()} == set(expected) and len(dealt.places) == len(expected)
    x = np.array([expected[tuple(place)] for place in dealt.places.tolist()])
    assert np.allclose(dealt.aims, np.stack([np.log(x), np.minimum(1, (x / 4) ** 0.6)], 1), atol=1e-6)
    assert {len(dealt.piece(n)[0]) for n in range(32)} <= {len(x) // 32, len(x) // 32 + 1}
    assert all((np.diff(dealt.piece(n)[0][:, 0]) >= 0).all() for n in range(32))


@given(st.integers(1, 500), st.integers(1, 40), st.integers(0, 5))
@settings(deadline=None, max_examples=30)
def test_any_number_of_cells_is_dealt_to_any_number_of_pieces(cells, pieces, seed):
    pieces = min(cells, pieces)
    runs, rest = divmod(cells, pieces)
    borders = np.append(0, np.cumsum(runs + (np.arange(pieces) < rest)))
    turns = np.append(np.random.default_rng(seed).integers(0, pieces, runs), 0)
    places, aims = np.full((cells, 2), -1, np.int32), np.zeros((cells, 2), np.float32)
    numbers = np.arange(cells, dtype=np.int32)
    weights = np.ones(cells, np.float32)
    for begin in range(0, cells, 100):
        stop = min(cells, begin + 100)
        glove_kernels.deal(numbers, numbers, weights, begin, stop, borders, turns, 2.0, 1.0, 1.0, places, aims)
    assert sorted(places[:, 0].tolist()) == list(range(cells))
    assert (aims == [2.0, 1.0]).all()


@pytest.mark.parametrize("width", [1, 14, 15, 20])
@pytest.mark.parametrize("start", [0, 17])
def test_the_compiled_pass_is_the_plain_one(width, start):
    model = lively(GloVe(width=width, window=4, top=3, rate=0.1))
    places, aims = model._dealt.places, model._dealt.aims
    (words, left), (contexts, right) = parts(model, "words"), parts(model, "contexts")
    own, other = np.column_stack([words, left]), np.column_stack([contexts, right])  # the bias is the last column
    own_squares, other_squares, loss = np.ones_like(own), np.ones_like(other), 0.0
    for at in np.roll(np.arange(len(places)), -start):
        (row, col), (logarithm, weight) = places[at], aims[at].astype(float)
        gap = own[row, :-1] @ other[col, :-1] + own[row, -1] + other[col, -1] - logarithm
        loss += weight * gap**2 / 2
        step, other_step = (0.1 * weight * gap * np.append(side[n, :-1], 1) for side, n in ((other, col), (own, row)))
        own[row] -= step / np.sqrt(own_squares[row])
        other[col] -= other_step / np.sqrt(other_squares[col])
        own_squares[row] += step**2
        other_squares[col] += other_step**2
    before = model.arrays["words"].copy()
    found = glove_kernels.train(*model._sides, width, places, aims, start, np.float32(0.1))
    assert found[0] == len(places) and found[1] == pytest.approx(loss, rel=1e-5)
    for name, expected, squares in (("words", own, own_squares), ("contexts", other, other_squares)):
        array, half = model.arrays[name], model.arrays[name].shape[1] // 2
        vectors, bias = parts(model, name)
        at = width + (name == "contexts")
        assert np.allclose(np.column_stack([vectors, bias]), expected, atol=2e-5)
        assert np.allclose(array[:, half : half + width], squares[:, :-1], rtol=1e-4)
        assert np.allclose(array[:, half + at], squares[:, -1], rtol=1e-4)
        assert (array[:, 2 * width + 1 - at] == 1).all() and not array[:, width + 2 : half].any()
    assert np.abs(model.arrays["words"] - before).max() > 0.1


def test_steps_go_along_the_gradient_of_the_loss():
    config = GloVe(width=3, window=3, top=3, rate=1e-4)  # so small that the parameters hardly move within the pass
    model = lively(config, drawn(8))
    slope = {name: np.zeros((10, 5)) for name in model.arrays}
    for name, array in model.arrays.items():
        for place in np.ndindex(10, 5):
            held, values = array[place], []
            for step in (0.25, -0.25):  # the loss is a parabola in each number, so that any step will do
                array[place] = held + np.float32(step)
                values.append(model.held_out(model.corpus).total)
            array[place] = held
            slope[name][place] = (values[0] - values[1]) / 0.5
    before = {name: array.copy() for name, array in model.arrays.items()}
    epoch(model)
    for name, partner in (("words", 4), ("contexts", 3)):
        moved = (model.arrays[name].astype(float) - before[name])[:, :5] / -config.rate
        slope[name][:, partner] = 0  # no parameter: it stays 1
        assert np.abs(moved - slope[name]).max() < 0.02 * np.abs(slope[name]).max()


def test_the_same_seed_gives_the_same_bytes_in_memory_and_in_files(tmp_path):
    text, config = corpus(drawn(300)), GloVe(width=8, window=4)
    models = [Model(text, config, 7, 1), Model(text, config, 7, 2, tmp_path / "cells"), Model(text, config, 8, 1)]
    losses = [[epoch(model, number) for number in range(2)] for model in models]
    assert losses[0] == losses[1] != losses[2]
    for name, array in models[0].arrays.items():
        assert array.tobytes() == models[1].arrays[name].tobytes() != models[2].arrays[name].tobytes()
    assert models[0].held_out(text) == models[1].held_out(text)
    assert {path.name for path in (tmp_path / "cells").iterdir()} == {"places.bin", "aims.bin", "held-out"}


def test_training_goes_on_from_its_arrays():
    text, config = corpus(drawn(100)), GloVe(width=8, window=4)
    whole, first, second = (Model(text, config, 7, 1) for _ in range(3))
    for number in range(3):
        epoch(whole, number)
    epoch(first, 0)
    for name, array in first.arrays.items():
        np.copyto(second.arrays[name], array)
    for number in (1, 2):
        epoch(second, number)
    assert all(array.tobytes() == second.arrays[name].tobytes() for name, array in whole.arrays.items())


@pytest.mark.parametrize("threads", [1, 2])
def test_the_loss_falls(threads):
    model = Model(corpus(drawn(2000, words=100), words=100), GloVe(width=16), 1, threads)
    losses = [epoch(model, number, threads) for number in range(6)]
    means = [loss.mean for loss in losses]
    assert means == sorted(means, reverse=True) and means[-1] < means[0] / 2
    assert losses[0].count == model.size
    other = corpus(drawn(1000, seed=2, words=100), words=100)
    assert model.held_out(other).mean < Model(model.corpus, model.config, 1, 1).held_out(other).mean / 2


def test_each_epoch_has_its_own_order():
    text, config = corpus(drawn(300)), GloVe(width=8, window=4)
    one, other = Model(text, config, 1, 1), Model(text, config, 1, 1)
    epoch(one, 0)
    epoch(other, 1)
    assert not np.array_equal(one.arrays["words"], other.arrays["words"])
    assert np.allclose(one.arrays["words"], other.arrays["words"], atol=0.1)


@given(
    st.lists(st.lists(st.integers(-1, 4), max_size=8), min_size=1, max_size=12),
    st.sampled_from([0.05, 1.0]),
    st.sampled_from([1e-3, 10.0]),
    st.integers(1, 20),
)
@settings(deadline=None, max_examples=40)
def test_small_texts_never_give_nan(documents, rate, top, width):
    text, config = corpus(documents, words=5), GloVe(width=width, rate=rate, top=top)
    if not plain_cells(documents, config):
        with pytest.raises(FirthError, match="no two words"):
            Model(text, config, 1, 1)
        return
    model = Model(text, config, 1, 1)
    losses = [epoch(model, number) for number in range(30)]
    assert all(np.isfinite(loss.total) and loss.count == model.size for loss in losses)
    assert all(np.isfinite(array).all() for array in model.arrays.values())


def test_a_row_that_is_no_number_spoils_no_other():
    model = Model(corpus(drawn(300)), GloVe(width=8), 1, 1)
    model.arrays["words"][2, 0] = np.nan
    found = epoch(model)
    assert 0 < found.count < model.size and np.isfinite(found.total)
    assert np.isfinite(np.delete(model.arrays["words"], 2, 0)).all() and np.isfinite(model.arrays["contexts"]).all()


def test_words_that_share_contexts_become_alike():
    random = np.random.default_rng(0)
    rows = [[random.integers(0, 3), 6 + random.integers(0, 3)] * 4 for _ in range(2000)]
    rows += [[3 + random.integers(0, 3), 9 + random.integers(0, 3)] * 4 for _ in range(2000)]
    model = Model(corpus(rows, words=12), GloVe(width=8, window=3), 1, 1)
    for number in range(40):
        epoch(model, number)
    unit = model.store().unit
    alike = unit @ unit.T
    assert (alike[:3, :3].sum() - 3) / 6 > alike[:3, 3:6].mean() + 0.3


def test_held_out_loss_is_that_of_a_text_as_long_as_the_training_text():
    documents, config = drawn(), GloVe(width=6, window=3, top=3)
    model = lively(config, documents)
    before = model.arrays["words"].copy()
    found = model.held_out(model.corpus)
    expected = plain_cells(documents, config)
    assert found.count == len(expected) and found.total == pytest.approx(plain_loss(model, expected), rel=1e-5)
    alike = lively(GloVe(width=6, window=3, exponent=0.0), documents)  # all cells weigh the same
    assert alike.held_out(corpus(documents * 3)).mean == pytest.approx(alike.held_out(alike.corpus).mean, rel=1e-5)
    assert alike.held_out(corpus([[1], [2]])) is None
    assert np.array_equal(model.arrays["words"], before)


def test_the_store_has_the_means_and_each_set(tmp_path):
    model = lively(GloVe(width=6))
    (words, _), (contexts, _) = parts(model, "words"), parts(model, "contexts")
    made = model.store()
    made.save(tmp_path / "vectors.safetensors")
    for store in (made, WordVectors.load(tmp_path / "vectors.safetensors")):
        assert np.allclose(store.vectors, (words + contexts) / 2, atol=1e-6)
        assert np.allclose(store.kind("word").vectors, words, atol=1e-6)
        assert np.allclose(store.kind("context").vectors, contexts, atol=1e-6)
        assert np.allclose(store.kind("sum").vectors, words + contexts, atol=1e-6)
        assert np.allclose(store.kind("concatenated").vectors, np.hstack([words, contexts]), atol=1e-6)
        assert np.array_equal(store.counts, model.corpus.counts) and list(store.words) == model.corpus.words
    assert np.allclose(made.top(3).kind("word").vectors[0], words[np.argmax(model.corpus.counts)], atol=1e-6)
    epoch(model)
    assert np.allclose(made.vectors, (words + contexts) / 2, atol=1e-6)  # it does not change with the model
