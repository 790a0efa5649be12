"""Several models that write one text together: a stepper made of steppers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from firth.errors import FirthError, unknown
from firth.types import ALIGNMENT, Batch, State, Stepper


def _of_probabilities(rows: Tensor, weights: Tensor) -> Tensor:
    """The logarithm of the weighted mean of probabilities: a mixture; rows (members, rows, size)."""
    return (rows + weights.log().to(rows.dtype)[:, None, None]).logsumexp(0)


def _of_logarithms(rows: Tensor, weights: Tensor) -> Tensor:
    """The weighted mean of log-probabilities, normed anew: what one member rules out is out."""
    return (rows * weights.to(rows.dtype)[:, None, None]).sum(0).log_softmax(-1)


MEANS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "probabilities": _of_probabilities,
    "log-probabilities": _of_logarithms,
}


class Ensemble:
    """Members read the same texts in the same vocabulary; each keeps its state under its own name."""

    def __init__(
        self,
        steppers: Sequence[Stepper],
        weights: Sequence[float] | None = None,
        mean: Literal["probabilities", "log-probabilities"] = "probabilities",
    ) -> None:
        """`weights` are shares of the members, equal if they are not told; they need not add up to 1."""
        weights = weights if weights is not None else [1.0] * len(steppers)
        _check(steppers, weights, mean)
        self.steppers, self.size = list(steppers), steppers[0].size
        self.weights, self.mean = torch.tensor(weights, dtype=torch.float64), MEANS[mean]
        self.weights /= self.weights.sum()

    def start(self, batch: Batch) -> State:
        """The states of all members after the prompts but for their last token."""
        return _joined([stepper.start(batch) for stepper in self.steppers])

    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Log-probabilities of the next token (rows, size), and where the members look, on average."""
        found = [stepper.step(last, _part(state, number)) for number, stepper in enumerate(self.steppers)]
        after = _joined([each for _, each in found])
        seen = [each.live.get(ALIGNMENT) for _, each in found]
        if all(part is not None for part in seen):
            mean = torch.einsum("mrs,m->rs", torch.stack(seen), self.weights.to(seen[0].dtype))
            after = State(after.source, {**after.live, ALIGNMENT: mean})
        return self.mean(torch.stack([rows for rows, _ in found]), self.weights), after


def _joined(states: Sequence[State]) -> State:
    """States under names of their own: 0.keys, 1.keys."""
    source, live = (
        {f"{number}.{name}": value for number, part in enumerate(parts) for name, value in part.items()}
        for parts in zip(*((state.source, state.live) for state in states), strict=True)
    )
    return State(source, live)


def _part(state: State, number: int) -> State:
    """A member's own state."""
    prefix = f"{number}."

    def own(part: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in part.items() if name.startswith(prefix)}

    return State(own(state.source), own(state.live))


def _check(steppers: Sequence[Stepper], weights: Sequence[float], mean: str) -> None:
    if mean not in MEANS:
        raise unknown("mean", mean, MEANS)
    if not steppers:
        raise FirthError("an ensemble of no models", do="name at least one")
    if len(weights) != len(steppers) or min(weights) <= 0:
        what = f"{len(weights)} weights for {len(steppers)} models, the least {min(weights, default=0)}"
        raise FirthError(what, do="give each model a weight above 0")
    if len({stepper.size for stepper in steppers}) > 1:
        sizes = ", ".join(str(stepper.size) for stepper in steppers)
        raise FirthError(f"models of different vocabularies ({sizes} tokens)", do="train them with one tokenizer")
