"""The Transformer's parts (positions, attention, feed-forward network, norm, memory), each with its own fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded


@dataclass(frozen=True)
class LearnedPositions:
    """A learned vector for each position, added to the input (BERT, GPT)."""

    kind: ClassVar[str] = "learned"


@dataclass(frozen=True)
class SinusoidalPositions:
    """Sinusoidal position encoding, added to the input (Vaswani et al. 2017)."""

    kind: ClassVar[str] = "sinusoidal"


@dataclass(frozen=True)
class AxialPositions:
    """Axial position embeddings: a row's and a column's vector, concatenated (Ho et al. 2019; Reformer)."""

    kind: ClassVar[str] = "axial"
    rows: int = bounded(0, least=0)  # rows × columns = the context; 0: as near to a square as can be
    columns: int = bounded(0, least=0)  # see `rows`
    width: int = bounded(0, least=0)  # width of a row's vector; the column's has the rest; 0: half


@dataclass(frozen=True)
class RotaryPositions:
    """Rotary position embedding (RoPE): queries and keys are rotated by their position (Su et al. 2021)."""

    kind: ClassVar[str] = "rotary"


@dataclass(frozen=True)
class ALiBi:
    """Attention with linear biases: scores fall with the distance (Press et al. 2022)."""

    kind: ClassVar[str] = "alibi"


@dataclass(frozen=True)
class T5Positions:
    """Relative position bias: a learned score for each bucket of distances and head (Raffel et al. 2020)."""

    kind: ClassVar[str] = "t5"


@dataclass(frozen=True)
class RelativePositions:
    """Relative position encoding of Transformer-XL and XLNet (Dai et al. 2019)."""

    kind: ClassVar[str] = "relative"
    segments: bool = False  # relative segment encoding: same or different segment adds to the score (XLNet)


@dataclass(frozen=True)
class InfusedPositions:
    """Position-infused attention: sinusoids added to queries and keys of every layer, not to values (Shortformer)."""

    kind: ClassVar[str] = "position-infused"


@dataclass(frozen=True)
class NoPositions:
    """No position encoding."""

    kind: ClassVar[str] = "none"


Positions = (
    LearnedPositions
    | SinusoidalPositions
    | AxialPositions
    | RotaryPositions
    | ALiBi
    | T5Positions
    | RelativePositions
    | InfusedPositions
    | NoPositions
)


@dataclass(frozen=True, kw_only=True)
class AttentionOptions:
    """What every kind of attention has."""

    has_kv_cache: ClassVar[bool] = True
    head_width: int = bounded(0, least=0)  # width of a head; 0: the heads share the width
    scaled: bool = True  # scores are divided by the square root of the head width (T5: no)
    bias: bool = True  # biases of the projections, if `backbone.bias` (Transformer-XL, Reformer: no)
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the attention weights


@dataclass(frozen=True)
class FullAttention(AttentionOptions):
    """Every query attends to every key that the mask allows (Vaswani et al. 2017)."""

    kind: ClassVar[str] = "full"
    layers: ClassVar[tuple[str, ...]] = ("full",)


@dataclass(frozen=True)
class WindowAttention(AttentionOptions):
    """Sliding-window attention with dilation and global tokens (Longformer; Beltagy et al. 2020)."""

    kind: ClassVar[str] = "window"
    layers: ClassVar[tuple[str, ...]] = ("full",)
    # tokens on each side, by layer; the last number is for all layers above it too
    window: tuple[int, ...] = field(default=(256,), metadata={"least": 1})
    scale_window: bool = False  # in training, rows shorter than the context have proportionally smaller windows
    # steps between the tokens of a window, by layer; the last number is for all layers above it too; none: no dilation
    dilation: tuple[int, ...] = field(default=(), metadata={"least": 1})
    dilated_heads: int = bounded(0, least=0)  # heads of each layer with dilation, the others without; 0: all
    global_tokens: Literal["none", "first"] = "none"  # global attention of no token, or of each text's first ([CLS])
    global_projections: bool = False  # global attention has query, key and value projections of its own
    # banded: only keys within the window, time and memory linear in the length; dense: all keys, masked
    kernel: Literal["banded", "dense"] = "banded"


@dataclass(frozen=True)
class Local:
    """Chunked local attention: each token attends to its chunk and chunks beside it."""

    chunk: int = bounded(64, least=1)  # tokens of a chunk
    before: int = bounded(1, least=0)  # chunks before its own that a token attends to
    after: int = bounded(0, least=0)  # chunks after its own that a token attends to


@dataclass(frozen=True)
class LSH:
    """Locality-sensitive hashing: tokens attend to those in the same bucket (Kitaev et al. 2020)."""

    rounds: int = bounded(4, least=1)  # rounds of hashing, each with other buckets
    # factors of the number of buckets, each even or 1; none: two buckets for each chunk of the context
    buckets: tuple[int, ...] = field(default=(), metadata={"least": 1, "most": 16_384})
    chunk: int = bounded(64, least=1)  # tokens, sorted by bucket, that attend to each other
    before: int = bounded(1, least=1)  # chunks before its own that a token attends to
    after: int = bounded(0, least=0)  # chunks after its own that a token attends to
    # false: a token attends to the last tokens of its own bucket, as many as the chunks before hold; true: to all of
    # its chunk and of those beside it, as public checkpoints were trained (later tokens then change earlier ones)
    across: bool = False


@dataclass(frozen=True)
class ReformerAttention(AttentionOptions):
    """Local and LSH attention, alternating by layer (Reformer; Kitaev et al. 2020)."""

    kind: ClassVar[str] = "lsh"
    has_kv_cache: ClassVar[bool] = False
    layers: tuple[Literal["full", "local", "lsh"], ...] = ("local", "lsh")  # kinds of attention, by turns
    local: Local = field(default_factory=Local)
    lsh: LSH = field(default_factory=LSH)


Attention = FullAttention | WindowAttention | ReformerAttention


@dataclass(frozen=True, kw_only=True)
class FeedForwardOptions:
    """What every feed-forward network has."""

    width: int = bounded(0, least=0)  # size of the hidden layer; 0: four times the Transformer's width
    # activation between the linear layers
    activation: Literal["gelu", "gelu-tanh", "relu", "silu"] = "gelu-tanh"
    chunk: int = bounded(0, least=0)  # tokens computed together, to save memory (Reformer); 0: all


@dataclass(frozen=True)
class FeedForward(FeedForwardOptions):
    """Two linear layers with an activation between (Vaswani et al. 2017)."""

    kind: ClassVar[str] = "mlp"


@dataclass(frozen=True)
class GatedFeedForward(FeedForwardOptions):
    """Gated linear unit: GEGLU, SwiGLU (Shazeer 2020)."""

    kind: ClassVar[str] = "gated"


@dataclass(frozen=True, kw_only=True)
class NormOptions:
    """What every norm has."""

    # pre: before each sublayer, and one at the end; post: after the addition; sandwich: before and after each sublayer
    placement: Literal["pre", "post", "sandwich"] = "pre"
    embeddings: bool = False  # a norm of the input embeddings too (BERT)
    epsilon: float = bounded(1e-5, above=0.0)  # added to the variance


@dataclass(frozen=True)
class LayerNorm(NormOptions):
    """Layer normalisation (Ba et al. 2016)."""

    kind: ClassVar[str] = "layer"


@dataclass(frozen=True)
class RMSNorm(NormOptions):
    """Root mean square normalisation (Zhang and Sennrich 2019)."""

    kind: ClassVar[str] = "rms"


@dataclass(frozen=True)
class NoMemory:
    """No memory: every row starts without context."""

    kind: ClassVar[str] = "none"
    length: ClassVar[int] = 0


@dataclass(frozen=True)
class SegmentRecurrence:
    """Segment recurrence: hidden states of the tokens before a row (Transformer-XL); needs contiguous batches."""

    kind: ClassVar[str] = "segment-recurrence"
    length: int = bounded(128, least=1)  # tokens of the memory


@dataclass(frozen=True)
class Transformer:
    """Transformer layers: attention and feed-forward network, each with a residual connection (Vaswani et al. 2017)."""

    kind: ClassVar[str] = "transformer"
    width: int = bounded(256, least=1)  # hidden size
    depth: int = bounded(4, least=1)  # layers
    heads: int = bounded(4, least=1)  # attention heads
    context: int = bounded(0, least=0)  # maximum sequence length; 0: as long as a row of a batch
    # causal: earlier tokens; bidirectional: all; prefix: bidirectional prefix, then causal; permutation: earlier ones
    # in a random factorisation order (XLNet)
    mask: Literal["causal", "bidirectional", "prefix", "permutation"] = "causal"
    positions: Positions = field(default_factory=LearnedPositions)
    attention: Attention = field(default_factory=FullAttention)
    feedforward: FeedForward | GatedFeedForward = field(default_factory=FeedForward)
    norm: LayerNorm | RMSNorm = field(default_factory=LayerNorm)
    memory: NoMemory | SegmentRecurrence = field(default_factory=NoMemory)
    residual: Literal["plain", "reversible"] = "plain"  # reversible: activations are recomputed, not stored (Reformer)
    bias: bool = True  # biases of linear layers and norms
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the embeddings and of each sublayer's output
    init_std: float = bounded(0.02, least=0.0)  # normal initialisation; residual projections shrink with depth
