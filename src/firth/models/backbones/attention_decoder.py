"""RNN decoder with attention to the encoder's states (Bahdanau et al. 2015; Luong et al. 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from firth.config.schema import EncoderDecoder, Recurrent, Transformer
from firth.errors import FirthError
from firth.nn.attention.rnn_attention import DecoderAttention
from firth.nn.recurrent import RecurrentLayers
from firth.types import ALIGNMENT, Encoded, State, Tokens, expect

ENCODER_STATES, ENCODER_KEYS, ENCODER_MASK = "encoder_states", "keys", "mask"  # names in `State.source`
INPUT_FEED, COVERAGE, STEP = "input_feed", "coverage", "time"  # names in `State.live`, beside those of the layers


class EncoderOutput(NamedTuple):
    """The encoder's output for a batch of sources."""

    states: Tensor  # (batch, time, width)
    mask: Tensor  # (batch, time)
    live: Mapping[str, Tensor]  # final states (batch, layers × directions, width) by name, of a recurrent encoder
    num_directions: int = 1
    layers: tuple[Tensor, ...] = ()  # on request: the embeddings, then the states of each layer

    @property
    def summary(self) -> Tensor:
        """One vector per source (batch, width): the last layer's final states, or the mean of all states."""
        if "hidden" in self.live:
            return self.live["hidden"][:, -self.num_directions :].flatten(1)
        real = self.mask[..., None]
        return (self.states * real).sum(1) / real.sum(1)


