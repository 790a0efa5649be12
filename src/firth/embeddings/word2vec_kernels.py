"""Compiled kernels of word2vec (skip-gram and CBOW; Mikolov et al. 2013) and fastText, each with a reference
implementation in the tests.

They work on six output rows at a time, as many as registers can hold the sums of; a seventh row sees the updates of the
first six. Without subwords, negatives are sampled once per window and shared by all its pairs, so that an output row is
read and written once per window. Rows are padded to whole SIMD vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.jit import inline_kernel, kernel

BATCH = 6  # output rows at a time
MAX_SCORE = np.float32(8.0)  # scores are clipped to ±8
TABLE_STEPS = 2048  # of the sigmoid tables over that range: both fit into the L1 cache
TABLE_SCALE = np.float32(TABLE_STEPS / (2 * 8.0))
MAX_SENTENCE = 10_000  # words; a longer sentence is split
NONE, END = -1, -2  # instead of a row: no row, and the end of a document
NEGATIVE, NCE, HIERARCHICAL = 0, 1, 2  # the loss: negative sampling, NCE, hierarchical softmax
HALF = np.uint64(32)

_SCORES = np.arange(TABLE_STEPS + 1) / TABLE_SCALE - MAX_SCORE
SIGMOID = (1 / (1 + np.exp(-_SCORES))).astype(np.float32)
NEG_LOG_SIGMOID = np.log1p(np.exp(-_SCORES)).astype(np.float32)


class Tables(NamedTuple):
    """What the kernels need to know about the vocabulary."""

    loss: int
    negatives: int
    max_targets: int  # output rows of a prediction, at most
    keep: np.ndarray  # (words,) uint32: subsampling thresholds, the probability of keeping a word
    noise_table: np.ndarray  # int32: words, each in proportion to its noise probability
    nce_shifts: np.ndarray  # (words,) float32: log of the expected number of negatives, for NCE
    nodes: np.ndarray  # the path of each word in the Huffman tree …
    codes: np.ndarray  # … and its Huffman code
    offsets: np.ndarray  # (words + 1,)


@inline_kernel
def _next(state):
    """Xorshift (Marsaglia 2003): a 64-bit state that is never 0."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@inline_kernel
def _random_below(state, size):
    """A random integer from 0 to size−1, from the upper half of the state: faster than a division."""
    return np.int64(((state >> HALF) * np.uint64(size)) >> HALF)


@kernel
def _read_sentence(tokens, at, stop, row_of, keep, state, sentence):
    """Read the next sentence with subsampling of frequent words; returns its length, the next position, the state."""
    size = 0
    while at < stop and size < sentence.shape[0]:
        row = row_of[tokens[at]]
        at += 1
        if row == END:
            break
        if row >= 0:
            state = _next(state)
            if np.uint32(state >> HALF) <= keep[row]:
                sentence[size] = row
                size += 1
    return size, at, state


