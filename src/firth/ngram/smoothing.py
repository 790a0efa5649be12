"""Smoothing: from counts to a probability for every n-gram and a backoff weight for every context.

Kneser–Ney and modified Kneser–Ney are interpolated (Chen and Goodman 1999); the unigrams are interpolated with the
uniform distribution over the vocabulary, as in KenLM. Small texts never fail: where counts of counts give no valid
discounts, fixed fallback discounts are used and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from firth.config.schema import Ngram
from firth.errors import unknown
from firth.jit import kernel
from firth.ngram.counts import Counts
from firth.ngram.discounts import (
    KATZ_CUTOFF,
    counts_of_counts,
    good_turing_ratios,
    kneser_ney_discounts,
    modified_kneser_ney_discounts,
)
from firth.ngram.ngram_model import Model, UnpackedModel, pack
from firth.ngram.pruning import count_thresholds, prune_by_entropy, renormalise_backoffs, select_by_count
from firth.ngram.trie import select_nodes

STUPID_BACKOFF_WEIGHT = 0.4  # the backoff weight of every context (Brants et al. 2007)


class Estimate(NamedTuple):
    """An estimated model, with notes for the user (such as fallback discounts)."""

    model: Model
    notes: list[str]


class Tables(NamedTuple):
    """Probabilities of the n-grams and log backoff weights of the contexts."""

    probabilities: np.ndarray  # (nodes,) float64
    backoffs: np.ndarray  # (nodes below the highest order,) float64


Method = Callable[[Counts, Ngram, np.ndarray, list[str]], Tables]  # counts, configuration, count thresholds, notes


def estimate(counts: Counts, config: Ngram) -> Estimate:
    """Smooth and prune the counts into a model; counts must be of the configured order."""
    if config.smoothing not in METHODS:
        raise unknown("smoothing", config.smoothing, METHODS)
    notes: list[str] = []
    thresholds = count_thresholds(config.prune, counts.trie.order)
    tables = METHODS[config.smoothing](counts, config, thresholds, notes)
    normalised = config.smoothing != "stupid-backoff"
    with np.errstate(divide="ignore"):
        trie, logprobs, backoffs = counts.trie, np.log(tables.probabilities, out=tables.probabilities), tables.backoffs
    if thresholds.any():
        keep = select_by_count(counts, thresholds)
        trie, keep_inner = select_nodes(trie, keep)
        logprobs, backoffs = logprobs[keep], backoffs[: len(keep_inner)][keep_inner]
        if not normalised:
            backoffs[np.diff(trie.first) == 0] = 0.0  # a context without n-grams backs off for free
        elif config.smoothing not in _PRUNING_AWARE:
            renormalise_backoffs(trie, logprobs, backoffs)
    unpacked = UnpackedModel(trie, logprobs.astype(np.float32), backoffs.astype(np.float32))
    del tables, logprobs, backoffs  # the largest arrays: free them before packing
    model = pack(unpacked, counts.special_ids, config.smoothing, normalised=normalised)
    return Estimate(prune_by_entropy(model, config.entropy_threshold) if config.entropy_threshold else model, notes)


# --- methods --------------------------------------------------------------------------------------------------------


def _zero_tables(counts: Counts) -> Tables:
    return Tables(np.zeros(len(counts.trie.words)), np.zeros(counts.trie.inner))


def maximum_likelihood(counts: Counts, config: Ngram, thresholds: np.ndarray, notes: list[str]) -> Tables:
    """Maximum likelihood: relative frequencies; unseen continuations have probability zero."""
    tables = _zero_tables(counts)
    tables.probabilities[counts.trie.level(1)] = counts.counts[: len(counts.predictable)] / _num_tokens(counts)
    _relative_frequencies(counts.trie.first, counts.counts, tables.probabilities, tables.backoffs, -np.inf)
    return tables


def stupid_backoff(counts: Counts, config: Ngram, thresholds: np.ndarray, notes: list[str]) -> Tables:
    """Stupid backoff (Brants et al. 2007): relative frequencies, one backoff weight; unseen tokens share uniformly."""
    tables, seen = maximum_likelihood(counts, config, thresholds, notes), counts.counts[: len(counts.predictable)] > 0
    tables.probabilities[: len(seen)][counts.predictable & ~seen] = STUPID_BACKOFF_WEIGHT / counts.predictable.sum()
    tables.backoffs[np.isinf(tables.backoffs)] = np.log(STUPID_BACKOFF_WEIGHT)
    return tables


def add_k(counts: Counts, config: Ngram, thresholds: np.ndarray, notes: list[str]) -> Tables:
    """Add-k (Lidstone) smoothing of every full-length context; after an unseen context the distribution is uniform.

    Shorter contexts are uniform, so that backing off to them gives each unseen token its k."""
    trie, tables, predictable = counts.trie, _zero_tables(counts), counts.predictable
    size, plain = predictable.sum(), counts.counts[: len(predictable)]
    unigrams = (plain + config.k) / (_num_tokens(counts) + config.k * size) if trie.order == 1 else 1.0 / size
    tables.probabilities[trie.level(1)] = np.where(predictable, unigrams, 0.0)
    is_full = np.zeros(trie.inner, np.uint8)
    if trie.order > 1:
        is_full[trie.level(trie.order - 1)] = 1
        low, high = counts.special_ids.start, counts.special_ids.start + 1
        while low < trie.inner:  # a context that begins with the start token is full at any length
            is_full[low : min(high, trie.inner)] = 1
            low, high = (trie.first[low], trie.first[high]) if high <= trie.inner else (trie.inner, trie.inner)
    _add_k_kernel(
        trie.first, counts.counts, is_full, float(config.k), float(size), tables.probabilities, tables.backoffs
    )
    return tables


def katz(counts: Counts, config: Ngram, thresholds: np.ndarray, notes: list[str]) -> Tables:
    """Katz back-off (1987): Good–Turing discounts for small counts; the freed mass goes to the shorter context."""
    trie, tables, predictable = counts.trie, _zero_tables(counts), counts.predictable
    for order in range(1, trie.order + 1):
        level = trie.level(order)
        ratios = good_turing_ratios(counts_of_counts(counts.counts[level], KATZ_CUTOFF + 2), order, notes)
        if order == 1:
            tables.probabilities[level] = _katz_unigrams(counts.counts[level], predictable, ratios)
        else:
            context = trie.level(order - 1)
            settings = (counts.counts, ratios, float(predictable.sum()))
            arrays = (tables.probabilities, tables.backoffs)
            _katz_kernel(trie.first, trie.links, context.start, context.stop, *settings, *arrays)
    return tables


def _katz_unigrams(counts: np.ndarray, predictable: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Discounted unigram probabilities; unseen tokens share the freed mass uniformly."""
    discounted = counts * ratios[np.minimum(counts, len(ratios) - 1)]
    unseen, total = predictable & (counts == 0), float(counts.sum())
    if not unseen.any():
        return discounted / discounted.sum()
    if discounted.sum() >= total:
        total += 1.0  # no mass was freed: one extra count for all unseen tokens
    return np.where(unseen, (total - discounted.sum()) / total / unseen.sum(), discounted / total)