class AttentionDecoder(nn.Module):
    """Hidden states of the target. All steps run at once by teacher forcing, unless a step depends on the attention of
    the previous one (input feeding, coverage, attention by the previous state)."""

    max_length = 0  # of the target: unlimited

    def __init__(self, config: EncoderDecoder, input_width: int, source_width: int):
        super().__init__()
        attention, decoder = config.attention, expect(config.decoder, Recurrent)
        self.depth = decoder.depth
        self.config, self.source_width = attention, source_width
        self.width = decoder.projection or decoder.width
        self.attends_before = attention.score != "none" and attention.query_state == "previous"
        extra_width = source_width * self.attends_before + self.width * attention.input_feeding
        self.layers = RecurrentLayers(decoder, input_width + extra_width)
        self.attention: DecoderAttention | None = None
        self.combine: nn.Linear | None = None
        self.has_alignment = attention.score != "none"  # whether it gives attention weights over the source
        if self.has_alignment:
            self.attention = DecoderAttention(attention, self.width, source_width)
            self.combine = nn.Linear(self.width + source_width, self.width)
        self.bridge = BRIDGES[config.bridge](self.layers, summary_width(config))
        _check(config, self.stepwise)

    @property
    def stepwise(self) -> bool:
        """Whether a step's input depends on the attention of the previous step, so that steps cannot run at once."""
        return self.attends_before or self.config.input_feeding or self.config.coverage

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to, from 1: the bridge to the lowest, attention and what
        combines it with the states to the last."""
        part, _, rest = name.partition(".")
        if part == "layers":
            return self.layers.depth_of(rest)
        return 1 if part == "bridge" else self.depth

    def initial_state(self, encoder_output: EncoderOutput) -> State:
        """The decoder state before any token."""
        source = {ENCODER_STATES: encoder_output.states, ENCODER_MASK: encoder_output.mask}
        live = dict(self.bridge(encoder_output))
        batch_size, device = len(encoder_output.states), encoder_output.states.device
        if self.attention is not None:
            source[ENCODER_KEYS] = self.attention.score.keys(encoder_output.states)
            live[STEP] = torch.zeros(batch_size, 1, dtype=torch.long, device=device)
            live[ALIGNMENT] = torch.zeros(batch_size, encoder_output.states.shape[1], device=device)
        if self.config.input_feeding:
            live[INPUT_FEED] = torch.zeros(batch_size, self.width, device=device)
        if self.config.coverage:
            live[COVERAGE] = torch.zeros(batch_size, encoder_output.states.shape[1], device=device)
        return State(source=source, live=live)

    def decode(
        self, vectors: Tensor, target: Tokens, encoder_output: EncoderOutput, keep_layers: bool = False
    ) -> Encoded:
        """Hidden states of the whole target (batch, time, width), by teacher forcing; of its layers the last is
        kept."""
        encoded = self.step(vectors, target, self.initial_state(encoder_output))
        return encoded._replace(layers=(vectors, encoded.states)) if keep_layers else encoded

    def align(self, vectors: Tensor, target: Tokens, encoder_output: EncoderOutput, layer: int = -1) -> Tensor | None:
        """Attention weights of each target token over the source (batch, time, source), if there is attention."""
        return self.decode(vectors, target, encoder_output).alignment

    def step(self, vectors: Tensor, target: Tokens, state: State) -> Encoded:
        """The next tokens' embeddings (batch, time, input width) -> hidden states, attention weights and new state."""
        source = {name: _repeat_source(tensor, len(vectors)) for name, tensor in state.source.items()}
        if self.attention is None:
            states, live = self.layers(vectors, state.live)
            return Encoded(states, target.mask, state=State(state.source, live))
        if not self.stepwise:
            states, weights, live = self._run_steps(vectors, source, dict(state.live))
        else:
            outputs, live = [], dict(state.live)
            for vector in vectors.split(1, 1):
                *output, live = self._run_steps(vector, source, live)
                outputs.append(output)
            states, weights = (torch.cat(tensors, 1) for tensors in zip(*outputs, strict=True))
        weights = weights.float()  # also under autocast: they are used outside of the network too
        live[ALIGNMENT] = weights[:, -1]
        return Encoded(states, target.mask, state=State(state.source, live), alignment=weights)

    def _run_steps(
        self, vectors: Tensor, source: Mapping[str, Tensor], live: dict[str, Tensor]
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """One or several steps: attentional hidden states, attention weights, and the new `State.live`."""
        recurrent = {name: live[name] for name in self.layers.shapes}
        if self.attends_before:
            context, weights = self._attend(recurrent["hidden"][:, -1:], source, live)
        input_feed = [live[INPUT_FEED][:, None]] if self.config.input_feeding else []
        inputs = torch.cat([vectors, *([context] if self.attends_before else []), *input_feed], -1)
        states, recurrent = self.layers(inputs, recurrent)
        if not self.attends_before:
            context, weights = self._attend(states, source, live)
        attentional = expect(self.combine, nn.Linear)(torch.cat([states, context], -1)).tanh()
        new_live = {**live, **recurrent, STEP: live[STEP] + vectors.shape[1]}
        if self.config.input_feeding:
            new_live[INPUT_FEED] = attentional[:, -1]
        if self.config.coverage:
            new_live[COVERAGE] = live[COVERAGE] + weights.sum(1)
        return attentional, weights, new_live

    def _attend(
        self, queries: Tensor, source: Mapping[str, Tensor], live: Mapping[str, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Context vectors (batch, time, source width) and attention weights (batch, time, source)."""
        attention = expect(self.attention, DecoderAttention)
        weights = attention(queries, source[ENCODER_KEYS], source[ENCODER_MASK], live[STEP], live.get(COVERAGE))
        return weights @ source[ENCODER_STATES], weights


def _repeat_source(tensor: Tensor, batch_size: int) -> Tensor:
    """The source repeated for each of its hypotheses, where there are several (beam search)."""
    return tensor if len(tensor) == batch_size else tensor.repeat_interleave(batch_size // len(tensor), 0)


def summary_width(config: EncoderDecoder) -> int:
    """The width of `EncoderOutput.summary`."""
    encoder = config.encoder
    if isinstance(encoder, Transformer):
        return encoder.width
    return (encoder.projection or encoder.width) * (1 if encoder.bidirectional == "no" else 2)


class NoBridge(nn.Module):
    """The decoder starts from its own initial state, independent of the source."""

    def __init__(self, layers: RecurrentLayers, width: int):
        super().__init__()
        self.start = layers.start

    def forward(self, encoder_output: EncoderOutput) -> Mapping[str, Tensor]:
        """The initial state of the decoder's layers by name (batch, layers, width)."""
        return self.start(len(encoder_output.states), encoder_output.states.device)


class CopyBridge(NoBridge):
    """The decoder's layers start from the final states of the encoder's (Sutskever et al. 2014)."""

    def forward(self, encoder_output: EncoderOutput) -> Mapping[str, Tensor]:
        return {name: encoder_output.live[name] for name in self.start(1, "cpu")}


class LinearBridge(nn.Module):
    """The decoder starts from a linear layer over the encoder's final state, with tanh (Bahdanau et al. 2015)."""

    def __init__(self, layers: RecurrentLayers, width: int):
        super().__init__()
        self.shapes = layers.shapes
        self.layers = nn.ModuleDict({name: nn.Linear(width, a * b) for name, (a, b) in layers.shapes.items()})

    def forward(self, encoder_output: EncoderOutput) -> Mapping[str, Tensor]:
        summary = encoder_output.summary
        return {name: self.layers[name](summary).tanh().view(-1, *shape) for name, shape in self.shapes.items()}


BRIDGES = {"none": NoBridge, "copy": CopyBridge, "linear": LinearBridge}


def _check(config: EncoderDecoder, stepwise: bool) -> None:
    """Refuse combinations of encoder, decoder, attention and bridge that do not work."""
    encoder, decoder, attention = config.encoder, expect(config.decoder, Recurrent), config.attention
    if decoder.bidirectional != "no":
        where = "backbone.decoder.bidirectional"
        raise FirthError("a bidirectional decoder cannot generate", where=where, do="set it to no")
    shared = ("cell", "width", "depth", "projection", "bidirectional")
    if config.bridge == "copy" and any(getattr(encoder, name, None) != getattr(decoder, name) for name in shared):
        what = "the encoder's final state cannot be copied to the decoder: they differ in kind or size"
        raise FirthError(what, where="backbone.bridge", do="set it to linear")
    if attention.score == "none" and config.bridge == "none":
        what = "without attention and without a bridge the decoder does not depend on the source"
        raise FirthError(what, where="backbone.bridge", do="set it to linear, or choose a backbone.attention.score")
    if stepwise and (decoder.variational_dropout or decoder.weight_dropout):
        what = "variational and weight dropout sample one mask per sequence; this decoder would sample one per step"
        do = "set variational_dropout=false and weight_dropout=0, or query_state=current and input_feeding=false"
        raise FirthError(what, where="backbone.decoder", do=do)
    if decoder.learned_initial_state and config.bridge != "none":
        what = "the bridge gives the decoder's initial state, so it cannot be learned"
        where = "backbone.decoder.learned_initial_state"
        raise FirthError(what, where=where, do="set it to false, or backbone.bridge=none")
    if attention.score == "none" and (attention.input_feeding or attention.coverage):
        what = "input feeding and coverage need attention"
        raise FirthError(what, where="backbone.attention", do="choose a backbone.attention.score")
