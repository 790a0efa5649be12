"""Compiled loops over the n-gram trie: suffix links, missing probabilities, backoff weights, entropy pruning.

The suffix link of an n-gram is its longest proper suffix in the trie (Aho and Corasick 1975): where a context has no
child for a word, its backoff weight is added and its suffix link is tried next.
"""

from __future__ import annotations

import numpy as np

from firth.jit import inline_kernel, kernel


@inline_kernel
def _find(words, low, high, word):
    """Binary search for the word among sorted children; −1 if it is not there."""
    size = high - low
    if size == 0:
        return -1
    while size > 1:
        half = size >> 1
        if words[low + half] <= word:
            low += half
        size -= half
    return low if words[low] == word else -1


@kernel
def link(words, first, links, low, high):
    """Set the suffix links of the children of nodes low..high, whose own links are known."""
    for parent in range(low, high):
        for child in range(first[parent], first[parent + 1]):
            word = words[child]
            node, suffix = links[parent], -1
            while node >= 0 and suffix < 0:
                suffix = _find(words, first[node], first[node + 1], word)
                node = links[node]
            links[child] = suffix if suffix >= 0 else word


@kernel
def fill_missing_logprobs(words, first, links, logprobs, backoffs, low, high):
    """Give children of nodes low..high without a log-probability (NaN) the one that backing off yields."""
    for parent in range(low, high):
        for child in range(first[parent], first[parent + 1]):
            if np.isnan(logprobs[child]):
                word, total = words[child], np.float64(backoffs[parent])
                node, suffix = links[parent], -1
                while node >= 0:
                    suffix = _find(words, first[node], first[node + 1], word)
                    if suffix >= 0:
                        break
                    total += np.float64(backoffs[node])
                    node = links[node]
                logprobs[child] = total + np.float64(logprobs[suffix if suffix >= 0 else word])


# --- pruning --------------------------------------------------------------------------------------------------------


@inline_kernel
def _backoff_logprob(node, word, words, first, links, logprobs, backoffs):
    """The log-probability of a word after a context, by backing off as far as needed."""
    total, child = 0.0, -1
    while node >= 0:
        child = _find(words, first[node], first[node + 1], word)
        if child >= 0:
            break
        total += backoffs[node]
        node = links[node]
    return total + logprobs[child if child >= 0 else word]


@inline_kernel
def _leftover_masses(context, words, first, links, logprobs, backoffs, lower_logprobs, is_child):
    """The probability mass a context leaves to words without an n-gram there, and their mass in the shorter context.
    Distributions are taken to sum to one; a small rest is summed word by word to avoid cancellation."""
    own_mass = lower_mass = 0.0
    for child in range(first[context], first[context + 1]):
        lower_logprobs[child - first[context]] = _backoff_logprob(
            links[context], words[child], words, first, links, logprobs, backoffs
        )
        own_mass += np.exp(logprobs[child])
        lower_mass += np.exp(lower_logprobs[child - first[context]])
    rest = 1.0 - lower_mass
    if rest < 1e-3:
        rest = 0.0
        for child in range(first[context], first[context + 1]):
            is_child[words[child]] = 1
        for word in range(len(is_child)):
            if is_child[word] == 0:
                rest += np.exp(_backoff_logprob(links[context], word, words, first, links, logprobs, backoffs))
            is_child[word] = 0
    return max(1.0 - own_mass, 0.0), rest


@kernel
def renormalise(words, first, links, logprobs, backoffs, low, high, lower_logprobs, is_child):
    """Set the backoff weights of contexts low..high, all of one order, so that each distribution sums to one."""
    for context in range(low, high):
        left, rest = _leftover_masses(context, words, first, links, logprobs, backoffs, lower_logprobs, is_child)
        if first[context] == first[context + 1]:
            backoffs[context] = 0.0
        elif rest > 0.0 and left > 1e-12:
            backoffs[context] = np.log(left / rest)
        elif rest > 0.0:
            backoffs[context] = -np.inf
        else:  # every word has an n-gram here: they share the rest
            backoffs[context] = 0.0
            for child in range(first[context], first[context + 1]):
                logprobs[child] -= np.log(1.0 - left)


@kernel
def select_by_entropy(
    words, first, links, logprobs, backoffs, low, high, context_logprobs, threshold, keep, lower_logprobs, is_child
):
    """Mark the n-grams after contexts low..high to keep: those whose removal raises perplexity enough (Stolcke 1998).

    The measure is the relative entropy between the models with and without the n-gram, as a change of perplexity."""
    for context in range(low, high):
        if first[context] == first[context + 1]:
            continue
        left, rest = _leftover_masses(context, words, first, links, logprobs, backoffs, lower_logprobs, is_child)
        before = np.log(left / rest) if left > 0.0 and rest > 0.0 else 0.0
        any_kept = keep[context] > 0
        for child in range(first[context], first[context + 1]):
            own, lower = logprobs[child], lower_logprobs[child - first[context]]
            probability = np.exp(own)
            if keep[child] == 0 and probability > 0.0:  # not a context or suffix of a kept n-gram
                after = np.log((left + probability) / (rest + np.exp(lower)))
                change = probability * (lower + after - own)
                if left > 0.0:
                    change += left * (after - before)
                keep[child] = np.expm1(-np.exp(context_logprobs[context]) * change) >= threshold
            any_kept |= keep[child] > 0
        if any_kept:
            keep[context] = 1
