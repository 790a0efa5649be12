"""The loops over the trie of n-grams: links, missing probabilities, weights, pruning.

The link of an n-gram is the longest other n-gram that ends as it does (Aho and Corasick 1975): where a context does not
go on with a word, its weight is added and the link is tried next.
"""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel, part


@part
def _find(words, low, high, word):
    """Where the word stands in a sorted stretch, or −1."""
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
    """Links of the children of nodes low..high; those nodes have theirs."""
    for parent in range(low, high):
        for child in range(first[parent], first[parent + 1]):
            word = words[child]
            node, found = links[parent], -1
            while node >= 0 and found < 0:
                found = _find(words, first[node], first[node + 1], word)
                node = links[node]
            links[child] = found if found >= 0 else word


@kernel
def fill(words, first, links, logprobs, backoffs, low, high):
    """Give those children of nodes low..high that have no log-probability (NaN) the one of backing off to them."""
    for parent in range(low, high):
        for child in range(first[parent], first[parent + 1]):
            if np.isnan(logprobs[child]):
                word, total = words[child], np.float64(backoffs[parent])
                node, found = links[parent], -1
                while node >= 0:
                    found = _find(words, first[node], first[node + 1], word)
                    if found >= 0:
                        break
                    total += np.float64(backoffs[node])
                    node = links[node]
                logprobs[child] = total + np.float64(logprobs[found if found >= 0 else word])


# --- pruning --------------------------------------------------------------------------------------------------------


@part
def _backed_off(node, word, words, first, links, logprobs, backoffs):
    """The log-probability of a word after a state, which need not have it."""
    total, found = 0.0, -1
    while node >= 0:
        found = _find(words, first[node], first[node + 1], word)
        if found >= 0:
            break
        total += backoffs[node]
        node = links[node]
    return total + logprobs[found if found >= 0 else word]


@part
def _masses(context, words, first, links, logprobs, backoffs, lower, marks):
    """What a context leaves to words it does not have, and what these have after its link; sums to one are taken as
    given, but a small rest is added up word by word: a difference would have lost it."""
    own = shorter = 0.0
    for child in range(first[context], first[context + 1]):
        lower[child - first[context]] = _backed_off(
            links[context], words[child], words, first, links, logprobs, backoffs
        )
        own += np.exp(logprobs[child])
        shorter += np.exp(lower[child - first[context]])
    rest = 1.0 - shorter
    if rest < 1e-3:
        rest = 0.0
        for child in range(first[context], first[context + 1]):
            marks[words[child]] = 1
        for word in range(len(marks)):
            if marks[word] == 0:
                rest += np.exp(_backed_off(links[context], word, words, first, links, logprobs, backoffs))
            marks[word] = 0
    return max(1.0 - own, 0.0), rest


@kernel
def renormalise(words, first, links, logprobs, backoffs, low, high, lower, marks):
    """Weights of contexts low..high, all of one order, so that each one's probabilities add up to one."""
    for context in range(low, high):
        left, rest = _masses(context, words, first, links, logprobs, backoffs, lower, marks)
        if first[context] == first[context + 1]:
            backoffs[context] = 0.0
        elif rest > 0.0 and left > 1e-12:
            backoffs[context] = np.log(left / rest)
        elif rest > 0.0:
            backoffs[context] = -np.inf
        else:  # no word is left to share it: the words there are share it
            backoffs[context] = 0.0
            for child in range(first[context], first[context + 1]):
                logprobs[child] -= np.log(1.0 - left)


@kernel
def choose(words, first, links, logprobs, backoffs, low, high, chances, threshold, kept, lower, marks):
    """Mark n-grams after contexts low..high that are worth their place; chances are log-probabilities of contexts.

    Stolcke (1998): the relative entropy of the model with the n-gram to the one without, as a change of perplexity."""
    for context in range(low, high):
        if first[context] == first[context + 1]:
            continue
        left, rest = _masses(context, words, first, links, logprobs, backoffs, lower, marks)
        before = np.log(left / rest) if left > 0.0 and rest > 0.0 else 0.0
        some = kept[context] > 0
        for child in range(first[context], first[context + 1]):
            mine, below = logprobs[child], lower[child - first[context]]
            chance = np.exp(mine)
            if kept[child] == 0 and chance > 0.0:  # not a context of what stays
                after = np.log((left + chance) / (rest + np.exp(below)))
                change = chance * (below + after - mine)
                if left > 0.0:
                    change += left * (after - before)
                kept[child] = np.expm1(-np.exp(chances[context]) * change) >= threshold
            some |= kept[child] > 0
        if some:
            kept[context] = 1
