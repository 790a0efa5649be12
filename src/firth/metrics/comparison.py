"""Comparison of systems on the same references: scores, confidence intervals, significance tests, scores by length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from firth.errors import unknown
from firth.metrics import bootstrap
from firth.metrics.bleu import (
    DEFAULT_OPTIONS,
    MetricOptions,
    check_references,
    count_bleu,
    count_chrf,
    count_length,
    tokenize,
)
from firth.metrics.bootstrap import RESAMPLES, ApproximateRandomisation, ConfidenceInterval, PairedBootstrap
from firth.metrics.by_length import BINS, Bin, by_length
from firth.metrics.corpus_metric import CorpusStatistics, digest, percentage
from firth.metrics.repetition import count_repeated_ngrams
from firth.metrics.rouge import count_rouge
from firth.metrics.score import Score, signature

Texts = Sequence[str]
CountFunction = Callable[[Texts, Sequence[Texts], MetricOptions], list[CorpusStatistics]]
_REPETITION_ORDER = 2  # bigrams: sentences are short


def count_exact_match(
    hypotheses: Texts, references: Sequence[Texts], options: MetricOptions = DEFAULT_OPTIONS
) -> CorpusStatistics:
    """Exact match: the percentage of texts equal to one of their references, up to white space."""
    check_references(hypotheses, references)

    def normalised(text: str) -> str:
        return " ".join((text.lower() if options.lowercase else text).split())

    hits = [normalised(text) in map(normalised, golds) for text, *golds in zip(hypotheses, *references, strict=True)]
    fields = {"nrefs": len(references), "case": _case(options), "data": digest(references)}
    counts = np.array([(hit, 1.0) for hit in hits], float)
    return CorpusStatistics("exact match", counts, percentage, signature(fields))


def count_repetition(texts: Texts, options: MetricOptions = DEFAULT_OPTIONS) -> CorpusStatistics:
    """The percentage of word bigrams that occurred earlier in the same text (seq-rep-2, Welleck et al. 2020)."""
    counts = [count_repeated_ngrams(words, _REPETITION_ORDER) for words in tokenize(texts, options)]
    fields = {"case": _case(options), "tok": options.tokenize or "13a", "order": _REPETITION_ORDER}
    return CorpusStatistics("repetition", np.array(counts, float), percentage, signature(fields))


def _case(options: MetricOptions) -> str:
    return "lc" if options.lowercase else "mixed"


METRICS: dict[str, CountFunction] = {
    "bleu": lambda texts, references, options: [count_bleu(texts, references, options)],
    "chrf": lambda texts, references, options: [count_chrf(texts, references, options)],
    "rouge": count_rouge,
    "exact": lambda texts, references, options: [count_exact_match(texts, references, options)],
}


class MeasuredScore(NamedTuple):
    """A score, its 95 % confidence interval, and its details (precisions, lengths)."""

    score: Score
    interval: ConfidenceInterval
    details: dict[str, float]


class SignificanceTests(NamedTuple):
    """A metric of a system tested against the first system's."""

    metric: str
    paired_bootstrap: PairedBootstrap
    approximate_randomisation: ApproximateRandomisation


@dataclass(frozen=True)
class SystemScores:
    """The scores of one system."""

    name: str
    scores: tuple[MeasuredScore, ...]
    diagnostics: tuple[Score, ...]  # length ratio and repetition: neither higher nor lower is better in itself
    significance: tuple[SignificanceTests, ...]  # against the first system; empty for the first itself


@dataclass(frozen=True)
class Comparison:
    """All systems; the repetition of the references, as a baseline; the first metric by length if sources are given."""

    systems: tuple[SystemScores, ...]
    reference: Score
    by_length: tuple[Bin, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "systems": [_system_json(system) for system in self.systems],
            "reference": self.reference.to_dict(),
            "by_length": [length_bin._asdict() for length_bin in self.by_length],
        }


def compare(
    systems: Sequence[tuple[str, Texts]],
    references: Sequence[Texts],
    metrics: Sequence[str] = ("bleu", "chrf"),
    options: MetricOptions = DEFAULT_OPTIONS,
    *,
    sources: Texts = (),
    edges: Sequence[int] = (),
    bins: int = BINS,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Score systems (name, texts) on the same references; each after the first is tested against the first."""
    for name in metrics:
        if name not in METRICS:
            raise unknown("metric", name, METRICS)
    statistics = [
        [each for name in metrics for each in METRICS[name](texts, references, options)] for _, texts in systems
    ]
    results = [
        _score_system(
            name, count_diagnostics(texts, references, options), scores, statistics[0] if n else [], seed, resamples
        )
        for n, ((name, texts), scores) in enumerate(zip(systems, statistics, strict=True))
    ]
    length_bins: list[Bin] = []
    if sources:
        check_references(systems[0][1], [sources])
        lengths = [len(words) for words in tokenize(sources, options)]
        length_bins = by_length(lengths, [scores[0] for scores in statistics], edges, bins)
    return Comparison(tuple(results), count_repetition(references[0], options).score(), tuple(length_bins))


def count_diagnostics(
    texts: Texts, references: Sequence[Texts], options: MetricOptions = DEFAULT_OPTIONS
) -> tuple[CorpusStatistics, CorpusStatistics]:
    """The length ratio to the references, and the repetition rate."""
    return count_length(count_bleu(texts, references, options)), count_repetition(texts, options)


def _score_system(
    name: str,
    diagnostics: Sequence[CorpusStatistics],
    statistics: Sequence[CorpusStatistics],
    baseline: Sequence[CorpusStatistics],
    seed: int,
    resamples: int,
) -> SystemScores:
    scores = []
    for each in statistics:
        interval = bootstrap.confidence_interval(bootstrap.bootstrap_scores(each, seed, resamples))
        scores.append(MeasuredScore(each.score(), interval, dict(each.details(each.total))))
    significance = [
        SignificanceTests(
            each.name,
            bootstrap.paired_bootstrap(first, each, seed, resamples),
            bootstrap.approximate_randomisation(first, each, seed, resamples),
        )
        for first, each in zip(baseline, statistics, strict=bool(baseline))
    ]
    return SystemScores(name, tuple(scores), tuple(each.score() for each in diagnostics), tuple(significance))


def _system_json(system: SystemScores) -> dict[str, Any]:
    scores = [
        {**asdict(score), "interval": list(interval), "details": details} for score, interval, details in system.scores
    ]
    significance = [
        {
            "metric": metric,
            "paired_bootstrap": {**paired._asdict(), "interval": list(paired.interval)},
            "approximate_randomisation": randomised._asdict(),
        }
        for metric, paired, randomised in system.significance
    ]
    diagnostics = [asdict(score) for score in system.diagnostics]
    return {"name": system.name, "scores": scores, "diagnostics": diagnostics, "significance": significance}
