"""Invertible weight conversion between Hugging Face checkpoints and our state dict.

A list of conversions is data: the same entries import a checkpoint and export it, so that import then export is the
identity, tensor for tensor. `ours` are names of our tensors, `theirs` those in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Operation(Protocol):
    """An invertible operation on tensors."""

    def from_hf(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        """Their tensors -> ours."""

    def to_hf(self, ours: Sequence[Tensor]) -> list[Tensor]:
        """Our tensors -> theirs."""


@dataclass(frozen=True)
class Transpose:
    """Theirs is (in, out), as in a Conv1D; ours is (out, in), as in a Linear."""

    def from_hf(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.T for tensor in theirs]

    def to_hf(self, ours: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.T for tensor in ours]


@dataclass(frozen=True)
class Concatenate:
    """Several tensors of theirs, such as queries, keys and values, are concatenated to one of ours."""

    parts: int

    def from_hf(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [torch.cat(list(theirs))]

    def to_hf(self, ours: Sequence[Tensor]) -> list[Tensor]:
        (tensor,) = ours
        return list(tensor.chunk(self.parts))


@dataclass(frozen=True)
class Reshape:
    """The same values in another shape; one size may be -1."""

    theirs: tuple[int, ...]
    ours: tuple[int, ...]

    def from_hf(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.reshape(self.ours) for tensor in theirs]

    def to_hf(self, ours: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.reshape(self.theirs) for tensor in ours]


@dataclass(frozen=True)
class SkipRows:
    """The first rows of theirs are unused: skipped on import, zeros on export."""

    rows: int

    def from_hf(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [tensor[self.rows :] for tensor in theirs]

    def to_hf(self, ours: Sequence[Tensor]) -> list[Tensor]:
        return [torch.cat([tensor.new_zeros(self.rows, *tensor.shape[1:]), tensor]) for tensor in ours]


@dataclass(frozen=True)
class FlipRows:
    """The rows in reverse order."""

    def from_hf(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [tensor.flip(0) for tensor in theirs]

    to_hf = from_hf


@dataclass(frozen=True)
class Duplicate:
    """One tensor of ours is exported under several names; the first of them is imported."""

    count: int

    def from_hf(self, theirs: Sequence[Tensor]) -> list[Tensor]:
        return [theirs[0]]

    def to_hf(self, ours: Sequence[Tensor]) -> list[Tensor]:
        return [ours[0]] * self.count


@dataclass(frozen=True)
class Conversion:
    """One of our tensors, the tensors of theirs that it is made of, and the operations between them, in order."""

    ours: str
    theirs: tuple[str, ...]
    operations: tuple[Operation, ...] = ()

    def from_hf(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Our tensor."""
        values = [tensors[name] for name in self.theirs]
        for operation in self.operations:
            values = operation.from_hf(values)
        (tensor,) = values
        return tensor.contiguous()

    def to_hf(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Their tensors."""
        values = [tensors[self.ours]]
        for operation in reversed(self.operations):
            values = operation.to_hf(values)
        pairs = zip(self.theirs, values, strict=True)  # no shared memory: safetensors refuses it
        return {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in pairs}


@dataclass(frozen=True)
class ZeroFilled:
    """A tensor of theirs without a counterpart here: ignored on import, zeros on export."""

    name: str
    shape: Callable[[Mapping[str, Tensor]], tuple[int, ...]]  # as a function of our tensors
    ours: str = ""

    @property
    def theirs(self) -> tuple[str, ...]:
        """Its name as a tuple, as a `Conversion` has it."""
        return (self.name,)

    def to_hf(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Zeros."""
        return {self.name: next(iter(tensors.values())).new_zeros(self.shape(tensors))}


Conversions = Sequence[Conversion | ZeroFilled]


def tensors_from_hf(conversions: Conversions, theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All of our tensors."""
    return {each.ours: each.from_hf(theirs) for each in conversions if isinstance(each, Conversion)}


def tensors_to_hf(conversions: Conversions, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All of theirs."""
    return {name: tensor for conversion in conversions for name, tensor in conversion.to_hf(ours).items()}


# --- shorthand for the tables --------------------------------------------------------------------------------------


def renamed(ours: str, theirs: str, *operations: Operation) -> list[Conversion]:
    """A tensor under another name, after optional operations."""
    return [Conversion(ours, (theirs,), operations)]


def layer(ours: str, theirs: str, *operations: Operation, bias: bool = True) -> list[Conversion]:
    """Weight and bias of a layer; the operations apply to the weight."""
    entries = [Conversion(f"{ours}.weight", (f"{theirs}.weight",), operations)]
    return [*entries, Conversion(f"{ours}.bias", (f"{theirs}.bias",))] if bias else entries


def concatenated(ours: str, theirs: Sequence[str], bias: bool = True) -> list[Conversion]:
    """Several layers of theirs as one of ours."""
    names = ("weight", "bias") if bias else ("weight",)
    operations = (Concatenate(len(theirs)),)
    return [Conversion(f"{ours}.{name}", tuple(f"{each}.{name}" for each in theirs), operations) for name in names]
