"""The Viterbi and the forward–backward algorithm where a tag depends on two tags before it.

The score of a tagging is the sum of its emissions (time, tags) and of transitions (tags + 1, tags + 1, tags + 1): from
the two tags before, to the tag; the last number is the edge of a sentence. Tags that a word cannot have (−inf) cost
nothing.
"""

from __future__ import annotations

import numpy as np

from firth.jit import kernel


@kernel
def _possible(emissions, edge, count, tags):
    """For each place the number of its tags and which they are; before the sentence twice the edge, after it once."""
    time = len(emissions)
    for place in range(time + 3):
        count[place] = 0
        if place < 2 or place == time + 2:
            tags[place, 0] = edge
            count[place] = 1
            continue
        for tag in range(edge):
            if emissions[place - 2, tag] > -np.inf:
                tags[place, count[place]] = tag
                count[place] += 1


@kernel
def viterbi(emissions, transitions, best):
    """The tags with the highest score (time,); returns the score, −inf if no tagging is possible."""
    time, edge = len(emissions), len(transitions) - 1
    count, tags = np.empty(time + 3, np.int64), np.empty((time + 3, edge + 1), np.int64)
    _possible(emissions, edge, count, tags)
    scores, new = np.full((edge + 1, edge + 1), -np.inf), np.full((edge + 1, edge + 1), -np.inf)
    pointers = np.zeros((time + 3, edge + 1, edge + 1), np.int16)
    scores[edge, edge] = 0.0
    for place in range(2, time + 3):
        for b in range(count[place - 1]):
            middle = tags[place - 1, b]
            for c in range(count[place]):
                tag = tags[place, c]
                top, pointer = -np.inf, 0
                for a in range(count[place - 2]):
                    first = tags[place - 2, a]
                    score = scores[first, middle] + transitions[first, middle, tag]
                    if score > top:
                        top, pointer = score, first
                new[middle, tag] = top + (emissions[place - 2, tag] if place < time + 2 else 0.0)
                pointers[place, middle, tag] = pointer
        for b in range(count[place - 1]):
            for c in range(count[place]):
                scores[tags[place - 1, b], tags[place, c]] = new[tags[place - 1, b], tags[place, c]]
    last, tag = edge, 0
    total = -np.inf
    for b in range(count[time + 1]):
        if scores[tags[time + 1, b], edge] > total:
            total, tag = scores[tags[time + 1, b], edge], tags[time + 1, b]
    if total == -np.inf:
        return total
    for place in range(time + 1, 1, -1):
        best[place - 2] = tag
        tag, last = pointers[place + 1, tag, last], tag
    return total


@kernel
def marginals(emissions, transitions, out):
    """The probability of each tag at each place (time, tags); returns the log-sum over all taggings, −inf if none is
    possible."""
    time, edge = len(emissions), len(transitions) - 1
    count, tags = np.empty(time + 3, np.int64), np.empty((time + 3, edge + 1), np.int64)
    _possible(emissions, edge, count, tags)
    alphas = np.full((time + 3, edge + 1, edge + 1), -np.inf)  # of the tags of two places, this and the one before
    alphas[1, edge, edge] = 0.0
    terms = np.empty(edge + 1)
    for place in range(2, time + 3):
        for b in range(count[place - 1]):
            middle = tags[place - 1, b]
            for c in range(count[place]):
                tag = tags[place, c]
                for a in range(count[place - 2]):
                    first = tags[place - 2, a]
                    terms[a] = alphas[place - 1, first, middle] + transitions[first, middle, tag]
                score = emissions[place - 2, tag] if place < time + 2 else 0.0
                alphas[place, middle, tag] = score + _log_sum(terms, count[place - 2])
    finals = np.empty(edge + 1)
    for b in range(count[time + 1]):
        finals[b] = alphas[time + 2, tags[time + 1, b], edge]
    total = _log_sum(finals, count[time + 1])
    if total == -np.inf:
        return total
    betas, new = np.full((edge + 1, edge + 1), -np.inf), np.full((edge + 1, edge + 1), -np.inf)
    for b in range(count[time + 1]):
        betas[tags[time + 1, b], edge] = 0.0
    for place in range(time + 2, 2, -1):  # from the tags of two places to those of the two before
        for a in range(count[place - 2]):
            first = tags[place - 2, a]
            for b in range(count[place - 1]):
                middle = tags[place - 1, b]
                for c in range(count[place]):
                    tag = tags[place, c]
                    score = emissions[place - 2, tag] if place < time + 2 else 0.0
                    terms[c] = betas[middle, tag] + transitions[first, middle, tag] + score
                new[first, middle] = _log_sum(terms, count[place])
                if alphas[place - 1, first, middle] > -np.inf:
                    out[place - 3, middle] += np.exp(alphas[place - 1, first, middle] + new[first, middle] - total)
        for a in range(count[place - 2]):
            for b in range(count[place - 1]):
                betas[tags[place - 2, a], tags[place - 1, b]] = new[tags[place - 2, a], tags[place - 1, b]]
    return total


@kernel
def _log_sum(terms, count):
    """log Σ exp over the first terms."""
    largest = -np.inf
    for n in range(count):
        largest = max(largest, terms[n])
    if largest == -np.inf:
        return largest
    total = 0.0
    for n in range(count):
        total += np.exp(terms[n] - largest)
    return largest + np.log(total)
