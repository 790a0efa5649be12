"""From counts to probabilities. Each method gives every n-gram a probability and every context a weight.

Kneser–Ney and its modified form are those of Chen and Goodman (1999), interpolated, with the unigrams' rest shared out
evenly over the vocabulary, as KenLM has it. Nothing fails on a small text: where counts of counts do not give sound
discounts, fixed ones are taken, and a message says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from firth.config.schema import Ngram
from firth.counts.compiled import kernel
from firth.counts.ngram.counting import Counts
from firth.counts.ngram.discounts import (
    RELIABLE,
    counts_of_counts,
    good_turing,
    modified_discounts,
    plain_discounts,
)
from firth.counts.ngram.model import Model, Parts, packed
from firth.counts.ngram.pruning import least_counts, prune_by_entropy, renormalised, thresholds
from firth.counts.ngram.trie import thinned
from firth.errors import unknown

STUPID = 0.4  # the weight of every context (Brants et al. 2007)


class Estimate(NamedTuple):
    """A model, and what there is to say of how it came about."""

    model: Model
    notes: list[str]


class Tables(NamedTuple):
    """Probabilities of the n-grams and logarithms of the contexts' weights."""

    chances: np.ndarray  # (nodes,) float64
    backoffs: np.ndarray  # (nodes below the highest order,) float64


Method = Callable[[Counts, Ngram, np.ndarray, list[str]], Tables]  # counts, configuration, least counts, notes


def estimate(counts: Counts, config: Ngram) -> Estimate:
    """The model of a text; counts must be of the configured order."""
    if config.smoothing not in METHODS:
        raise unknown("smoothing", config.smoothing, METHODS)
    notes: list[str] = []
    least = thresholds(config.prune, counts.trie.order)
    tables = METHODS[config.smoothing](counts, config, least, notes)
    normalised = config.smoothing != "stupid"
    with np.errstate(divide="ignore"):
        trie, logs, backoffs = counts.trie, np.log(tables.chances, out=tables.chances), tables.backoffs
    if least.any():
        kept = least_counts(counts, least)
        trie, inner = thinned(trie, kept)
        logs, backoffs = logs[kept], backoffs[: len(inner)][inner]
        if not normalised:
            backoffs[np.diff(trie.first) == 0] = 0.0  # a context with nothing left says nothing
        elif config.smoothing not in _EXACT:
            renormalised(trie, logs, backoffs)
    parts = Parts(trie, logs.astype(np.float32), backoffs.astype(np.float32))
    del tables, logs, backoffs  # the largest arrays; packing needs the room
    found = packed(parts, counts.marks, config.smoothing, normalised=normalised)
    return Estimate(prune_by_entropy(found, config.entropy) if config.entropy else found, notes)


# --- methods --------------------------------------------------------------------------------------------------------


def _empty(counts: Counts) -> Tables:
    return Tables(np.zeros(len(counts.trie.words)), np.zeros(counts.trie.inner))


def maximum_likelihood(counts: Counts, config: Ngram, least: np.ndarray, notes: list[str]) -> Tables:
    """Shares of the counts; a context leaves nothing to what it does not have."""
    found = _empty(counts)
    found.chances[counts.trie.level(1)] = counts.counts[: len(counts.events)] / _tokens(counts)
    _share(counts.trie.first, counts.counts, found.chances, found.backoffs, -np.inf)
    return found


def stupid_backoff(counts: Counts, config: Ngram, least: np.ndarray, notes: list[str]) -> Tables:
    """Shares of the counts, and a fixed weight for shorter contexts; tokens never seen get it of an even share."""
    found, seen = maximum_likelihood(counts, config, least, notes), counts.counts[: len(counts.events)] > 0
    found.chances[: len(seen)][counts.events & ~seen] = STUPID / counts.events.sum()
    found.backoffs[np.isinf(found.backoffs)] = np.log(STUPID)
    return found


def add_k(counts: Counts, config: Ngram, least: np.ndarray, notes: list[str]) -> Tables:
    """Every token k times more often after every whole context; after one that is new, all are alike.

    Shorter contexts say that all are alike, so that backing off to them gives each its k."""
    trie, found, events = counts.trie, _empty(counts), counts.events
    size, plain = events.sum(), counts.counts[: len(events)]
    whole = (plain + config.k) / (_tokens(counts) + config.k * size) if trie.order == 1 else 1.0 / size
    found.chances[trie.level(1)] = np.where(events, whole, 0.0)
    full = np.zeros(trie.inner, np.uint8)
    if trie.order > 1:
        full[trie.level(trie.order - 1)] = 1
        low, high = counts.marks.start, counts.marks.start + 1
        while low < trie.inner:  # what begins with the start of a document has nothing before it
            full[low : min(high, trie.inner)] = 1
            low, high = (trie.first[low], trie.first[high]) if high <= trie.inner else (trie.inner, trie.inner)
    _add(trie.first, counts.counts, full, float(config.k), float(size), found.chances, found.backoffs)
    return found


def katz(counts: Counts, config: Ngram, least: np.ndarray, notes: list[str]) -> Tables:
    """Good and Turing's discounts for small counts; what they free is shared as the shorter context says."""
    trie, found, events = counts.trie, _empty(counts), counts.events
    for order in range(1, trie.order + 1):
        level = trie.level(order)
        keeps = good_turing(counts_of_counts(counts.counts[level], RELIABLE + 2), order, notes)
        if order == 1:
            found.chances[level] = _katz_unigrams(counts.counts[level], events, keeps)
        else:
            context = trie.level(order - 1)
            tables = (counts.counts, keeps, float(events.sum()), found.chances, found.backoffs)
            _discount(trie.first, trie.links, context.start, context.stop, *tables)
    return found


