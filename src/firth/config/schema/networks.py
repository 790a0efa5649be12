"""What a network reads, and its layers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded


@dataclass(frozen=True)
class TokenInput:
    """A vector per token."""

    kind: ClassVar[str] = "tokens"
    places: ClassVar[int] = 0  # as many as a row has
    width: int = bounded(0, least=0)  # 0: as wide as the backbone
    dropout: float = bounded(0.0, least=0.0, most=0.95)
    spread: float = bounded(0.1, least=0.0)  # start values are uniform in ±spread
    vectors: str = ""  # a file or run of word vectors: words that it has start from them
    frozen: bool = False  # vectors stay as they start
    segments: int = bounded(0, least=0)  # kinds of segments that have a vector, added to their tokens'; BERT: 2
    rows: int = bounded(0, least=0)  # of the table, if it has more than there are tokens (as public checkpoints may)
    # width of a network that reads the letters of words that the vocabulary lacks (Luong and Manning 2016); 0: none
    letters: int = bounded(0, least=0)


@dataclass(frozen=True)
class PatchInput:
    """A vector for each patch of a picture, and one for the whole (Dosovitskiy et al. 2021)."""

    kind: ClassVar[str] = "patches"
    vectors: ClassVar[str] = ""  # what only tokens have
    rows: ClassVar[int] = 0
    segments: ClassVar[int] = 0
    size: int = bounded(32, least=1)  # pixels of a side
    patch: int = bounded(8, least=1)  # pixels of a patch's side
    channels: int = bounded(3, least=1)
    # brightness is 0 to 1: the mean is taken off, the rest divided by the deviation; one number or one for each channel
    mean: tuple[float, ...] = field(default=(0.5,), metadata={"least": 0.0, "most": 1.0})
    deviation: tuple[float, ...] = field(default=(0.5,), metadata={"above": 0.0, "most": 1.0})
    width: int = bounded(0, least=0)  # 0: as wide as the backbone
    dropout: float = bounded(0.0, least=0.0, most=0.95)
    spread: float = bounded(0.02, least=0.0)  # start values are normal with it

    @property
    def places(self) -> int:
        """How many vectors a picture has: one for the whole, then one for each patch."""
        return 1 + (self.size // self.patch) ** 2


@dataclass(frozen=True)
class Recurrent:
    """Stacked recurrent layers."""

    kind: ClassVar[str] = "recurrent"
    cell: Literal["lstm", "gru", "tanh", "relu"] = "lstm"
    width: int = bounded(200, least=1)
    depth: int = bounded(2, least=1)
    projection: int = bounded(0, least=0)  # of an LSTM's state to so many numbers (Sak et al. 2014); 0: none
    directions: Literal["left", "concatenated", "averaged"] = "left"  # left: left to right; else both ways
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # after every layer
    locked: bool = False  # one dropout mask for all positions
    weight_dropout: float = bounded(0.0, least=0.0, most=0.95)  # of the recurrent matrices
    residual: bool = False  # each layer adds to its input, where they are equally wide
    learned_start: bool = False  # the state before the first token
    orthogonal: bool = False  # recurrent matrices start orthogonal
    spread: float = bounded(0.1, least=0.0)  # other start values are uniform in ±spread


@dataclass(frozen=True)
class Window:
    """The last words side by side and one hidden layer (Bengio et al. 2003)."""

    kind: ClassVar[str] = "window"
    words: int = bounded(4, least=1, most=1000)  # that are looked at
    width: int = bounded(200, least=1)
    direct: bool = False  # the vectors also go to the output directly
    dropout: float = bounded(0.0, least=0.0, most=0.95)
    spread: float = bounded(0.1, least=0.0)


@dataclass(frozen=True)
class Local:
    """Attention within stretches of the text: each token sees its chunk and chunks beside it."""

    chunk: int = bounded(64, least=1)  # tokens
    before: int = bounded(1, least=0)  # chunks
    after: int = bounded(0, least=0)


@dataclass(frozen=True)
class LSH:
    """Attention among tokens alike: those that fall into the same bucket (Kitaev et al. 2020)."""

    rounds: int = bounded(4, least=1)  # each with other buckets; what is missed in one may be seen in the next
    # their product is how many there are, each number even or 1; none: two for each chunk of the context
    buckets: tuple[int, ...] = field(default=(), metadata={"least": 1, "most": 16_384})
    chunk: int = bounded(64, least=1)  # tokens, in the order of their buckets, that are looked at together …
    before: int = bounded(1, least=1)  # … with so many chunks before them …
    after: int = bounded(0, least=0)  # … and after them
    # no: a token sees the last tokens of its own bucket, as many as the chunks before have; yes: all of its chunk and
    # of those beside it, as public checkpoints were trained (later tokens then change what earlier ones see)
    across: bool = False


@dataclass(frozen=True)
class Axial:
    """Places as rows and columns, each with a vector; a place's is the two side by side (Ho et al. 2019)."""

    rows: int = bounded(0, least=0)  # times columns = the context; 0: as near to a square as can be
    columns: int = bounded(0, least=0)
    width: int = bounded(0, least=0)  # of a row's vector, the column's having the rest; 0: a half


