"""word2vec: the compiled passes against plain ones written anew, and gradients against finite differences."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from firth.config.schema import WordToVec
from firth.counts.compiled import run_in_order
from firth.errors import FirthError
from firth.vectors import kernels
from firth.vectors.corpus import Corpus, jobs
from firth.vectors.learner import Loss
from firth.vectors.word2vec import Model, keeping, noise_table

WORDS = ["the", "river", "runs", "past", "old", "mill", "and", "town", "house", "by"]
MASK = 2**64 - 1


def corpus(sentences=60, seed=1, words=10):
    random = np.random.default_rng(seed)
    rows = [random.zipf(1.3, random.integers(2, 14)) % words for _ in range(sentences)]
    tokens = np.concatenate([np.append(row, words) for row in rows]).astype(np.uint16)
    starts = np.concatenate([[0], np.cumsum([len(row) + 1 for row in rows])])
    row_of = np.append(np.arange(words, dtype=np.int32), np.int32(kernels.END))
    counts = np.bincount(tokens, minlength=words + 1)[:words].astype(np.int64) + 1
    return Corpus(tokens, starts, row_of, [str(n) for n in range(words)], counts)


class Chance:
    """Xorshift, written anew."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state ^= (self.state << 13) & MASK
        self.state ^= self.state >> 7
        self.state ^= (self.state << 17) & MASK
        return self.state


def sentences(model, chance):
    """Rows of each sentence after subsampling."""
    row = []
    for token in model.corpus.tokens:
        word = int(model.corpus.row_of[token])
        if word == kernels.END:
            yield row
            row = []
        elif chance.next() >> 32 <= int(model.tables.keep[word]):
            row.append(word)


def targets(model, word, chance):
    """(row, label, shift) of each output that a word is predicted by."""
    config, t = model.config, model.tables
    if config.predict == "hierarchical":
        path = range(t.offsets[word], t.offsets[word + 1])
        return [(int(t.nodes[at]), 1 - int(t.codes[at]), 0.0) for at in path]
    drawn = [int(t.noise[below(chance, len(t.noise))]) for _ in range(config.negatives)]
    found = [(word, 1, float(t.shifts[word]))]
    return found + [(row if row != word else None, 0, float(t.shifts[row])) for row in drawn]


def below(chance, size):
    return ((chance.next() >> 32) * size) >> 32


def predict(x, aims, outputs, change, rate):
    """Six aims at a time: how x is moved by them, and what they lose; their own changes are noted."""
    loss = 0.0
    for six in range(0, len(aims), 6):
        pull = np.zeros_like(x)
        for target, label, shift in aims[six : six + 6]:
            if target is not None:
                p = 1 / (1 + exp(-(x @ outputs[target] - shift)))
                loss -= log(p if label else 1 - p)
                pull += rate * (label - p) * outputs[target]
                change[target] = change.get(target, 0) + rate * (label - p) * x
        x += pull
    return loss


def exchange(x, aims, outputs, rate):
    """The same where outputs change at once: one that comes twice in six has moved when it pulls again."""
    loss = 0.0
    for six in range(0, len(aims), 6):
        old, steps = x.copy(), []
        for target, label, shift in aims[six : six + 6]:
            if target is not None:
                p = 1 / (1 + exp(-(x @ outputs[target] - shift)))
                loss -= log(p if label else 1 - p)
                steps.append((target, rate * (label - p)))
        for target, step in steps:
            x += step * outputs[target]
            outputs[target] += step * old
    return loss


