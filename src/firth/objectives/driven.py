"""What an objective may ask of the system that it belongs to."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn

from firth.types import Batch, Encoded, State


class Driven(Protocol):
    """Input, backbone and head of a system."""

    input: nn.Module
    backbone: nn.Module
    head: nn.Module

    def encode(self, batch: Batch, state: State | None = None) -> Encoded:
        """States of the streams, and what is carried on."""

    @property
    def table(self) -> Tensor:
        """The input's table, for tied heads."""
