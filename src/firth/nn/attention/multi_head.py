"""Multi-head attention (Vaswani et al. 2017): self-attention, and cross-attention of a decoder to its source."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from firth.config.schema import Transformer, WindowAttention
from firth.nn.attention.dense import dense_attention
from firth.nn.attention.global_attention import (
    GlobalProjections,
    GlobalTokens,
    global_attention,
    global_tokens,
    visible_to_global,
)
from firth.nn.attention.kv_cache import KVCache
from firth.nn.attention.mask import AttentionMask, LayerWindow, Unpadded
from firth.nn.attention.segment_recurrence import SegmentMemory
from firth.nn.attention.sliding_window import BandedBias, banded_attention, dense_bias
from firth.nn.linear import Linear, WeightCache
from firth.nn.positions import POSITION_ENCODINGS
from firth.nn.positions.encodings import LayerPositionEncoding, has_relative_segments, head_width
from firth.nn.positions.relative import RelativeSegmentEncoding

# The same attention output at different cost. Each takes queries, keys and values (batch, heads, time, head width), the
# attention mask, the bias of the scores, the dropout probability of the attention weights, and the scale of the scores.
KERNELS: dict[str, Callable[..., Tensor]] = {"dense": dense_attention, "banded": banded_attention}


@dataclass(frozen=True)
class CrossAttentionInput:
    """What cross-attention attends to: encoder states (batch, time, width), or each layer's keys and values of them."""

    mask: AttentionMask
    states: Tensor | None = None
    keys_values: Tensor | None = None  # (batch, depth, 2, heads, time, head width)


@dataclass(frozen=True)
class AttentionContext:
    """What all layers of one forward pass share."""

    mask: AttentionMask
    position_state: Any  # from `PositionEncoding.prepare`
    cache: KVCache | None = None  # keys and values of past tokens
    source: CrossAttentionInput | None = None  # of a decoder's cross-attention
    memory: SegmentMemory | None = None  # layer inputs of the previous segment (Transformer-XL)
    content_length: int = 0  # two streams: the first so many tokens are the content stream, the rest queries; 0: all
    kv_states: Tensor | None = None  # input of this layer's keys and values, if not the layer's own input
    different_segments: Tensor | None = None  # (batch, queries, keys): True = of different segments (XLNet)
    unpadded: Unpadded | None = None  # set if the layers' input is without padding
    lsh_buckets: dict[int, Tensor] | None = None  # by layer: reused when reversible layers are recomputed
    kept_layers: list[Tensor] | None = None  # each layer's output is added, on request

    def kv_input(self, x: Tensor) -> Tensor:
        """The input of keys and values in a layer whose input is x."""
        return x if self.kv_states is None else self.kv_states


class AttentionProjections(nn.Module):
    """Query, key, value and output projections of multi-head attention."""

    projections: tuple[str, ...] = ("query", "key", "value")

    def __init__(self, config: Transformer, layer: int):
        super().__init__()
        self.heads, self.head_width, self.dropout, self.layer = (
            config.heads,
            head_width(config),
            config.attention.dropout,
            layer,
        )
        self.scale = 1 / math.sqrt(self.head_width) if config.attention.scaled else 1.0
        bias = config.bias and config.attention.bias
        width = self.heads * self.head_width
        self.qkv_proj = Linear(config.width, len(self.projections) * width, bias=bias, parts=self.projections)
        self.out_proj = Linear(width, config.width, bias=bias, parts=("out",))
        self.query_weight_cache = WeightCache()

    def split_heads(self, projected: Tensor, parts: int) -> tuple[Tensor, ...]:
        """(batch, time, parts × heads × head width) -> each part (batch, heads, time, head width)."""
        batch, time, _ = projected.shape
        return projected.view(batch, time, parts, self.heads, self.head_width).permute(2, 0, 3, 1, 4).unbind(0)

    def project(self, x: Tensor, first: int, last: int) -> Tensor:
        """Only some of the projections of x: `first` to `last` of query, key, value (0 to 3)."""
        # keys and values of a source are computed once, so packing the weight does not pay
        return self.qkv_proj.project(x, first, last, None if first else self.query_weight_cache)

    def merge_heads(self, x: Tensor, unpadded: Unpadded | None = None) -> Tensor:
        """(batch, heads, time, head width) -> output projection (batch, time, width), without padding if `unpadded`."""
        x = x.transpose(1, 2).flatten(2)
        output: Tensor = self.out_proj(x if unpadded is None else unpadded.unpad(x))
        return output

    @property
    def active_dropout(self) -> float:
        """The dropout probability of attention weights, 0 outside training."""
        return self.dropout if self.training else 0.0