def plain_pass(model, rate, seed):
    """The whole pass in double precision."""
    inputs, outputs = model.inputs.astype(float), model.outputs.astype(float)
    chance, predictions, loss, config = Chance(seed), 0, 0.0, model.config
    bags, cbow = model.bags, model.config.model == "cbow"
    # sentences are read one by one, as the draws of their windows follow those of their words
    for row in sentences(model, chance):
        for middle, word in enumerate(row):
            reach = 1 + below(chance, config.window)
            around = [row[i] for i in range(max(0, middle - reach), min(len(row), middle + reach + 1)) if i != middle]
            if not around:
                continue
            if cbow or config.most_part:
                rows = [r for x in (around if cbow else [word]) for r in bags.rows[bags.bounds[x] : bags.bounds[x + 1]]]
                mean = np.mean([inputs[r] for r in rows], axis=0)
                x = mean.copy()
                for aim in [word] if cbow else around:
                    loss += exchange(x, targets(model, aim, chance), outputs, rate)
                    predictions += 1
                for r in rows:
                    inputs[r] += x - mean
                continue
            aims, change = targets(model, word, chance), {}
            for six in range(0, len(aims), 6):
                for x in around:
                    loss += predict(inputs[x], aims[six : six + 6], outputs, change, rate)
            predictions += len(around)
            for target, value in change.items():
                outputs[target] += value
    return inputs, outputs, predictions, loss


@pytest.mark.parametrize("negatives", [1, 5, 6, 13])
@pytest.mark.parametrize("predict", ["negative", "nce", "hierarchical"])
@pytest.mark.parametrize("model", ["skip-gram", "cbow"])
@pytest.mark.parametrize("parts", [(0, 0), (1, 3)])
def test_the_compiled_pass_is_the_plain_one(model, predict, negatives, parts):
    config = WordToVec(model=model, predict=predict, width=20, window=3, negatives=negatives, sample=0.1)
    config = replace(config, least_part=parts[0], most_part=parts[1], buckets=50)
    made = Model(corpus(), config, seed=3)
    assert (len(made.inputs) > len(WORDS)) == bool(parts[1])
    made.outputs[:, :20] = np.random.default_rng(0).normal(0, 0.3, (len(WORDS), 20))
    expected = plain_pass(made, 0.05, 12345)
    found = made._pass(made.corpus, 0, len(made.corpus.tokens), 0.05, 12345)
    assert found.count == expected[2] > 100
    assert found.total == pytest.approx(expected[3], rel=2e-3)
    # scores are looked up in a table
    assert np.abs(made.inputs - expected[0]).max() < 2e-3 and np.abs(made.outputs - expected[1]).max() < 2e-3
    assert np.abs(made.inputs - Model(made.corpus, config, seed=3).inputs).max() > 0.01


@pytest.mark.parametrize("model", ["skip-gram", "cbow"])
def test_the_softmax_moves_along_the_exact_gradient(model):
    config = WordToVec(model=model, predict="softmax", width=4, window=2, sample=0.0)
    text = corpus(1, seed=5)
    made = Model(text, config, seed=2)
    made.outputs[:, :4] = np.random.default_rng(1).normal(0, 0.5, (len(WORDS), 4))
    rate = 1e-3  # so small that the parameters hardly move within the pass

    def loss():
        return made._pass(text, 0, len(text.tokens), 0.0, 99).total

    before = {name: getattr(made, name).copy() for name in ("inputs", "outputs")}
    gradient = {}
    for name in before:
        array, gradient[name] = getattr(made, name), np.zeros_like(before[name], float)
        for place in np.ndindex(len(WORDS), 4):
            values = []
            for step in (1e-2, -1e-2):
                array[place] = before[name][place] + np.float32(step)
                values.append(loss())
            array[place] = before[name][place]
            gradient[name][place] = (values[0] - values[1]) / 2e-2
    made._pass(text, 0, len(text.tokens), rate, 99)
    for name, value in gradient.items():
        moved = (getattr(made, name).astype(float) - before[name]) / rate
        assert np.abs(moved + value).max() < 0.02 * max(1.0, np.abs(value).max())


def test_a_rate_of_zero_changes_nothing():
    made = Model(corpus(), WordToVec(width=8), seed=1)
    before = made.inputs.copy()
    found = made._pass(made.corpus, 0, len(made.corpus.tokens), 0.0, 77)
    assert found.total == pytest.approx(plain_pass(made, 0.0, 77)[3], rel=1e-3)
    assert 0 < made.held_out(made.corpus).mean <= 6 * log(2) * 1.001  # all outputs are zero
    assert np.array_equal(made.inputs, before) and not made.outputs.any()


def epoch(model, number, threads=1):
    found = run_in_order(lambda piece: model.work(number, piece), list(range(model.pieces)), threads)
    return sum(found, start=Loss(0, 0.0)).mean


