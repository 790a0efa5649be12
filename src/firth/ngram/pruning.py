"""Pruning: by count cutoffs, and by relative entropy (Stolcke 1998)."""

from __future__ import annotations

import numpy as np

from firth.errors import FirthError
from firth.ngram import trie_kernels
from firth.ngram.counts import Counts
from firth.ngram.ngram_model import Model, UnpackedModel, pack
from firth.ngram.trie import Trie, select_nodes


def count_thresholds(prune: tuple[int, ...], order: int) -> np.ndarray:
    """Return for each order the count up to which n-grams are pruned; the last one given holds for higher orders."""
    if prune and prune[0]:
        what = f"prune = {','.join(map(str, prune))}: unigrams cannot be pruned"
        raise FirthError(what, do="begin with 0; to have fewer unigrams, choose a smaller vocabulary")
    if list(prune) != sorted(prune) or min(prune, default=0) < 0:
        what = f"prune = {','.join(map(str, prune))}: thresholds decrease with the order, or are negative"
        raise FirthError(what, do="give thresholds that do not decrease, such as 0,0,1")
    thresholds = (*prune, *[prune[-1] if prune else 0] * order)[:order]
    return np.array(thresholds, np.int64)


def select_by_count(counts: Counts, thresholds: np.ndarray) -> np.ndarray:
    """Return which n-grams have a count above their order's threshold; all unigrams are kept."""
    keep = np.ones(len(counts.trie.words), bool)
    for order in range(2, counts.trie.order + 1):
        level = counts.trie.level(order)
        keep[level] = counts.counts[level] > thresholds[order - 1]
    return keep


def renormalise_backoffs(trie: Trie, logprobs: np.ndarray, backoffs: np.ndarray) -> None:
    """Set the backoff weights (float64, in place) so that the distribution after each context sums to one."""
    buffers = _buffers(trie)
    for order in range(1, trie.order):
        level = trie.level(order)
        tables = (trie.words, trie.first, trie.links, logprobs, backoffs)
        trie_kernels.renormalise(*tables, level.start, level.stop, *buffers)


def prune_by_entropy(model: Model, threshold: float) -> Model:
    """Entropy pruning: drop n-grams whose removal raises perplexity by less than this fraction (Stolcke 1998).

    Each n-gram is judged alone in the full model. Prefixes and suffixes of kept n-grams are kept, as KenLM requires."""
    if not model.normalised:
        raise FirthError("entropy pruning needs probabilities, stupid backoff has scores", do="prune by counts instead")
    trie, logprobs, backoffs = model.unpack()
    logprobs, backoffs = logprobs.astype(np.float64), backoffs.astype(np.float64)
    keep = np.zeros(len(trie.words), np.uint8)
    keep[trie.level(1)] = 1
    buffers, context_logprobs = _buffers(trie), _context_logprobs(trie, logprobs, model.special_ids.start)
    for order in range(trie.order, 1, -1):
        contexts = trie.level(order - 1)
        tables = (trie.words, trie.first, trie.links, logprobs, backoffs, contexts.start, contexts.stop)
        trie_kernels.select_by_entropy(*tables, context_logprobs, threshold, keep, *buffers)
        kept = np.flatnonzero(keep[trie.level(order)]) + trie.level(order).start
        keep[trie.links[kept]] = 1
    keep = keep.astype(bool)
    pruned, keep_inner = select_nodes(trie, keep)
    logprobs, backoffs = logprobs[keep], backoffs[: len(keep_inner)][keep_inner]
    renormalise_backoffs(pruned, logprobs, backoffs)
    unpacked = UnpackedModel(pruned, logprobs.astype(np.float32), backoffs.astype(np.float32))
    return pack(unpacked, model.special_ids, model.smoothing)


def _buffers(trie: Trie) -> tuple[np.ndarray, np.ndarray]:
    """Work space: a number for each child of any one node, and a flag for each token."""
    max_children = int(np.diff(trie.first).max(initial=0))
    return np.empty(max_children, np.float64), np.zeros(int(trie.levels[1]), np.uint8)


def _context_logprobs(trie: Trie, logprobs: np.ndarray, start: int) -> np.ndarray:
    """The log-probability of each context by the chain rule; the start token has probability one."""
    context_logprobs = np.zeros(trie.inner)
    if trie.order == 1:
        return context_logprobs
    context_logprobs[trie.level(1)] = logprobs[trie.level(1)]
    context_logprobs[start] = 0.0
    for order in range(2, trie.order):
        context_logprobs[trie.level(order)] = context_logprobs[trie.parents(order)] + logprobs[trie.level(order)]
    return context_logprobs
