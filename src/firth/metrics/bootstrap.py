"""Bootstrap confidence intervals (Efron 1979) and significance tests of two systems: the paired bootstrap
(Koehn 2004) and approximate randomisation (Noreen 1989; Riezler and Maxwell 2005)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from firth.metrics.corpus_metric import CorpusStatistics

RESAMPLES = 1000
_BLOCK_SIZE = 1 << 22  # random numbers sampled at once: bounds memory


class ConfidenceInterval(NamedTuple):
    """A 95 % confidence interval."""

    low: float
    high: float


def bootstrap_ratios(totals: np.ndarray, sizes: np.ndarray, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """Bootstrap scores (resamples, systems), each the sum of totals (systems, texts) over the sum of sizes (texts).

    All systems are scored on the same resamples, so that their differences are paired.
    """
    stacked = np.vstack([totals, sizes]).T.astype(np.float64)  # (texts, systems + 1)
    sums = np.concatenate([counts @ stacked for counts in _resample_counts(len(sizes), seed, resamples)])
    return sums[:, :-1] / sums[:, -1:]


def _resample_counts(texts: int, seed: int, resamples: int) -> Iterator[np.ndarray]:
    """How often each text is in each resample (resamples, texts), in blocks."""
    rng = np.random.Generator(np.random.Philox(key=seed))
    block = max(1, _BLOCK_SIZE // texts)
    for start in range(0, resamples, block):
        indices = rng.integers(texts, size=(min(block, resamples - start), texts))
        yield np.stack([np.bincount(row, minlength=texts) for row in indices])


def confidence_interval(values: np.ndarray) -> ConfidenceInterval:
    """The 95 % percentile interval of bootstrap values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return ConfidenceInterval(float(low), float(high))


# --- corpus metrics and tests of two systems ----------------------------------------------------------------------


class PairedBootstrap(NamedTuple):
    """A second system compared with a first one on the same resamples."""

    difference: float  # on all texts: the second system's score minus the first's
    interval: ConfidenceInterval  # of the difference
    win_rate: float  # fraction of resamples in which the second is better; ties count half (Koehn 2004)
    p_value: float  # two-sided
    resamples: int


class ApproximateRandomisation(NamedTuple):
    """A second system compared with a first one by randomly exchanging their outputs."""

    difference: float
    p_value: float  # two-sided
    resamples: int


def bootstrap_scores(statistics: CorpusStatistics, seed: int = 0, resamples: int = RESAMPLES) -> np.ndarray:
    """The corpus score of each bootstrap resample (resamples,)."""
    blocks = _resample_counts(len(statistics.counts), seed, resamples)
    return _scores(statistics.compute, np.concatenate([counts @ statistics.counts for counts in blocks]))


def bootstrap_systems(
    systems: Sequence[CorpusStatistics], seed: int = 0, resamples: int = RESAMPLES
) -> np.ndarray:
    """The corpus scores of all systems on the same resamples (resamples, systems)."""
    stacked = np.hstack([system.counts for system in systems])  # (texts, statistics of all)
    sums = np.concatenate([counts @ stacked for counts in _resample_counts(len(stacked), seed, resamples)])
    ends = np.cumsum([system.counts.shape[1] for system in systems])[:-1]
    parts = zip(systems, np.split(sums, ends, axis=1), strict=True)
    return np.stack([_scores(system.compute, part) for system, part in parts], axis=1)


def paired_bootstrap(
    first: CorpusStatistics, second: CorpusStatistics, seed: int = 0, resamples: int = RESAMPLES
) -> PairedBootstrap:
    """The paired bootstrap test (Koehn 2004), two-sided: both systems are scored on the same resamples.

    The null distribution is the bootstrap distribution of the difference, shifted to mean zero.
    """
    _check_comparable(first, second)
    differences = bootstrap_scores(second, seed, resamples) - bootstrap_scores(first, seed, resamples)
    difference = second.compute(second.total) - first.compute(first.total)
    extreme = int((np.abs(differences - differences.mean()) >= _slightly_below(abs(difference))).sum())
    win_rate = float((differences > 0).mean() + (differences == 0).mean() / 2)
    p_value = (extreme + 1) / (resamples + 1)
    return PairedBootstrap(difference, confidence_interval(differences), win_rate, p_value, resamples)


def approximate_randomisation(
    first: CorpusStatistics, second: CorpusStatistics, seed: int = 0, resamples: int = RESAMPLES
) -> ApproximateRandomisation:
    """The approximate randomisation (permutation) test, two-sided: under the null hypothesis, exchanging the two
    systems' outputs of a text changes nothing (Noreen 1989; Riezler and Maxwell 2005)."""
    _check_comparable(first, second)
    both, change = first.total + second.total, second.counts - first.counts
    sums = np.concatenate([first.total + swaps @ change for swaps in _swaps(len(change), seed, resamples)])
    differences = _scores(first.compute, both - sums) - _scores(first.compute, sums)
    difference = second.compute(second.total) - first.compute(first.total)
    extreme = int((np.abs(differences) >= _slightly_below(abs(difference))).sum())
    return ApproximateRandomisation(difference, (extreme + 1) / (resamples + 1), resamples)


def _swaps(texts: int, seed: int, resamples: int) -> Iterator[np.ndarray]:
    """Which texts are exchanged in each trial (resamples, texts), in blocks."""
    rng = np.random.Generator(np.random.Philox(key=seed))
    block = max(1, _BLOCK_SIZE // texts)
    for start in range(0, resamples, block):
        yield rng.integers(2, size=(min(block, resamples - start), texts))


def _scores(compute: Callable[[np.ndarray], float], sums: np.ndarray) -> np.ndarray:
    return np.array([compute(row) for row in sums])


def _slightly_below(value: float) -> float:
    """A threshold that equal differences reach whatever their rounding."""
    return value * (1 - 1e-9) - 1e-12


def _check_comparable(first: CorpusStatistics, second: CorpusStatistics) -> None:
    if first.signature != second.signature or len(first.counts) != len(second.counts):
        raise ValueError("two systems can be compared only if their signatures and numbers of texts are equal")