@dataclass(frozen=True)
class Transformer:
    """Layers of attention and feed-forward networks (Vaswani et al. 2017), each adding to its input."""

    kind: ClassVar[str] = "transformer"
    width: int = bounded(256, least=1)
    depth: int = bounded(4, least=1)
    heads: int = bounded(4, least=1)
    head_width: int = bounded(0, least=0)  # 0: the heads share the width
    inner: int = bounded(0, least=0)  # width of the feed-forward layers; 0: four times the width
    activation: Literal["gelu", "gelu-tanh", "relu", "silu"] = "gelu-tanh"
    gated: bool = False  # feed-forward: one product opens or shuts another (Shazeer 2020)
    norm: Literal["layer", "rms"] = "layer"
    # pre: before each part, with one more at the end; post: after adding it; sandwich: before and after each part
    norm_at: Literal["pre", "post", "sandwich"] = "pre"
    norm_input: bool = False  # a norm of the first vectors too, places included (BERT)
    epsilon: float = bounded(1e-5, above=0.0)  # of the norms
    positions: Literal["learned", "axial", "sinusoidal", "rotary", "alibi", "t5", "xl", "infused", "none"] = "learned"
    context: int = bounded(0, least=0)  # tokens it can look at; 0: as many as a row of a batch has
    # prefix: all of the first part of a row, then only what is left; permuted: what comes before in an order (XLNet)
    sees: Literal["left", "all", "prefix", "permuted"] = "left"
    memory: int = bounded(0, least=0)  # tokens before a row that are remembered (Transformer-XL); batching: contiguous
    relative_segments: bool = False  # whether two tokens are of one segment adds to their score (XLNet)
    window: int = bounded(0, least=0)  # tokens on each side that are seen; 0: any number
    window_grows: bool = False  # in training, rows shorter than the context have as much smaller a window
    # steps between the tokens that a window sees, by layer, the last for layers above it too; none: next to each other
    dilation: tuple[int, ...] = field(default=(), metadata={"least": 1})
    dilated_heads: int = bounded(0, least=0)  # of each layer, the others seeing all of their window; 0: all heads
    central: Literal["none", "first"] = "none"  # first: all of a text see its first token, and it sees them all
    central_projections: bool = False  # tokens that see all do so by queries, keys and values of their own (Longformer)
    # dense: each token with each; banded: only those near each other, so that time and memory are linear in length
    kernel: Literal["dense", "banded"] = "dense"
    # what layers, by turns, look at: all that they may see, their chunk and those beside it, or tokens alike (Reformer)
    attends: tuple[Literal["full", "local", "lsh"], ...] = ("full",)
    local: Local = field(default_factory=Local)
    lsh: LSH = field(default_factory=LSH)
    axial: Axial = field(default_factory=Axial)
    # reversible: two streams, each adding to the other; none of their layers' values are kept for the way back
    residual: Literal["plain", "reversible"] = "plain"
    chunk: int = bounded(0, least=0)  # tokens that go through a feed-forward layer together, to save memory; 0: all
    bias: bool = True
    attention_bias: bool = True  # no: where there are biases, attention has none (Reformer)
    scaled: bool = True  # scores are divided by the root of a head's width
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # of the first vectors and of what each part adds
    attention_dropout: float = bounded(0.0, least=0.0, most=0.95)  # of the attention's weights
    spread: float = bounded(0.02, least=0.0)  # start values are normal with it; what adds to the sum starts smaller


@dataclass(frozen=True)
class Looking:
    """How a recurrent network that writes looks at what was read: a weight for each token of it."""

    # none: not at all, all it knows is its first state (Sutskever et al. 2014); additive: Bahdanau et al. 2015; dot,
    # general, concat, location (by the state alone, whatever was read): Luong et al. 2015; cosine: Graves et al. 2014
    score: Literal["none", "additive", "dot", "scaled", "general", "concat", "cosine", "location"] = "general"
    # before: by the state before a token, which is read with what was seen (Bahdanau); after: by that after it (Luong)
    when: Literal["before", "after"] = "after"
    feeding: bool = False  # what was made of state and source is read with the next token (Luong)
    # all of the source; a window that moves on by a token each time; or one around a place that is foretold (Luong)
    reach: Literal["all", "monotonic", "predicted"] = "all"
    window: int = bounded(10, least=1)  # tokens on each side, of the last two
    width: int = bounded(0, least=0)  # of the layer of additive and concat; 0: as wide as the states
    places: int = bounded(0, least=0)  # of the source that location knows; 0: as many as a row of a batch has
    coverage: bool = False  # additive scores know how much each token was looked at before (See et al. 2017)


@dataclass(frozen=True)
class EncoderDecoder:
    """A network that reads the source, and one that writes the target, looking at what the first has read."""

    kind: ClassVar[str] = "encoder-decoder"
    encoder: Transformer | Recurrent = field(default_factory=lambda: Transformer(sees="all"))
    decoder: Transformer | Recurrent = field(default_factory=Transformer)
    looks: Looking = field(default_factory=Looking)  # of a recurrent decoder; a Transformer has its own way
    # what a recurrent decoder begins with: nothing, the encoder's last state as it is, or a layer's view of that
    bridge: Literal["none", "same", "layer"] = "layer"
    reverse: bool = False  # the source is read from its end (Sutskever et al. 2014)
