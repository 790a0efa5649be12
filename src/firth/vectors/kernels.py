"""Compiled loops of word2vec (Mikolov et al. 2013) and fastText. Each has a plain twin in the tests.

Both work on six rows of output at a time, as many as registers can hold the sums of; a seventh row sees what the first
six changed. Without parts of words, a window's negatives are drawn once and shared by all its pairs, so that a row of
output is read and written once for the whole window. Rows are padded to whole vectors of the machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.counts.compiled import kernel, part

SIX = 6
REACH = np.float32(8.0)  # scores beyond ±8 count as ±8
STEPS = 2048  # of the tables over that range: both fit into the nearest cache
SCALE = np.float32(STEPS / (2 * 8.0))
SENTENCE = 10_000  # words of a sentence that are held at once; a longer one is cut
NONE, END = -1, -2  # instead of a row: none, and the end of a document
NEGATIVE, NCE, HIERARCHICAL = 0, 1, 2  # how a word is predicted
HALF = np.uint64(32)

_SCORES = np.arange(STEPS + 1) / SCALE - REACH
SIGMOID = (1 / (1 + np.exp(-_SCORES))).astype(np.float32)
SURPRISE = np.log1p(np.exp(-_SCORES)).astype(np.float32)  # −log sigmoid


class Tables(NamedTuple):
    """What the kernels need to know of the vocabulary."""

    method: int
    negatives: int
    most: int  # rows of output that a prediction looks at, at most
    keep: np.ndarray  # (words,) uint32: how often a word is kept
    noise: np.ndarray  # int32: words, each as often as its share
    shifts: np.ndarray  # (words,) float32: log of the expected negatives, for NCE
    nodes: np.ndarray  # the path of each word in the Huffman tree …
    codes: np.ndarray  # … and the way to go at each node
    offsets: np.ndarray  # (words + 1,)


@part
def _next(state):
    """Xorshift (Marsaglia 2003): a 64-bit state that is never 0."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@part
def _below(state, size):
    """A number from 0 to size−1, by the upper half of the state: a division would take longer."""
    return np.int64(((state >> HALF) * np.uint64(size)) >> HALF)


@kernel
def _read(tokens, at, stop, row_of, keep, state, into):
    """The rows of the next sentence after subsampling: how many, where to go on, and the random state."""
    size = 0
    while at < stop and size < into.shape[0]:
        row = row_of[tokens[at]]
        at += 1
        if row == END:
            break
        if row >= 0:
            state = _next(state)
            if np.uint32(state >> HALF) <= keep[row]:
                into[size] = row
                size += 1
    return size, at, state


