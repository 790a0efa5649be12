"""Compiled loops of classifiers of bags of words (Joulin et al. 2017). Each has a plain twin in the tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.counts.compiled import kernel, part

SOFTMAX, HIERARCHICAL, OVA = 0, 1, 2  # how a label is predicted
HALF = np.uint64(32)
FACTOR = np.uint64(116049371)  # fastText's, of runs of words
_BASIS, _PRIME = np.uint32(2166136261), np.uint32(16777619)


class Text(NamedTuple):
    """Lines of words, and the rows of input that each word has."""

    words: np.ndarray  # int32: those of all lines, one after the other, each line closed by its end
    starts: np.ndarray  # (lines + 1,) int64
    bounds: np.ndarray  # (different words + 1,) int64: the rows of word w are rows[bounds[w] … bounds[w + 1] − 1]
    rows: np.ndarray  # int32; −1: a row of zeros
    hashes: np.ndarray  # (different words,) int32
    ngrams: int  # words of the longest run that has a row
    row_of: np.ndarray  # (buckets,) int32
    room: int  # rows of the longest line


class Aims(NamedTuple):
    """The labels of each line, and how they are predicted."""

    method: int
    labels: np.ndarray  # int32: those of all lines
    starts: np.ndarray  # (lines + 1,) int64
    nodes: np.ndarray  # the path of each label in the Huffman tree …
    codes: np.ndarray  # … and the way to go at each node
    offsets: np.ndarray  # (labels + 1,)


@kernel
def hash_whole(text, ends, out):
    """FNV-1a of each word before each end, its bytes with their sign, as a signed number."""
    low = 0
    for word in range(ends.shape[0]):
        found = _BASIS
        for at in range(low, ends[word]):
            byte = np.uint32(text[at])
            found = np.uint32((found ^ (byte | np.uint32(0xFFFFFF00) if byte > 127 else byte)) * _PRIME)
        out[word] = np.int32(found)
        low = ends[word] + 1


@part
def _run(found, following):
    """The hash of a run with one more word: numbers of 32 bits enter with their sign."""
    return found * FACTOR + np.uint64(np.int64(following))


@kernel
def mark_runs(words, starts, hashes, ngrams, seen):
    """Mark the buckets of all runs of two words or more."""
    for line in range(starts.shape[0] - 1):
        for at in range(starts[line], starts[line + 1]):
            found = np.uint64(np.int64(hashes[words[at]]))
            for following in range(at + 1, min(starts[line + 1], at + ngrams)):
                found = _run(found, hashes[words[following]])
                seen[np.int64(found % np.uint64(seen.shape[0]))] = True


@kernel
def longest(words, starts, bounds, ngrams):
    """The most rows that a line has."""
    most = 0
    for line in range(starts.shape[0] - 1):
        count = 0
        for at in range(starts[line], starts[line + 1]):
            count += bounds[words[at] + 1] - bounds[words[at]] + min(ngrams, starts[line + 1] - at) - 1
        most = max(most, count)
    return most


@part
def _gather(t, line, into):
    """The rows of a line: its words, their parts, its runs of words; how many, and how many with those of zeros."""
    low, high, size, count = t.starts[line], t.starts[line + 1], 0, 0
    for at in range(low, high):
        for place in range(t.bounds[t.words[at]], t.bounds[t.words[at] + 1]):
            into[size] = t.rows[place]  # the next one takes the place of −1
            size += t.rows[place] >= 0
            count += 1
    for at in range(low, high if t.ngrams > 1 else low):
        found = np.uint64(np.int64(t.hashes[t.words[at]]))
        for following in range(at + 1, min(high, at + t.ngrams)):
            found = _run(found, t.hashes[t.words[following]])
            into[size] = t.row_of[np.int64(found % np.uint64(t.row_of.shape[0]))]
            size += into[size] >= 0
            count += 1
    return size, count


@part
def _average(inputs, into, size, count, mean):
    """The sum of the rows over their number with those of zeros: four at a time, so that the memory is busy."""
    for i in range(mean.shape[0]):
        mean[i] = np.float32(0)
    fours = size // 4 * 4
    for place in range(0, fours, 4):
        a, b, c, d = into[place], into[place + 1], into[place + 2], into[place + 3]
        for i in range(mean.shape[0]):
            mean[i] += (inputs[a, i] + inputs[b, i]) + (inputs[c, i] + inputs[d, i])
    for place in range(fours, size):
        row = into[place]
        for i in range(mean.shape[0]):
            mean[i] += inputs[row, i]
    share = np.float32(1) / np.float32(max(count, 1))
    for i in range(mean.shape[0]):
        mean[i] *= share


@kernel
def average(t, begin, stop, inputs, out):
    """The mean of the rows of each of the lines begin … stop−1."""
    into = np.empty(t.room, np.int32)
    for line in range(begin, stop):
        size, count = _gather(t, line, into)
        _average(inputs, into, size, count, out[line - begin])


@part
def _dot(mean, outputs, row):
    score = np.float32(0)
    for i in range(mean.shape[0]):
        score += mean[i] * outputs[row, i]
    return score


@part
def _exchange(mean, outputs, row, step, pull):
    """A row of output pulls the mean; as it was, the mean pulls it."""
    for i in range(mean.shape[0]):
        value = outputs[row, i]
        pull[i] += step * value
        outputs[row, i] = value + step * mean[i]


@part
def _softmax(mean, label, outputs, rate, scores, pull):
    """A step along the gradient of −log p(label); the loss before it."""
    top = -np.inf
    for row in range(outputs.shape[0]):
        scores[row] = _dot(mean, outputs, row)
        top = max(top, scores[row])
    total, own = 0.0, scores[label]
    for row in range(outputs.shape[0]):
        scores[row] = np.exp(scores[row] - top)
        total += scores[row]
    if rate > 0:
        for row in range(outputs.shape[0]):
            step = rate * ((1.0 if row == label else 0.0) - scores[row] / total)
            _exchange(mean, outputs, row, np.float32(step), pull)
    return np.log(total) + top - own


@part
def _decide(mean, row, right, outputs, rate, pull):
    """The same of −log p of the right answer to one question, yes (1) or no (0)."""
    score = np.float64(_dot(mean, outputs, row))
    sized = np.exp(-abs(score))
    chance = 1.0 / (1.0 + sized) if score >= 0 else sized / (1.0 + sized)
    if rate > 0:
        _exchange(mean, outputs, row, np.float32(rate * (right - chance)), pull)
    return np.log1p(sized) + max(-score if right > 0 else score, 0.0)


@kernel
def learn(t, aims, order, begin, stop, first, last, seed, inputs, outputs):
    """One pass over lines order[begin … stop−1]; the rate goes from `first` to `last`. Predictions, sum of losses."""
    width = inputs.shape[1]
    into, scores = np.empty(t.room, np.int32), np.zeros(outputs.shape[0])
    mean, pull = np.zeros(width, np.float32), np.zeros(width, np.float32)
    right = np.zeros(outputs.shape[0], np.int8)
    state, predictions, loss = np.uint64(seed), 0, 0.0
    for place in range(begin, stop):
        line = order[place]
        low, high = aims.starts[line], aims.starts[line + 1]
        if low == high:
            continue
        rate = first + (last - first) * (place - begin) / (stop - begin)
        size, count = _gather(t, line, into)
        _average(inputs, into, size, count, mean)
        pull[:] = np.float32(0)
        label = aims.labels[low]
        if high - low > 1 and aims.method != OVA:  # one of them, drawn anew each time
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            label = aims.labels[low + np.int64(((state >> HALF) * np.uint64(high - low)) >> HALF)]
        if aims.method == SOFTMAX:
            loss += _softmax(mean, label, outputs, rate, scores, pull)
        elif aims.method == HIERARCHICAL:
            for at in range(aims.offsets[label], aims.offsets[label + 1]):
                loss += _decide(mean, aims.nodes[at], aims.codes[at], outputs, rate, pull)
        else:
            for at in range(low, high):
                right[aims.labels[at]] = 1
            for row in range(outputs.shape[0]):
                loss += _decide(mean, row, right[row], outputs, rate, pull)
            for at in range(low, high):
                right[aims.labels[at]] = 0
        predictions += 1
        if rate > 0:
            share = np.float32(1) / np.float32(count)
            for i in range(width):
                pull[i] *= share
            for at in range(size):
                row = into[at]
                for i in range(width):
                    inputs[row, i] += pull[i]
    return predictions, loss
