"""GloVe: cells against plain counting, kernels against a reference implementation, gradients against finite
differences."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import GloVe
from firth.embeddings import glove_kernels
from firth.embeddings.glove import GloVeTrainer
from firth.embeddings.training_text import Corpus
from firth.embeddings.word2vec_kernels import END, NONE
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError


def corpus(documents, words=10):
    """Documents of word ids; −1 is a word without a row."""
    tokens = np.concatenate([[*(words + 1 if word < 0 else word for word in row), words] for row in documents])
    starts = np.concatenate([[0], np.cumsum([len(row) + 1 for row in documents])])
    row_of = np.append(np.arange(words, dtype=np.int32), np.array([END, NONE], np.int32))
    counts = np.bincount(tokens, minlength=words)[:words].astype(np.int64)
    return Corpus(tokens.astype(np.uint16), starts, row_of, [f"w{n}" for n in range(words)], counts)


def sample_documents(sentences=60, seed=1, words=10):
    random = np.random.default_rng(seed)
    return [(random.zipf(1.3, random.integers(2, 14)) % (words + 1) - 1).tolist() for _ in range(sentences)]


def reference_cells(documents, config):
    """Neighbours counted pair by pair."""
    cells = Counter()
    for row in documents:
        for i, word in enumerate(row):
            for j, neighbour in enumerate(row):
                in_window = i != j and abs(i - j) <= config.window
                in_context = {"symmetric": True, "left": j < i, "right": j > i}[config.context]
                if in_window and in_context and word >= 0 and neighbour >= 0:
                    cells[word, neighbour] += 1 / abs(i - j) if config.distance_weighting == "inverse" else 1
    return cells


def epoch(model, number=0, threads=1):
    with ThreadPoolExecutor(threads) as pool:
        losses = list(pool.map(lambda chunk: model.train_chunk(number, chunk), range(model.chunks)))
    return sum(losses[1:], losses[0])


def parameters(model, name):
    """Vectors and biases of one side in double precision."""
    width, array = model.config.width, model.arrays[name].astype(float)
    return array[:, :width], array[:, width + (name == "contexts")]


def reference_loss(model, cells):
    (words, left), (contexts, right) = parameters(model, "words"), parameters(model, "contexts")
    total = 0.0
    for (row, col), x in cells.items():
        difference = words[row] @ contexts[col] + left[row] + right[col] - np.log(x)
        total += 0.5 * min(1, (x / model.config.x_max) ** model.config.alpha) * difference**2
    return total


def random_model(config, documents=None, seed=3):
    """A model whose vectors are far from zero."""
    model = GloVeTrainer(corpus(documents or sample_documents()), config, seed, 1)
    random = np.random.default_rng(0)
    for name, constant in (("words", config.width + 1), ("contexts", config.width)):
        array = model.arrays[name]
        array[:, : config.width + 2] = random.normal(0, 0.4, (len(array), config.width + 2))
        array[:, constant] = 1
    return model


@pytest.mark.parametrize("context", ["symmetric", "left", "right"])
@pytest.mark.parametrize("weighting", ["inverse", "none"])
def test_chunks_hold_every_cell_once_with_its_logarithm_and_weight(context, weighting):
    config = GloVe(width=4, window=3, context=context, distance_weighting=weighting, x_max=4, alpha=0.6)
    expected = reference_cells(sample_documents(), config)
    chunked = GloVeTrainer(corpus(sample_documents()), config, 1, 2)._chunked
    cells = [tuple(cell) for cell in chunked.cells.tolist()]
    assert set(cells) == set(expected) and len(cells) == len(expected)
    x = np.array([expected[cell] for cell in cells])
    assert np.allclose(chunked.targets, np.stack([np.log(x), np.minimum(1, (x / 4) ** 0.6)], 1), atol=1e-6)
    assert {len(chunked.chunk(n)[0]) for n in range(32)} <= {len(x) // 32, len(x) // 32 + 1}
    assert all((np.diff(chunked.chunk(n)[0][:, 0]) >= 0).all() for n in range(32))


@given(st.integers(1, 500), st.integers(1, 40), st.integers(0, 5))
@settings(deadline=None, max_examples=30)
def test_any_number_of_cells_is_distributed_over_any_number_of_chunks(count, chunks, seed):
    chunks = min(count, chunks)
    groups, rest = divmod(count, chunks)
    borders = np.append(0, np.cumsum(groups + (np.arange(chunks) < rest)))
    rotations = np.append(np.random.default_rng(seed).integers(0, chunks, groups), 0)
    cells, targets = np.full((count, 2), -1, np.int32), np.zeros((count, 2), np.float32)
    indices, weights = np.arange(count, dtype=np.int32), np.ones(count, np.float32)
    for begin in range(0, count, 100):
        part = (begin, min(count, begin + 100), borders, rotations)
        glove_kernels.distribute_cells(indices, indices, weights, *part, 2.0, 1.0, 1.0, cells, targets)
    assert sorted(cells[:, 0].tolist()) == list(range(count))
    assert (targets == [2.0, 1.0]).all()


@pytest.mark.parametrize("width", [1, 14, 15, 20])
@pytest.mark.parametrize("start", [0, 17])
def test_the_compiled_pass_is_the_reference(width, start):
    model = random_model(GloVe(width=width, window=4, x_max=3, learning_rate=0.1))
    cells, targets = model._chunked.cells, model._chunked.targets
    (words, left), (contexts, right) = parameters(model, "words"), parameters(model, "contexts")
    words, contexts = np.column_stack([words, left]), np.column_stack([contexts, right])  # the last column is the bias
    word_squares, context_squares, loss = np.ones_like(words), np.ones_like(contexts), 0.0
    for at in np.roll(np.arange(len(cells)), -start):
        (row, col), (logarithm, weight) = cells[at], targets[at].astype(float)
        difference = words[row, :-1] @ contexts[col, :-1] + words[row, -1] + contexts[col, -1] - logarithm
        loss += weight * difference**2 / 2
        step = 0.1 * weight * difference
        word_step, context_step = step * np.append(contexts[col, :-1], 1), step * np.append(words[row, :-1], 1)
        words[row] -= word_step / np.sqrt(word_squares[row])
        contexts[col] -= context_step / np.sqrt(context_squares[col])
        word_squares[row] += word_step**2
        context_squares[col] += context_step**2
    before = model.arrays["words"].copy()
    count, total = glove_kernels.train(*model._sides, width, cells, targets, start, np.float32(0.1))
    assert count == len(cells) and total == pytest.approx(loss, rel=1e-5)
    for name, expected, squares in (("words", words, word_squares), ("contexts", contexts, context_squares)):
        array, half = model.arrays[name], model.arrays[name].shape[1] // 2
        vectors, bias = parameters(model, name)
        at = width + (name == "contexts")
        assert np.allclose(np.column_stack([vectors, bias]), expected, atol=2e-5)
        assert np.allclose(array[:, half : half + width], squares[:, :-1], rtol=1e-4)
        assert np.allclose(array[:, half + at], squares[:, -1], rtol=1e-4)
        assert (array[:, 2 * width + 1 - at] == 1).all() and not array[:, width + 2 : half].any()
    assert np.abs(model.arrays["words"] - before).max() > 0.1


def test_steps_go_along_the_gradient_of_the_loss():
    learning_rate = 1e-4  # so small that the parameters hardly change within the pass
    config = GloVe(width=3, window=3, x_max=3, learning_rate=learning_rate)
    model = random_model(config, sample_documents(8))
    gradient = {name: np.zeros((10, 5)) for name in model.arrays}
    for name, array in model.arrays.items():
        for cell in np.ndindex(10, 5):
            original, values = array[cell], []
            for step in (0.25, -0.25):  # the loss is a parabola in each parameter, so that any step will do
                array[cell] = original + np.float32(step)
                values.append(model.held_out(model.corpus).total)
            array[cell] = original
            gradient[name][cell] = (values[0] - values[1]) / 0.5
    before = {name: array.copy() for name, array in model.arrays.items()}
    epoch(model)
    for name, constant in (("words", 4), ("contexts", 3)):
        update = (model.arrays[name].astype(float) - before[name])[:, :5] / -learning_rate
        gradient[name][:, constant] = 0  # no parameter: it stays 1
        assert np.abs(update - gradient[name]).max() < 0.02 * np.abs(gradient[name]).max()


def test_the_same_seed_gives_the_same_bytes_in_memory_and_in_files(tmp_path):
    text, config = corpus(sample_documents(300)), GloVe(width=8, window=4)
    models = [
        GloVeTrainer(text, config, 7, 1),
        GloVeTrainer(text, config, 7, 2, tmp_path / "cells"),
        GloVeTrainer(text, config, 8, 1),
    ]
    losses = [[epoch(model, number) for number in range(2)] for model in models]
    assert losses[0] == losses[1] != losses[2]
    for name, array in models[0].arrays.items():
        assert array.tobytes() == models[1].arrays[name].tobytes() != models[2].arrays[name].tobytes()
    assert models[0].held_out(text) == models[1].held_out(text)
    assert {path.name for path in (tmp_path / "cells").iterdir()} == {"cells.bin", "targets.bin", "held-out"}


def test_training_resumes_from_its_arrays():
    text, config = corpus(sample_documents(100)), GloVe(width=8, window=4)
    whole, first, second = (GloVeTrainer(text, config, 7, 1) for _ in range(3))
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
    model = GloVeTrainer(corpus(sample_documents(2000, words=100), words=100), GloVe(width=16), 1, threads)
    losses = [epoch(model, number, threads) for number in range(6)]
    means = [loss.mean for loss in losses]
    assert means == sorted(means, reverse=True) and means[-1] < means[0] / 2
    assert losses[0].count == model.size
    other = corpus(sample_documents(1000, seed=2, words=100), words=100)
    assert model.held_out(other).mean < GloVeTrainer(model.corpus, model.config, 1, 1).held_out(other).mean / 2


def test_each_epoch_has_its_own_order():
    text, config = corpus(sample_documents(300)), GloVe(width=8, window=4)
    one, other = GloVeTrainer(text, config, 1, 1), GloVeTrainer(text, config, 1, 1)
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
def test_small_texts_never_give_nan(documents, learning_rate, x_max, width):
    text, config = corpus(documents, words=5), GloVe(width=width, learning_rate=learning_rate, x_max=x_max)
    if not reference_cells(documents, config):
        with pytest.raises(FirthError, match="no two words"):
            GloVeTrainer(text, config, 1, 1)
        return
    model = GloVeTrainer(text, config, 1, 1)
    losses = [epoch(model, number) for number in range(30)]
    assert all(np.isfinite(loss.total) and loss.count == model.size for loss in losses)
    assert all(np.isfinite(array).all() for array in model.arrays.values())


def test_a_row_with_nan_affects_no_other():
    model = GloVeTrainer(corpus(sample_documents(300)), GloVe(width=8), 1, 1)
    model.arrays["words"][2, 0] = np.nan
    loss = epoch(model)
    assert 0 < loss.count < model.size and np.isfinite(loss.total)
    assert np.isfinite(np.delete(model.arrays["words"], 2, 0)).all() and np.isfinite(model.arrays["contexts"]).all()


def test_words_that_share_contexts_become_similar():
    random = np.random.default_rng(0)
    rows = [[random.integers(0, 3), 6 + random.integers(0, 3)] * 4 for _ in range(2000)]
    rows += [[3 + random.integers(0, 3), 9 + random.integers(0, 3)] * 4 for _ in range(2000)]
    model = GloVeTrainer(corpus(rows, words=12), GloVe(width=8, window=3), 1, 1)
    for number in range(40):
        epoch(model, number)
    unit = model.word_vectors().unit_vectors
    cosines = unit @ unit.T
    assert (cosines[:3, :3].sum() - 3) / 6 > cosines[:3, 3:6].mean() + 0.3


def test_held_out_loss_is_that_of_a_text_as_long_as_the_training_text():
    documents, config = sample_documents(), GloVe(width=6, window=3, x_max=3)
    model = random_model(config, documents)
    before = model.arrays["words"].copy()
    loss = model.held_out(model.corpus)
    expected = reference_cells(documents, config)
    assert loss.count == len(expected) and loss.total == pytest.approx(reference_loss(model, expected), rel=1e-5)
    equal = random_model(GloVe(width=6, window=3, alpha=0.0), documents)  # all cells have the same weight
    assert equal.held_out(corpus(documents * 3)).mean == pytest.approx(equal.held_out(equal.corpus).mean, rel=1e-5)
    assert equal.held_out(corpus([[1], [2]])) is None
    assert np.array_equal(model.arrays["words"], before)


def test_word_vectors_are_the_means_and_have_each_set(tmp_path):
    model = random_model(GloVe(width=6))
    (words, _), (contexts, _) = parameters(model, "words"), parameters(model, "contexts")
    made = model.word_vectors()
    made.save(tmp_path / "vectors.safetensors")
    for store in (made, WordVectors.load(tmp_path / "vectors.safetensors")):
        assert np.allclose(store.vectors, (words + contexts) / 2, atol=1e-6)
        assert np.allclose(store.kind("word").vectors, words, atol=1e-6)
        assert np.allclose(store.kind("context").vectors, contexts, atol=1e-6)
        assert np.allclose(store.kind("sum").vectors, words + contexts, atol=1e-6)
        assert np.allclose(store.kind("concatenated").vectors, np.hstack([words, contexts]), atol=1e-6)
        assert np.array_equal(store.counts, model.corpus.counts) and list(store.words) == model.corpus.words
    assert np.allclose(made.most_frequent(3).kind("word").vectors[0], words[np.argmax(model.corpus.counts)], atol=1e-6)
    epoch(model)
    assert np.allclose(made.vectors, (words + contexts) / 2, atol=1e-6)  # it does not change with the model