@inline_kernel
def _sample_targets(t, word, state, out, label, shift):
    """The output rows of a word (itself and its negatives, or its Huffman nodes) and their labels; returns how many."""
    if t.loss == HIERARCHICAL:
        begin, count = t.offsets[word], t.offsets[word + 1] - t.offsets[word]
        for position in range(count):
            out[position], label[position] = t.nodes[begin + position], np.float32(1 - t.codes[begin + position])
    else:
        count = t.negatives + 1
        out[0], label[0], shift[0] = word, np.float32(1), t.nce_shifts[word]
        for position in range(1, count):
            state = _next(state)
            negative = t.noise_table[_random_below(state, t.noise_table.shape[0])]
            label[position], shift[position] = np.float32(0), t.nce_shifts[negative]
            out[position] = negative if negative != word else NONE
    for position in range(count, (count + BATCH - 1) // BATCH * BATCH):
        out[position] = NONE
    return count, state


@inline_kernel
def _copy_outputs(outputs, out, count, rows, change):
    """Copy output rows into a contiguous block and zero their updates; where there is no row, any is copied."""
    for position in range(count):
        row = max(out[position], 0)
        for i in range(rows.shape[1]):
            rows[position, i], change[position, i] = outputs[row, i], np.float32(0)


@inline_kernel
def _add_outputs(outputs, out, count, change):
    """Add the updates to the output rows."""
    for position in range(count):
        row = out[position]
        if row >= 0:
            for i in range(change.shape[1]):
                outputs[row, i] += change[position, i]


@inline_kernel
def _scores(x, row, rows, base, steps):
    """The dot products of a row of x with six rows."""
    r0, r1, r2, r3, r4, r5 = rows[base], rows[base + 1], rows[base + 2], rows[base + 3], rows[base + 4], rows[base + 5]
    s0 = np.float32(0)
    s1, s2, s3, s4, s5 = s0, s0, s0, s0, s0
    for i in range(x.shape[1]):
        v = x[row, i]
        s0 += v * r0[i]
        s1 += v * r1[i]
        s2 += v * r2[i]
        s3 += v * r3[i]
        s4 += v * r4[i]
        s5 += v * r5[i]
    steps[0], steps[1], steps[2], steps[3], steps[4], steps[5] = s0, s1, s2, s3, s4, s5


@inline_kernel
def _gradient_steps(steps, base, out, label, shift, learning_rate):
    """Turn six scores into gradient steps, in place; returns their loss."""
    loss = 0.0
    for k in range(BATCH):
        if out[base + k] < 0:
            steps[k] = np.float32(0)
        else:
            score = min(max(steps[k] - shift[base + k], -MAX_SCORE), MAX_SCORE)
            at = np.int64((score + MAX_SCORE) * TABLE_SCALE + np.float32(0.5))
            loss += NEG_LOG_SIGMOID[at if label[base + k] > 0 else TABLE_STEPS - at]
            steps[k] = (label[base + k] - SIGMOID[at]) * learning_rate
    return loss


@inline_kernel
def _update(x, row, rows, change, base, steps):
    """The gradient update of a row of x by six rows, and the updates of the six rows by its old value."""
    r0, r1, r2, r3, r4, r5 = rows[base], rows[base + 1], rows[base + 2], rows[base + 3], rows[base + 4], rows[base + 5]
    c0, c1, c2 = change[base], change[base + 1], change[base + 2]
    c3, c4, c5 = change[base + 3], change[base + 4], change[base + 5]
    s0, s1, s2, s3, s4, s5 = steps[0], steps[1], steps[2], steps[3], steps[4], steps[5]
    for i in range(x.shape[1]):
        v = x[row, i]
        updated = v + s0 * r0[i] + s1 * r1[i] + s2 * r2[i] + s3 * r3[i] + s4 * r4[i] + s5 * r5[i]
        c0[i] += s0 * v
        c1[i] += s1 * v
        c2[i] += s2 * v
        c3[i] += s3 * v
        c4[i] += s4 * v
        c5[i] += s5 * v
        x[row, i] = updated


@kernel
def skip_gram(tokens, begin, stop, row_of, window, learning_rate, seed, inputs, outputs, t):
    """Skip-gram over tokens begin … stop−1: each context word predicts the center word. Returns the number of
    predictions and the sum of their losses."""
    width, capacity = inputs.shape[1], (t.max_targets + BATCH - 1) // BATCH * BATCH
    sentence, out = np.empty(MAX_SENTENCE, np.int32), np.full(capacity, NONE, np.int32)
    rows, change = np.zeros((capacity, width), np.float32), np.zeros((capacity, width), np.float32)
    label, shift, steps = np.zeros(capacity, np.float32), np.zeros(capacity, np.float32), np.zeros(BATCH, np.float32)
    state, at, predictions, loss = np.uint64(seed), begin, 0, 0.0
    while at < stop:
        size, at, state = _read_sentence(tokens, at, stop, row_of, t.keep, state, sentence)
        for center in range(size):
            state = _next(state)
            reduced_window = 1 + _random_below(state, window)
            first, last = max(0, center - reduced_window), min(size, center + reduced_window + 1)
            if last - first < 2:
                continue
            count, state = _sample_targets(t, sentence[center], state, out, label, shift)
            _copy_outputs(outputs, out, count, rows, change)
            for base in range(0, count, BATCH):
                for position in range(first, last):
                    if position != center:
                        _scores(inputs, sentence[position], rows, base, steps)
                        loss += _gradient_steps(steps, base, out, label, shift, learning_rate)
                        _update(inputs, sentence[position], rows, change, base, steps)
            predictions += last - first - 1
            _add_outputs(outputs, out, count, change)
    return predictions, loss


@kernel
def mean_input(cbow, tokens, begin, stop, row_of, window, learning_rate, seed, offsets, input_rows, inputs, outputs, t):
    """The same with the mean of several input rows: the context words predict the center word (CBOW), or the subwords
    of the center word predict the context words (fastText skip-gram). Each row gets the whole gradient of the mean, as
    in the authors' programs. The rows of word w are input_rows[offsets[w] … offsets[w + 1] − 1].
    """
    width, capacity = inputs.shape[1], (t.max_targets + BATCH - 1) // BATCH * BATCH
    sentence, out = np.empty(MAX_SENTENCE, np.int32), np.full(capacity, NONE, np.int32)
    label, shift, steps = np.zeros(capacity, np.float32), np.zeros(capacity, np.float32), np.zeros(BATCH, np.float32)
    mean, updated, old = np.zeros(width, np.float32), np.zeros(width, np.float32), np.zeros(width, np.float32)
    state, at, predictions, loss = np.uint64(seed), begin, 0, 0.0
    while at < stop:
        size, at, state = _read_sentence(tokens, at, stop, row_of, t.keep, state, sentence)
        for center in range(size):
            state = _next(state)
            reduced_window = 1 + _random_below(state, window)
            first, last = max(0, center - reduced_window), min(size, center + reduced_window + 1)
            if last - first < 2:
                continue
            low, high = (first, last) if cbow else (center, center + 1)  # the words that are averaged
            _mean_of_inputs(inputs, offsets, input_rows, sentence, low, high, center if cbow else NONE, mean, updated)
            for position in range(center if cbow else first, center + 1 if cbow else last):
                if cbow or position != center:
                    count, state = _sample_targets(t, sentence[position], state, out, label, shift)
                    for base in range(0, count, BATCH):
                        _mean_scores(updated, outputs, out, base, steps)
                        loss += _gradient_steps(steps, base, out, label, shift, learning_rate)
                        _mean_update(updated, old, outputs, out, base, steps)
            predictions += 1 if cbow else last - first - 1
            for i in range(width):
                mean[i] = updated[i] - mean[i]
            _update_inputs(inputs, offsets, input_rows, sentence, low, high, center if cbow else NONE, mean)
    return predictions, loss


@inline_kernel
def _mean_scores(x, outputs, out, base, steps):
    """The dot products of x with six output rows; where there is no row, any is taken."""
    r0, r1, r2 = max(out[base], 0), max(out[base + 1], 0), max(out[base + 2], 0)
    r3, r4, r5 = max(out[base + 3], 0), max(out[base + 4], 0), max(out[base + 5], 0)
    s0 = np.float32(0)
    s1, s2, s3, s4, s5 = s0, s0, s0, s0, s0
    for i in range(x.shape[0]):
        v = x[i]
        s0 += v * outputs[r0, i]
        s1 += v * outputs[r1, i]
        s2 += v * outputs[r2, i]
        s3 += v * outputs[r3, i]
        s4 += v * outputs[r4, i]
        s5 += v * outputs[r5, i]
    steps[0], steps[1], steps[2], steps[3], steps[4], steps[5] = s0, s1, s2, s3, s4, s5


@inline_kernel
def _mean_update(x, old, outputs, out, base, steps):
    """The gradient update of x by six output rows, and of these by its old value."""
    for i in range(x.shape[0]):
        old[i] = x[i]
    for k in range(BATCH):
        row, step = out[base + k], steps[k]
        if row >= 0:
            for i in range(x.shape[0]):
                v = outputs[row, i]
                x[i] += step * v
                outputs[row, i] = v + step * old[i]


@inline_kernel
def _mean_of_inputs(inputs, offsets, input_rows, sentence, low, high, excluded, mean, copy):
    """The mean of the input rows of these words, and a copy of it."""
    for i in range(mean.shape[0]):
        mean[i] = np.float32(0)
    count = 0
    for position in range(low, high):
        if position != excluded:
            for at in range(offsets[sentence[position]], offsets[sentence[position] + 1]):
                row = input_rows[at]
                count += 1
                for i in range(mean.shape[0]):
                    mean[i] += inputs[row, i]
    scale = np.float32(1) / np.float32(count)
    for i in range(mean.shape[0]):
        mean[i] *= scale
        copy[i] = mean[i]


@inline_kernel
def _update_inputs(inputs, offsets, input_rows, sentence, low, high, excluded, gradient):
    """Add the gradient to all input rows of these words."""
    for position in range(low, high):
        if position != excluded:
            for at in range(offsets[sentence[position]], offsets[sentence[position] + 1]):
                row = input_rows[at]
                for i in range(gradient.shape[0]):
                    inputs[row, i] += gradient[i]


# --- full softmax ---------------------------------------------------------------------------------------------------


@kernel
def softmax(cbow, tokens, begin, stop, row_of, keep, window, learning_rate, seed, inputs, outputs):
    """Skip-gram or CBOW with the full softmax over all words, for small vocabularies (float64 sums)."""
    width, words = inputs.shape[1], outputs.shape[0]
    sentence, hidden, gradient = np.empty(MAX_SENTENCE, np.int32), np.zeros(width), np.zeros(width)
    scores = np.zeros(words)
    state, at, predictions, loss = np.uint64(seed), begin, 0, 0.0
    while at < stop:
        size, at, state = _read_sentence(tokens, at, stop, row_of, keep, state, sentence)
        for center in range(size):
            state = _next(state)
            reduced_window = 1 + _random_below(state, window)
            first, last = max(0, center - reduced_window), min(size, center + reduced_window + 1)
            context_size = last - first - 1
            for n in range(0 if context_size < 1 else 1 if cbow else context_size):
                hidden[:], gradient[:] = 0.0, 0.0
                neighbour = first + n + (first + n >= center)
                for position in range(first if cbow else neighbour, last if cbow else neighbour + 1):
                    if position != center:
                        hidden += inputs[sentence[position]] / (context_size if cbow else 1)
                loss += _softmax_step(hidden, gradient, sentence[center], outputs, scores, learning_rate)
                predictions += 1
                for position in range(first if cbow else neighbour, last if cbow else neighbour + 1):
                    if position != center:
                        x = inputs[sentence[position]]
                        for i in range(width):
                            x[i] += np.float32(gradient[i] / (context_size if cbow else 1))
    return predictions, loss


@kernel
def _softmax_step(x, gradient, word, outputs, scores, learning_rate):
    """Update the outputs along the gradient of −log p(word | x) and add the gradient of x; returns the loss before."""
    max_score = -np.inf
    for row in range(outputs.shape[0]):
        score = 0.0
        for i in range(x.shape[0]):
            score += x[i] * outputs[row, i]
        scores[row] = score
        max_score = max(max_score, score)
    total = 0.0
    for row in range(outputs.shape[0]):
        total += np.exp(scores[row] - max_score)
    nll = np.log(total) + max_score - scores[word]
    for row in range(outputs.shape[0]):
        step = learning_rate * ((1.0 if row == word else 0.0) - np.exp(scores[row] - max_score) / total)
        for i in range(x.shape[0]):
            gradient[i] += step * outputs[row, i]
            outputs[row, i] += np.float32(step * x[i])
    return nll
