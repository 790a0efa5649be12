"""How tensors of other programs become ours, and back: steps that can each be undone.

A table of steps is data: the same entries bring a checkpoint in and give it out, so that import then export is the
identity, tensor for tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Change(Protocol):
    """One thing done to tensors."""

    def bring(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        """Theirs -> ours."""

    def give(self, ours: Sequence[Tensor]) -> list[Tensor]:
        """Ours -> theirs."""


@dataclass(frozen=True)
class Turn:
    """A matrix kept as (in, out) there is (out, in) here."""

    def bring(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.T for tensor in theirs]

    def give(self, ours: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.T for tensor in ours]


@dataclass(frozen=True)
class Stack:
    """Several tensors there are one here, one below the other: queries, keys and values."""

    parts: int

    def bring(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [torch.cat(list(theirs))]

    def give(self, ours: Sequence[Tensor]) -> list[Tensor]:
        (tensor,) = ours
        return list(tensor.chunk(self.parts))


@dataclass(frozen=True)
class Shape:
    """The same numbers in another shape; -1 for what follows from the others."""

    theirs: tuple[int, ...]
    ours: tuple[int, ...]

    def bring(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.reshape(self.ours) for tensor in theirs]

    def give(self, ours: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.reshape(self.theirs) for tensor in ours]


@dataclass(frozen=True)
class Drop:
    """The first rows there, which nothing reads, are not here; they are written as zeros."""

    rows: int

    def bring(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [tensor[self.rows :] for tensor in theirs]

    def give(self, ours: Sequence[Tensor]) -> list[Tensor]:
        return [torch.cat([tensor.new_zeros(self.rows, *tensor.shape[1:]), tensor]) for tensor in ours]


@dataclass(frozen=True)
class Flip:
    """The rows in the other order."""

    def bring(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.flip(0) for tensor in theirs]

    give = bring


@dataclass(frozen=True)
class Copies:
    """One tensor that is written under several names, of which the first is read."""

    count: int

    def bring(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [theirs[0]]

    def give(self, ours: Sequence[Tensor]) -> list[Tensor]:
        return [ours[0]] * self.count


@dataclass(frozen=True)
class Step:
    """One of our tensors, the ones of theirs that it is made of, and what is done to them, in order."""

    ours: str
    theirs: tuple[str, ...]
    changes: tuple[Change, ...] = ()

    def bring(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Our tensor."""
        found = [tensors[name] for name in self.theirs]
        for change in self.changes:
            found = change.bring(found)
        (tensor,) = found
        return tensor.contiguous()

    def give(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Their tensors."""
        found = [tensors[self.ours]]
        for change in reversed(self.changes):
            found = change.give(found)
        pairs = zip(self.theirs, found, strict=True)  # each in memory of its own, as a file needs them
        return {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in pairs}


@dataclass(frozen=True)
class Blank:
    """A tensor of theirs that says nothing: not read, and written as zeros."""

    name: str
    shape: Callable[[Mapping[str, Tensor]], tuple[int, ...]]  # from our tensors
    ours: str = ""

    @property
    def theirs(self) -> tuple[str, ...]:
        """Its name, as steps have it."""
        return (self.name,)

    def give(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Zeros."""
        return {self.name: next(iter(tensors.values())).new_zeros(self.shape(tensors))}


Steps = Sequence[Step | Blank]


def bring(steps: Steps, theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All of our tensors."""
    return {step.ours: step.bring(theirs) for step in steps if isinstance(step, Step)}


def give(steps: Steps, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All of theirs."""
    return {name: tensor for step in steps for name, tensor in step.give(ours).items()}


# --- how tables are written ---------------------------------------------------------------------------------------


def same(ours: str, theirs: str, *changes: Change) -> list[Step]:
    """A tensor under another name."""
    return [Step(ours, (theirs,), changes)]


def layer(ours: str, theirs: str, *changes: Change, bias: bool = True) -> list[Step]:
    """Weight and bias of a layer; changes are of the weight."""
    found = [Step(f"{ours}.weight", (f"{theirs}.weight",), changes)]
    return [*found, Step(f"{ours}.bias", (f"{theirs}.bias",))] if bias else found


def joined(ours: str, theirs: Sequence[str], bias: bool = True) -> list[Step]:
    """Layers there that are one here."""
    names = ("weight", "bias") if bias else ("weight",)
    stack = (Stack(len(theirs)),)
    return [Step(f"{ours}.{name}", tuple(f"{each}.{name}" for each in theirs), stack) for name in names]
