"""Convolutional backbone (Kim 2014): filters of several widths over the embeddings, side by side."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Convolutional
from firth.nn.feedforward import ACTIVATIONS
from firth.types import Encoded, State, Tokens


class ConvolutionalBackbone(nn.Module):
    """Feature maps of every window that overlaps the text: a text of n tokens has n + the widest filter - 1 states."""

    streams: tuple[str, ...] = ()  # that it reads, by name; none: the one that the batches have
    depth = 1  # layers
    max_length = 0  # context length in tokens: unlimited
    segment_length = 0  # tokens per forward pass: unlimited
    bidirectional_setting = "backbone.kind"

    def __init__(self, config: Convolutional, input_width: int):
        super().__init__()
        self.widest, self.width, self.activation = max(config.widths), config.width, ACTIVATIONS[config.activation]
        self.filters = nn.ModuleList(nn.Conv1d(input_width, config.filters, width) for width in config.widths)
        for layer in self.filters:
            assert isinstance(layer, nn.Conv1d) and layer.bias is not None
            nn.init.uniform_(layer.weight, -config.init_range, config.init_range)
            nn.init.zeros_(layer.bias)

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to: there is one."""
        return 1

    def forward(
        self, vectors: Tensor, tokens: Tokens, state: State | None = None, keep_layers: bool = False
    ) -> Encoded:
        """Token embeddings (batch, time, input width) -> feature maps (batch, time + widest - 1, width)."""
        vectors = (vectors * tokens.mask[..., None].to(vectors.dtype)).transpose(1, 2)  # zeros around the text
        maps = [self._feature_maps(layer, vectors) for layer in self.filters]
        mask = F.pad(tokens.mask, (self.widest - 1, 0), value=True)
        states = torch.cat(maps, 1).transpose(1, 2)
        return Encoded(states, mask, (states,) if keep_layers else ())

    def _feature_maps(self, layer: nn.Module, vectors: Tensor) -> Tensor:
        """One filter width: vectors (batch, width, time) -> (batch, filters, time + widest - 1)."""
        assert isinstance(layer, nn.Conv1d)
        before = layer.kernel_size[0] - 1
        return self.activation(layer(F.pad(vectors, (before, self.widest - 1))))
