"""Compiled loops of GloVe (Pennington et al. 2014). Each has a plain twin in the tests.

A row has a vector and, behind it, the sums of squares that AdaGrad divides by: both come from memory in one run.
Biases are two more numbers of the vector, of which the other side's partner is 1: a score is one product.
"""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel

LIMIT = np.float32(100.0)  # a step is taken as if the weighted difference were no larger
ONE = np.float32(1)


@kernel
def deal(rows, cols, weights, begin, stop, borders, turns, shift, top, exponent, places, aims):
    """Cells begin … stop−1 dealt to pieces: each run of as many cells as there are pieces gives one to each.

    `turns` says for each run which piece is first, so that it is chance who gets what. A piece keeps the order of the
    cells. `aims` are log x + shift and f(x) = min(1, (x / top)^exponent).
    """
    pieces = len(borders) - 1
    for cell in range(begin, stop):
        run = cell // pieces
        piece = (cell - run * pieces + turns[run]) % pieces
        at = borders[piece] + run
        places[at, 0], places[at, 1] = rows[cell], cols[cell]
        x = np.float64(weights[cell])
        aims[at, 0] = np.log(x) + shift
        aims[at, 1] = min(1.0, (x / top) ** exponent)


@kernel
def _score(words, contexts, row, col):
    """The score of a cell: the product of its vectors and the sum of its biases."""
    score = np.float32(0)
    for i in range(words.shape[1] // 2):
        score += words[row, i] * contexts[col, i]
    return score


@kernel
def train(words, contexts, width, places, aims, start, rate):
    """One pass over the cells of a piece from `start` on, in a ring; how many cells, and the sum of their losses.

    As in the authors' program, squares are those of rate times gradient, are added after the step, and a cell whose
    score is no number is passed over.
    """
    half, size = words.shape[1] // 2, len(places)
    cells, loss = 0, 0.0
    for turn in range(size):
        at = turn + start if turn + start < size else turn + start - size
        row, col = places[at, 0], places[at, 1]
        gap = _score(words, contexts, row, col) - aims[at, 0]
        if not np.isfinite(gap):
            continue
        pull = aims[at, 1] * gap
        cells += 1
        loss += np.float64(pull) * np.float64(gap)
        step = rate * min(max(pull, -LIMIT), LIMIT)
        for i in range(half):
            word, context = words[row, i], contexts[col, i]
            word_step, context_step = step * context, step * word
            word_square, context_square = words[row, half + i], contexts[col, half + i]
            words[row, i] = word - word_step / np.sqrt(word_square)
            contexts[col, i] = context - context_step / np.sqrt(context_square)
            words[row, half + i] = word_square + word_step * word_step
            contexts[col, half + i] = context_square + context_step * context_step
        contexts[col, width], words[row, width + 1] = ONE, ONE  # the partners of the biases stay 1
    return cells, 0.5 * loss


@kernel
def measure(words, contexts, places, aims):
    """How many cells, and the sum of their losses; nothing is changed."""
    loss = 0.0
    for at in range(len(places)):
        gap = np.float64(_score(words, contexts, places[at, 0], places[at, 1]) - aims[at, 0])
        loss += np.float64(aims[at, 1]) * gap * gap
    return len(places), 0.5 * loss