def kneser_ney(counts: Counts, config: Ngram, thresholds: np.ndarray, notes: list[str]) -> Tables:
    """Interpolated Kneser–Ney with one absolute discount per order."""
    adjusted = counts.adjusted_counts()
    discounts = _discounts_by_order(counts, adjusted, kneser_ney_discounts, notes)
    return interpolate_kneser_ney(counts, adjusted, thresholds, discounts)


def modified_kneser_ney(counts: Counts, config: Ngram, thresholds: np.ndarray, notes: list[str]) -> Tables:
    """Interpolated modified Kneser–Ney: separate discounts for counts 1, 2 and 3+ (Chen and Goodman 1999)."""
    adjusted = counts.adjusted_counts()
    discounts = _discounts_by_order(counts, adjusted, modified_kneser_ney_discounts, notes)
    return interpolate_kneser_ney(counts, adjusted, thresholds, discounts)


def _discounts_by_order(counts: Counts, adjusted: np.ndarray, method: Callable, notes: list[str]) -> list[np.ndarray]:
    orders = range(1, counts.trie.order + 1)
    return [method(counts_of_counts(adjusted[counts.trie.level(n)], 5), n, notes) for n in orders]


def interpolate_kneser_ney(
    counts: Counts, adjusted: np.ndarray, thresholds: np.ndarray, discounts: list[np.ndarray]
) -> Tables:
    """Discount the adjusted counts and interpolate with the shorter context's distribution.

    `discounts` per order: of counts 0, 1, 2, 3+. An n-gram that will be pruned gives all its mass to the backoff."""
    trie, tables, predictable = counts.trie, _zero_tables(counts), counts.predictable
    plain = adjusted[: len(predictable)].astype(np.float64)
    discounted = plain - discounts[0][np.minimum(adjusted[: len(predictable)], 3)]
    uniform_weight = (plain.sum() - discounted.sum()) / plain.sum()
    unigrams = discounted / plain.sum() + uniform_weight / predictable.sum()
    tables.probabilities[: len(predictable)] = np.where(predictable, unigrams, 0.0)
    for order in range(2, trie.order + 1):
        context = trie.level(order - 1)
        settings = (adjusted, counts.counts, int(thresholds[order - 1]), discounts[order - 1])
        arrays = (tables.probabilities, tables.backoffs)
        _kneser_ney_kernel(trie.first, trie.links, context.start, context.stop, *settings, *arrays)
    return tables


