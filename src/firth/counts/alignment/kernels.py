"""Compiled loops of word alignment. Each has a plain twin in the tests.

A pair of I source and J target words has J · (I + 1) cells: for each target word the word NULL, then the source words.
Texts low … high − 1 are a piece; `places` and `cells` begin with the first of them.
"""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel, part

LEAST = 1e-300  # so that a logarithm stays finite
UNSEEN = 1e-10  # the probability of two words together that never were, where smoothing leaves them nothing


# --- which words meet ---------------------------------------------------------------------------------------------


@kernel
def meet(order, word_starts, text_of, right, right_starts, seen, row_starts, found):
    """The different target words that each source word meets; `found` of length 0: only count them.

    `order` has the places of the source text by word, `seen` is as long as the vocabulary and below 0. With `found`,
    row e is written from row_starts[e] on; without, row_starts[e + 1] becomes its length.
    """
    for word in range(len(word_starts) - 1):
        size = 0
        for at in range(word_starts[word], word_starts[word + 1]):
            text = text_of[order[at]]
            for place in range(right_starts[text], right_starts[text + 1]):
                other = right[place]
                if seen[other] != word:
                    seen[other] = word
                    if len(found):
                        found[row_starts[word] + size] = other
                    size += 1
        if not len(found):
            row_starts[word + 1] = size


@kernel
def find(starts, targets, order, left, left_starts, text_of, right, right_starts, cells, slots, places):
    """The place in the table of each cell; −1: the words never met.

    Word by word: `slots`, as long as the vocabulary and −1, says where the row of the word at hand has each target.
    `order` has the places of the source texts by word, `cells` where the cells of each pair of texts begin.
    """
    null = len(starts) - 2
    row = null
    for at in range(starts[null], starts[null + 1]):
        slots[targets[at]] = at
    for text in range(len(cells) - 1):
        width, cell = left_starts[text + 1] - left_starts[text] + 1, cells[text]
        for j in range(right_starts[text], right_starts[text + 1]):
            places[cell] = slots[right[j]]
            cell += width
    for here in order:
        if left[here] != row:
            for at in range(starts[row], starts[row + 1]):
                slots[targets[at]] = -1
            row = left[here]
            for at in range(starts[row], starts[row + 1]):
                slots[targets[at]] = at
        text = text_of[here]
        width, cell = left_starts[text + 1] - left_starts[text] + 1, cells[text] + 1 + here - left_starts[text]
        for j in range(right_starts[text], right_starts[text + 1]):
            places[cell] = slots[right[j]]
            cell += width


# --- from probabilities of cells to counts ------------------------------------------------------------------------


@kernel
def tally(places, cells, counts):
    """Add what is expected of each pair of words."""
    for at in range(len(places)):
        if places[at] >= 0:
            counts[places[at]] += cells[at]


@kernel
def agree(cells, others, lefts, rights):
    """Cells of both directions become their product, as far as both agree (Liang et al. 2006); the rest is NULL's."""
    at, back = 0, 0
    for pair in range(len(lefts)):
        width, height = lefts[pair] + 1, rights[pair] + 1
        for i in range(1, width):
            others[back + (i - 1) * height] = 1.0
        for j in range(1, height):
            row = at + (j - 1) * width
            cells[row] = 1.0
            for i in range(1, width):
                other = back + (i - 1) * height
                both = cells[row + i] * others[other + j]
                cells[row + i] = others[other + j] = both
                cells[row] -= both
                others[other] -= both
            cells[row] = max(0.0, cells[row])
        for i in range(1, width):
            others[back + (i - 1) * height] = max(0.0, others[back + (i - 1) * height])
        at, back = at + (height - 1) * width, back + (width - 1) * height


# --- from counts to probabilities ---------------------------------------------------------------------------------


@kernel
def _digamma(x):
    """The derivative of log Γ: up to 6 by its recurrence, then by its series."""
    below = 0.0
    while x < 6.0:
        below -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return below + np.log(x) - 0.5 / x - series


@kernel
def normalise(starts, counts, strength, size, variational, chances, rests):
    """Rows of counts as probabilities of the `size` target words; rests: that of a word that a row does not have.

    `strength` is added to every count; or it is the prior of a mean-field estimate, exp(ψ(count + strength)) over
    exp(ψ(sum)) (Riley and Gildea 2012). An empty row says nothing: all words are alike.
    """
    for row in range(len(starts) - 1):
        total = strength * size
        for at in range(starts[row], starts[row + 1]):
            total += counts[at]
        if total <= 0.0 or starts[row] == starts[row + 1]:
            rests[row] = 1.0 / size
            for at in range(starts[row], starts[row + 1]):
                chances[at] = 1.0 / size
            continue
        if variational:
            base = _digamma(total)
            rests[row] = max(UNSEEN, np.exp(_digamma(strength) - base))
            for at in range(starts[row], starts[row + 1]):
                chances[at] = np.exp(_digamma(counts[at] + strength) - base)
        else:
            rests[row] = max(UNSEEN, strength / total)
            for at in range(starts[row], starts[row + 1]):
                chances[at] = (counts[at] + strength) / total


# --- words whose places do not depend on each other: Models 1 and 2 ------------------------------------------------


@part
def _weigh(left, first, width, places, at, chances, rests, table, base, shares, to):
    """The probability of a target word from NULL and from each source word, places weighed; their sum is returned."""
    total = LEAST
    for i in range(width):
        place = places[at + i]
        if place >= 0:
            share = chances[place] * table[base + i]
        elif i == 0:
            share = rests[len(rests) - 1] * table[base]
        else:
            share = rests[left[first + i - 1]] * table[base + i]
        shares[to + i] = share
        total += share
    return total


@kernel
def posteriors(left, left_starts, right_starts, low, high, places, chances, rests, table, borders, shapes, null_share,
               cells, table_counts):  # fmt: skip
    """The probability of each cell, those of a target word adding up to one; minus the log-likelihood is returned.

    `table` has for each shape (I, J) a row of I + 1 probabilities for each of J words, from borders[shape] on; what is
    expected of its cells is added to `table_counts`.
    """
    at, nats = 0, 0.0
    for text in range(low, high):
        first, base = left_starts[text], borders[shapes[text]]
        width = left_starts[text + 1] - first + 1
        for _ in range(right_starts[text + 1] - right_starts[text]):
            total = _weigh(left, first, width, places, at, chances, rests, table, base, cells, at)
            nats -= np.log(total)
            scale = 1.0 / total
            for i in range(width):
                share = cells[at + i] * scale
                cells[at + i] = share
                table_counts[base + i] += share
            at, base = at + width, base + width
    return nats


@kernel
def best(left, left_starts, right_starts, low, high, places, chances, rests, table, borders, shapes, null_share,
         chosen):  # fmt: skip
    """For each target word the column of its most probable cell (0: NULL), from right_starts[low] on."""
    at, widest = 0, 1
    for text in range(low, high):
        widest = max(widest, left_starts[text + 1] - left_starts[text] + 1)
    shares = np.empty(widest)
    for text in range(low, high):
        first, base = left_starts[text], borders[shapes[text]]
        width = left_starts[text + 1] - first + 1
        for j in range(right_starts[text], right_starts[text + 1]):
            _weigh(left, first, width, places, at, chances, rests, table, base, shares, 0)
            top = 0
            for i in range(1, width):
                if shares[i] > shares[top]:
                    top = i
            chosen[j] = top
            at, base = at + width, base + width
