"""word2vec: the compiled kernels against a reference implementation, and gradients against finite differences."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from firth.config.schema import Word2Vec
from firth.embeddings import word2vec_kernels
from firth.embeddings.method import Loss
from firth.embeddings.training_text import Corpus, chunk_borders
from firth.embeddings.word2vec import Word2VecTrainer, keep_thresholds, noise_table
from firth.errors import FirthError
from firth.jit import run_in_order

WORDS = ["the", "river", "runs", "past", "old", "mill", "and", "town", "house", "by"]
MASK = 2**64 - 1


def corpus(sentences=60, seed=1, words=10):
    random = np.random.default_rng(seed)
    rows = [random.zipf(1.3, random.integers(2, 14)) % words for _ in range(sentences)]
    tokens = np.concatenate([np.append(row, words) for row in rows]).astype(np.uint16)
    starts = np.concatenate([[0], np.cumsum([len(row) + 1 for row in rows])])
    row_of = np.append(np.arange(words, dtype=np.int32), np.int32(word2vec_kernels.END))
    counts = np.bincount(tokens, minlength=words + 1)[:words].astype(np.int64) + 1
    return Corpus(tokens, starts, row_of, [str(n) for n in range(words)], counts)


class Xorshift:
    """The random generator, in plain Python."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state ^= (self.state << 13) & MASK
        self.state ^= self.state >> 7
        self.state ^= (self.state << 17) & MASK
        return self.state


def sentences(model, random):
    """Rows of each sentence after subsampling."""
    row = []
    for token in model.corpus.tokens:
        word = int(model.corpus.row_of[token])
        if word == word2vec_kernels.END:
            yield row
            row = []
        elif random.next() >> 32 <= int(model.tables.keep[word]):
            row.append(word)


def targets(model, word, random):
    """(row, label, NCE shift) of each output row of a word."""
    config, t = model.config, model.tables
    if config.loss == "hierarchical-softmax":
        path = range(t.offsets[word], t.offsets[word + 1])
        return [(int(t.nodes[at]), 1 - int(t.codes[at]), 0.0) for at in path]
    negatives = [int(t.noise_table[below(random, len(t.noise_table))]) for _ in range(config.negatives)]
    positive = [(word, 1, float(t.nce_shifts[word]))]
    return positive + [(row if row != word else None, 0, float(t.nce_shifts[row])) for row in negatives]


def below(random, size):
    return ((random.next() >> 32) * size) >> 32


def step_with_delayed_outputs(x, rows, outputs, change, rate):
    """Six output rows at a time update x; their own updates are collected. Returns the loss."""
    loss = 0.0
    for first in range(0, len(rows), 6):
        gradient = np.zeros_like(x)
        for target, label, shift in rows[first : first + 6]:
            if target is not None:
                p = 1 / (1 + exp(-(x @ outputs[target] - shift)))
                loss -= log(p if label else 1 - p)
                gradient += rate * (label - p) * outputs[target]
                change[target] = change.get(target, 0) + rate * (label - p) * x
        x += gradient
    return loss


def step(x, rows, outputs, rate):
    """The same with outputs updated at once: a row that occurs twice in six has changed the second time."""
    loss = 0.0
    for first in range(0, len(rows), 6):
        old, steps = x.copy(), []
        for target, label, shift in rows[first : first + 6]:
            if target is not None:
                p = 1 / (1 + exp(-(x @ outputs[target] - shift)))
                loss -= log(p if label else 1 - p)
                steps.append((target, rate * (label - p)))
        for target, size in steps:
            x += size * outputs[target]
            outputs[target] += size * old
    return loss


def reference_pass(model, rate, seed):
    """The whole pass in double precision."""
    inputs, outputs = model.inputs.astype(float), model.outputs.astype(float)
    random, predictions, loss, config = Xorshift(seed), 0, 0.0, model.config
    offsets, input_rows, cbow = model.input_rows.offsets, model.input_rows.rows, model.config.model == "cbow"
    # sentences are read one by one, as the random numbers of their windows follow those of their words
    for sentence in sentences(model, random):
        for center, word in enumerate(sentence):
            window = 1 + below(random, config.window)
            positions = range(max(0, center - window), min(len(sentence), center + window + 1))
            context = [sentence[i] for i in positions if i != center]
            if not context:
                continue
            if cbow or config.max_n:
                averaged = context if cbow else [word]
                rows = [row for w in averaged for row in input_rows[offsets[w] : offsets[w + 1]]]
                mean = np.mean([inputs[row] for row in rows], axis=0)
                x = mean.copy()
                for predicted in [word] if cbow else context:
                    loss += step(x, targets(model, predicted, random), outputs, rate)
                    predictions += 1
                for row in rows:
                    inputs[row] += x - mean
                continue
            rows, change = targets(model, word, random), {}
            for first in range(0, len(rows), 6):
                for x in context:
                    loss += step_with_delayed_outputs(inputs[x], rows[first : first + 6], outputs, change, rate)
            predictions += len(context)
            for target, value in change.items():
                outputs[target] += value
    return inputs, outputs, predictions, loss


