"""Compiled loops of the HMM alignment model (Vogel et al. 1996): forward–backward and Viterbi.

The same functions as in `em_kernels.py` for Models 1 and 2; reference implementations are in the tests. A state is the
source position aligned last, 0 before the first; a target word from NULL keeps the state (Och and Ney 2003). After the
last target word comes a transition to the end, so that the model is normalised over target lengths. `transitions` has
for each source length I, I + 1 rows (the state) of I + 1 probabilities: of the end, then of each source position.
"""

from __future__ import annotations

import numpy as np

from firth.jit import kernel

MIN_PROBABILITY = 1e-300


@kernel
def _max_length(starts, low, high):
    """The length of the longest of texts low..high."""
    longest = 0
    for text in range(low, high):
        longest = max(longest, starts[text + 1] - starts[text])
    return longest


@kernel
def _emissions(source, first, width, length, entries, at, probabilities, unseen, emissions):
    """Write the emission probability of each target word from NULL and from each source word, (length, width)."""
    null = len(unseen) - 1
    for j in range(length):
        for i in range(width):
            entry = entries[at + j * width + i]
            if entry >= 0:
                emissions[j, i] = probabilities[entry]
            else:
                emissions[j, i] = unseen[null] if i == 0 else unseen[source[first + i - 1]]


@kernel
def _forward(emissions, width, length, transitions, base, null_probability, alpha, aligned, scales):
    """Forward pass: `alpha` has the scaled state probabilities after each word, `aligned` those not from NULL."""
    for state in range(width):
        alpha[0, state] = 0.0
    alpha[0, 0] = 1.0
    nll = 0.0
    for j in range(length):
        for i in range(width):
            aligned[j, i] = 0.0
        for state in range(width):
            previous, row = alpha[j, state], base + state * width
            if previous > 0.0:
                for i in range(1, width):
                    aligned[j, i] += previous * transitions[row + i]
        total, from_null = MIN_PROBABILITY, null_probability * emissions[j, 0]
        for i in range(width):
            aligned[j, i] *= (1.0 - null_probability) * emissions[j, i]
            alpha[j + 1, i] = aligned[j, i] + from_null * alpha[j, i]
            total += alpha[j + 1, i]
        for i in range(width):
            aligned[j, i] /= total
            alpha[j + 1, i] /= total
        scales[j] = total
        nll -= np.log(total)
    total = MIN_PROBABILITY
    for state in range(width):
        total += alpha[length, state] * transitions[base + state * width]
    scales[length] = total
    return nll - np.log((1.0 - null_probability) * total)  # the end does not come from NULL


@kernel
def _backward(
    emissions,
    width,
    length,
    transitions,
    base,
    null_probability,
    alpha,
    aligned,
    scales,
    beta,
    emitted_beta,
    transition_counts,
):
    """Backward pass: `aligned` becomes the posterior of each cell; expected transitions go to `transition_counts`."""
    for state in range(width):
        beta[state] = transitions[base + state * width] / scales[length]
        transition_counts[base + state * width] += alpha[length, state] * beta[state]
    for j in range(length - 1, -1, -1):
        from_null = null_probability * emissions[j, 0] / scales[j]
        aligned[j, 0] = 0.0
        for i in range(width):
            emitted_beta[i] = (1.0 - null_probability) * emissions[j, i] * beta[i] / scales[j]
            aligned[j, 0] += from_null * alpha[j, i] * beta[i]
            if i:
                aligned[j, i] *= beta[i]
        for state in range(width):
            total, previous, row = 0.0, alpha[j, state], base + state * width
            for i in range(1, width):
                transition = transitions[row + i] * emitted_beta[i]
                total += transition
                transition_counts[row + i] += previous * transition
            beta[state] = total + from_null * beta[state]


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
    transitions,
    offsets,
    shapes,
    null_probability,
    cells,
    transition_counts,
):
    """Write the posterior of each cell (those of a target word sum to one); return the negative log-likelihood.

    Expected transitions are added to `transition_counts`.
    """
    widest, longest = _max_length(source_starts, low, high) + 1, _max_length(target_starts, low, high)
    emissions, aligned, alpha = (
        np.empty((longest, widest)),
        np.empty((longest, widest)),
        np.empty((longest + 1, widest)),
    )
    scales, beta, emitted_beta = np.empty(longest + 1), np.empty(widest), np.empty(widest)
    at, nll = 0, 0.0
    for text in range(low, high):
        first, base, length = source_starts[text], offsets[shapes[text]], target_starts[text + 1] - target_starts[text]
        width = source_starts[text + 1] - first + 1
        _emissions(source, first, width, length, entries, at, probabilities, unseen, emissions)
        nll += _forward(emissions, width, length, transitions, base, null_probability, alpha, aligned, scales)
        _backward(
            emissions,
            width,
            length,
            transitions,
            base,
            null_probability,
            alpha,
            aligned,
            scales,
            beta,
            emitted_beta,
            transition_counts,
        )
        for j in range(length):
            for i in range(width):
                cells[at] = aligned[j, i]
                at += 1
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
    transitions,
    offsets,
    shapes,
    null_probability,
    columns,
):
    """Write the Viterbi path of each pair: the column of each target word (0: NULL), from target_starts[low] on."""
    widest, longest = _max_length(source_starts, low, high) + 1, _max_length(target_starts, low, high)
    emissions, backpointers = np.empty((longest, widest)), np.empty((longest, widest), np.int32)
    scores, previous = np.empty(widest), np.empty(widest)
    at = 0
    for text in range(low, high):
        first, base, length = source_starts[text], offsets[shapes[text]], target_starts[text + 1] - target_starts[text]
        width = source_starts[text + 1] - first + 1
        _emissions(source, first, width, length, entries, at, probabilities, unseen, emissions)
        at += length * width
        for i in range(width):
            scores[i] = 1.0 if i == 0 else 0.0
        for j in range(length):
            for i in range(width):
                previous[i] = scores[i]
            best = MIN_PROBABILITY
            for i in range(width):
                value, origin = null_probability * emissions[j, 0] * previous[i], -1
                for source_state in range(width if i else 0):
                    candidate = previous[source_state] * transitions[base + source_state * width + i]
                    candidate *= (1.0 - null_probability) * emissions[j, i]
                    if candidate > value:
                        value, origin = candidate, source_state
                scores[i], backpointers[j, i] = value, origin
                best = max(best, value)
            for i in range(width):
                scores[i] /= best
        state = 0
        for i in range(width):
            scores[i] *= transitions[base + i * width]
            if scores[i] > scores[state]:
                state = i
        for j in range(length - 1, -1, -1):
            origin = backpointers[j, state]
            columns[target_starts[text] + j] = 0 if origin < 0 else state
            state = state if origin < 0 else origin