def _num_tokens(counts: Counts) -> int:
    return int(counts.counts[: len(counts.predictable)].sum(dtype=np.int64))


# Smoothing methods by their names in the configuration.
METHODS: dict[str, Method] = {
    "mle": maximum_likelihood,
    "add-k": add_k,
    "katz": katz,
    "stupid-backoff": stupid_backoff,
    "kneser-ney": kneser_ney,
    "modified-kneser-ney": modified_kneser_ney,
}
_PRUNING_AWARE = ("kneser-ney", "modified-kneser-ney")  # their backoff weights already account for pruning by counts


# --- kernels --------------------------------------------------------------------------------------------------------


@kernel
def _relative_frequencies(first, counts, probabilities, backoffs, weight):
    """Relative frequencies: each child's count over the total of its context."""
    for context in range(len(backoffs)):
        low, high, total = first[context], first[context + 1], 0.0
        for child in range(low, high):
            total += counts[child]
        for child in range(low, high):
            probabilities[child] = counts[child] / total
        backoffs[context] = weight if low < high else 0.0


@kernel
def _add_k_kernel(first, counts, is_full, k, size, probabilities, backoffs):
    """Add k to every count after a full context; uniform after the others."""
    for context in range(len(backoffs)):
        low, high, total = first[context], first[context + 1], k * size
        if is_full[context] and low < high:
            for child in range(low, high):
                total += counts[child]
            for child in range(low, high):
                probabilities[child] = (counts[child] + k) / total
            backoffs[context] = np.log(k * size / total)
        else:
            for child in range(low, high):
                probabilities[child] = 1.0 / size


@kernel
def _katz_kernel(first, links, start, stop, counts, ratios, size, probabilities, backoffs):
    """Katz: discounted relative frequencies; the backoff weight gives the freed mass to unseen continuations."""
    last_ratio = len(ratios) - 1
    for context in range(start, stop):
        low, high = first[context], first[context + 1]
        total = discounted = below = 0.0
        for child in range(low, high):
            total += counts[child]
            discounted += counts[child] * ratios[min(counts[child], last_ratio)]
            below += probabilities[links[child]]
        if low == high:
            continue
        if high - low == size or below >= 1.0:  # no unseen continuation is left
            total = discounted
        elif discounted >= total:
            total += 1.0  # no mass was freed: one extra count for unseen continuations
        for child in range(low, high):
            probabilities[child] = counts[child] * ratios[min(counts[child], last_ratio)] / total
        if total > discounted:
            backoffs[context] = np.log((total - discounted) / total / (1.0 - below))


@kernel
def _kneser_ney_kernel(first, links, start, stop, counts, raw_counts, threshold, discounts, probabilities, backoffs):
    """Kneser–Ney: the discounted relative frequency plus the backoff weight times the lower-order probability."""
    for context in range(start, stop):
        low, high = first[context], first[context + 1]
        if low == high:
            continue
        total = discounted_mass = 0.0
        for child in range(low, high):
            total += counts[child]
            discounted_mass += (
                discounts[min(counts[child], 3)] if raw_counts[child] > threshold else np.float64(counts[child])
            )
        weight = discounted_mass / total
        for child in range(low, high):
            discounted = (counts[child] - discounts[min(counts[child], 3)]) / total
            probabilities[child] = discounted + weight * probabilities[links[child]]
        backoffs[context] = np.log(weight)
