"""Smaller models: n-grams that occur too rarely, or whose loss changes the model least, are left out."""

from __future__ import annotations

import numpy as np

from firth.counts.ngram import kernels
from firth.counts.ngram.counting import Counts
from firth.counts.ngram.model import Model, Parts, packed
from firth.counts.ngram.trie import Trie, thinned
from firth.errors import FirthError


def thresholds(prune: tuple[int, ...], order: int) -> np.ndarray:
    """For each order the count up to which n-grams are left out; the last one given holds for longer ones too."""
    if prune and prune[0]:
        what = f"prune = {','.join(map(str, prune))}: single tokens cannot be pruned"
        raise FirthError(what, do="begin with 0, and make the vocabulary smaller instead")
    if list(prune) != sorted(prune) or min(prune, default=0) < 0:
        what = f"prune = {','.join(map(str, prune))}: a longer n-gram needs the shorter one"
        raise FirthError(what, do="give numbers that do not fall, such as 0,0,1")
    filled = (*prune, *[prune[-1] if prune else 0] * order)[:order]
    return np.array(filled, np.int64)


def least_counts(counts: Counts, least: np.ndarray) -> np.ndarray:
    """Which n-grams occur more often than their order's threshold; all single tokens stay."""
    kept = np.ones(len(counts.trie.words), bool)
    for order in range(2, counts.trie.order + 1):
        level = counts.trie.level(order)
        kept[level] = counts.counts[level] > least[order - 1]
    return kept


def renormalised(trie: Trie, logprobs: np.ndarray, backoffs: np.ndarray) -> None:
    """Set the weights (float64, in place), so that the probabilities after each context add up to one."""
    lower, marks = _space(trie)
    for order in range(1, trie.order):
        level = trie.level(order)
        tables = (trie.words, trie.first, trie.links, logprobs, backoffs)
        kernels.renormalise(*tables, level.start, level.stop, lower, marks)


def prune_by_entropy(model: Model, threshold: float) -> Model:
    """The model without n-grams whose loss raises its perplexity by less than this share (Stolcke 1998).

    Each is judged by itself in the whole model. Of what stays, context and ending are kept too, as KenLM wants it."""
    if not model.normalised:
        raise FirthError("stupid backoff has no probabilities to prune by", do="prune by counts instead")
    trie, logs, backoffs = model.parts()
    logs, backoffs = logs.astype(np.float64), backoffs.astype(np.float64)
    kept = np.zeros(len(trie.words), np.uint8)
    kept[trie.level(1)] = 1
    lower, marks = _space(trie)
    chances = _context_chances(trie, logs, model.marks.start)
    for order in range(trie.order, 1, -1):
        above = trie.level(order - 1)
        tables = (trie.words, trie.first, trie.links, logs, backoffs, above.start, above.stop)
        kernels.choose(*tables, chances, threshold, kept, lower, marks)
        stays = np.flatnonzero(kept[trie.level(order)]) + trie.level(order).start
        kept[trie.links[stays]] = 1
    kept = kept.astype(bool)
    smaller, inner = thinned(trie, kept)
    logs, backoffs = logs[kept], backoffs[: len(inner)][inner]
    renormalised(smaller, logs, backoffs)
    parts = Parts(smaller, logs.astype(np.float32), backoffs.astype(np.float32))
    return packed(parts, model.marks, model.smoothing)


def _space(trie: Trie) -> tuple[np.ndarray, np.ndarray]:
    """Room for the children of any one node, and a mark for each token."""
    most = int(np.diff(trie.first).max(initial=0))
    return np.empty(most, np.float64), np.zeros(int(trie.levels[1]), np.uint8)


def _context_chances(trie: Trie, logs: np.ndarray, start: int) -> np.ndarray:
    """The log-probability of each context, token by token; a document's start is certain."""
    found = np.zeros(trie.inner)
    if trie.order == 1:
        return found
    found[trie.level(1)] = logs[trie.level(1)]
    found[start] = 0.0
    for order in range(2, trie.order):
        found[trie.level(order)] = found[trie.parents(order)] + logs[trie.level(order)]
    return found
