"""Compiled loops of word2vec (Mikolov et al. 2013). Each has a plain twin in the tests.

Negatives are drawn once for a window and shared by all its pairs, so that the scores of a window are a small matrix
product: a row of context is read once for six rows of output. Rows are padded to whole vectors of the machine.
"""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel

SIX = 6  # rows of output that are worked on together: as many as registers can hold the sums of
REACH = np.float32(8.0)  # scores beyond ±8 count as ±8
STEPS = 2048  # of the tables over that range: both fit into the nearest cache
SCALE = np.float32(STEPS / (2 * 8.0))
SENTENCE = 10_000  # words of a sentence that are held at once; a longer one is cut
NONE, END = -1, -2  # instead of a row: none, and the end of a document
NEGATIVE, NCE, HIERARCHICAL = 0, 1, 2  # how a word is predicted

_SCORES = np.arange(STEPS + 1) / SCALE - REACH
SIGMOID = (1 / (1 + np.exp(-_SCORES))).astype(np.float32)
SURPRISE = np.log1p(np.exp(-_SCORES)).astype(np.float32)  # −log sigmoid


@kernel
def _next(state):
    """Xorshift (Marsaglia 2003): a 64-bit state that is never 0."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@kernel
def _place(score):
    """Where in the tables a score is."""
    return np.int64((min(max(score, -REACH), REACH) + REACH) * SCALE + np.float32(0.5))


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
            if np.uint32(state >> np.uint64(32)) <= keep[row]:
                into[size] = row
                size += 1
    return size, at, state


@kernel
def _targets(method, word, noise, shifts, nodes, codes, offsets, negatives, state, out, label, shift):
    """The rows of output that a word is predicted by, and what they should say; how many there are."""
    if method == HIERARCHICAL:
        begin, count = offsets[word], offsets[word + 1] - offsets[word]
        for place in range(count):
            out[place], label[place] = nodes[begin + place], np.float32(1 - codes[begin + place])
        return count, state
    out[0], label[0] = word, np.float32(1)
    shift[0] = shifts[word]
    for place in range(1, negatives + 1):
        state = _next(state)
        drawn = noise[np.int64((state >> np.uint64(11)) % np.uint64(noise.shape[0]))]
        label[place], shift[place] = np.float32(0), shifts[drawn]
        out[place] = drawn if drawn != word else NONE
    return negatives + 1, state


@kernel
def _take(outputs, out, count, rows):
    """Copy rows of output side by side; places without a row are left as they are."""
    for place in range(count):
        row = out[place]
        if row >= 0:
            for i in range(rows.shape[1]):
                rows[place, i] = outputs[row, i]


@kernel
def _score(x, one, rows, base, scores):
    """The products of row `one` of x with six rows."""
    s0 = np.float32(0)
    s1, s2, s3, s4, s5 = s0, s0, s0, s0, s0
    for i in range(x.shape[1]):
        v = x[one, i]
        s0 += v * rows[base, i]
        s1 += v * rows[base + 1, i]
        s2 += v * rows[base + 2, i]
        s3 += v * rows[base + 3, i]
        s4 += v * rows[base + 4, i]
        s5 += v * rows[base + 5, i]
    scores[one, base], scores[one, base + 1], scores[one, base + 2] = s0, s1, s2
    scores[one, base + 3], scores[one, base + 4], scores[one, base + 5] = s3, s4, s5


@kernel
def _judge(scores, one, out, label, shift, count, rate, sigmoid, surprise):
    """Turn a row of scores into steps along the gradient; the loss that they had."""
    loss, last = 0.0, sigmoid.shape[0] - 1
    for place in range(scores.shape[1]):
        if place >= count or out[place] < 0:
            scores[one, place] = np.float32(0)
        else:
            at = _place(scores[one, place] - shift[place])
            loss += surprise[at if label[place] > 0 else last - at]
            scores[one, place] = (label[place] - sigmoid[at]) * rate
    return loss


@kernel
def _pull(target, row, rows, base, steps, one):
    """Six rows of output pull one row of the target."""
    g0, g1, g2 = steps[one, base], steps[one, base + 1], steps[one, base + 2]
    g3, g4, g5 = steps[one, base + 3], steps[one, base + 4], steps[one, base + 5]
    for i in range(rows.shape[1]):
        target[row, i] += (
            g0 * rows[base, i]
            + g1 * rows[base + 1, i]
            + g2 * rows[base + 2, i]
            + g3 * rows[base + 3, i]
            + g4 * rows[base + 4, i]
            + g5 * rows[base + 5, i]
        )


@kernel
def _push(outputs, out, count, x, steps, many):
    """The rows of x, as they were, pull the rows of output: four at a time, so that these are written less often."""
    for place in range(count):
        row, one = out[place], 0
        if row < 0:
            continue
        while one + 4 <= many:
            g0, g1, g2, g3 = steps[one, place], steps[one + 1, place], steps[one + 2, place], steps[one + 3, place]
            for i in range(x.shape[1]):
                outputs[row, i] += g0 * x[one, i] + g1 * x[one + 1, i] + g2 * x[one + 2, i] + g3 * x[one + 3, i]
            one += 4
        while one < many:
            g = steps[one, place]
            for i in range(x.shape[1]):
                outputs[row, i] += g * x[one, i]
            one += 1


@kernel
def train(cbow, tokens, begin, stop, row_of, keep, window, rate, seed, inputs, outputs, sigmoid, surprise, method,
          noise, shifts, nodes, codes, offsets, negatives, most):  # fmt: skip
    """One pass over tokens begin … stop−1; how many predictions, and the sum of their losses.

    Skip-gram: each word around the middle predicts it. CBOW: their mean does; each of them is moved by the whole pull
    on the mean, as in the authors' program, not by its share. No word has more than `most` rows of output.
    """
    width, room = inputs.shape[1], (most + SIX - 1) // SIX * SIX
    sentence, out = np.empty(SENTENCE, np.int32), np.full(room, NONE, np.int32)
    rows, label, shift = np.zeros((room, width), np.float32), np.zeros(room, np.float32), np.zeros(room, np.float32)
    x, steps = np.zeros((2 * window, width), np.float32), np.zeros((2 * window, room), np.float32)
    mean = np.zeros((1, width), np.float32)
    state, at, predictions, loss = np.uint64(seed), begin, 0, 0.0
    while at < stop:
        size, at, state = _read(tokens, at, stop, row_of, keep, state, sentence)
        for middle in range(size):
            state = _next(state)
            reach = window - np.int64((state >> np.uint64(33)) % np.uint64(window))
            first, last = max(0, middle - reach), min(size, middle + reach + 1)
            if last - first < 2:
                continue
            count, state = _targets(
                method, sentence[middle], noise, shifts, nodes, codes, offsets, negatives, state, out, label, shift
            )
            used = (count + SIX - 1) // SIX * SIX
            _take(outputs, out, count, rows)
            if cbow:
                _average(inputs, sentence, first, middle, last, x)
            many = 0
            for place in range(first, first + 1 if cbow else last):
                if place == middle and not cbow:
                    continue
                row = sentence[place]
                if not cbow:
                    for i in range(width):
                        x[many, i] = inputs[row, i]
                for base in range(0, used, SIX):
                    _score(x, many, rows, base, steps)
                loss += _judge(steps, many, out, label, shift, count, rate, sigmoid, surprise)
                if cbow:
                    mean[:] = np.float32(0)
                for base in range(0, used, SIX):
                    _pull(mean if cbow else inputs, 0 if cbow else row, rows, base, steps, many)
                many += 1
            predictions += many
            _push(outputs, out, count, x, steps, many)
            if cbow:
                _spread(inputs, sentence, first, middle, last, mean)
    return predictions, loss


@kernel
def _average(inputs, sentence, first, middle, last, x):
    """The mean of the words around the middle, into the first row of x."""
    share = np.float32(1) / np.float32(last - first - 1)
    for i in range(x.shape[1]):
        x[0, i] = np.float32(0)
    for place in range(first, last):
        if place != middle:
            row = sentence[place]
            for i in range(x.shape[1]):
                x[0, i] += inputs[row, i] * share


@kernel
def _spread(inputs, sentence, first, middle, last, pull):
    """Move all words around the middle."""
    for place in range(first, last):
        if place != middle:
            row = sentence[place]
            for i in range(pull.shape[1]):
                inputs[row, i] += pull[0, i]


# --- the other ways to predict ------------------------------------------------------------------------------------


@kernel
def huffman(counts, parent, bit):
    """Parents and bits of a Huffman tree over words sorted from frequent to rare; inner node i is number words + i."""
    words = counts.shape[0]
    weight = np.empty(2 * words - 1, np.int64)
    weight[:words] = counts
    leaf, inner = words - 1, words  # the lightest word and inner node that are left
    for node in range(words, 2 * words - 1):
        total = np.int64(0)
        for which in range(2):
            if leaf >= 0 and (inner >= node or weight[leaf] < weight[inner]):
                lightest = leaf
                leaf -= 1
            else:
                lightest = inner
                inner += 1
            parent[lightest], bit[lightest] = node, which
            total += weight[lightest]
        weight[node] = total


@kernel
def train_softmax(cbow, tokens, begin, stop, row_of, keep, window, rate, seed, inputs, outputs):
    """The same pass with the exact softmax over all words, for small vocabularies (float64 sums)."""
    width, words = inputs.shape[1], outputs.shape[0]
    sentence, old, pull = np.empty(SENTENCE, np.int32), np.zeros(width), np.zeros(width)
    chance = np.zeros(words)
    state, at, predictions, loss = np.uint64(seed), begin, 0, 0.0
    while at < stop:
        size, at, state = _read(tokens, at, stop, row_of, keep, state, sentence)
        for middle in range(size):
            state = _next(state)
            reach = window - np.int64((state >> np.uint64(33)) % np.uint64(window))
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