@pytest.mark.parametrize("negatives", [1, 5, 6, 13])
@pytest.mark.parametrize("loss", ["negative-sampling", "nce", "hierarchical-softmax"])
@pytest.mark.parametrize("architecture", ["skip-gram", "cbow"])
@pytest.mark.parametrize("ngrams", [(0, 0), (1, 3)])
def test_the_compiled_pass_is_the_reference(architecture, loss, negatives, ngrams):
    config = Word2Vec(model=architecture, loss=loss, width=20, window=3, negatives=negatives, subsample=0.1)
    config = replace(config, min_n=ngrams[0], max_n=ngrams[1], buckets=50)
    model = Word2VecTrainer(corpus(), config, seed=3)
    assert (len(model.inputs) > len(WORDS)) == bool(ngrams[1])
    model.outputs[:, :20] = np.random.default_rng(0).normal(0, 0.3, (len(WORDS), 20))
    inputs, outputs, predictions, total = reference_pass(model, 0.05, 12345)
    result = model._pass(model.corpus, 0, len(model.corpus.tokens), 0.05, 12345)
    assert result.count == predictions > 100
    assert result.total == pytest.approx(total, rel=2e-3)
    # sigmoids are looked up in a table
    assert np.abs(model.inputs - inputs).max() < 2e-3 and np.abs(model.outputs - outputs).max() < 2e-3
    assert np.abs(model.inputs - Word2VecTrainer(model.corpus, config, seed=3).inputs).max() > 0.01


@pytest.mark.parametrize("architecture", ["skip-gram", "cbow"])
def test_the_softmax_steps_along_the_exact_gradient(architecture):
    config = Word2Vec(model=architecture, loss="softmax", width=4, window=2, subsample=0.0)
    text = corpus(1, seed=5)
    model = Word2VecTrainer(text, config, seed=2)
    model.outputs[:, :4] = np.random.default_rng(1).normal(0, 0.5, (len(WORDS), 4))
    learning_rate = 1e-3  # so small that the parameters hardly change within the pass

    def loss():
        return model._pass(text, 0, len(text.tokens), 0.0, 99).total

    before = {name: getattr(model, name).copy() for name in ("inputs", "outputs")}
    gradient = {}
    for name in before:
        array, gradient[name] = getattr(model, name), np.zeros_like(before[name], float)
        for cell in np.ndindex(len(WORDS), 4):
            values = []
            for difference in (1e-2, -1e-2):
                array[cell] = before[name][cell] + np.float32(difference)
                values.append(loss())
            array[cell] = before[name][cell]
            gradient[name][cell] = (values[0] - values[1]) / 2e-2
    model._pass(text, 0, len(text.tokens), learning_rate, 99)
    for name, value in gradient.items():
        update = (getattr(model, name).astype(float) - before[name]) / learning_rate
        assert np.abs(update + value).max() < 0.02 * max(1.0, np.abs(value).max())


def test_a_learning_rate_of_zero_changes_nothing():
    model = Word2VecTrainer(corpus(), Word2Vec(width=8), seed=1)
    before = model.inputs.copy()
    result = model._pass(model.corpus, 0, len(model.corpus.tokens), 0.0, 77)
    assert result.total == pytest.approx(reference_pass(model, 0.0, 77)[3], rel=1e-3)
    assert 0 < model.held_out(model.corpus).mean <= 6 * log(2) * 1.001  # all outputs are zero
    assert np.array_equal(model.inputs, before) and not model.outputs.any()


def epoch(model, number, threads=1):
    losses = run_in_order(lambda chunk: model.train_chunk(number, chunk), list(range(model.chunks)), threads)
    return sum(losses, start=Loss(0, 0.0)).mean


