"""The recommendation in plain words: which rung to use, how much better it is, and what a larger budget would bring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from firth.ladder.results_table import is_tied, recommend
from firth.ladder.rungs import RUNGS, is_neural
from firth.runs.base_ladder import Advice
from firth.runs.ladder_folder import Point, Result, Row

METRIC = "bits per byte"
Course = Literal["falling", "flat", "overfitting", "unknown"]
_MIN_GAIN = 0.01  # of the score in the last third of training: the curve is still falling
_MAX_INCREASE = 0.01  # above the best score at the end: overfitting


class Trend(NamedTuple):
    """The end of a learning curve."""

    course: Course
    gain: float  # relative improvement in the last third, or relative loss since the best


class AdviceContext(NamedTuple):
    """What the recommendation needs besides the table."""

    true_entropy: float | None
    train_tokens: int
    longer_command: Callable[[str], str]  # the command that trains a rung with a larger budget


def curve_trend(curve: Sequence[Point]) -> Trend:
    """Classify a validation curve as falling, flat or overfitting."""
    if len(curve) < 2:
        return Trend("unknown", 0.0)
    best, last = min(point.bits for point in curve), curve[-1]
    if last.bits > best * (1 + _MAX_INCREASE):
        return Trend("overfitting", last.bits / best - 1)
    before = [point for point in curve if point.tokens <= last.tokens * 2 / 3] or curve[:1]
    gain = 1 - best / before[-1].bits
    return Trend("falling" if gain > _MIN_GAIN else "flat", gain)


def advise(rows: Sequence[Row], results: Sequence[Result], context: AdviceContext) -> Advice:
    """Recommend a rung: how much better it is than others, and what a larger budget would bring."""
    choice = recommend(rows)
    curves = {result.rung: curve_trend(result.curve) for result in results}
    parts = (
        _describe_choice(choice),
        _describe_ties(rows, choice),
        _describe_others(rows, choice),
        _describe_entropy(choice, context),
        _describe_test(rows, choice),
        _describe_budget(rows, choice, curves, context),
    )
    next_rung = _worth_training(rows, choice, curves)
    sentences = tuple(text for part in parts for text in part)
    return Advice(choice.rung, sentences, context.longer_command(next_rung), next_rung)


def _describe_choice(row: Row) -> Iterator[str]:
    about = RUNGS[row.rung.partition(":")[0]].description
    yield (
        f"Use {row.rung}, {about}: {row.bits.value:.3f} {METRIC} on the test text "
        f"(95% confidence interval {row.bits.low:.3f} to {row.bits.high:.3f}), perplexity {row.perplexity:,.1f}."
    )


def _describe_ties(rows: Sequence[Row], choice: Row) -> Iterator[str]:
    tied = [row.rung for row in rows if is_tied(row) and row is not choice]
    best = min(rows, key=lambda row: row.valid.value)
    if best is not choice:
        part = choice.valid_behind.value / best.valid.value
        yield (
            f"On the validation text {best.rung} was {part:.1%} better, which is not significant; "
            f"{choice.rung} is simpler."
        )
    elif tied:
        yield f"{_join_names(tied)} {'are' if len(tied) > 1 else 'is'} not significantly worse on the validation text."


def _describe_others(rows: Sequence[Row], choice: Row) -> Iterator[str]:
    others = sorted((row for row in rows if row is not choice), key=lambda row: row.bits.value)
    other_kind = [row for row in others if is_neural(row.rung) != is_neural(choice.rung)]
    compared = others[:1] + [
        row for row in other_kind[:1] if row is not others[0]
    ]  # the next best, and the best of the other kind
    texts = [f"{_compare(choice, row)} {row.rung}" for row in compared]
    if texts:
        yield f"On the test text it needs {_join_names(texts)}."


def _compare(choice: Row, row: Row) -> str:
    difference = choice.bits.value / row.bits.value - 1
    return f"{abs(difference):.1%} {'less' if difference < 0 else 'more'} than"


def _describe_entropy(row: Row, context: AdviceContext) -> Iterator[str]:
    if context.true_entropy:
        yield (
            f"The entropy of this text is {context.true_entropy:.3f} {METRIC}: no model can do better. "
            f"This one is {row.bits.value / context.true_entropy - 1:.1%} above it."
        )


def _describe_test(rows: Sequence[Row], choice: Row) -> Iterator[str]:
    """The test text is only reported; a significant disagreement with the choice is noted."""
    if choice.behind.low > 0:
        best = min(rows, key=lambda row: row.bits.value)
        yield f"On the test text {best.rung} is significantly better: look at both."


def _describe_budget(
    rows: Sequence[Row], choice: Row, curves: dict[str, Trend], context: AdviceContext
) -> Iterator[str]:
    course, gain = curves[choice.rung]
    epochs = choice.tokens / context.train_tokens
    if course == "falling":
        yield (
            f"More time would help: its validation curve fell by {gain:.1%} in the last third of its time, "
            f"after {epochs:.1f} epochs."
        )
    elif course == "flat":
        yield f"More time alone would bring little: its validation curve fell by {gain:.1%} in the last third."
    elif course == "overfitting":
        yield (
            f"It overfitted ({gain:.1%} worse at the end than at its best checkpoint, which is kept): "
            "more text or more dropout would help, more time would not."
        )
    falling = [row.rung for row in rows if curves[row.rung].course == "falling" and row is not choice]
    if not is_neural(choice.rung) and falling:
        verb = "were" if len(falling) > 1 else "was"
        yield f"With more time a neural rung may overtake it: {_join_names(falling)} {verb} still improving."
    most = max((row.tokens for row in rows if is_neural(row.rung)), default=0) / context.train_tokens
    if not is_neural(choice.rung) and 0 < most < 1:
        yield f"No network saw the whole text in this time (at most {most:.0%} of it): for a fair comparison give more."


def _worth_training(rows: Sequence[Row], choice: Row, curves: dict[str, Trend]) -> str:
    """The rung worth a larger budget: the choice, or the best that still improves if the choice is an n-gram."""
    improving = [row for row in rows if curves[row.rung].course == "falling"]
    if is_neural(choice.rung) or not improving:
        return choice.rung
    return min(improving, key=lambda row: row.valid.value).rung


def _join_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
