"""A running mean of the weights, which often does better than the last ones (Polyak and Juditsky 1992)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_BEFORE = "average."  # of the tensors' names in a checkpoint


class Average:
    """The mean of a system's weights over the last steps, those further back weighing less."""

    def __init__(self, system: nn.Module, decay: float) -> None:
        self.decay, self.named = decay, dict(system.named_parameters())
        self.mean = {name: parameter.detach().clone() for name, parameter in self.named.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step. The first steps, far from where it will end, are soon forgotten."""
        weight = 1.0 - min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.mean.values()), list(self.named.values()), weight)

    @contextmanager
    def standing_in(self) -> Iterator[None]:
        """The system with the mean for its weights."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for name, parameter in self.named.items():
            held = parameter.detach().clone()
            parameter.copy_(self.mean[name])
            self.mean[name].copy_(held)

    def state_dict(self) -> dict[str, Tensor]:
        """As it stands in a checkpoint."""
        return {f"{_BEFORE}{name}": tensor for name, tensor in self.mean.items()}

    def load_state_dict(self, tensors: Mapping[str, Tensor]) -> None:
        """The inverse of `state_dict`; other tensors are left."""
        for name, mean in self.mean.items():
            mean.copy_(tensors[f"{_BEFORE}{name}"])


def belongs(name: str) -> bool:
    """Whether a tensor of a checkpoint is the mean's."""
    return name.startswith(_BEFORE)
