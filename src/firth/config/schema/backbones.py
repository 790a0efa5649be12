"""Backbones: vectors to hidden states (recurrent, fixed window, convolutions, Transformer, encoder-decoder)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded
from firth.config.schema.transformer import Transformer


@dataclass(frozen=True)
class Recurrent:
    """Stacked recurrent layers: Elman RNN, LSTM, GRU."""

    kind: ClassVar[str] = "recurrent"
    cell: Literal["lstm", "gru", "tanh", "relu"] = "lstm"  # tanh, relu: Elman network
    width: int = bounded(200, least=1)  # hidden size
    depth: int = bounded(2, least=1)  # layers
    projection: int = bounded(0, least=0)  # projected LSTM: size of the hidden state (Sak et al. 2014); 0: none
    # no: left to right; else a backward network too, hidden states concatenated or averaged
    bidirectional: Literal["no", "concatenate", "average"] = "no"
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout after every layer
    variational_dropout: bool = False  # variational (locked) dropout: one mask for all time steps
    # DropConnect of the recurrent matrices (Merity et al. 2018)
    weight_dropout: float = bounded(0.0, least=0.0, most=0.95)
    residual: bool = False  # residual connections between layers of equal width
    learned_initial_state: bool = False  # the hidden state before the first token is learned, not zero
    orthogonal_init: bool = False  # orthogonal initialisation of the recurrent matrices
    init_range: float = bounded(0.1, least=0.0)  # other weights are initialised uniformly in ±init_range


@dataclass(frozen=True)
class Window:
    """Fixed-window neural language model: the last words concatenated, one hidden layer (Bengio et al. 2003)."""

    kind: ClassVar[str] = "window"
    bidirectional: ClassVar[str] = "no"
    context_size: int = bounded(4, least=1, most=1000)  # tokens of context
    width: int = bounded(200, least=1)  # size of the hidden layer
    direct_connections: bool = False  # connections from the embeddings to the output, around the hidden layer
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the hidden layer
    init_range: float = bounded(0.1, least=0.0)  # weights are initialised uniformly in ±init_range


@dataclass(frozen=True)
class Convolutional:
    """Convolutions of several widths over the embeddings, side by side (Kim 2014)."""

    kind: ClassVar[str] = "cnn"
    bidirectional: ClassVar[str] = "window"
    dropout: ClassVar[float] = 0.0
    filters: int = bounded(100, least=1)  # feature maps of each width
    widths: tuple[int, ...] = field(default=(3, 4, 5), metadata={"least": 1, "most": 100})  # tokens of a filter
    activation: Literal["relu", "tanh", "gelu"] = "relu"
    init_range: float = bounded(0.01, least=0.0)  # weights are initialised uniformly in ±init_range

    @property
    def width(self) -> int:
        """The width of a hidden state: all feature maps."""
        return self.filters * len(self.widths)


@dataclass(frozen=True)
class NoBackbone:
    """No layers: the hidden states are the embeddings, whose mean is a bag of words (deep averaging; Iyyer 2015)."""

    kind: ClassVar[str] = "none"
    bidirectional: ClassVar[str] = "all"
    dropout: ClassVar[float] = 0.0
    width: int = bounded(300, least=1)  # of the embeddings


@dataclass(frozen=True)
class RNNAttention:
    """Attention of a recurrent decoder over the encoder's hidden states."""

    # score function. none: no attention, only the final encoder state (Sutskever et al. 2014); additive: Bahdanau et
    # al. 2015; dot, general, concat, location (from the decoder state alone): Luong et al. 2015; cosine: Graves et
    # al. 2014
    score: Literal["none", "additive", "dot", "scaled", "general", "concat", "cosine", "location"] = "general"
    # decoder state used as the query. previous: s_{t-1}, the context vector is an input of step t (Bahdanau); current:
    # h_t (Luong)
    query_state: Literal["previous", "current"] = "current"
    input_feeding: bool = False  # the attentional state is an input of the next step (Luong)
    # global: all source positions; local-m: a window that moves monotonically; local-p: one around a predicted position
    attention_span: Literal["global", "local-m", "local-p"] = "global"
    window: int = bounded(10, least=1)  # local-m, local-p: tokens on each side
    width: int = bounded(0, least=0)  # additive, concat: size of the hidden layer; 0: as wide as the states
    max_positions: int = bounded(0, least=0)  # location: source positions at most; 0: as many as a row of a batch has
    coverage: bool = False  # additive: the score has a coverage vector (See et al. 2017)


@dataclass(frozen=True)
class EncoderDecoder:
    """Encoder-decoder: the decoder attends to the encoder's hidden states (cross attention)."""

    kind: ClassVar[str] = "encoder-decoder"
    encoder: Transformer | Recurrent = field(default_factory=lambda: Transformer(mask="bidirectional"))
    decoder: Transformer | Recurrent = field(default_factory=Transformer)
    # of a recurrent decoder; a Transformer has cross attention of its own
    attention: RNNAttention = field(default_factory=RNNAttention)
    # initial state of a recurrent decoder: zero, the encoder's final state, or a linear layer of it
    bridge: Literal["none", "copy", "linear"] = "linear"
    reverse_source: bool = False  # source tokens in reverse order (Sutskever et al. 2014)
    # labelled tasks have one text. decoder: the encoder reads it, and the decoder again, shifted by one token; the
    # decoder's states count (BART). encoder: the encoder's do, and the decoder is not used (T5's encoder)
    text_states: Literal["decoder", "encoder"] = "decoder"
    text_start: int = bounded(3, least=0)  # the number of the token that the shifted text begins with (3: [END])

    @property
    def width(self) -> int:
        """The encoder's, by default also that of the embeddings."""
        return self.encoder.width


Backbone = Recurrent | Window | Transformer | EncoderDecoder | Convolutional | NoBackbone
