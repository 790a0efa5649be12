"""Compiled kernels of GloVe (Pennington et al. 2014), each with a reference implementation in the tests.

A row is a vector followed by its AdaGrad accumulators (sums of squared gradients), contiguous in memory. Biases are two
more dimensions of the vector, in which the other side is the constant 1: a score is one dot product.
"""

from __future__ import annotations

import numpy as np

from firth.jit import kernel

GRADIENT_LIMIT = np.float32(100.0)  # gradient clipping of the weighted difference
ONE = np.float32(1)


@kernel
def distribute_cells(rows, cols, weights, begin, stop, borders, rotations, shift, x_max, alpha, cells, targets):
    """Distribute cells begin … stop−1 over the chunks: each group of as many cells as chunks gives one to each.

    `rotations` holds for each group the chunk that comes first, so that the assignment is random. A chunk keeps the
    order of its cells. `targets` are log x + shift and the weight f(x) = min(1, (x / x_max)^alpha).
    """
    chunks = len(borders) - 1
    for cell in range(begin, stop):
        group = cell // chunks
        chunk = (cell - group * chunks + rotations[group]) % chunks
        at = borders[chunk] + group
        cells[at, 0], cells[at, 1] = rows[cell], cols[cell]
        x = np.float64(weights[cell])
        targets[at, 0] = np.log(x) + shift
        targets[at, 1] = min(1.0, (x / x_max) ** alpha)


@kernel
def _score(words, contexts, row, col):
    """The score of a cell: the dot product of its vectors plus its biases."""
    score = np.float32(0)
    for i in range(words.shape[1] // 2):
        score += words[row, i] * contexts[col, i]
    return score


@kernel
def train(words, contexts, width, cells, targets, start, learning_rate):
    """AdaGrad over the cells of a chunk from `start` on, cyclically; returns how many cells and the sum of losses.

    As in the authors' program, the accumulators sum squares of learning rate times gradient, are updated after the
    step, and a cell whose score is not finite is skipped.
    """
    half, size = words.shape[1] // 2, len(cells)
    count, loss = 0, 0.0
    for turn in range(size):
        at = turn + start if turn + start < size else turn + start - size
        row, col = cells[at, 0], cells[at, 1]
        difference = _score(words, contexts, row, col) - targets[at, 0]
        if not np.isfinite(difference):
            continue
        weighted = targets[at, 1] * difference
        count += 1
        loss += np.float64(weighted) * np.float64(difference)
        step = learning_rate * min(max(weighted, -GRADIENT_LIMIT), GRADIENT_LIMIT)
        for i in range(half):
            word, context = words[row, i], contexts[col, i]
            word_step, context_step = step * context, step * word
            word_square, context_square = words[row, half + i], contexts[col, half + i]
            words[row, i] = word - word_step / np.sqrt(word_square)
            contexts[col, i] = context - context_step / np.sqrt(context_square)
            words[row, half + i] = word_square + word_step * word_step
            contexts[col, half + i] = context_square + context_step * context_step
        contexts[col, width], words[row, width + 1] = ONE, ONE  # the constant dimensions stay 1
    return count, 0.5 * loss


@kernel
def evaluate(words, contexts, cells, targets):
    """How many cells, and the sum of their losses, without updates."""
    loss = 0.0
    for at in range(len(cells)):
        difference = np.float64(_score(words, contexts, cells[at, 0], cells[at, 1]) - targets[at, 0])
        loss += np.float64(targets[at, 1]) * difference * difference
    return len(cells), 0.5 * loss