class MultiHeadAttention(AttentionProjections):
    """Multi-head self-attention: each token takes a weighted mean over the tokens it attends to."""

    def __init__(self, config: Transformer, layer: int):
        super().__init__(config, layer)
        encoding = POSITION_ENCODINGS[type(config.positions)].layer_encoding
        self.position_encoding: LayerPositionEncoding = encoding(config)
        windowed = config.attention if isinstance(config.attention, WindowAttention) else None
        self.kernel, self.window = (
            KERNELS[windowed.kernel if windowed else "dense"],
            LayerWindow.of_layer(config, layer),
        )
        self.global_projections = GlobalProjections(config) if windowed and windowed.global_projections else None
        self.segment_encoding = RelativeSegmentEncoding(config) if has_relative_segments(config) else None

    def forward(self, x: Tensor, context: AttentionContext) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        queries, keys, values, bias = self.compute_qkv(x, context)
        mask = self.layer_mask(context)
        output = self.kernel(queries, keys, values, mask, bias, self.active_dropout, self.scale)
        tokens = None if self.global_projections is None else global_tokens(mask)
        if tokens is not None:
            qkv = self.project_global_qkv(x, tokens, context)
            output = tokens.scatter(output, global_attention(*qkv, tokens, mask, self.active_dropout, self.scale))
        return self.merge_heads(output, context.unpadded)

    def layer_mask(self, context: AttentionContext) -> AttentionMask:
        """The attention mask with this layer's window."""
        size = self.window.at(context.mask.queries.position.shape[-1], self.training)
        return context.mask.with_window(size, self.window.dilations)

    def project_global_qkv(
        self, x: Tensor, tokens: GlobalTokens, context: AttentionContext
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of the global tokens, keys and values of all tokens, by the global projections, with positions."""
        assert self.global_projections is not None
        queries, keys, values = self.global_projections(x, tokens)
        queries = tokens.scatter(torch.zeros_like(keys), queries)
        queries, keys = self.position_encoding.rotate(queries, keys, context.position_state)
        return tokens.gather(queries), keys, values

    def compute_qkv(
        self, x: Tensor, context: AttentionContext
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | BandedBias | None]:
        """Queries, keys and values with positions, the KV cache included, and the bias of the scores."""
        if context.unpadded is not None:
            queries, keys, values = self.split_heads(context.unpadded.pad(self.qkv_proj(x)), 3)
        else:
            inputs = self.position_encoding.add_to_queries_and_keys(x, context.kv_input(x), context.position_state)
            queries, keys, values = self.project_qkv(*inputs)
        bias = self.score_bias(queries, context)
        queries, keys = self.position_encoding.rotate(queries, keys, context.position_state)
        if context.cache is not None:
            keys, values = context.cache.extend(self.layer, keys, values)
        return queries, keys, values, bias

    def score_bias(self, queries: Tensor, context: AttentionContext) -> Tensor | BandedBias | None:
        """What is added to the attention scores."""
        encoding, state = self.position_encoding, context.position_state
        if self.kernel is banded_attention and encoding.bias_at is not None:
            return BandedBias(partial(encoding.bias_at, queries, state=state), partial(encoding.bias, queries, state))
        bias = encoding.bias(queries, state)
        return (
            bias if self.segment_encoding is None else bias + self.segment_encoding(queries, context.different_segments)
        )

    def project_qkv(self, query_input: Tensor, key_input: Tensor, value_input: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values, each of its own input (batch, time, width)."""
        if query_input is key_input is value_input:
            return self.split_heads(self.qkv_proj(query_input), 3)
        if key_input is value_input:
            queries = self.split_heads(self.project(query_input, 0, 1), 1)
            return *queries, *self.split_heads(self.project(value_input, 1, 3), 2)
        inputs = (query_input, key_input, value_input)
        return tuple(self.split_heads(self.project(x, n, n + 1), 1)[0] for n, x in enumerate(inputs))

    def weights(self, x: Tensor, context: AttentionContext) -> Tensor:
        """Attention weights (batch, heads, queries, keys), computed by an explicit softmax."""
        queries, keys, _, bias = self.compute_qkv(x, context)
        mask = self.layer_mask(context)
        weights = attention_weights(queries * self.scale, keys, mask, dense_bias(bias))
        tokens = None if self.global_projections is None else global_tokens(mask)
        if tokens is None:
            return weights
        queries, keys, _ = self.project_global_qkv(x, tokens, context)
        return tokens.scatter(
            weights, softmax_weights(queries * self.scale, keys, visible_to_global(tokens, mask), None)
        )


class CrossAttention(AttentionProjections):
    """Multi-head cross-attention: each target token takes a weighted mean over the source tokens."""

    def forward(self, x: Tensor, context: AttentionContext) -> Tensor:
        """x (batch, time, width) -> the same shape."""
        source = context.source
        assert source is not None
        if source.keys_values is not None and len(source.keys_values) != len(x):
            return self.merge_heads(self.attend_shared_source(x, source, source.keys_values))
        queries, keys, values = self.compute_qkv(x, source)
        output = dense_attention(queries, keys, values, source.mask, None, self.active_dropout, self.scale)
        return self.merge_heads(output)

    def attend_shared_source(self, x: Tensor, source: CrossAttentionInput, keys_values: Tensor) -> Tensor:
        """Attention of several hypotheses to one source, as queries of one sequence: the source is not repeated."""
        (queries,), keys_values = self.split_heads(self.project(x, 0, 1), 1), keys_values[:, self.layer]
        hypotheses, heads, time, width = queries.shape
        beam, keys = hypotheses // len(keys_values), source.mask.keys
        mask = replace(source.mask, keys=keys._replace(mask=keys.mask[::beam]))
        queries = queries.view(-1, beam, heads, time, width).transpose(1, 2).flatten(2, 3)
        output = dense_attention(
            queries, keys_values[:, 0], keys_values[:, 1], mask, None, self.active_dropout, self.scale
        )
        beams: Tensor = output.unflatten(2, (beam, time))
        return beams.transpose(1, 2).flatten(0, 1)

    def compute_qkv(self, x: Tensor, source: CrossAttentionInput) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of the target, keys and values of the source."""
        (queries,) = self.split_heads(self.project(x, 0, 1), 1)
        if source.keys_values is None:
            assert source.states is not None
            return queries, *self.project_source(source.states)
        keys_values = source.keys_values[:, self.layer]
        if len(keys_values) != len(queries):  # several hypotheses for each source (beam search)
            keys_values = keys_values.repeat_interleave(len(queries) // len(keys_values), 0)
        return queries, keys_values[:, 0], keys_values[:, 1]

    def project_source(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the encoder states."""
        keys, values = self.split_heads(self.project(states, 1, 3), 2)
        return keys, values

    def weights(self, x: Tensor, context: AttentionContext) -> Tensor:
        """Attention weights over the source (batch, heads, queries, keys)."""
        assert context.source is not None
        queries, keys, _ = self.compute_qkv(x, context.source)
        return attention_weights(queries * self.scale, keys, context.source.mask, None)


def attention_weights(queries: Tensor, keys: Tensor, mask: AttentionMask, bias: Tensor | None) -> Tensor:
    """Softmax of the masked scores; a query that attends to nothing has weights of 0."""
    return softmax_weights(queries, keys, mask.boolean_mask, bias)


def softmax_weights(queries: Tensor, keys: Tensor, visible: Tensor, bias: Tensor | None) -> Tensor:
    """The same with a boolean mask (batch or 1, heads or 1, queries, keys)."""
    scores = queries @ keys.transpose(-1, -2)
    scores = scores if bias is None else scores + bias
    return torch.softmax(scores.masked_fill(~visible, float("-inf")), -1).nan_to_num(0.0)
