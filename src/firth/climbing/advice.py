"""The recommendation in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from firth.climbing.judging import is_tied, recommended
from firth.climbing.rungs import RUNGS, is_neural
from firth.runs.ladder import Advice, Point, Result, Row

Course = Literal["falling", "flat", "overfitting", "unknown"]
_STEEP = 0.01  # of the score, gained in the last third of the time
_WORSE = 0.01  # of the best score, lost until the end


class Trend(NamedTuple):
    """How a learning curve ends."""

    course: Course
    gain: float  # the share of the score that the last third brought, or that was lost since the best


class Known(NamedTuple):
    """What the advice needs to know besides the table."""

    yardstick: str
    floor: float | None
    train_tokens: int
    longer: Callable[[str], str]  # the command that trains a rung for longer


def trend(curve: Sequence[Point]) -> Trend:
    """Still falling, flat, or worse again than it was: by the validation text."""
    if len(curve) < 3:
        return Trend("unknown", 0.0)
    best, last = min(point.bits for point in curve), curve[-1]
    if last.bits > best * (1 + _WORSE):
        return Trend("overfitting", last.bits / best - 1)
    before = [point for point in curve if point.tokens <= last.tokens * 2 / 3] or curve[:1]
    gain = 1 - best / before[-1].bits
    return Trend("falling" if gain > _STEEP else "flat", gain)


def advise(rows: Sequence[Row], results: Sequence[Result], known: Known) -> Advice:
    """What to use, how much better it is, and what more time would bring."""
    choice = recommended(rows)
    curves = {result.rung: trend(result.curve) for result in results}
    parts = (_choice(choice, known), _ties(rows, choice), _others(rows, choice), _truth(choice, known),
             _unseen(rows, choice), _more(rows, choice, curves, known))  # fmt: skip
    return Advice(
        choice.rung, tuple(text for part in parts for text in part), known.longer(_worth(rows, choice, curves))
    )


def _choice(row: Row, known: Known) -> Iterator[str]:
    about = RUNGS[row.rung.partition(":")[0]].about
    yield (
        f"Use {row.rung}, {about}: {row.bits.value:.3f} {known.yardstick} on the test text "
        f"(95% interval {row.bits.low:.3f} to {row.bits.high:.3f}), perplexity {row.perplexity:,.1f}."
    )


def _ties(rows: Sequence[Row], choice: Row) -> Iterator[str]:
    tied = [row.rung for row in rows if is_tied(row) and row is not choice]
    best = min(rows, key=lambda row: row.valid.value)
    if best is not choice:
        part = choice.valid_behind.value / best.valid.value
        yield (
            f"On the validation text {best.rung} was {part:.1%} better, which may be chance; {choice.rung} is simpler."
        )
    elif tied:
        yield f"{_listed(tied)} cannot be told from it on the validation text."


def _others(rows: Sequence[Row], choice: Row) -> Iterator[str]:
    others = sorted((row for row in rows if row is not choice), key=lambda row: row.bits.value)
    other_kind = [row for row in others if is_neural(row.rung) != is_neural(choice.rung)]
    compared = others[:1] + [row for row in other_kind[:1] if row is not others[0]]  # the next, and the other way
    texts = [f"{_than(choice, row)} {row.rung}" for row in compared]
    if texts:
        yield f"On the test text it needs {_listed(texts)}."


def _than(choice: Row, row: Row) -> str:
    share = choice.bits.value / row.bits.value - 1
    return f"{abs(share):.1%} {'less' if share < 0 else 'more'} than"


def _truth(row: Row, known: Known) -> Iterator[str]:
    if known.floor:
        yield (
            f"The truth about this text costs {known.floor:.3f} {known.yardstick}: no model can do better. "
            f"This one is {row.bits.value / known.floor - 1:.1%} above it."
        )


def _unseen(rows: Sequence[Row], choice: Row) -> Iterator[str]:
    """The test text is only reported; where it speaks against the choice, that is said."""
    if choice.behind.low > 0:
        best = min(rows, key=lambda row: row.bits.value)
        yield f"On the test text {best.rung} is better, by more than chance explains: look at both."


def _more(rows: Sequence[Row], choice: Row, curves: dict[str, Trend], known: Known) -> Iterator[str]:
    course, gain = curves[choice.rung]
    passes = choice.tokens / known.train_tokens
    if course == "falling":
        yield (
            f"More time would help: its curve fell by {gain:.1%} in the last third of its time, "
            f"after reading the text {passes:.1f} times."
        )
    elif course == "flat":
        yield f"More time alone would bring little: its curve fell by {gain:.1%} in the last third of its time."
    elif course == "overfitting":
        yield (
            f"It began to learn the text by heart ({gain:.1%} worse at the end than at its best, which is kept): "
            "more text or more dropout would help, more time would not."
        )
    falling = [row.rung for row in rows if curves[row.rung].course == "falling" and row is not choice]
    if not is_neural(choice.rung) and falling:
        still = "were" if len(falling) > 1 else "was"
        yield f"With more time a neural rung may pass it: {_listed(falling)} {still} still learning."


def _worth(rows: Sequence[Row], choice: Row, curves: dict[str, Trend]) -> str:
    """The rung that is worth more time: the choice, or the best that still learns if the choice cannot use any."""
    learning = [row for row in rows if curves[row.rung].course == "falling"]
    if is_neural(choice.rung) or not learning:
        return choice.rung
    return min(learning, key=lambda row: row.valid.value).rung


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
