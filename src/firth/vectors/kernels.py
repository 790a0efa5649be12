"""Compiled loops of word2vec (Mikolov et al. 2013). Each has a plain twin in the tests.

Negatives are drawn once for a window and shared by all its pairs, so that the scores of a window are a small matrix
product: a row of context is read once for six rows of output. Rows are padded to whole vectors of the machine.
"""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel

SIX = 6  # rows of output that are worked on together: as many as registers can hold the sums of
REACH = np.float32(8.0)  # scores beyond ±8 count as ±8
STEPS = 8192  # of the tables over that range
SCALE = np.float32(STEPS / (2 * 8.0))
SENTENCE = 10_000  # words of a sentence that are held at once; a longer one is cut
NONE, END = -1, -2  # instead of a row: none, and the end of a document
NEGATIVE, NCE, HIERARCHICAL = 0, 1, 2  # how a word is predicted

_SCORES = (np.arange(STEPS) + 0.5) / SCALE - REACH
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
    return np.int64((min(max(score, -REACH), REACH - np.float32(0.01)) + REACH) * SCALE)


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
def _take(outputs, out, count, rows, change):
    """Copy rows of output side by side, and clear their changes; places without a row are left as they are."""
    for place in range(count):
        if out[place] >= 0:
            source = outputs[out[place]]
            for d in range(rows.shape[1]):
                rows[place, d] = source[d]
                change[place, d] = np.float32(0)


@kernel
def _give(outputs, out, count, change):
    """Add the changes to the rows they belong to."""
    for place in range(count):
        if out[place] >= 0:
            target = outputs[out[place]]
            for d in range(change.shape[1]):
                target[d] += change[place, d]


@kernel
def _score(x, rows, base, scores):
    """The products of a vector with six rows."""
    a, b, c, d, e, f = rows[base], rows[base + 1], rows[base + 2], rows[base + 3], rows[base + 4], rows[base + 5]
    s0 = np.float32(0)
    s1, s2, s3, s4, s5 = s0, s0, s0, s0, s0
    for i in range(x.shape[0]):
        v = x[i]
        s0 += v * a[i]
        s1 += v * b[i]
        s2 += v * c[i]
        s3 += v * d[i]
        s4 += v * e[i]
        s5 += v * f[i]
    scores[base], scores[base + 1], scores[base + 2] = s0, s1, s2
    scores[base + 3], scores[base + 4], scores[base + 5] = s3, s4, s5


@kernel
def _move(x, old, rows, change, base, step):
    """Six rows pull the vector, and the vector as it was pulls their changes."""
    a, b, c, d, e, f = rows[base], rows[base + 1], rows[base + 2], rows[base + 3], rows[base + 4], rows[base + 5]
    p, q, r = change[base], change[base + 1], change[base + 2]
    t, u, w = change[base + 3], change[base + 4], change[base + 5]
    g0, g1, g2, g3, g4, g5 = step[base], step[base + 1], step[base + 2], step[base + 3], step[base + 4], step[base + 5]
    for i in range(x.shape[0]):
        v = old[i]
        x[i] += g0 * a[i] + g1 * b[i] + g2 * c[i] + g3 * d[i] + g4 * e[i] + g5 * f[i]
        p[i] += g0 * v
        q[i] += g1 * v
        r[i] += g2 * v
        t[i] += g3 * v
        u[i] += g4 * v
        w[i] += g5 * v


@kernel
def _judge(scores, out, label, shift, count, rate, sigmoid, surprise):
    """Turn scores into steps along the gradient; the loss that they had."""
    loss, last = 0.0, sigmoid.shape[0] - 1
    for place in range(scores.shape[0]):
        if place >= count or out[place] < 0:
            scores[place] = np.float32(0)
        else:
            at = _place(scores[place] - shift[place])
            loss += surprise[at if label[place] > 0 else last - at]
            scores[place] = (label[place] - sigmoid[at]) * rate
    return loss


@kernel
def train(cbow, tokens, begin, stop, row_of, keep, window, rate, seed, inputs, outputs, sigmoid, surprise, method,
          noise, shifts, nodes, codes, offsets, negatives, most):  # fmt: skip
    """One pass over tokens begin … stop−1; how many predictions, and the sum of their losses.

    Skip-gram: each word around the middle predicts it. CBOW: their mean does; each of them is moved by the whole pull
    on the mean, as in the authors' program, not by its share. No word has more than `most` rows of output.
    """
    width, room = inputs.shape[1], (most + SIX - 1) // SIX * SIX
    sentence, out = np.empty(SENTENCE, np.int32), np.full(room, NONE, np.int32)
    rows, change = np.zeros((room, width), np.float32), np.zeros((room, width), np.float32)
    scores, label, shift = np.zeros(room, np.float32), np.zeros(room, np.float32), np.zeros(room, np.float32)
    old, pull = np.zeros(width, np.float32), np.zeros(width, np.float32)
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
            _take(outputs, out, used, rows, change)
            if cbow:
                share = np.float32(1) / np.float32(last - first - 1)
                for i in range(width):
                    old[i], pull[i] = np.float32(0), np.float32(0)
                for place in range(first, last):
                    if place != middle:
                        x = inputs[sentence[place]]
                        for i in range(width):
                            old[i] += x[i] * share
                for base in range(0, used, SIX):
                    _score(old, rows, base, scores)
                loss += _judge(scores, out, label, shift, count, rate, sigmoid, surprise)
                predictions += 1
                for base in range(0, used, SIX):
                    _move(pull, old, rows, change, base, scores)
                for place in range(first, last):
                    if place != middle:
                        x = inputs[sentence[place]]
                        for i in range(width):
                            x[i] += pull[i]
            else:
                for place in range(first, last):
                    if place == middle:
                        continue
                    x = inputs[sentence[place]]
                    for i in range(width):
                        old[i] = x[i]
                    for base in range(0, used, SIX):
                        _score(old, rows, base, scores)
                    loss += _judge(scores, out, label, shift, count, rate, sigmoid, surprise)
                    predictions += 1
                    for base in range(0, used, SIX):
                        _move(x, old, rows, change, base, scores)
            _give(outputs, out, used, change)
    return predictions, loss


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
