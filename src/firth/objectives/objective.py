"""The interface of the system that an objective is given."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn

from firth.types import Batch, Encoded, State


class SystemProtocol(Protocol):
    """Input, backbone and head of a system."""

    input: nn.Module
    backbone: nn.Module
    head: nn.Module

    def encode(self, batch: Batch, state: State | None = None) -> Encoded:
        """Hidden states of the input streams, and the state carried on."""

    @property
    def embedding_weight(self) -> Tensor:
        """The token embedding matrix, for tied output layers."""