@part
def _targets(t, word, state, out, label, shift):
    """The rows of output that a word is predicted by, and what they should say; how many there are."""
    if t.method == HIERARCHICAL:
        begin, count = t.offsets[word], t.offsets[word + 1] - t.offsets[word]
        for place in range(count):
            out[place], label[place] = t.nodes[begin + place], np.float32(1 - t.codes[begin + place])
    else:
        count = t.negatives + 1
        out[0], label[0], shift[0] = word, np.float32(1), t.shifts[word]
        for place in range(1, count):
            state = _next(state)
            drawn = t.noise[_below(state, t.noise.shape[0])]
            label[place], shift[place] = np.float32(0), t.shifts[drawn]
            out[place] = drawn if drawn != word else NONE
    for place in range(count, (count + SIX - 1) // SIX * SIX):
        out[place] = NONE
    return count, state


@part
def _take(outputs, out, count, rows, change):
    """Copy rows of output side by side, and note no change of them yet; where there is no row, any will do."""
    for place in range(count):
        row = max(out[place], 0)
        for i in range(rows.shape[1]):
            rows[place, i], change[place, i] = outputs[row, i], np.float32(0)


@part
def _put(outputs, out, count, change):
    """Change the rows of output."""
    for place in range(count):
        row = out[place]
        if row >= 0:
            for i in range(change.shape[1]):
                outputs[row, i] += change[place, i]


@part
def _score(x, one, rows, base, steps):
    """The products of row `one` of x with six rows."""
    r0, r1, r2, r3, r4, r5 = rows[base], rows[base + 1], rows[base + 2], rows[base + 3], rows[base + 4], rows[base + 5]
    s0 = np.float32(0)
    s1, s2, s3, s4, s5 = s0, s0, s0, s0, s0
    for i in range(x.shape[1]):
        v = x[one, i]
        s0 += v * r0[i]
        s1 += v * r1[i]
        s2 += v * r2[i]
        s3 += v * r3[i]
        s4 += v * r4[i]
        s5 += v * r5[i]
    steps[0], steps[1], steps[2], steps[3], steps[4], steps[5] = s0, s1, s2, s3, s4, s5


@part
def _judge(steps, base, out, label, shift, rate):
    """Turn six scores into steps along the gradient; the loss that they had."""
    loss = 0.0
    for k in range(SIX):
        if out[base + k] < 0:
            steps[k] = np.float32(0)
        else:
            score = min(max(steps[k] - shift[base + k], -REACH), REACH)
            at = np.int64((score + REACH) * SCALE + np.float32(0.5))
            loss += SURPRISE[at if label[base + k] > 0 else STEPS - at]
            steps[k] = (label[base + k] - SIGMOID[at]) * rate
    return loss


@part
def _move(x, one, rows, change, base, steps):
    """Six rows pull row `one` of x; as it was, it pulls them."""
    r0, r1, r2, r3, r4, r5 = rows[base], rows[base + 1], rows[base + 2], rows[base + 3], rows[base + 4], rows[base + 5]
    c0, c1, c2 = change[base], change[base + 1], change[base + 2]
    c3, c4, c5 = change[base + 3], change[base + 4], change[base + 5]
    s0, s1, s2, s3, s4, s5 = steps[0], steps[1], steps[2], steps[3], steps[4], steps[5]
    for i in range(x.shape[1]):
        v = x[one, i]
        moved = v + s0 * r0[i] + s1 * r1[i] + s2 * r2[i] + s3 * r3[i] + s4 * r4[i] + s5 * r5[i]
        c0[i] += s0 * v
        c1[i] += s1 * v
        c2[i] += s2 * v
        c3[i] += s3 * v
        c4[i] += s4 * v
        c5[i] += s5 * v
        x[one, i] = moved


@kernel
def skip_gram(tokens, begin, stop, row_of, window, rate, seed, inputs, outputs, t):
    """One pass over tokens begin … stop−1: the words around a word predict it. Predictions, and the sum of losses."""
    width, room = inputs.shape[1], (t.most + SIX - 1) // SIX * SIX
    sentence, out = np.empty(SENTENCE, np.int32), np.full(room, NONE, np.int32)
    rows, change = np.zeros((room, width), np.float32), np.zeros((room, width), np.float32)
    label, shift, steps = np.zeros(room, np.float32), np.zeros(room, np.float32), np.zeros(SIX, np.float32)
    state, at, predictions, loss = np.uint64(seed), begin, 0, 0.0
    while at < stop:
        size, at, state = _read(tokens, at, stop, row_of, t.keep, state, sentence)
        for middle in range(size):
            state = _next(state)
            reach = 1 + _below(state, window)
            first, last = max(0, middle - reach), min(size, middle + reach + 1)
            if last - first < 2:
                continue
            count, state = _targets(t, sentence[middle], state, out, label, shift)
            _take(outputs, out, count, rows, change)
            for base in range(0, count, SIX):
                for place in range(first, last):
                    if place != middle:
                        _score(inputs, sentence[place], rows, base, steps)
                        loss += _judge(steps, base, out, label, shift, rate)
                        _move(inputs, sentence[place], rows, change, base, steps)
            predictions += last - first - 1
            _put(outputs, out, count, change)
    return predictions, loss


@kernel
def bags(cbow, tokens, begin, stop, row_of, window, rate, seed, bounds, parts, inputs, outputs, t):
    """The same with the mean of several rows as input: those of the words around a word predict it (CBOW), or those of
    its own parts predict the words around it (fastText). Each of the rows is moved by the whole pull on their mean, as
    in the authors' programs. The rows of word w are parts[bounds[w] … bounds[w + 1] − 1].
    """
    width, room = inputs.shape[1], (t.most + SIX - 1) // SIX * SIX
    sentence, out = np.empty(SENTENCE, np.int32), np.full(room, NONE, np.int32)
    label, shift, steps = np.zeros(room, np.float32), np.zeros(room, np.float32), np.zeros(SIX, np.float32)
    mean, moved, old = np.zeros(width, np.float32), np.zeros(width, np.float32), np.zeros(width, np.float32)
    state, at, predictions, loss = np.uint64(seed), begin, 0, 0.0
    while at < stop:
        size, at, state = _read(tokens, at, stop, row_of, t.keep, state, sentence)
        for middle in range(size):
            state = _next(state)
            reach = 1 + _below(state, window)
            first, last = max(0, middle - reach), min(size, middle + reach + 1)
            if last - first < 2:
                continue
            low, high = (first, last) if cbow else (middle, middle + 1)  # the words that are put into the bag
            _average(inputs, bounds, parts, sentence, low, high, middle if cbow else NONE, mean, moved)
            for place in range(middle if cbow else first, middle + 1 if cbow else last):
                if cbow or place != middle:
                    count, state = _targets(t, sentence[place], state, out, label, shift)
                    for base in range(0, count, SIX):
                        _compare(moved, outputs, out, base, steps)
                        loss += _judge(steps, base, out, label, shift, rate)
                        _exchange(moved, old, outputs, out, base, steps)
            predictions += 1 if cbow else last - first - 1
            for i in range(width):
                mean[i] = moved[i] - mean[i]
            _spread(inputs, bounds, parts, sentence, low, high, middle if cbow else NONE, mean)
    return predictions, loss


@part
def _compare(x, outputs, out, base, steps):
    """The products of x with six rows of output; where there is no row, any will do."""
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


@part
def _exchange(x, old, outputs, out, base, steps):
    """Six rows of output pull x; as it was, it pulls them."""
    for i in range(x.shape[0]):
        old[i] = x[i]
    for k in range(SIX):
        row, step = out[base + k], steps[k]
        if row >= 0:
            for i in range(x.shape[0]):
                v = outputs[row, i]
                x[i] += step * v
                outputs[row, i] = v + step * old[i]


@part
def _average(inputs, bounds, parts, sentence, low, high, without, mean, moved):
    """The mean of the rows of these words, twice."""
    for i in range(mean.shape[0]):
        mean[i] = np.float32(0)
    many = 0
    for place in range(low, high):
        if place != without:
            for at in range(bounds[sentence[place]], bounds[sentence[place] + 1]):
                row = parts[at]
                many += 1
                for i in range(mean.shape[0]):
                    mean[i] += inputs[row, i]
    share = np.float32(1) / np.float32(many)
    for i in range(mean.shape[0]):
        mean[i] *= share
        moved[i] = mean[i]


@part
def _spread(inputs, bounds, parts, sentence, low, high, without, pull):
    """Move all rows of these words."""
    for place in range(low, high):
        if place != without:
            for at in range(bounds[sentence[place]], bounds[sentence[place] + 1]):
                row = parts[at]
                for i in range(pull.shape[0]):
                    inputs[row, i] += pull[i]


# --- the exact softmax ----------------------------------------------------------------------------------------------


@kernel
def softmax(cbow, tokens, begin, stop, row_of, keep, window, rate, seed, inputs, outputs):
    """The same pass with the exact softmax over all words, for small vocabularies (float64 sums)."""
    width, words = inputs.shape[1], outputs.shape[0]
    sentence, old, pull = np.empty(SENTENCE, np.int32), np.zeros(width), np.zeros(width)
    chance = np.zeros(words)
    state, at, predictions, loss = np.uint64(seed), begin, 0, 0.0
    while at < stop:
        size, at, state = _read(tokens, at, stop, row_of, keep, state, sentence)
        for middle in range(size):
            state = _next(state)
            reach = 1 + _below(state, window)
            first, last = max(0, middle - reach), min(size, middle + reach + 1)
            around = last - first - 1
            for turn in range(0 if around < 1 else 1 if cbow else around):
                old[:], pull[:] = 0.0, 0.0
                one = first + turn + (first + turn >= middle)
                for place in range(first if cbow else one, last if cbow else one + 1):
                    if place != middle:
                        old += inputs[sentence[place]] / (around if cbow else 1)
                loss += _softmax_step(old, pull, sentence[middle], outputs, chance, rate)
                predictions += 1
                for place in range(first if cbow else one, last if cbow else one + 1):
                    if place != middle:
                        x = inputs[sentence[place]]
                        for i in range(width):
                            x[i] += np.float32(pull[i] / (around if cbow else 1))
    return predictions, loss


@kernel
def _softmax_step(x, pull, word, outputs, chance, rate):
    """Move the outputs along the gradient of −log p(word | x), and say how x is pulled; the loss before."""
    top = -np.inf
    for row in range(outputs.shape[0]):
        score = 0.0
        for i in range(x.shape[0]):
            score += x[i] * outputs[row, i]
        chance[row] = score
        top = max(top, score)
    total = 0.0
    for row in range(outputs.shape[0]):
        total += np.exp(chance[row] - top)
    surprise = np.log(total) + top - chance[word]
    for row in range(outputs.shape[0]):
        step = rate * ((1.0 if row == word else 0.0) - np.exp(chance[row] - top) / total)
        for i in range(x.shape[0]):
            pull[i] += step * outputs[row, i]
            outputs[row, i] += np.float32(step * x[i])
    return surprise
