"""Compiled loops of EM for word alignment (IBM Models 1 and 2). Each has a reference implementation in the tests.

A pair of I source and J target words has J · (I + 1) cells: for each target word the word NULL, then the source words.
Texts low … high − 1 are a chunk; `entries` and `cells` begin with the first of them.
"""

from __future__ import annotations

import numpy as np

from firth.jit import inline_kernel, kernel

MIN_PROBABILITY = 1e-300  # keeps logarithms finite
MIN_UNSEEN = 1e-10  # smallest translation probability of words that never co-occur


# --- co-occurrences -----------------------------------------------------------------------------------------------


@kernel
def collect_cooccurrences(order, word_starts, text_of, target, target_starts, seen, row_starts, out):
    """Collect the distinct target words that each source word co-occurs with; an empty `out` only counts them.

    `order` has the source positions sorted by word; `seen` has the vocabulary's size and is −1. With `out`, row e is
    written from row_starts[e] on; without, row_starts[e + 1] becomes its length.
    """
    for word in range(len(word_starts) - 1):
        size = 0
        for at in range(word_starts[word], word_starts[word + 1]):
            text = text_of[order[at]]
            for position in range(target_starts[text], target_starts[text + 1]):
                target_word = target[position]
                if seen[target_word] != word:
                    seen[target_word] = word
                    if len(out):
                        out[row_starts[word] + size] = target_word
                    size += 1
        if not len(out):
            row_starts[word + 1] = size


@kernel
def index_cells(starts, targets, order, source, source_starts, text_of, target, target_starts, cells, slots, entries):
    """Write the translation table entry of each cell; −1: the words never co-occur.

    Word by word: `slots`, of the vocabulary's size and −1, maps target words to entries of the current row.
    `order` has the source positions sorted by word, `cells` where the cells of each pair of texts begin.
    """
    null = len(starts) - 2
    row = null
    for at in range(starts[null], starts[null + 1]):
        slots[targets[at]] = at
    for text in range(len(cells) - 1):
        width, cell = source_starts[text + 1] - source_starts[text] + 1, cells[text]
        for j in range(target_starts[text], target_starts[text + 1]):
            entries[cell] = slots[target[j]]
            cell += width
    for position in order:
        if source[position] != row:
            for at in range(starts[row], starts[row + 1]):
                slots[targets[at]] = -1
            row = source[position]
            for at in range(starts[row], starts[row + 1]):
                slots[targets[at]] = at
        text = text_of[position]
        width, cell = (
            source_starts[text + 1] - source_starts[text] + 1,
            cells[text] + 1 + position - source_starts[text],
        )
        for j in range(target_starts[text], target_starts[text + 1]):
            entries[cell] = slots[target[j]]
            cell += width


# --- expected counts (E-step) --------------------------------------------------------------------------------------


@kernel
def accumulate_counts(entries, cells, counts):
    """Add the posterior of each cell to the expected count of its table entry."""
    for at in range(len(entries)):
        if entries[at] >= 0:
            counts[entries[at]] += cells[at]


@kernel
def agree(cells, reverse_cells, source_lengths, target_lengths):
    """Alignment by agreement (Liang et al. 2006): multiply the posteriors of both directions; the rest is NULL's."""
    at, reverse_at = 0, 0
    for pair in range(len(source_lengths)):
        width, height = source_lengths[pair] + 1, target_lengths[pair] + 1
        for i in range(1, width):
            reverse_cells[reverse_at + (i - 1) * height] = 1.0
        for j in range(1, height):
            row = at + (j - 1) * width
            cells[row] = 1.0
            for i in range(1, width):
                reverse_row = reverse_at + (i - 1) * height
                product = cells[row + i] * reverse_cells[reverse_row + j]
                cells[row + i] = reverse_cells[reverse_row + j] = product
                cells[row] -= product
                reverse_cells[reverse_row] -= product
            cells[row] = max(0.0, cells[row])
        for i in range(1, width):
            reverse_cells[reverse_at + (i - 1) * height] = max(0.0, reverse_cells[reverse_at + (i - 1) * height])
        at, reverse_at = at + (height - 1) * width, reverse_at + (width - 1) * height


