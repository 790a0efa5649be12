"""Systems that wrote the same texts, side by side: scores, how sure they are, differences, and scores by length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from firth.errors import unknown
from firth.metrics.bootstrap import DRAWS, Interval, Paired, Swapped, interval, paired, redrawn, swapped
from firth.metrics.counted import Counted, digest, percent
from firth.metrics.lengths import BINS, Bin, by_length
from firth.metrics.repetition import repeated_runs
from firth.metrics.score import Score, signature
from firth.metrics.summary import count_rouge
from firth.metrics.translation import USUAL, Manner, check, count_bleu, count_chrf, count_length, tokens

Texts = Sequence[str]
Counting = Callable[[Texts, Sequence[Texts], Manner], list[Counted]]
_ORDER = 2  # of the runs of words that count as repeated: sentences are short


def count_exact(hypotheses: Texts, references: Sequence[Texts], manner: Manner = USUAL) -> Counted:
    """Texts that are one of their references, white space aside."""
    check(hypotheses, references)

    def plain(text: str) -> str:
        return " ".join((text.lower() if manner.lowercase else text).split())

    hits = [plain(text) in map(plain, several) for text, *several in zip(hypotheses, *references, strict=True)]
    told = {"nrefs": len(references), "case": "lc" if manner.lowercase else "mixed", "data": digest(references)}
    return Counted("exact match", np.array([(hit, 1.0) for hit in hits], float), percent, signature(told))


def count_repetition(texts: Texts, manner: Manner = USUAL) -> Counted:
    """Pairs of words that stood in the same text before, in each hundred pairs (Welleck et al. 2020)."""
    rows = [repeated_runs(words, _ORDER) for words in tokens(texts, manner)]
    told = {"case": "lc" if manner.lowercase else "mixed", "tok": manner.tokenize or "13a", "order": _ORDER}
    return Counted("repetition", np.array(rows, float), percent, signature(told))


METRICS: dict[str, Counting] = {
    "bleu": lambda texts, references, manner: [count_bleu(texts, references, manner)],
    "chrf": lambda texts, references, manner: [count_chrf(texts, references, manner)],
    "rouge": count_rouge,
    "exact": lambda texts, references, manner: [count_exact(texts, references, manner)],
}


class Measured(NamedTuple):
    """A score, where it lies in 95 of 100 draws, and what else its counts say."""

    score: Score
    interval: Interval
    details: dict[str, float]


class Against(NamedTuple):
    """A score of a system against the first system's."""

    metric: str
    paired: Paired
    swapped: Swapped


@dataclass(frozen=True)
class Outcome:
    """One system."""

    name: str
    scores: tuple[Measured, ...]
    habits: tuple[Score, ...]  # length and repetition: neither more nor less is better in itself
    against: tuple[Against, ...]  # the first system; nothing for itself


@dataclass(frozen=True)
class Comparison:
    """All systems; the references' own repetition, to judge theirs by; and the first metric by length, if asked."""

    systems: tuple[Outcome, ...]
    reference: Score
    lengths: tuple[Bin, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "systems": [_system(outcome) for outcome in self.systems],
            "reference": self.reference.to_dict(),
            "lengths": [found._asdict() for found in self.lengths],
        }


def compare(
    systems: Sequence[tuple[str, Texts]],
    references: Sequence[Texts],
    metrics: Sequence[str] = ("bleu", "chrf"),
    manner: Manner = USUAL,
    *,
    sources: Texts = (),
    edges: Sequence[int] = (),
    bins: int = BINS,
    seed: int = 0,
    draws: int = DRAWS,
) -> Comparison:
    """Systems (name and texts) scored on the same references; each after the first is tested against the first."""
    for name in metrics:
        if name not in METRICS:
            raise unknown("metric", name, METRICS)
    counted = [
        [found for name in metrics for found in METRICS[name](texts, references, manner)] for _, texts in systems
    ]
    outcomes = [
        _outcome(name, count_habits(texts, references, manner), scores, counted[0] if place else [], seed, draws)
        for place, ((name, texts), scores) in enumerate(zip(systems, counted, strict=True))
    ]
    found: list[Bin] = []
    if sources:
        check(systems[0][1], [sources])
        lengths = [len(words) for words in tokens(sources, manner)]
        found = by_length(lengths, [scores[0] for scores in counted], edges, bins)
    return Comparison(tuple(outcomes), count_repetition(references[0], manner).score(), tuple(found))


def count_habits(texts: Texts, references: Sequence[Texts], manner: Manner = USUAL) -> tuple[Counted, Counted]:
    """How long texts are against their references, and how much they repeat themselves."""
    return count_length(count_bleu(texts, references, manner)), count_repetition(texts, manner)


def _outcome(
    name: str, habits: Sequence[Counted], scores: Sequence[Counted], first: Sequence[Counted], seed: int, draws: int
) -> Outcome:
    measured = [Measured(each.score(), interval(redrawn(each, seed, draws)), dict(each.details(each.total)))
                for each in scores]  # fmt: skip
    against = [Against(ours.name, paired(theirs, ours, seed, draws), swapped(theirs, ours, seed, draws))
               for theirs, ours in zip(first, scores, strict=bool(first))]  # fmt: skip
    return Outcome(name, tuple(measured), tuple(each.score() for each in habits), tuple(against))


def _system(outcome: Outcome) -> dict[str, Any]:
    scores = [{**asdict(score), "interval": list(where), "details": details}
              for score, where, details in outcome.scores]  # fmt: skip
    against = [
        {"metric": metric, "paired": {**pair._asdict(), "interval": list(pair.interval)}, "swapped": swap._asdict()}
        for metric, pair, swap in outcome.against
    ]
    return {"name": outcome.name, "scores": scores, "habits": [asdict(score) for score in outcome.habits],
            "against": against}  # fmt: skip
