"""Encoder-decoder (sequence-to-sequence) backbone: the encoder encodes the source, the decoder attends to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from firth.config.schema import EncoderDecoder, Recurrent, Transformer
from firth.errors import FirthError
from firth.models.backbones.attention_decoder import ENCODER_MASK, ENCODER_STATES, AttentionDecoder, EncoderOutput
from firth.models.backbones.recurrent import RecurrentBackbone
from firth.models.backbones.transformer import TransformerBackbone
from firth.nn.attention.mask import cross_attention_mask, mask_pattern
from firth.nn.attention.multi_head import CrossAttention, CrossAttentionInput
from firth.nn.transformer_block import ResidualBlock, TransformerBlock
from firth.types import Encoded, State, Tokens, expect


class TransformerDecoder(TransformerBackbone):
    """A causal Transformer with cross-attention. `State.source` holds each layer's keys and values of the source."""

    has_alignment = True

    def __init__(self, config: EncoderDecoder, input_width: int, source_width: int):
        decoder = expect(config.decoder, Transformer)
        if not mask_pattern(decoder).causal:
            do = "set it to causal"
            raise FirthError("a decoder needs a causal mask", where="backbone.decoder.mask", do=do)
        if source_width != decoder.width:
            widths = f"the encoder's is {source_width}, the decoder's {decoder.width}"
            what = f"cross-attention needs equal widths; {widths}"
            raise FirthError(what, where="backbone", do="set backbone.encoder.width and backbone.decoder.width alike")
        default = EncoderDecoder()
        if replace(config.attention, max_positions=0) != default.attention or config.bridge != default.bridge:
            what = "a Transformer decoder has its own cross-attention and no bridge"
            do = "leave backbone.attention and backbone.bridge out, or set backbone.decoder.kind=recurrent"
            raise FirthError(what, where="backbone", do=do)
        super().__init__(decoder, input_width, cross=True)

    def initial_state(self, encoder_output: EncoderOutput) -> State:
        """The decoder state before any token."""
        states = encoder_output.states
        keys_values = [torch.stack(_cross_attention(block).project_source(states), 1) for block in self.layers]
        source = {ENCODER_STATES: torch.stack(keys_values, 1), ENCODER_MASK: encoder_output.mask}
        return replace(self.start(len(states), states.device), source=source)

    def decode(
        self, vectors: Tensor, target: Tokens, encoder_output: EncoderOutput, keep_layers: bool = False
    ) -> Encoded:
        """Hidden states of the whole target (batch, time, width), by teacher forcing."""
        return self.forward(vectors, target, None, _cross_attention_input(target, encoder_output), keep_layers)

    def step(self, vectors: Tensor, target: Tokens, state: State) -> Encoded:
        """The next tokens' embeddings (batch, time, input width) -> hidden states and the new state."""
        mask = state.source[ENCODER_MASK]
        if len(mask) != len(target.ids):
            mask = mask.repeat_interleave(len(target.ids) // len(mask), 0)
        source = CrossAttentionInput(cross_attention_mask(target, mask), keys_values=state.source[ENCODER_STATES])
        return self.forward(vectors, target, state, source)

    @torch.no_grad()
    def align(self, vectors: Tensor, target: Tokens, encoder_output: EncoderOutput, layer: int = -1) -> Tensor:
        """Cross-attention weights over the source (batch, time, source): the mean of one layer's heads."""
        x, context = self.prepare(vectors, target)
        context = replace(context, source=_cross_attention_input(target, encoder_output))
        layer = range(len(self.blocks))[layer]
        for block in self.layers[:layer]:
            x = block(x, context)
        return self.layers[layer].cross_attention_weights(x, context).mean(1)


def _cross_attention(block: TransformerBlock) -> CrossAttention:
    return expect(expect(block.cross_attention, ResidualBlock).sublayer, CrossAttention)


def _cross_attention_input(target: Tokens, encoder_output: EncoderOutput) -> CrossAttentionInput:
    mask = cross_attention_mask(target, encoder_output.mask)
    return CrossAttentionInput(mask, states=encoder_output.states)


_ENCODERS: dict[type, Callable[..., TransformerBackbone | RecurrentBackbone]] = {
    Transformer: TransformerBackbone,
    Recurrent: RecurrentBackbone,
}
_DECODERS: dict[type, Callable[..., TransformerDecoder | AttentionDecoder]] = {
    Transformer: TransformerDecoder,
    Recurrent: AttentionDecoder,
}


class EncoderDecoderBackbone(nn.Module):
    """Hidden states of the target given the source. `State.source` holds the encoder's output."""

    streams: tuple[str, ...] = ("source", "target")
    bidirectional_setting = ""
    encoder: TransformerBackbone | RecurrentBackbone
    decoder: TransformerDecoder | AttentionDecoder

    def __init__(self, config: EncoderDecoder, input_width: int):
        super().__init__()
        if config.encoder.residual == "reversible":
            what = "a reversible encoder has two streams of states, and the decoder attends to one"
            raise FirthError(what, where="backbone.encoder.residual", do="set it to plain")
        self.reverse_source, self.text_start = config.reverse_source, config.text_start
        self.reads_text_twice = config.text_states == "decoder"
        self.encoder = _ENCODERS[type(config.encoder)](config.encoder, input_width)
        self.decoder = _DECODERS[type(config.decoder)](config, input_width, self.encoder.width)
        top = self.decoder if self.reads_text_twice else self.encoder
        self.width, self.max_length = top.width, self.decoder.max_length
        self.depth = self.encoder.depth + self.decoder.depth

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to, from 1: the decoder's layers lie above the encoder's. 0
        is below the encoder's; what is below the decoder's belongs to its lowest."""
        part, _, rest = name.partition(".")
        if part == "encoder":
            return self.encoder.depth_of(rest)
        return self.encoder.depth + max(1, self.decoder.depth_of(rest))

    def sources_of(self, text: Tokens) -> tuple[Tokens, ...]:
        """What is read of a text by itself: the text, and shifted by one token to the right as the target (Lewis et al.
        2020); or the text alone."""
        if not self.reads_text_twice:
            return (text,)
        start = text.ids.new_full((len(text.ids), 1), self.text_start)
        return text, replace(text, ids=torch.cat([start, text.ids[:, :-1]], 1))

    def forward(
        self,
        source_vectors: Tensor,
        source: Tokens,
        vectors: Tensor | None = None,
        target: Tokens | None = None,
        state: State | None = None,
        keep_layers: bool = False,
    ) -> Encoded:
        """Embeddings of both streams (batch, time, input width) -> hidden states of the target (batch, time, width);
        without a target, those of the encoder."""
        if vectors is None or target is None:
            return self.encoder.encode(source_vectors, source, keep_layers)._replace(state=None)
        return self.decoder.decode(vectors, target, self.encode(source_vectors, source), keep_layers)

    def encode(self, vectors: Tensor, source: Tokens, keep_layers: bool = False) -> EncoderOutput:
        """The encoder's output, in the order of the source also if it is encoded in reverse."""
        if self.reverse_source:
            order = _reversed_order(source.mask)
            encoded = self.encoder.encode(_reorder(vectors, order), source, keep_layers)
            encoded = encoded._replace(
                states=_reorder(encoded.states, order), layers=tuple(_reorder(layer, order) for layer in encoded.layers)
            )
        else:
            encoded = self.encoder.encode(vectors, source, keep_layers)
        live = encoded.state.live if encoded.state else {}
        return EncoderOutput(encoded.states, source.mask, live, self.encoder.num_directions, encoded.layers)

    def align(
        self, source_vectors: Tensor, source: Tokens, vectors: Tensor, target: Tokens, layer: int = -1
    ) -> Tensor | None:
        """Attention weights of each target token over the source (batch, time, source), if there is attention."""
        return self.decoder.align(vectors, target, self.encode(source_vectors, source), layer)

    def start(self, vectors: Tensor, source: Tokens) -> State:
        """The decoder state after encoding the source, before any target token."""
        return self.decoder.initial_state(self.encode(vectors, source))

    def step(self, vectors: Tensor, target: Tokens, state: State) -> Encoded:
        """The next target tokens' embeddings -> hidden states and the new state."""
        return self.decoder.step(vectors, target, state)


def _reorder(vectors: Tensor, order: Tensor) -> Tensor:
    return vectors.gather(1, order[..., None].expand_as(vectors))


def _reversed_order(mask: Tensor) -> Tensor:
    """The index that reverses each source without moving its padding (batch, time)."""
    position = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - position, position)