def _katz_unigrams(counts: np.ndarray, events: np.ndarray, keeps: np.ndarray) -> np.ndarray:
    kept = counts * keeps[np.minimum(counts, len(keeps) - 1)]
    unseen, total = events & (counts == 0), float(counts.sum())
    if not unseen.any():
        return kept / kept.sum()
    if kept.sum() >= total:
        total += 1.0  # nothing was freed: one more count for all that was never seen
    return np.where(unseen, (total - kept.sum()) / total / unseen.sum(), kept / total)


def kneser_ney(counts: Counts, config: Ngram, least: np.ndarray, notes: list[str]) -> Tables:
    """One discount for each order."""
    adjusted = counts.adjusted()
    return interpolated(counts, adjusted, least, _each_order(counts, adjusted, plain_discounts, notes))


def modified_kneser_ney(counts: Counts, config: Ngram, least: np.ndarray, notes: list[str]) -> Tables:
    """Discounts of their own for counts 1, 2, and 3 or more."""
    adjusted = counts.adjusted()
    return interpolated(counts, adjusted, least, _each_order(counts, adjusted, modified_discounts, notes))


def _each_order(counts: Counts, adjusted: np.ndarray, discounts: Callable, notes: list[str]) -> list[np.ndarray]:
    orders = range(1, counts.trie.order + 1)
    return [discounts(counts_of_counts(adjusted[counts.trie.level(n)], 5), n, notes) for n in orders]


def interpolated(counts: Counts, adjusted: np.ndarray, least: np.ndarray, discounts: list[np.ndarray]) -> Tables:
    """Kneser and Ney's counts less a discount, and what is taken off is shared as the shorter context says.

    `discounts` of each order: for counts 0, 1, 2 and more. N-grams that are to be pruned give all they have."""
    trie, found, events = counts.trie, _empty(counts), counts.events
    plain = adjusted[: len(events)].astype(np.float64)
    kept = plain - discounts[0][np.minimum(adjusted[: len(events)], 3)]
    rest = (plain.sum() - kept.sum()) / plain.sum()
    found.chances[: len(events)] = np.where(events, kept / plain.sum() + rest / events.sum(), 0.0)
    for order in range(2, trie.order + 1):
        context = trie.level(order - 1)
        told = (adjusted, counts.counts, int(least[order - 1]), discounts[order - 1], found.chances, found.backoffs)
        _interpolate(trie.first, trie.links, context.start, context.stop, *told)
    return found


def _tokens(counts: Counts) -> int:
    return int(counts.counts[: len(counts.events)].sum(dtype=np.int64))


# The names that configurations use.
METHODS: dict[str, Method] = {
    "none": maximum_likelihood,
    "add-k": add_k,
    "katz": katz,
    "stupid": stupid_backoff,
    "kneser-ney": kneser_ney,
    "modified-kneser-ney": modified_kneser_ney,
}
_EXACT = ("kneser-ney", "modified-kneser-ney")  # their weights take pruning into account


# --- kernels --------------------------------------------------------------------------------------------------------


@kernel
def _share(first, counts, chances, backoffs, weight):
    """Each child's share of its context's count."""
    for context in range(len(backoffs)):
        low, high, total = first[context], first[context + 1], 0.0
        for child in range(low, high):
            total += counts[child]
        for child in range(low, high):
            chances[child] = counts[child] / total
        backoffs[context] = weight if low < high else 0.0


@kernel
def _add(first, counts, full, k, size, chances, backoffs):
    """The same with k more for every token after a full context; all alike after others."""
    for context in range(len(backoffs)):
        low, high, total = first[context], first[context + 1], k * size
        if full[context] and low < high:
            for child in range(low, high):
                total += counts[child]
            for child in range(low, high):
                chances[child] = (counts[child] + k) / total
            backoffs[context] = np.log(k * size / total)
        else:
            for child in range(low, high):
                chances[child] = 1.0 / size


@kernel
def _discount(first, links, start, stop, counts, keeps, size, chances, backoffs):
    """Katz: shares of what is kept of the counts; the weight gives the rest to tokens the context does not have."""
    most = len(keeps) - 1
    for context in range(start, stop):
        low, high = first[context], first[context + 1]
        total = kept = below = 0.0
        for child in range(low, high):
            total += counts[child]
            kept += counts[child] * keeps[min(counts[child], most)]
            below += chances[links[child]]
        if low == high:
            continue
        if high - low == size or below >= 1.0:  # no token is left to share with
            total = kept
        elif kept >= total:
            total += 1.0  # nothing was freed: one more count for all others
        for child in range(low, high):
            chances[child] = counts[child] * keeps[min(counts[child], most)] / total
        if total > kept:
            backoffs[context] = np.log((total - kept) / total / (1.0 - below))


@kernel
def _interpolate(first, links, start, stop, counts, plain, least, discounts, chances, backoffs):
    """Kneser–Ney: the discounted share, and the context's weight times what the shorter context says."""
    for context in range(start, stop):
        low, high = first[context], first[context + 1]
        if low == high:
            continue
        total = freed = 0.0
        for child in range(low, high):
            total += counts[child]
            freed += discounts[min(counts[child], 3)] if plain[child] > least else np.float64(counts[child])
        weight = freed / total
        for child in range(low, high):
            own = (counts[child] - discounts[min(counts[child], 3)]) / total
            chances[child] = own + weight * chances[links[child]]
        backoffs[context] = np.log(weight)
