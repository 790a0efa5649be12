"""The results table: every rung with bootstrap confidence intervals, and the choice of the recommended rung."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from firth.ladder.rungs import sort_rungs
from firth.metrics.bootstrap import bootstrap_ratios, confidence_interval
from firth.runs.ladder_folder import ConfidenceInterval, Result, Row, UnitScores

# of the best score: a simpler rung may be worse by so much, if the difference is not significant
MAX_TIE_DIFFERENCE = 0.02


def build_table(results: Sequence[Result], seed: int) -> tuple[Row, ...]:
    """Build a row per rung, the simplest first."""
    by_name = {result.rung: result for result in results}
    results = [by_name[name] for name in sort_rungs(by_name)]
    test, behind = score_intervals([result.test for result in results], seed)
    valid, valid_behind = score_intervals([result.valid for result in results], seed)
    return tuple(
        Row(
            rung=result.rung,
            preset=result.preset,
            parameters=result.parameters,
            seconds=result.seconds,
            tokens_per_second=result.tokens_per_second or _overall_speed(result),
            tokens=result.tokens,
            perplexity=result.test.perplexity,
            bits=test[index],
            valid=valid[index],
            behind=behind[index],
            valid_behind=valid_behind[index],
            sample=next(filter(str.strip, result.samples), ""),
        )
        for index, result in enumerate(results)
    )


def _overall_speed(result: Result) -> float:
    return result.tokens / result.seconds if result.seconds else 0.0


def score_intervals(
    units: Sequence[UnitScores], seed: int
) -> tuple[list[ConfidenceInterval], list[ConfidenceInterval]]:
    """Confidence intervals of each system's score and of its paired difference from the best (bootstrap over units)."""
    samples = bootstrap_ratios(np.array([scores.nats for scores in units]), np.array(units[0].sizes), seed) / log(2)
    bits = np.array([scores.bits for scores in units])
    best = int(bits.argmin())
    intervals = [ConfidenceInterval(float(value), *confidence_interval(samples[:, n])) for n, value in enumerate(bits)]
    differences = samples - samples[:, [best]]
    return intervals, [
        ConfidenceInterval(float(value - bits[best]), *confidence_interval(differences[:, n]))
        for n, value in enumerate(bits)
    ]


def is_tied(row: Row) -> bool:
    """Whether a rung is not significantly, and only slightly, worse than the best on the validation text."""
    best = row.valid.value - row.valid_behind.value
    return row.valid_behind.low <= 0 and row.valid_behind.value <= MAX_TIE_DIFFERENCE * best


def recommend(rows: Sequence[Row]) -> Row:
    """The simplest rung that is tied with the best on the validation text; the test text is not used."""
    return next(row for row in rows if is_tied(row))
