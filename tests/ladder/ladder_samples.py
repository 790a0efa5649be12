"""Results for the tests, made by hand."""

from __future__ import annotations

from math import log

from firth.runs.base_ladder import ConfidenceInterval
from firth.runs.ladder_folder import Point, Result, Row, UnitScores, WorstPassage


def units(bits, sizes=(10.0,) * 40):
    """Scores of units: the same bits per byte for all, or those of a list."""
    each = bits if isinstance(bits, (list, tuple)) else [bits] * len(sizes)
    return UnitScores(2.0, tuple(b * log(2) * s for b, s in zip(each, sizes, strict=True)), tuple(sizes))


def curve(*bits):
    return tuple(Point(2.0 * n, 1000 * n, b, f"sample {n}" if n % 2 else "") for n, b in enumerate(bits, 1))


def result(rung="lstm-lm", valid=2.0, test=2.0, bits=(3.0, 2.5, 2.2, 2.0), seconds=8.0, tokens=4000):
    preset = rung if "gram" not in rung else "ngram-lm"
    worst = (WorstPassage(4.5, ("bad <b>", " luck"), (13.0, 2.0)),)
    return Result(rung, preset, 1000, seconds, tokens, units(valid), units(test), curve(*bits), ("a <b> & c",), worst)


def row(rung, valid=2.0, behind=(0.0, 0.0, 0.0), bits=None, test_behind=(0.0, 0.0, 0.0)):
    value = valid if bits is None else bits
    test_interval = ConfidenceInterval(value, value - 0.1, value + 0.1)
    valid_interval = ConfidenceInterval(valid, valid - 0.1, valid + 0.1)
    return Row(
        rung,
        rung,
        1000,
        8.0,
        500.0,
        4000,
        9.0,
        test_interval,
        valid_interval,
        ConfidenceInterval(*test_behind),
        ConfidenceInterval(*behind),
        "a text",
    )
