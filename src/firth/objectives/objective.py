"""The base of all objectives, and the interface of the system that an objective is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from torch import Tensor, nn

from firth.config import schema
from firth.models.heads.lm_head import LMHead
from firth.types import Batch, Encoded, State, Term, Tokens, expect


class SystemProtocol(Protocol):
    """Inputs, backbone and head of a system."""

    def embed(self, stream: str, tokens: Tokens) -> Tensor:
        """Embeddings of a stream (batch, time, width)."""

    @property
    def backbone(self) -> nn.Module:
        """Vectors to hidden states."""

    @property
    def head(self) -> nn.Module:
        """Hidden states to predictions."""

    def encode(self, batch: Batch, state: State | None = None, *, keep_layers: bool = False) -> Encoded:
        """Hidden states of the input streams (with `keep_layers` of each layer), and the state carried on."""

    @property
    def embedding_weight(self) -> Tensor:
        """The token embedding matrix, for tied output layers."""

    @property
    def lm_head(self) -> LMHead:
        """The head, of a system that predicts tokens."""


class Objective(nn.Module, ABC):
    """Predictions to terms of the loss."""

    metric = "tokens"  # the term that evaluation reports
    allows_bidirectional = True  # whether the backbone may be bidirectional
    nonstationary = False  # whether losses of different steps are not comparable
    # the configuration of a second network trained beside the system's own, from the system's
    companion_config: Callable[[schema.Neural], schema.Neural] | None = None

    @abstractmethod
    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of predictions of each term, by which it is divided; known before the forward pass."""

    @abstractmethod
    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """The terms of the loss, summed over the batch, and the state carried on."""


def text_of(batch: Batch, stream: str = "text") -> Tokens:
    """A stream of tokens."""
    return expect(batch.streams[stream], Tokens)
