"""A Transformer layer: residual connections, norms (layer norm, RMS norm) and their placement (pre-norm, post-norm,
sandwich)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import RMSNorm, Transformer
from firth.nn.attention.local import LocalAttention
from firth.nn.attention.lsh import LSHAttention
from firth.nn.attention.multi_head import AttentionContext, CrossAttention, MultiHeadAttention
from firth.nn.feedforward import FeedForward

ATTENTIONS = {"full": MultiHeadAttention, "local": LocalAttention, "lsh": LSHAttention}


def build_norm(config: Transformer, width: int = 0) -> nn.LayerNorm | nn.RMSNorm:
    """Layer normalisation (Ba et al. 2016) or RMS normalisation (Zhang and Sennrich 2019), by default of the
    Transformer's width."""
    width, epsilon = width or config.width, config.norm.epsilon
    if isinstance(config.norm, RMSNorm):
        return nn.RMSNorm(width, epsilon)
    return nn.LayerNorm(width, epsilon, bias=config.bias)


class ResidualBlock(nn.Module):
    """A residual connection around a sublayer, with norms before it, after the addition, or around it (sandwich)."""

    def __init__(self, config: Transformer, sublayer: nn.Module):
        super().__init__()
        self.sublayer, self.dropout = sublayer, config.dropout
        self.pre_norm = build_norm(config) if config.norm.placement in ("pre", "sandwich") else nn.Identity()
        self.sandwich_norm = build_norm(config) if config.norm.placement == "sandwich" else None
        self.post_norm = build_norm(config) if config.norm.placement == "post" else None

    def forward(self, x: Tensor, *context: AttentionContext) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        output = x + self.residual(x, *context)
        return output if self.post_norm is None else self.post_norm(output)

    def residual(self, x: Tensor, *context: AttentionContext) -> Tensor:
        """What is added to x: the sublayer's output with norms and dropout."""
        output = self.sublayer(self.pre_norm(x), *context)
        output = output if self.sandwich_norm is None else self.sandwich_norm(output)
        return F.dropout(output, self.dropout) if self.training else output


class TransformerBlock(nn.Module):
    """Self-attention, in a decoder cross-attention, then the feed-forward network, each with a residual connection."""

    def __init__(self, config: Transformer, layer: int, cross: bool = False):
        super().__init__()
        self.layer, kinds = layer, config.attention.layers
        self.attention = ResidualBlock(config, ATTENTIONS[kinds[layer % len(kinds)]](config, layer))
        self.cross_attention = ResidualBlock(config, CrossAttention(config, layer)) if cross else None
        self.feedforward = ResidualBlock(config, FeedForward(config))

    def forward(self, x: Tensor, context: AttentionContext) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        x = self.attention(x, self.with_kv_states(x, context))
        if self.cross_attention is not None:
            x = self.cross_attention(x, context)
        output: Tensor = self.feedforward(x)
        return output

    def cross_attention_weights(self, x: Tensor, context: AttentionContext) -> Tensor:
        """Cross-attention weights (batch, heads, time, source)."""
        x = self.attention(x, self.with_kv_states(x, context))
        assert self.cross_attention is not None
        cross_attention = self.cross_attention.sublayer
        assert isinstance(cross_attention, CrossAttention)
        return cross_attention.weights(self.cross_attention.pre_norm(x), context)

    def with_kv_states(self, x: Tensor, context: AttentionContext) -> AttentionContext:
        """The context with the input of keys and values where that is not x: the content stream (two streams), after
        the memory of the previous segment (segment recurrence)."""
        if context.memory is None and not context.content_length:
            return context
        content = x[:, : context.content_length] if context.content_length else x
        if context.memory is not None:
            content = context.memory.extend(self.layer, content)
        return replace(context, kv_states=self.attention.pre_norm(content))


def run_residual(blocks: Sequence[TransformerBlock], x: Tensor, context: AttentionContext) -> Tensor:
    """x (batch, time, width) through all layers -> the same shape."""
    for block in blocks:
        x = block(x, context)
        if context.kept_layers is not None:
            context.kept_layers.append(x)
    return x