# --- translation probabilities (M-step) ----------------------------------------------------------------------------


@kernel
def _digamma(x):
    """The digamma function ψ: by its recurrence up to 6, then by its asymptotic series."""
    below = 0.0
    while x < 6.0:
        below -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return below + np.log(x) - 0.5 / x - series


@kernel
def normalise(starts, counts, strength, size, variational, probabilities, unseen):
    """Normalise rows of counts over the `size` target words; `unseen` is the probability of a word not in the row.

    `strength` is added to every count; or it is the Dirichlet prior of variational Bayes, exp(ψ(count + strength)) over
    exp(ψ(sum)) (Riley and Gildea 2012). An empty row is uniform.
    """
    for row in range(len(starts) - 1):
        total = strength * size
        for at in range(starts[row], starts[row + 1]):
            total += counts[at]
        if total <= 0.0 or starts[row] == starts[row + 1]:
            unseen[row] = 1.0 / size
            for at in range(starts[row], starts[row + 1]):
                probabilities[at] = 1.0 / size
            continue
        if variational:
            base = _digamma(total)
            unseen[row] = max(MIN_UNSEEN, np.exp(_digamma(strength) - base))
            for at in range(starts[row], starts[row + 1]):
                probabilities[at] = np.exp(_digamma(counts[at] + strength) - base)
        else:
            unseen[row] = max(MIN_UNSEEN, strength / total)
            for at in range(starts[row], starts[row + 1]):
                probabilities[at] = (counts[at] + strength) / total


# --- independent target words: Models 1 and 2 ----------------------------------------------------------------------


@inline_kernel
def _joint_probabilities(source, first, width, entries, at, probabilities, unseen, distortion, base, joint, to):
    """Write translation times distortion probability of a target word for NULL and each source word; return the sum."""
    total = MIN_PROBABILITY
    for i in range(width):
        entry = entries[at + i]
        if entry >= 0:
            value = probabilities[entry] * distortion[base + i]
        elif i == 0:
            value = unseen[len(unseen) - 1] * distortion[base]
        else:
            value = unseen[source[first + i - 1]] * distortion[base + i]
        joint[to + i] = value
        total += value
    return total


@kernel
def posteriors(
    source,
    source_starts,
    target_starts,
    low,
    high,
    entries,
    probabilities,
    unseen,
    distortion,
    offsets,
    shapes,
    null_probability,
    cells,
    distortion_counts,
):
    """Write the posterior of each cell (those of a target word sum to one); return the negative log-likelihood.

    `distortion` has for each shape (I, J) a row of I + 1 probabilities for each of J words, from offsets[shape] on;
    expected counts of its cells are added to `distortion_counts`.
    """
    at, nll = 0, 0.0
    for text in range(low, high):
        first, base = source_starts[text], offsets[shapes[text]]
        width = source_starts[text + 1] - first + 1
        for _ in range(target_starts[text + 1] - target_starts[text]):
            total = _joint_probabilities(
                source, first, width, entries, at, probabilities, unseen, distortion, base, cells, at
            )
            nll -= np.log(total)
            scale = 1.0 / total
            for i in range(width):
                posterior = cells[at + i] * scale
                cells[at + i] = posterior
                distortion_counts[base + i] += posterior
            at, base = at + width, base + width
    return nll


@kernel
def viterbi(
    source,
    source_starts,
    target_starts,
    low,
    high,
    entries,
    probabilities,
    unseen,
    distortion,
    offsets,
    shapes,
    null_probability,
    columns,
):
    """Write the column of the most probable cell of each target word (0: NULL), from target_starts[low] on."""
    at, widest = 0, 1
    for text in range(low, high):
        widest = max(widest, source_starts[text + 1] - source_starts[text] + 1)
    joint = np.empty(widest)
    for text in range(low, high):
        first, base = source_starts[text], offsets[shapes[text]]
        width = source_starts[text + 1] - first + 1
        for j in range(target_starts[text], target_starts[text + 1]):
            _joint_probabilities(source, first, width, entries, at, probabilities, unseen, distortion, base, joint, 0)
            best = 0
            for i in range(1, width):
                if joint[i] > joint[best]:
                    best = i
            columns[j] = best
            at, base = at + width, base + width
