"""Weights without those that another run has: what an adapter's files hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class SharedWeights:
    """The tensors of a network that are those of another run, or begin with its rows; frozen, so that they stay so."""

    rows: Mapping[str, tuple[int, int]]  # name -> axis, and number of rows on it that are the other run's

    @classmethod
    def of(cls, network: nn.Module, other: Mapping[str, Tensor]) -> SharedWeights:
        """Those among the parameters that are not trained."""
        frozen = {name: parameter for name, parameter in network.named_parameters() if not parameter.requires_grad}
        shared = ((name, _shared_rows(tensor, other[name])) for name, tensor in frozen.items() if name in other)
        return cls({name: rows for name, rows in shared if rows})

    def remove(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors without those of the other run; of a table that has more rows, the rest of its rows."""
        return {name: rest for name, tensor in tensors.items() if (rest := self._rest(name, tensor)).numel()}

    def _rest(self, name: str, tensor: Tensor) -> Tensor:
        axis, rows = self.rows.get(name, (0, 0))
        return tensor.narrow(axis, rows, tensor.shape[axis] - rows) if rows else tensor


def copy_shared(network: nn.Module, other: Mapping[str, Tensor]) -> None:
    """Copy the tensors of another run into a network; of a table that has more rows, into its first ones."""
    for name, tensor in network.state_dict().items():
        if name in other and (place := _place_of(tensor, other[name])):
            axis, rows = place
            tensor.narrow(axis, 0, rows).copy_(other[name])


def restore(partial: Mapping[str, Tensor], whole: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What `SharedWeights.remove` left, put over the tensors of a network that has the other run's."""
    complete = {name: _put_last(partial[name], tensor) for name, tensor in whole.items() if name in partial}
    return {**whole, **partial, **complete}


def _shared_rows(tensor: Tensor, other: Tensor) -> tuple[int, int] | None:
    """The axis and the number of rows that `other` has, if the tensor begins with them."""
    place = _place_of(tensor, other)
    return place if place and torch.equal(tensor.narrow(place[0], 0, place[1]), other) else None


def _place_of(tensor: Tensor, other: Tensor) -> tuple[int, int] | None:
    """The axis on which a tensor may have more rows than another, and the other's number of rows; None if it has other
    sizes."""
    if tensor.ndim != other.ndim or not tensor.ndim:
        return None
    differing = [axis for axis in range(tensor.ndim) if tensor.shape[axis] != other.shape[axis]]
    axis = differing[0] if differing else 0
    fits = len(differing) <= 1 and 0 < other.shape[axis] <= tensor.shape[axis]
    return (axis, other.shape[axis]) if fits else None


def _put_last(rows: Tensor, tensor: Tensor) -> Tensor:
    """The tensor with these as its last rows; the rows themselves if they do not fit."""
    place = _place_of(tensor, rows)
    if place is None or rows.shape == tensor.shape:
        return rows
    axis, count = place
    return torch.cat([tensor.narrow(axis, 0, tensor.shape[axis] - count), rows], axis)