def test_one_thread_gives_the_same_bytes_and_any_number_learns():
    text = corpus(3000)
    config = Word2Vec(width=16, subsample=0.0)
    first, second, fast = (Word2VecTrainer(text, config, 3, seed=7) for _ in range(3))
    tree = Word2VecTrainer(text, replace(config, loss="hierarchical-softmax"), 3, seed=7)
    assert epoch(tree, 0) > epoch(tree, 1) > epoch(tree, 2)
    losses = [[epoch(model, number, threads) for number in range(3)]
              for model, threads in ((first, 1), (second, 1), (fast, 2))]  # fmt: skip
    assert np.array_equal(first.inputs, second.inputs) and losses[0] == losses[1]
    assert losses[2][-1] < losses[2][0] and np.isfinite(fast.inputs).all()
    assert not np.array_equal(first.inputs, Word2VecTrainer(text, config, seed=8).inputs)


def test_words_that_share_contexts_become_similar():
    random = np.random.default_rng(0)
    rows = [[random.integers(0, 3), 6 + random.integers(0, 3)] * 4 for _ in range(2000)]
    rows += [[3 + random.integers(0, 3), 9 + random.integers(0, 3)] * 4 for _ in range(2000)]
    random.shuffle(rows)
    tokens = np.concatenate([[*row, 12] for row in rows]).astype(np.uint16)
    starts = np.arange(0, len(tokens) + 1, 9)
    row_of = np.append(np.arange(12, dtype=np.int32), np.int32(word2vec_kernels.END))
    text = Corpus(tokens, starts, row_of, [str(n) for n in range(12)], np.bincount(tokens)[:12].astype(np.int64))
    for loss in ("negative-sampling", "softmax"):
        model = Word2VecTrainer(text, Word2Vec(loss=loss, width=8, subsample=0.0, learning_rate=0.05), 3, seed=1)
        for number in range(3):
            epoch(model, number)
        unit = model.word_vectors().unit_vectors
        cosines = unit @ unit.T
        assert (cosines[:3, :3].sum() - 3) / 6 > cosines[:3, 3:6].mean() + 0.1, loss


def test_huffman_codes_are_prefix_free_and_as_short_as_can_be():
    counts = np.array([50, 30, 10, 5, 3, 1, 1], np.int64)
    text = replace(corpus(words=7), counts=counts)
    t = Word2VecTrainer(text, Word2Vec(loss="hierarchical-softmax", width=4), seed=1).tables
    codes = ["".join(map(str, t.codes[t.offsets[w] : t.offsets[w + 1]])) for w in range(7)]
    assert not any(a != b and b.startswith(a) for a in codes for b in codes)
    shortest = 2 + 5 + 10 + 20 + 50 + 100  # the weights of the inner nodes
    assert sum(len(code) * count for code, count in zip(codes, counts, strict=True)) == shortest
    assert set(t.nodes) == set(range(6))


def test_tables_of_the_vocabulary():
    counts = np.array([1_000_000, 1000, 10], np.int64)
    keep = keep_thresholds(counts, 1e-3) / (2**32 - 1)
    ratio = 1e-3 * counts.sum() / counts
    assert keep == pytest.approx(np.minimum(1, np.sqrt(ratio) + ratio), abs=1e-6)
    noise = counts**0.75 / (counts**0.75).sum()
    frequencies = np.bincount(noise_table(noise)) / len(noise_table(noise))
    assert frequencies == pytest.approx(noise, abs=2e-6)
    assert set(noise_table(np.array([1 - 1e-12, 1e-12]))) == {0, 1}


def test_chunks_end_where_documents_end():
    starts = np.array([0, 5, 9, 100, 103, 110])
    borders = chunk_borders(starts, 10)
    assert borders[0] == 0 and borders[-1] == 110 and np.all(np.diff(borders) > 0) and np.diff(borders).max() < 20
    assert set(chunk_borders(np.arange(0, 1001, 7), 50)) <= set(range(0, 1001, 7)) | {1001 // 7 * 7}


def test_the_full_softmax_is_for_small_vocabularies():
    many = corpus(words=10)
    large = replace(many, words=["x"] * 30_000, counts=np.ones(30_000, np.int64))
    with pytest.raises(FirthError, match="too many for the full softmax"):
        Word2VecTrainer(large, Word2Vec(loss="softmax"), seed=1)
