"""The table: every rung with how sure its score is, and which of them to take."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from firth.climbing.rungs import in_order
from firth.metrics.bootstrap import interval, resampled
from firth.runs.ladder import Result, Row, Spread, Units

LITTLE = 0.02  # of the best score: a simpler rung may be worse by so much, if the difference could be chance


def table(results: Sequence[Result], seed: int) -> tuple[Row, ...]:
    """A row per rung, the simplest first."""
    by_name = {result.rung: result for result in results}
    results = [by_name[name] for name in in_order(by_name)]
    test, behind = spreads([result.test for result in results], seed)
    valid, valid_behind = spreads([result.valid for result in results], seed)
    return tuple(
        Row(
            rung=result.rung,
            preset=result.preset,
            parameters=result.parameters,
            seconds=result.seconds,
            tokens_per_second=result.tokens / result.seconds if result.seconds else 0.0,
            tokens=result.tokens,
            perplexity=result.test.perplexity,
            bits=test[place],
            valid=valid[place],
            behind=behind[place],
            valid_behind=valid_behind[place],
            sample=next(filter(str.strip, result.samples), ""),
        )
        for place, result in enumerate(results)
    )


def spreads(units: Sequence[Units], seed: int) -> tuple[list[Spread], list[Spread]]:
    """The score of each system, and how far it is behind the best, draw by draw on the same units."""
    drawn = resampled(np.array([found.nats for found in units]), np.array(units[0].sizes), seed) / log(2)
    bits = np.array([found.bits for found in units])
    best = int(bits.argmin())
    own = [Spread(float(value), *interval(drawn[:, n])) for n, value in enumerate(bits)]
    gaps = drawn - drawn[:, [best]]
    return own, [Spread(float(value - bits[best]), *interval(gaps[:, n])) for n, value in enumerate(bits)]


def is_tied(row: Row) -> bool:
    """Whether a rung cannot be told from the best on the validation text, and is hardly worse."""
    best = row.valid.value - row.valid_behind.value
    return row.valid_behind.low <= 0 and row.valid_behind.value <= LITTLE * best


def recommended(rows: Sequence[Row]) -> Row:
    """The simplest of those that cannot be told from the best; the test text has no say."""
    return next(row for row in rows if is_tied(row))
