"""The results table: every rung with bootstrap confidence intervals, and the choice of the recommended rung."""

from __future__ import annotations

from collections.abc import Sequence

from firth.ladder.rung_comparison import intervals
from firth.ladder.rung_comparison import is_tied as is_tied_by
from firth.ladder.rung_comparison import recommend as recommend_by
from firth.ladder.rungs import sort_rungs
from firth.metrics.ladder_metric import BITS_PER_BYTE
from firth.runs.base_ladder import ConfidenceInterval
from firth.runs.ladder_folder import Result, Row, UnitScores


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
    return intervals(BITS_PER_BYTE, [scores.counts for scores in units], seed)


def is_tied(row: Row) -> bool:
    """Whether a rung is not significantly, and only slightly, worse than the best on the validation text."""
    return is_tied_by(BITS_PER_BYTE, row)


def recommend(rows: Sequence[Row]) -> Row:
    """The simplest rung that is tied with the best on the validation text; the test text is not used."""
    return recommend_by(BITS_PER_BYTE, rows)
