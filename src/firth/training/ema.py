"""Exponential moving average (EMA) of the weights, which often generalises better than the last weights (Polyak and
Juditsky 1992)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_KEY_PREFIX = "average."  # of the tensors' names in a checkpoint


class ExponentialMovingAverage:
    """The exponential moving average of a system's trained weights over training steps."""

    def __init__(self, system: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = {name: p for name, p in system.named_parameters() if p.requires_grad}
        self.average = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Update the average after a step. The decay warms up, so that the first steps are soon forgotten."""
        from torch.optim.swa_utils import get_ema_multi_avg_fn

        decay = min(self.decay, (1 + step) / (10 + step))
        get_ema_multi_avg_fn(decay)(list(self.average.values()), list(self.parameters.values()), step)

    @contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """The system with the average as its weights; afterwards its own are back."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, parameter in self.parameters.items():
            own = parameter.detach().clone()
            parameter.copy_(self.average[name])
            self.average[name].copy_(own)

    def state_dict(self) -> dict[str, Tensor]:
        """The average, as a checkpoint holds it."""
        return {f"{_KEY_PREFIX}{name}": tensor for name, tensor in self.average.items()}

    def load_state_dict(self, tensors: Mapping[str, Tensor]) -> None:
        """The inverse of `state_dict`; other tensors are ignored."""
        for name, average in self.average.items():
            average.copy_(tensors[f"{_KEY_PREFIX}{name}"])


def is_ema_tensor(name: str) -> bool:
    """Whether a tensor of a checkpoint belongs to the average."""
    return name.startswith(_KEY_PREFIX)
