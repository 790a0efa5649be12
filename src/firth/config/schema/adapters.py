"""Adapters: small additions to a frozen pre-trained network that are trained in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from firth.config.core import bounded


@dataclass(frozen=True)
class NoAdapter:
    """No adapter: the network itself is trained."""

    kind: ClassVar[str] = "none"
    saved_alone: ClassVar[bool] = False


@dataclass(frozen=True)
class LoRA:
    """Low-rank adaptation (LoRA): a low-rank update of the weights of some projections (Hu et al. 2022)."""

    kind: ClassVar[str] = "lora"
    rank: int = bounded(8, least=1)  # rank of the updates
    alpha: float = bounded(16.0, above=0.0)  # the updates are multiplied by alpha / rank
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the updates' input
    # the linear layers of a Transformer that are adapted, by what they project to: of attention query, key, value and
    # out, of the feed-forward network up, gate and down
    projections: tuple[Literal["query", "key", "value", "out", "up", "gate", "down"], ...] = ("query", "value")
    # what model.safetensors and the checkpoints have. adapter: it and the new parts, so that the run needs the one it
    # starts from; network: all weights
    save: Literal["adapter", "network"] = "adapter"

    @property
    def saved_alone(self) -> bool:
        """Whether the run's files lack the weights of the run that it starts from."""
        return self.save == "adapter"


Adapter = NoAdapter | LoRA
