"""Ensemble decoding: several models generate one text together, as one stepper made of steppers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from firth.errors import FirthError, unknown
from firth.types import ALIGNMENT, Batch, State, Stepper


def _average_probabilities(log_probs: Tensor, weights: Tensor) -> Tensor:
    """The logarithm of the weighted mean of probabilities: a mixture; log_probs (members, rows, size)."""
    return (log_probs + weights.log().to(log_probs.dtype)[:, None, None]).logsumexp(0)


def _average_log_probabilities(log_probs: Tensor, weights: Tensor) -> Tensor:
    """The weighted mean of log-probabilities, renormalised (log-linear): what one member excludes is excluded."""
    return (log_probs * weights.to(log_probs.dtype)[:, None, None]).sum(0).log_softmax(-1)


MEANS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "probabilities": _average_probabilities,
    "log-probabilities": _average_log_probabilities,
}


class Ensemble:
    """A stepper that averages the predictions of its members, which share one vocabulary."""

    def __init__(
        self,
        steppers: Sequence[Stepper],
        weights: Sequence[float] | None = None,
        mean: Literal["probabilities", "log-probabilities"] = "probabilities",
    ) -> None:
        """`weights` of the members are equal by default; they need not add up to 1."""
        weights = weights if weights is not None else [1.0] * len(steppers)
        _check(steppers, weights, mean)
        self.steppers, self.size = list(steppers), steppers[0].size
        self.weights, self.mean = torch.tensor(weights, dtype=torch.float64), MEANS[mean]
        self.weights /= self.weights.sum()

    def start(self, batch: Batch) -> State:
        """The states of all members after the prompts but for their last token."""
        return _merge([stepper.start(batch) for stepper in self.steppers])

    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Log-probabilities of the next token (rows, size), and the members' mean attention weights."""
        outputs = [stepper.step(last, _member_state(state, number)) for number, stepper in enumerate(self.steppers)]
        merged = _merge([each for _, each in outputs])
        attention = [each.live[ALIGNMENT] for _, each in outputs if ALIGNMENT in each.live]
        if len(attention) == len(outputs):
            mean = torch.einsum("mrs,m->rs", torch.stack(attention), self.weights.to(attention[0].dtype))
            merged = State(merged.source, {**merged.live, ALIGNMENT: mean})
        return self.mean(torch.stack([log_probs for log_probs, _ in outputs]), self.weights), merged


def _merge(states: Sequence[State]) -> State:
    """The members' states in one, under the keys 0.name, 1.name, …"""
    source, live = (
        {f"{number}.{name}": value for number, part in enumerate(parts) for name, value in part.items()}
        for parts in zip(*((state.source, state.live) for state in states), strict=True)
    )
    return State(source, live)


def _member_state(state: State, number: int) -> State:
    """One member's own state."""
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
        what = f"{len(weights)} weights for {len(steppers)} models, the smallest {min(weights, default=0)}"
        raise FirthError(what, do="give each model a weight above 0")
    if len({stepper.size for stepper in steppers}) > 1:
        sizes = ", ".join(str(stepper.size) for stepper in steppers)
        raise FirthError(f"models of different vocabularies ({sizes} tokens)", do="train them with one tokenizer")
