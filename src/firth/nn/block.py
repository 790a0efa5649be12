"""A layer of a Transformer: the one place that knows where the norms sit."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.nn.attention import Attention, CrossAttention, Scene
from firth.nn.feedforward import FeedForward
from firth.nn.local import LocalAttention
from firth.nn.lsh import LSHAttention
from firth.nn.norm import norm

ATTENTIONS = {"full": Attention, "local": LocalAttention, "lsh": LSHAttention}


class Part(nn.Module):
    """What adds to its input, with its norms: before it, after it, or of the sum."""

    def __init__(self, config: Transformer, inner: nn.Module):
        super().__init__()
        self.inner, self.dropout = inner, config.dropout
        self.before = norm(config) if config.norm_at in ("pre", "sandwich") else nn.Identity()
        self.after = norm(config) if config.norm_at == "sandwich" else None
        self.sum = norm(config) if config.norm_at == "post" else None

    def forward(self, x: Tensor, *scene: Scene) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        total = x + self.change(x, *scene)
        return total if self.sum is None else self.sum(total)

    def change(self, x: Tensor, *scene: Scene) -> Tensor:
        """What is added to x."""
        found = self.inner(self.before(x), *scene)
        found = found if self.after is None else self.after(found)
        return F.dropout(found, self.dropout) if self.training else found


class Block(nn.Module):
    """Attention, in a decoder also to the source, then the feed-forward network."""

    def __init__(self, config: Transformer, layer: int, cross: bool = False):
        super().__init__()
        self.layer = layer
        kind = config.attends[layer % len(config.attends)]
        self.attention = Part(config, ATTENTIONS[kind](config, layer))
        self.cross = Part(config, CrossAttention(config, layer)) if cross else None
        self.feedforward = Part(config, FeedForward(config))

    def forward(self, x: Tensor, scene: Scene) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        x = self.attention(x, self.given(x, scene))
        if self.cross is not None:
            x = self.cross(x, scene)
        return self.feedforward(x)

    def looks(self, x: Tensor, scene: Scene) -> Tensor:
        """How much each token takes from each of the source (batch, heads, time, source)."""
        x = self.attention(x, self.given(x, scene))
        return self.cross.inner.weights(self.cross.before(x), scene)

    def given(self, x: Tensor, scene: Scene) -> Scene:
        """The scene with what keys and values are made of, where they are not those of all of x: of its first tokens
        (two streams), with what is remembered before them."""
        if scene.memory is None and not scene.content:
            return scene
        content = x[:, : scene.content] if scene.content else x
        if scene.memory is not None:
            content = scene.memory.extend(self.layer, content)
        return replace(scene, over=self.attention.before(content))
