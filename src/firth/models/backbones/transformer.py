"""Transformer backbone: a stack of Transformer layers over token embeddings."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import FullAttention, ReformerAttention, Transformer, WindowAttention
from firth.errors import FirthError
from firth.models.backbones.recomputation import empty_state, recompute
from firth.models.backbones.transformer_checks import check_combination
from firth.nn.attention.kv_cache import KVCache
from firth.nn.attention.local import LocalAttention
from firth.nn.attention.lsh import LSHAttention
from firth.nn.attention.mask import AttentionMask, Unpadded, attention_mask, mask_pattern, position_ids
from firth.nn.attention.multi_head import (
    AttentionContext,
    AttentionProjections,
    CrossAttentionInput,
    MultiHeadAttention,
)
from firth.nn.attention.segment_recurrence import MEMORY, SegmentMemory
from firth.nn.attention.two_stream import QueryStream, two_stream_mask
from firth.nn.positions import POSITION_ENCODINGS
from firth.nn.positions.encodings import has_relative_segments, head_width
from firth.nn.positions.relative import different_segments
from firth.nn.reversible import RESIDUAL_STREAMS, STREAM_COUNTS
from firth.nn.transformer_block import TransformerBlock, build_norm
from firth.types import Encoded, State, Tokens, expect


class TransformerBackbone(nn.Module):
    """Hidden states of a Transformer: of whole sequences or, given a state, of the tokens after its KV cache."""

    streams: tuple[str, ...] = ()  # that it reads, by name; none: the one that the batches have
    num_directions = 1

    def __init__(self, config: Transformer, input_width: int, cross: bool = False):
        super().__init__()
        self.config, self.width = config, STREAM_COUNTS[config.residual] * config.width
        self.depth = config.depth
        self.memory, self.pattern = config.memory.length, mask_pattern(config)
        self.input_width = input_width
        # no KV cache: the whole sequence is recomputed at each step
        self.recomputes = not config.attention.has_kv_cache
        self.can_unpad = _can_unpad(config)
        # context length, and tokens per forward pass where segment memory extends the context; 0: unlimited
        self.max_length, self.segment_length = (0, config.context) if self.memory else (config.context, 0)
        # the setting that makes it bidirectional; empty: it is causal
        self.bidirectional_setting = "" if self.pattern.causal else "backbone.mask"
        self.positions = POSITION_ENCODINGS[type(config.positions)](config, input_width)
        special = self.memory or self.pattern.query_stream or config.residual == "reversible"
        if special or not isinstance(config.attention, FullAttention):
            check_combination(config, self.positions, cross)
        self.input_norm = build_norm(config, input_width) if config.norm.embeddings else nn.Identity()
        self.embedding_proj = nn.Identity() if input_width == config.width else nn.Linear(input_width, config.width)
        self.blocks = nn.ModuleList(TransformerBlock(config, layer, cross) for layer in range(config.depth))
        self.norm = nn.Identity() if config.norm.placement == "post" else build_norm(config, self.width)
        if self.pattern.query_stream:  # initial embedding of the query stream (XLNet)
            self.query_embedding = nn.Parameter(torch.empty(input_width).normal_(std=config.init_std))
        self._init_weights()

    @property
    def layers(self) -> list[TransformerBlock]:
        """The Transformer layers, from the first to the last."""
        return [expect(block, TransformerBlock) for block in self.blocks]

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to, from 1; 0 is below the layers (positions, the norm and
        projection of embeddings), and the final norm belongs to the last one."""
        part, _, rest = name.partition(".")
        if part == "blocks":
            return int(rest.partition(".")[0]) + 1
        return self.depth if part == "norm" else 0

    def start(self, batch_size: int, device: torch.device | str = "cpu") -> State:
        """The state before any token."""
        config = self.config
        if self.recomputes:
            return empty_state(batch_size, self.input_width, device)
        if self.memory and not self.positions.cacheable_keys:
            return State(source={}, live=SegmentMemory.start(batch_size, config.depth, config.width, device))
        return State(source={}, live=KVCache.start(batch_size, config.depth, config.heads, head_width(config), device))

    def forward(
        self,
        vectors: Tensor,
        tokens: Tokens,
        state: State | None = None,
        source: CrossAttentionInput | None = None,
        keep_layers: bool = False,
    ) -> Encoded:
        """Token embeddings (batch, time, input width) -> hidden states (batch, time, width), and the next state."""
        if self.recomputes and state is not None:
            return recompute(self, vectors, tokens, state)
        x, context = self.prepare(vectors, tokens, state)
        kept = [x] if keep_layers else None
        context = replace(context, source=source, kept_layers=kept)
        unpadded = Unpadded.from_mask(tokens.mask) if self.can_unpad and state is None and source is None else None
        if unpadded is not None:
            states = self._run_blocks(unpadded.unpad(x), replace(context, unpadded=unpadded))
            states = unpadded.pad(self.norm(states))
            padded = [x, *map(unpadded.pad, kept[1:])] if kept else []
            return Encoded(states, tokens.mask, (*padded[:-1], states) if kept else ())
        states = self.norm(self._run_blocks(x, context))
        layers = (*kept[:-1], states) if kept else ()
        return Encoded(states, tokens.mask, layers, _next_state(context, state))

    def encode(self, vectors: Tensor, tokens: Tokens, keep_layers: bool = False) -> Encoded:
        """Hidden states of whole sequences, for a decoder's cross-attention."""
        return self.forward(vectors, tokens, keep_layers=keep_layers)

    def forward_two_stream(
        self, vectors: Tensor, tokens: Tokens, query_stream: QueryStream, state: State | None = None
    ) -> Encoded:
        """Hidden states of the query stream (batch, queries, width), which depend on positions and on visible tokens
        but not on the tokens to be predicted; the content stream runs beside it (Yang et al. 2019)."""
        x, context = self.prepare(vectors, tokens, state, query_stream)
        states = self.norm(self._run_blocks(x, context))[:, context.content_length :]
        mask = torch.ones_like(query_stream.position, dtype=torch.bool)
        return Encoded(states, mask, state=_next_state(context, state))

    def _run_blocks(self, x: Tensor, context: AttentionContext) -> Tensor:
        return RESIDUAL_STREAMS[self.config.residual](self.layers, x, context)

    def prepare(
        self, vectors: Tensor, tokens: Tokens, state: State | None = None, query_stream: QueryStream | None = None
    ) -> tuple[Tensor, AttentionContext]:
        """The first layer's input, and the context that all layers share."""
        cache, memory = self._load_past(state, vectors.shape[1])
        source = cache or memory
        past = 0 if source is None else source.past
        positions = position_ids(tokens, past)
        x = self._embed(vectors, positions)
        key_positions = torch.arange(past + vectors.shape[1], device=positions.device) if past else positions
        if cache and tokens.global_attention is not None:
            do = "encode the whole text at once"
            raise FirthError("global attention tokens cannot be added to a KV cache", do=do)
        mask = attention_mask(self.config, tokens, past)
        different = None
        if has_relative_segments(self.config) and tokens.segment is not None:
            different = different_segments(tokens.segment, query_stream, past)
        context = AttentionContext(mask, None, cache, memory=memory, different_segments=different)
        if query_stream is not None:
            return self._append_query_stream(x, context, two_stream_mask(mask, query_stream, past))
        return x, replace(context, position_state=self.positions.prepare(key_positions, vectors.shape[1]))

    def _append_query_stream(
        self, x: Tensor, context: AttentionContext, mask: AttentionMask
    ) -> tuple[Tensor, AttentionContext]:
        """The content stream's input followed by the query stream's, and the context of both."""
        count = x.shape[1]
        position = mask.queries.position[:, count:]
        x = torch.cat([x, self._embed(self.query_embedding.expand(*position.shape, -1), position)], 1)
        position_state = self.positions.prepare(mask.keys.position, mask.queries.position)
        return x, replace(context, mask=mask, position_state=position_state, content_length=count)

    def _load_past(self, state: State | None, new_tokens: int) -> tuple[KVCache | None, SegmentMemory | None]:
        """The KV cache, or the segment memory in training; None where there is none."""
        if state is not None and MEMORY not in state.live:
            return KVCache(state.live, new_tokens, self.memory), None
        return None, SegmentMemory(state, self._memory_length(new_tokens)) if self.memory else None

    def _memory_length(self, time: int) -> int:
        """The memory length, in training shorter for sequences shorter than the context (Press et al. 2021)."""
        context = self.config.context
        return max(1, self.memory * time // context) if self.training and time < context else self.memory

    def _embed(self, vectors: Tensor, positions: Tensor) -> Tensor:
        x = self.input_norm(self.positions.embed(vectors, positions))
        projected: Tensor = self.embedding_proj(F.dropout(x, self.config.dropout, self.training))
        return projected

    @torch.no_grad()
    def attention_weights(self, vectors: Tensor, tokens: Tokens, layer: int) -> Tensor:
        """Attention weights of one layer (batch, heads, time, time); only the layers below it are run."""
        x, context = self.prepare(vectors, tokens)
        # of reversible streams, the second is the input of attention
        x = RESIDUAL_STREAMS[self.config.residual](self.layers[:layer], x, context)[..., -self.config.width :]
        block = self.layers[layer]
        attention = block.attention.sublayer
        assert isinstance(attention, MultiHeadAttention | LocalAttention | LSHAttention)
        return attention.weights(block.attention.pre_norm(x), block.with_kv_states(x, context))

    def _init_weights(self) -> None:
        """Normal initialisation; layers that add to the residual stream start smaller, by depth (GPT-2; Radford et al.
        2019)."""
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                residual = name.endswith(("out_proj", "down_proj"))
                std = self.config.init_std / math.sqrt(2 * self.config.depth) if residual else self.config.init_std
                nn.init.normal_(module.weight, std=std)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if (
            not self.config.attention.scaled
        ):  # scores are not scaled, so initial query weights are (T5; Raffel et al. 2020)
            for module in self.modules():
                if isinstance(module, AttentionProjections):
                    module.qkv_proj.weight.data[: module.heads * module.head_width] /= math.sqrt(module.head_width)


def _can_unpad(config: Transformer) -> bool:
    """Whether all but the attention kernel acts on each token by itself, so that padding can be removed."""
    attention = config.attention
    projects_global = isinstance(attention, WindowAttention) and attention.global_projections
    if isinstance(attention, ReformerAttention) or projects_global:
        return False
    needs_padding = config.memory.length or config.residual != "plain" or mask_pattern(config).query_stream
    return not needs_padding and POSITION_ENCODINGS[type(config.positions)].cacheable_keys


def _next_state(context: AttentionContext, state: State | None) -> State | None:
    """The state carried to the next segment or step."""
    past = context.cache or context.memory
    return None if past is None else State(source={} if state is None else state.source, live=past.live)
