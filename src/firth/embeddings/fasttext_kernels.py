"""Compiled kernels of fastText's supervised classifier (Joulin et al. 2017), each with a reference implementation in
the tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.jit import inline_kernel, kernel

SOFTMAX, HIERARCHICAL, OVA = 0, 1, 2  # the loss: softmax, hierarchical softmax, one-vs-all
HALF = np.uint64(32)
FACTOR = np.uint64(116049371)  # of fastText's hash of word n-grams
_BASIS, _PRIME = np.uint32(2166136261), np.uint32(16777619)


class LineFeatures(NamedTuple):
    """The word ids of lines, and the input rows of each word."""

    words: np.ndarray  # int32: word ids of all lines, concatenated, each line with its end-of-line word
    starts: np.ndarray  # (lines + 1,) int64
    offsets: np.ndarray  # (unique words + 1,) int64: the rows of word w are rows[offsets[w] … offsets[w + 1] − 1]
    rows: np.ndarray  # int32; −1: a zero row
    hashes: np.ndarray  # (unique words,) int32
    word_ngrams: int  # maximum length of word n-grams
    row_of: np.ndarray  # (buckets,) int32
    max_features: int  # input rows of a line, at most


class Targets(NamedTuple):
    """The labels of each line, and the loss."""

    loss: int
    labels: np.ndarray  # int32: label ids of all lines, concatenated
    starts: np.ndarray  # (lines + 1,) int64
    nodes: np.ndarray  # the path of each label in the Huffman tree …
    codes: np.ndarray  # … and its Huffman code
    offsets: np.ndarray  # (labels + 1,)


@kernel
def hash_words(text, ends, out):
    """The FNV-1a hash of each word (bytes sign-extended, as in fastText), as a signed integer."""
    low = 0
    for word in range(ends.shape[0]):
        value = _BASIS
        for at in range(low, ends[word]):
            byte = np.uint32(text[at])
            value = np.uint32((value ^ (byte | np.uint32(0xFFFFFF00) if byte > 127 else byte)) * _PRIME)
        out[word] = np.int32(value)
        low = ends[word] + 1


@inline_kernel
def _extend_hash(value, following):
    """The hash of a word n-gram extended by one word; 32-bit hashes are sign-extended."""
    return value * FACTOR + np.uint64(np.int64(following))


@kernel
def mark_ngrams(words, starts, hashes, word_ngrams, seen):
    """Mark the buckets of all word n-grams of two words or more."""
    for line in range(starts.shape[0] - 1):
        for at in range(starts[line], starts[line + 1]):
            value = np.uint64(np.int64(hashes[words[at]]))
            for following in range(at + 1, min(starts[line + 1], at + word_ngrams)):
                value = _extend_hash(value, hashes[words[following]])
                seen[np.int64(value % np.uint64(seen.shape[0]))] = True


@kernel
def max_line_features(words, starts, offsets, word_ngrams):
    """The number of input rows of the line that has most."""
    largest = 0
    for line in range(starts.shape[0] - 1):
        count = 0
        for at in range(starts[line], starts[line + 1]):
            count += offsets[words[at] + 1] - offsets[words[at]] + min(word_ngrams, starts[line + 1] - at) - 1
        largest = max(largest, count)
    return largest


@inline_kernel
def _gather_rows(t, line, rows):
    """The input rows of a line: its words, subwords and word n-grams; returns how many, and how many with zero rows."""
    low, high, size, count = t.starts[line], t.starts[line + 1], 0, 0
    for at in range(low, high):
        for position in range(t.offsets[t.words[at]], t.offsets[t.words[at] + 1]):
            rows[size] = t.rows[position]  # −1 is overwritten by the next one
            size += t.rows[position] >= 0
            count += 1
    for at in range(low, high if t.word_ngrams > 1 else low):
        value = np.uint64(np.int64(t.hashes[t.words[at]]))
        for following in range(at + 1, min(high, at + t.word_ngrams)):
            value = _extend_hash(value, t.hashes[t.words[following]])
            rows[size] = t.row_of[np.int64(value % np.uint64(t.row_of.shape[0]))]
            size += rows[size] >= 0
            count += 1
    return size, count


@inline_kernel
def _mean_of_rows(inputs, rows, size, count, mean):
    """The mean of the input rows, zero rows included; four rows at a time to hide memory latency."""
    for i in range(mean.shape[0]):
        mean[i] = np.float32(0)
    fours = size // 4 * 4
    for position in range(0, fours, 4):
        a, b, c, d = rows[position], rows[position + 1], rows[position + 2], rows[position + 3]
        for i in range(mean.shape[0]):
            mean[i] += (inputs[a, i] + inputs[b, i]) + (inputs[c, i] + inputs[d, i])
    for position in range(fours, size):
        row = rows[position]
        for i in range(mean.shape[0]):
            mean[i] += inputs[row, i]
    scale = np.float32(1) / np.float32(max(count, 1))
    for i in range(mean.shape[0]):
        mean[i] *= scale


@kernel
def line_means(t, begin, stop, inputs, out):
    """The mean of the input rows of each of the lines begin … stop−1."""
    rows = np.empty(t.max_features, np.int32)
    for line in range(begin, stop):
        size, count = _gather_rows(t, line, rows)
        _mean_of_rows(inputs, rows, size, count, out[line - begin])


@inline_kernel
def _dot(mean, outputs, row):
    score = np.float32(0)
    for i in range(mean.shape[0]):
        score += mean[i] * outputs[row, i]
    return score


@inline_kernel
def _update(mean, outputs, row, step, gradient):
    """Add to the gradient of the mean by an output row, and update the output row."""
    for i in range(mean.shape[0]):
        value = outputs[row, i]
        gradient[i] += step * value
        outputs[row, i] = value + step * mean[i]


@inline_kernel
def _softmax(mean, label, outputs, learning_rate, scores, gradient):
    """A gradient step on −log p(label) under the softmax; returns the loss before it."""
    max_score = -np.inf
    for row in range(outputs.shape[0]):
        scores[row] = _dot(mean, outputs, row)
        max_score = max(max_score, scores[row])
    total, label_score = 0.0, scores[label]
    for row in range(outputs.shape[0]):
        scores[row] = np.exp(scores[row] - max_score)
        total += scores[row]
    if learning_rate > 0:
        for row in range(outputs.shape[0]):
            step = learning_rate * ((1.0 if row == label else 0.0) - scores[row] / total)
            _update(mean, outputs, row, np.float32(step), gradient)
    return np.log(total) + max_score - label_score


@inline_kernel
def _binary_logistic(mean, row, label, outputs, learning_rate, gradient):
    """A gradient step on the binary logistic loss of one output row, label 1 or 0; returns the loss before it."""
    score = np.float64(_dot(mean, outputs, row))
    exponential = np.exp(-abs(score))
    probability = 1.0 / (1.0 + exponential) if score >= 0 else exponential / (1.0 + exponential)
    if learning_rate > 0:
        _update(mean, outputs, row, np.float32(learning_rate * (label - probability)), gradient)
    return np.log1p(exponential) + max(-score if label > 0 else score, 0.0)


@kernel
def train(t, targets, order, begin, stop, first_rate, last_rate, seed, inputs, outputs):
    """SGD over lines order[begin … stop−1], the learning rate decaying linearly from `first_rate` to `last_rate`.
    Returns the number of predictions and the sum of their losses."""
    width = inputs.shape[1]
    rows, scores = np.empty(t.max_features, np.int32), np.zeros(outputs.shape[0])
    mean, gradient = np.zeros(width, np.float32), np.zeros(width, np.float32)
    is_label = np.zeros(outputs.shape[0], np.int8)
    state, predictions, loss = np.uint64(seed), 0, 0.0
    for position in range(begin, stop):
        line = order[position]
        low, high = targets.starts[line], targets.starts[line + 1]
        if low == high:
            continue
        learning_rate = first_rate + (last_rate - first_rate) * (position - begin) / (stop - begin)
        size, count = _gather_rows(t, line, rows)
        _mean_of_rows(inputs, rows, size, count, mean)
        gradient[:] = np.float32(0)
        label = targets.labels[low]
        if high - low > 1 and targets.loss != OVA:  # one label, sampled each time
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            label = targets.labels[low + np.int64(((state >> HALF) * np.uint64(high - low)) >> HALF)]
        if targets.loss == SOFTMAX:
            loss += _softmax(mean, label, outputs, learning_rate, scores, gradient)
        elif targets.loss == HIERARCHICAL:
            for at in range(targets.offsets[label], targets.offsets[label + 1]):
                loss += _binary_logistic(mean, targets.nodes[at], targets.codes[at], outputs, learning_rate, gradient)
        else:
            for at in range(low, high):
                is_label[targets.labels[at]] = 1
            for row in range(outputs.shape[0]):
                loss += _binary_logistic(mean, row, is_label[row], outputs, learning_rate, gradient)
            for at in range(low, high):
                is_label[targets.labels[at]] = 0
        predictions += 1
        if learning_rate > 0:
            scale = np.float32(1) / np.float32(count)
            for i in range(width):
                gradient[i] *= scale
            for at in range(size):
                row = rows[at]
                for i in range(width):
                    inputs[row, i] += gradient[i]
    return predictions, loss
