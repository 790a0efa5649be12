"""Compiled loops of the HMM (Vogel et al. 1996), as `kernels.py` has them for Models 1 and 2; twins are in the tests.

A state is the source word that was used last, 0 before the first; a target word comes from NULL without moving it (Och
and Ney 2003). After the last target word comes the end, as one more move: so that the model knows where texts end.
`table` has for each number I of source words I + 1 rows, for the word used last, of I + 1 probabilities: of the end,
then of each source word.
"""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel

LEAST = 1e-300


@kernel
def _most(starts, low, high):
    """Words of the longest of some texts."""
    found = 0
    for text in range(low, high):
        found = max(found, starts[text + 1] - starts[text])
    return found


@kernel
def _emit(left, first, width, lines, places, at, chances, rests, emitted):
    """The probability of each target word from NULL and from each source word (lines, width)."""
    null = len(rests) - 1
    for j in range(lines):
        for i in range(width):
            place = places[at + j * width + i]
            if place >= 0:
                emitted[j, i] = chances[place]
            else:
                emitted[j, i] = rests[null] if i == 0 else rests[left[first + i - 1]]


@kernel
def _forward(emitted, width, lines, table, base, null_share, ahead, real, scales):
    """Probabilities of the states after each word, given those so far; `real`: with that word from the state itself."""
    for last in range(width):
        ahead[0, last] = 0.0
    ahead[0, 0] = 1.0
    nats = 0.0
    for j in range(lines):
        for i in range(width):
            real[j, i] = 0.0
        for last in range(width):
            before, row = ahead[j, last], base + last * width
            if before > 0.0:
                for i in range(1, width):
                    real[j, i] += before * table[row + i]
        total, none = LEAST, null_share * emitted[j, 0]
        for i in range(width):
            real[j, i] *= (1.0 - null_share) * emitted[j, i]
            ahead[j + 1, i] = real[j, i] + none * ahead[j, i]
            total += ahead[j + 1, i]
        for i in range(width):
            real[j, i] /= total
            ahead[j + 1, i] /= total
        scales[j] = total
        nats -= np.log(total)
    total = LEAST
    for last in range(width):
        total += ahead[lines, last] * table[base + last * width]
    scales[lines] = total
    return nats - np.log((1.0 - null_share) * total)  # the end is no word from NULL


@kernel
def _backward(emitted, width, lines, table, base, null_share, ahead, real, scales, back, moves, table_counts):
    """`real` becomes the probability of each cell given all words; expected moves are added to `table_counts`."""
    for last in range(width):
        back[last] = table[base + last * width] / scales[lines]
        table_counts[base + last * width] += ahead[lines, last] * back[last]
    for j in range(lines - 1, -1, -1):
        none = null_share * emitted[j, 0] / scales[j]
        real[j, 0] = 0.0
        for i in range(width):
            moves[i] = (1.0 - null_share) * emitted[j, i] * back[i] / scales[j]
            real[j, 0] += none * ahead[j, i] * back[i]
            if i:
                real[j, i] *= back[i]
        for last in range(width):
            total, before, row = 0.0, ahead[j, last], base + last * width
            for i in range(1, width):
                move = table[row + i] * moves[i]
                total += move
                table_counts[row + i] += before * move
            back[last] = total + none * back[last]


@kernel
def posteriors(left, left_starts, right_starts, low, high, places, chances, rests, table, borders, shapes, null_share,
               cells, table_counts):  # fmt: skip
    """The probability of each cell, those of a target word adding up to one; minus the log-likelihood is returned.

    Expected moves are added to `table_counts`.
    """
    widest, most = _most(left_starts, low, high) + 1, _most(right_starts, low, high)
    emitted, real, ahead = np.empty((most, widest)), np.empty((most, widest)), np.empty((most + 1, widest))
    scales, back, moves = np.empty(most + 1), np.empty(widest), np.empty(widest)
    at, nats = 0, 0.0
    for text in range(low, high):
        first, base, lines = left_starts[text], borders[shapes[text]], right_starts[text + 1] - right_starts[text]
        width = left_starts[text + 1] - first + 1
        _emit(left, first, width, lines, places, at, chances, rests, emitted)
        nats += _forward(emitted, width, lines, table, base, null_share, ahead, real, scales)
        _backward(emitted, width, lines, table, base, null_share, ahead, real, scales, back, moves, table_counts)
        for j in range(lines):
            for i in range(width):
                cells[at] = real[j, i]
                at += 1
    return nats


@kernel
def best(left, left_starts, right_starts, low, high, places, chances, rests, table, borders, shapes, null_share,
         chosen):  # fmt: skip
    """The most probable path of each pair: for each target word its column (0: NULL), from right_starts[low] on."""
    widest, most = _most(left_starts, low, high) + 1, _most(right_starts, low, high)
    emitted, came = np.empty((most, widest)), np.empty((most, widest), np.int32)
    reached, before = np.empty(widest), np.empty(widest)
    at = 0
    for text in range(low, high):
        first, base, lines = left_starts[text], borders[shapes[text]], right_starts[text + 1] - right_starts[text]
        width = left_starts[text + 1] - first + 1
        _emit(left, first, width, lines, places, at, chances, rests, emitted)
        at += lines * width
        for i in range(width):
            reached[i] = 1.0 if i == 0 else 0.0
        for j in range(lines):
            for i in range(width):
                before[i] = reached[i]
            top = LEAST
            for i in range(width):
                value, origin = null_share * emitted[j, 0] * before[i], -1
                for last in range(width if i else 0):
                    step = before[last] * table[base + last * width + i]
                    step *= (1.0 - null_share) * emitted[j, i]
                    if step > value:
                        value, origin = step, last
                reached[i], came[j, i] = value, origin
                top = max(top, value)
            for i in range(width):
                reached[i] /= top
        state = 0
        for i in range(width):
            reached[i] *= table[base + i * width]
            if reached[i] > reached[state]:
                state = i
        for j in range(lines - 1, -1, -1):
            origin = came[j, state]
            chosen[right_starts[text] + j] = 0 if origin < 0 else state
            state = state if origin < 0 else origin