def test_one_thread_gives_the_same_bytes_and_any_number_learns():
    text = corpus(3000)
    config = WordToVec(width=16, sample=0.0)
    first, second, fast = (Model(text, config, 3, seed=7) for _ in range(3))
    tree = Model(text, replace(config, predict="hierarchical"), 3, seed=7)
    assert epoch(tree, 0) > epoch(tree, 1) > epoch(tree, 2)
    losses = [[epoch(made, number, threads) for number in range(3)]
              for made, threads in ((first, 1), (second, 1), (fast, 2))]  # fmt: skip
    assert np.array_equal(first.inputs, second.inputs) and losses[0] == losses[1]
    assert losses[2][-1] < losses[2][0] and np.isfinite(fast.inputs).all()
    assert not np.array_equal(first.inputs, Model(text, config, seed=8).inputs)


def test_words_that_share_contexts_become_alike():
    random = np.random.default_rng(0)
    rows = [[random.integers(0, 3), 6 + random.integers(0, 3)] * 4 for _ in range(2000)]
    rows += [[3 + random.integers(0, 3), 9 + random.integers(0, 3)] * 4 for _ in range(2000)]
    random.shuffle(rows)
    tokens = np.concatenate([[*row, 12] for row in rows]).astype(np.uint16)
    starts = np.arange(0, len(tokens) + 1, 9)
    row_of = np.append(np.arange(12, dtype=np.int32), np.int32(kernels.END))
    text = Corpus(tokens, starts, row_of, [str(n) for n in range(12)], np.bincount(tokens)[:12].astype(np.int64))
    for predict in ("negative", "softmax"):
        made = Model(text, WordToVec(predict=predict, width=8, sample=0.0, rate=0.05), 3, seed=1)
        for number in range(3):
            epoch(made, number)
        unit = made.store().unit
        alike = unit @ unit.T
        assert (alike[:3, :3].sum() - 3) / 6 > alike[:3, 3:6].mean() + 0.1, predict


def test_huffman_codes_are_prefix_free_and_as_short_as_can_be():
    counts = np.array([50, 30, 10, 5, 3, 1, 1], np.int64)
    text = replace(corpus(words=7), counts=counts)
    t = Model(text, WordToVec(predict="hierarchical", width=4), seed=1).tables
    codes = ["".join(map(str, t.codes[t.offsets[w] : t.offsets[w + 1]])) for w in range(7)]
    assert not any(a != b and b.startswith(a) for a in codes for b in codes)
    shortest = 2 + 5 + 10 + 20 + 50 + 100  # the weights of the inner nodes
    assert sum(len(code) * count for code, count in zip(codes, counts, strict=True)) == shortest
    assert set(t.nodes) == set(range(6))


def test_tables_of_the_vocabulary():
    counts = np.array([1_000_000, 1000, 10], np.int64)
    kept = keeping(counts, 1e-3) / (2**32 - 1)
    share = 1e-3 * counts.sum() / counts
    assert kept == pytest.approx(np.minimum(1, np.sqrt(share) + share), abs=1e-6)
    noise = counts**0.75 / (counts**0.75).sum()
    drawn = np.bincount(noise_table(noise)) / len(noise_table(noise))
    assert drawn == pytest.approx(noise, abs=2e-6)
    assert set(noise_table(np.array([1 - 1e-12, 1e-12]))) == {0, 1}


def test_jobs_end_where_documents_end():
    starts = np.array([0, 5, 9, 100, 103, 110])
    borders = jobs(starts, 10)
    assert borders[0] == 0 and borders[-1] == 110 and np.all(np.diff(borders) > 0) and np.diff(borders).max() < 20
    assert set(jobs(np.arange(0, 1001, 7), 50)) <= set(range(0, 1001, 7)) | {1001 // 7 * 7}


def test_the_whole_softmax_is_for_small_vocabularies():
    many = corpus(words=10)
    large = replace(many, words=["x"] * 30_000, counts=np.ones(30_000, np.int64))
    with pytest.raises(FirthError, match="too many for the whole softmax"):
        Model(large, WordToVec(predict="softmax"), seed=1)
