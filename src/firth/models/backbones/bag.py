"""No backbone: the embeddings themselves, for bags of words."""

from __future__ import annotations

from torch import Tensor, nn

from firth.config.schema import NoBackbone
from firth.types import Encoded, State, Tokens


class NoLayers(nn.Module):
    """The embeddings as hidden states."""

    streams: tuple[str, ...] = ()  # that it reads, by name; none: the one that the batches have
    depth = 0  # layers
    max_length = 0  # context length in tokens: unlimited
    segment_length = 0  # tokens per forward pass: unlimited
    bidirectional_setting = "backbone.kind"

    def __init__(self, config: NoBackbone, input_width: int):
        super().__init__()
        self.width = input_width

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to: there is none."""
        return 0

    def forward(
        self, vectors: Tensor, tokens: Tokens, state: State | None = None, keep_layers: bool = False
    ) -> Encoded:
        """Token embeddings (batch, time, width) -> the same."""
        return Encoded(vectors, tokens.mask, (vectors,) if keep_layers else ())
