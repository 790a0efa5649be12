"""What can be configured, as frozen dataclasses: one field per question. No torch, no NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded, several

# --- text ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes tokens."""

    model: Literal["char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"] = "byte-bpe"
    size: int = bounded(8000, least=16)  # of the vocabulary, special tokens included
    min_count: int = bounded(1, least=1)  # rarer units are unknown (word, char) or not merged (bpe, wordpiece)
    normal: Literal["none", "nfc", "nfkc"] = "none"  # a Unicode normal form before anything else
    lower: Literal["no", "yes", "turkish"] = "no"  # turkish: I becomes ı, İ becomes i
    # words: punctuation apart, Chinese and Japanese by character; tabs: items that may have blanks in them
    split: Literal["words", "whitespace", "tabs"] = "words"
    sentinels: int = bounded(0, least=0, most=10_000)  # tokens that mark gaps, <extra_id_0> the very last (T5: 100)
    file: str = ""  # a ready tokenizer.json instead of training one


@dataclass(frozen=True)
class NoTokenizer:
    """No tokens: pictures are read, not text."""

    kind: ClassVar[str] = "none"


@dataclass(frozen=True)
class Text:
    """Where the text is and how it is cut into documents and splits."""

    text: tuple[str, ...] = ("python-docs",)  # built-in names, files, folders, or - for standard input
    valid: tuple[str, ...] = ()  # own validation text; otherwise a share of the documents
    test: tuple[str, ...] = ()
    valid_share: float = bounded(0.05, least=0.0, most=0.5)  # of the documents, where there is no own text
    test_share: float = bounded(0.05, least=0.0, most=0.5)  # the same for the test; 0: none
    document: Literal["auto", "file", "paragraph", "line"] = "auto"  # auto: a folder's files, a file's paragraphs
    encoding: str = "utf-8"
    errors: Literal["strict", "replace"] = "strict"  # what to do with bytes that are not text in this encoding
    long_lines: Literal["refuse", "split"] = "refuse"  # lines over 16 MB


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What all kinds of rows have."""

    gives: ClassVar[str] = "tokens"  # the kind of input that reads them
    # shorter rows first: their lengths in equal parts of the run before the one with `length`; so many more at a time
    stages: tuple[int, ...] = field(default=(), metadata={"least": 8})


@dataclass(frozen=True)
class Contiguous(Rows):
    """Parallel streams through the whole text; row i of a batch goes on where it stopped (truncated BPTT)."""

    kind: ClassVar[str] = "contiguous"
    rows: int = bounded(20, least=1)
    length: int = bounded(35, least=1)


@dataclass(frozen=True)
class Bucketed(Rows):
    """One document per row, documents of similar length together, under a budget of tokens (padding counted)."""

    kind: ClassVar[str] = "bucketed"
    tokens: int = bounded(4096, least=1)
    length: int = bounded(512, least=2)  # longer documents are cut


@dataclass(frozen=True)
class Packed(Rows):
    """Whole documents side by side in rows of one length; marks tell them apart."""

    kind: ClassVar[str] = "packed"
    rows: int = bounded(8, least=1)
    length: int = bounded(512, least=2)


@dataclass(frozen=True)
class Windows(Rows):
    """Rows cut from the text anywhere, each on its own; where text is scored they overlap."""

    kind: ClassVar[str] = "windows"
    rows: int = bounded(16, least=1)
    length: int = bounded(256, least=2)
    stride: int = bounded(0, least=0)  # tokens from one to the next where text is scored; 0: half a length


@dataclass(frozen=True)
class Framed(Rows):
    """Pieces of documents, each between [CLS] and [SEP], side by side in rows of one length; marks tell them apart."""

    kind: ClassVar[str] = "framed"
    rows: int = bounded(16, least=1)
    length: int = bounded(128, least=8)
    # next: a piece is two segments, the second of which goes on from the first or, as often, comes from elsewhere
    pairs: Literal["none", "next"] = "none"


@dataclass(frozen=True)
class Joined(Rows):
    """An example per row, its one or two texts between marks; rows of similar length together."""

    kind: ClassVar[str] = "joined"
    rows: int = bounded(32, least=1)
    length: int = bounded(128, least=8)  # longer texts are cut, of two the longer one first
    # first: [CLS] text [SEP] text [SEP] (BERT); last: [START] text [SEP] text [CLS], where tokens see only those before
    # them (GPT-1's start, delimiter and extract)
    frame: Literal["first", "last"] = "first"


@dataclass(frozen=True)
class Apart(Rows):
    """Two texts that belong together in two rows, left and right; plain text belongs to itself."""

    kind: ClassVar[str] = "apart"
    rows: int = bounded(64, least=2)
    length: int = bounded(64, least=8)
    frame: Literal["first", "last"] = "first"
    least: float = 4.0  # pairs with scores: those with at least this belong together
    labels: tuple[str, ...] = ()  # pairs with labels: those with one of these


@dataclass(frozen=True)
class Pairs(Rows):
    """Pairs of texts, one read and one written, of similar length together, under a budget of tokens."""

    kind: ClassVar[str] = "pairs"
    tokens: int = bounded(4096, least=1)  # of the longer texts of a batch, padding counted
    length: int = bounded(128, least=2)  # longer texts are cut


@dataclass(frozen=True)
class Pictured(Rows):
    """A labelled picture per row."""

    kind: ClassVar[str] = "pictures"
    gives: ClassVar[str] = "patches"
    length: ClassVar[int] = 0  # the input says how many places a picture has
    rows: int = bounded(32, least=1)


Batching = Contiguous | Bucketed | Packed | Windows | Framed | Joined | Apart | Pairs | Pictured


# --- model --------------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True)
class LanguageHead:
    """A distribution over the vocabulary at every position."""

    kind: ClassVar[str] = "language"
    tied: bool = True  # the output matrix is the input embedding (Press and Wolf 2017)
    bias: bool = True
    transform: bool = False  # a layer, bent and normed, before the output matrix (BERT)
    activation: Literal["gelu", "gelu-tanh", "relu", "silu"] = "gelu"  # of that layer
    epsilon: float = bounded(1e-12, above=0.0)  # of its norm
    scaled: bool = False  # states are divided by the root of their width first (T5)
    letters: int = bounded(0, least=0)  # width of a network that spells words that the vocabulary lacks; 0: none


@dataclass(frozen=True)
class CopyingHead(LanguageHead):
    """The same, mixed with the tokens of the source, by how much they are looked at (See et al. 2017)."""

    kind: ClassVar[str] = "copying"


@dataclass(frozen=True)
class DetectionHead:
    """A score at every position: is this token the right one? (Clark et al. 2020)"""

    kind: ClassVar[str] = "detection"


@dataclass(frozen=True)
class ClassHead:
    """A score for each label, from one vector for the whole text or picture."""

    kind: ClassVar[str] = "classes"
    pool: Literal["first", "mean", "last"] = "first"  # which token's state stands for the text, or the mean of all
    layer: bool = True  # a layer, bent, before the scores (BERT)
    activation: Literal["tanh", "gelu", "relu"] = "tanh"  # what bends it (tanh: BERT; gelu: ELECTRA; relu: DistilBERT)
    bias: bool = True  # of the scores (GPT-1 and GPT-2: none)
    dropout: float = bounded(0.1, least=0.0, most=0.95)


@dataclass(frozen=True)
class VectorHead:
    """One vector for the whole text."""

    kind: ClassVar[str] = "vector"
    pool: Literal["first", "mean", "last"] = "mean"


@dataclass(frozen=True)
class Causal:
    """Predict each token from those before it."""

    kind: ClassVar[str] = "causal"


@dataclass(frozen=True)
class Hiding:
    """Which tokens are hidden from a model that reads both ways, and how."""

    share: float = bounded(0.15, above=0.0, most=0.95)  # of the tokens that are to be predicted, of which …
    hidden: float = bounded(0.8, least=0.0, most=1.0)  # … so many show [MASK], …
    random: float = bounded(0.1, least=0.0, most=1.0)  # … so many any token, and the others themselves
    # always: other tokens are hidden each time; else a row has so many masks that take turns (BERT: 10)
    redraw: Literal["always", "in-turn"] = "always"
    masks: int = bounded(10, least=1)  # in-turn


@dataclass(frozen=True)
class Permuted:
    """Predict the last tokens of an order, each from all that come before it in the order (Yang et al. 2019)."""

    kind: ClassVar[str] = "permuted"
    share: float = bounded(1 / 6, above=0.0, most=1.0)  # of the tokens, the last in the order, that are to be predicted
    longest: int = bounded(5, least=1)  # run of neighbours that are predicted together; shorter ones are more frequent
    # all: every token has a place in the order; asked: only those to be predicted, others seeing each other (as XLNet)
    ordered: Literal["all", "asked"] = "asked"


@dataclass(frozen=True)
class Masked(Hiding):
    """Predict hidden tokens from all others (Devlin et al. 2019)."""

    kind: ClassVar[str] = "masked"
    next_sentence: bool = False  # predict too whether the second segment goes on from the first; batching.pairs = next


@dataclass(frozen=True)
class Replaced(Hiding):
    """Tell which tokens a small network has put into the gaps of a text (ELECTRA; Clark et al. 2020)."""

    kind: ClassVar[str] = "replaced"
    generator: float = bounded(0.25, above=0.0, most=1.0)  # width and heads of the small network, of the large one's
    weight: float = bounded(50.0, least=0.0)  # of telling replaced tokens, where filling gaps weighs 1


@dataclass(frozen=True)
class Distil(Hiding):
    """Predict hidden tokens as a larger network does, which is the teacher (DistilBERT; Sanh et al. 2019)."""

    kind: ClassVar[str] = "distil"
    teacher: str = ""  # a run that fills gaps; it must stay in its place while the pupil is trained
    temperature: float = bounded(2.0, above=0.0)  # divides both networks' scores
    told: Literal["all", "hidden"] = "all"  # the tokens at which the teacher's distribution is followed
    soft_weight: float = bounded(5.0, least=0.0)  # of following the teacher's distributions
    hard_weight: float = bounded(2.0, least=0.0)  # of finding hidden tokens
    state_weight: float = bounded(1.0, least=0.0)  # of states that point the same way as the teacher's


@dataclass(frozen=True)
class Written:
    """Write a text for a text (Sutskever et al. 2014)."""

    kind: ClassVar[str] = "written"
    noise: ClassVar[tuple[str, ...]] = ()
    first: Literal["start", "end", "pad"] = "start"  # the token that the writer reads first (T5: pad; BART: end)
    opened: bool = False  # texts begin with [START], on both sides (BART); they always close with [END]
    smoothing: float = bounded(0.0, least=0.0, most=0.95)  # so much of what is right is shared by all tokens alike
    coverage: float = bounded(0.0, least=0.0)  # weight of looking twice at the same tokens (See et al. 2017)


@dataclass(frozen=True)
class Denoise(Written):
    """Write a damaged text as it was, or what it lacks (BART; Lewis et al. 2020. T5; Raffel et al. 2020)."""

    kind: ClassVar[str] = "denoise"
    # What is done to the text, in this order. The whole text is to be written after: mask (tokens become [MASK]), bert
    # (some of them any token), delete, infill (spans become one [MASK] each), permute (sentences), rotate, shuffle.
    # Only what is missing is to be written after: prefix, drop, sentinels (tokens that stand together become one
    # sentinel), spans (the same with spans); these stand alone.
    noise: tuple[
        Literal[
            "mask",
            "bert",
            "delete",
            "infill",
            "permute",
            "rotate",
            "shuffle",
            "prefix",
            "drop",
            "sentinels",
            "spans",
        ],
        ...,
    ] = ("spans",)
    share: float = bounded(0.15, above=0.0, most=0.95)  # of the tokens, for those kinds that choose some
    span: float = bounded(3.0, least=1.0)  # tokens of a span, on average


@dataclass(frozen=True)
class Prefix:
    """Predict the rest of a text from its beginning, which is seen both ways (Raffel et al. 2020)."""

    kind: ClassVar[str] = "prefix"


@dataclass(frozen=True)
class Supervised:
    """Say the label of a text, of two texts or of a picture."""

    kind: ClassVar[str] = "supervised"


@dataclass(frozen=True)
class Contrastive:
    """Find the text that belongs to a text among all of the batch (Oord et al. 2018; Gao et al. 2021)."""

    kind: ClassVar[str] = "contrastive"
    temperature: float = bounded(0.05, above=0.0)  # cosines are divided by it


Objective = Causal | Masked | Permuted | Replaced | Distil | Written | Denoise | Prefix | Supervised | Contrastive


# --- training -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Optimizer:
    """How a gradient becomes a step."""

    name: Literal["sgd", "adam", "adamw", "adagrad"] = "adamw"
    rate: float = bounded(2e-3, above=0.0)
    momentum: float = bounded(0.0, least=0.0, most=1.0)  # sgd
    betas: tuple[float, ...] = several((0.9, 0.999), least=0.0, most=0.999999)  # adam, adamw
    epsilon: float = bounded(1e-8, above=0.0)  # adam, adamw, adagrad
    decay: float = bounded(0.0, least=0.0)  # of the weights; norms, biases and other vectors are left alone
    clip: float = bounded(1.0, least=0.0)  # the gradient's norm at most; 0: no limit


@dataclass(frozen=True)
class Schedule:
    """How the rate changes over the run."""

    shape: Literal["constant", "linear", "cosine", "inverse-sqrt", "plateau"] = "cosine"
    warmup: int = bounded(0, least=0)  # steps of linear rise
    floor: float = bounded(0.0, least=0.0, most=1.0)  # of the rate: where linear and cosine end, plateau stops
    factor: float = bounded(0.5, above=0.0, most=1.0)  # plateau: the rate is multiplied by this …
    patience: int = bounded(0, least=0)  # … after more than so many evaluations in a row without a gain
    parts: int = bounded(1, least=1)  # equal parts of the run: from one to the next the rate is multiplied by factor


@dataclass(frozen=True)
class Train:
    """How long, how exactly, how often."""

    budget: str = "2m"  # seconds, minutes, hours (90s, 2m, 1.5h), steps or epochs (500 steps, 13 epochs)
    optimizer: Optimizer = field(default_factory=Optimizer)
    schedule: Schedule = field(default_factory=Schedule)
    accumulate: int = bounded(1, least=1)  # micro-batches to a step
    average: float = bounded(0.0, least=0.0, most=0.999999)  # decay of a mean of the weights, kept for them; 0: none
    precision: Literal["float32", "bf16"] = "float32"
    evaluate: int = bounded(0, least=0)  # steps between; 0: ten in a run, or one an epoch if that is more often
    evaluate_batches: int = bounded(0, least=0)  # of the validation text; 0: all
    best: Literal["loss", "quality"] = "loss"  # which weights are kept: by loss, or by what is written (BLEU, ROUGE)
    save: int = bounded(0, least=0)  # steps between checkpoints; 0: about one a minute; every evaluation saves too
    patience: int = bounded(0, least=0)  # evaluations without a gain before stopping early; 0: never
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores


@dataclass(frozen=True)
class Neural:
    """A neural system: data × input × backbone × head × objective, and how it is trained."""

    kind: ClassVar[str] = "neural"
    data: Text | TaskExamples | TaskTexts | Pictures = field(default_factory=Text)
    tokenizer: Tokenizer | NoTokenizer = field(default_factory=Tokenizer)
    batching: Batching = field(default_factory=Contiguous)
    input: TokenInput | PatchInput = field(default_factory=TokenInput)
    backbone: Recurrent | Window | Transformer | EncoderDecoder = field(default_factory=Recurrent)
    head: LanguageHead | CopyingHead | DetectionHead | ClassHead | VectorHead = field(default_factory=LanguageHead)
    objective: Objective = field(default_factory=Causal)
    train: Train = field(default_factory=Train)
    start: str = ""  # a run whose tokenizer and weights this one starts from
    seed: int = bounded(1, least=0, most=2**63 - 1)  # of all that is random: splits, start values, order, dropout


# --- word vectors -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Phrases:
    """Joining pairs of words that belong together, such as new york, into one."""

    rounds: int = bounded(0, least=0, most=4)  # 0: none; 2 can join up to four words
    least: int = bounded(5, least=1)  # times that a pair must occur; as many are taken off every count
    threshold: float = bounded(10.0, least=0.0)  # higher: fewer phrases


@dataclass(frozen=True)
class WordToVec:
    """Vectors of words that predict each other (Mikolov et al. 2013), or of words and their parts (fastText)."""

    kind: ClassVar[str] = "word2vec"
    model: Literal["skip-gram", "cbow"] = "skip-gram"
    predict: Literal["negative", "nce", "hierarchical", "softmax"] = "negative"  # softmax: small vocabularies
    width: int = bounded(100, least=1, most=10_000)
    window: int = bounded(5, least=1, most=1000)  # words on each side; each time a reach up to it is drawn
    negatives: int = bounded(5, least=1, most=200)
    exponent: float = bounded(0.75, least=0.0, most=2.0)  # of the counts in the noise distribution
    sample: float = bounded(1e-3, least=0.0, most=1.0)  # words more frequent than this are thinned out; 0: none
    rate: float = bounded(0.025, least=0.0, most=1.0)
    least_rate: float = bounded(1e-4, least=0.0, most=1.0)  # falls to it in a straight line
    least_part: int = bounded(0, least=0, most=100)  # characters of a word's parts; 0 and 0: words have no parts
    most_part: int = bounded(0, least=0, most=100)
    buckets: int = bounded(2_000_000, least=1, most=2**31 - 1)  # parts share so many vectors


@dataclass(frozen=True)
class GloVe:
    """Vectors whose products are the logarithms of co-occurrence (Pennington et al. 2014)."""

    kind: ClassVar[str] = "glove"
    width: int = bounded(100, least=1, most=10_000)
    window: int = bounded(10, least=1, most=1000)
    side: Literal["both", "left", "right"] = "both"
    distance: Literal["inverse", "none"] = "inverse"  # how much a neighbour counts: 1/distance, or 1
    top: float = bounded(10.0, above=0.0)  # x_max: cells from here on weigh 1; 100 for billions of words
    exponent: float = bounded(0.75, least=0.0, most=2.0)  # of the weight of rarer cells
    rate: float = bounded(0.05, above=0.0, most=1.0)


@dataclass(frozen=True)
class Counted:
    """Vectors from a matrix of counts, weighed and reduced; no passes over the text, no start values."""

    kind: ClassVar[str] = "counted"
    matrix: Literal["ppmi", "hellinger", "documents"] = "ppmi"  # documents: LSA
    width: int = bounded(100, least=1, most=10_000)
    window: int = bounded(5, least=1, most=1000)
    side: Literal["both", "left", "right"] = "both"
    distance: Literal["inverse", "none"] = "none"
    shift: float = bounded(1.0, least=1.0)  # PPMI: log of it is taken off; as many negatives in word2vec
    smoothing: float = bounded(0.75, above=0.0, most=1.0)  # PPMI: exponent of the contexts' counts
    weighting: Literal["count", "log10", "smooth"] = "log10"  # documents: tf-idf
    power: float = bounded(0.5, least=0.0, most=1.0)  # of the singular values
    method: Literal["exact", "randomized"] = "exact"


@dataclass(frozen=True)
class Passes:
    """How often the text is read, and by how many threads."""

    epochs: int = bounded(5, least=1, most=100_000)
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores
    deterministic: bool = False  # one thread changes the vectors: the same seed gives the same bytes
    patience: int = bounded(0, least=0)  # epochs without a gain on held-out text before stopping early; 0: never
    save: float = bounded(60.0, above=0.0)  # seconds between checkpoints, about


@dataclass(frozen=True)
class Vectors:
    """Vectors of words."""

    kind: ClassVar[str] = "vectors"
    data: Text = field(default_factory=Text)
    tokenizer: Tokenizer = field(default_factory=lambda: Tokenizer(model="word", size=1_000_000, min_count=5))
    phrases: Phrases = field(default_factory=Phrases)
    method: WordToVec | GloVe | Counted = field(default_factory=WordToVec)
    train: Passes = field(default_factory=Passes)
    start: str = ""  # a run or file of vectors to go on from; words it does not have begin anew
    seed: int = bounded(1, least=0, most=2**63 - 1)


# --- classifiers of texts -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Examples:
    """Where labelled texts are and how they are split; a set's own parts come before shares."""

    tasks: ClassVar[tuple[str, ...]] = ("classification",)
    text: tuple[str, ...] = ("world-classification",)  # files, sets that `firth data` lists, or - for standard input
    valid: tuple[str, ...] = ()  # own validation examples; otherwise a share
    test: tuple[str, ...] = ()
    valid_share: float = bounded(0.1, least=0.0, most=0.5)
    test_share: float = bounded(0.1, least=0.0, most=0.5)
    format: str = ""  # of files: tsv, csv, jsonl, labels, …; empty: by the name or the content
    columns: tuple[str, ...] = ()  # of tables, where their names do not tell: text=body,label=class
    encoding: str = "utf-8"


@dataclass(frozen=True)
class TaskExamples(Examples):
    """Where examples of a task are, for networks."""

    kind: ClassVar[str] = "examples"
    tasks: tuple[str, ...] = ("classification", "pairs")  # as `firth data` names them: the first that they fit


@dataclass(frozen=True)
class TaskTexts(TaskExamples):
    """Where examples of tasks are that are all solved by writing a text for a text (Raffel et al. 2020)."""

    kind: ClassVar[str] = "text-to-text"
    tasks: tuple[str, ...] = ("translation", "summarisation", "classification", "pairs", "similarity")
    prefixes: tuple[str, ...] = ()  # what stands before the texts of each file or set, so that tasks are told apart
    source: tuple[str, ...] = ()  # files of texts that are read, instead of `text`; what is written for line n of one …
    target: tuple[str, ...] = ()  # … is line n of the file that stands here in the same place
    valid_source: tuple[str, ...] = ()  # the same for validation …
    valid_target: tuple[str, ...] = ()
    test_source: tuple[str, ...] = ()  # … and for the test
    test_target: tuple[str, ...] = ()
    empty: Literal["refuse", "drop"] = "refuse"  # what to do with a pair of which one text is empty
    vocabularies: Literal["shared", "separate"] = "shared"  # one for both sides, or one for each

    def files(self, split: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The files of a split, of texts that are read and of texts that are written."""
        before = "" if split == "train" else f"{split}_"
        return getattr(self, f"{before}source"), getattr(self, f"{before}target")


@dataclass(frozen=True)
class Pictures(Examples):
    """Where labelled pictures are, for networks."""

    kind: ClassVar[str] = "pictures"
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    text: tuple[str, ...] = ("world",)  # folders or files of pictures, or sets that `firth data` lists


@dataclass(frozen=True)
class Bag:
    """The mean of the vectors of a text's words, of their parts and of runs of words (Joulin et al. 2017)."""

    kind: ClassVar[str] = "bag"
    predict: Literal["softmax", "hierarchical", "ova"] = "softmax"  # ova: each label by itself, for several at once
    width: int = bounded(100, least=1, most=10_000)
    word_ngrams: int = bounded(1, least=1, most=100)  # words of the longest run; 1: no runs
    least_part: int = bounded(0, least=0, most=100)  # characters of a word's parts; 0 and 0: words have no parts
    most_part: int = bounded(0, least=0, most=100)
    buckets: int = bounded(2_000_000, least=1, most=1_000_000_000)  # runs and parts share so many vectors
    rate: float = bounded(0.1, least=0.0, most=100.0)  # falls to 0 in a straight line


@dataclass(frozen=True)
class BagClassifier:
    """A classifier of texts as bags of words."""

    kind: ClassVar[str] = "classifier"
    data: Examples = field(default_factory=Examples)
    tokenizer: Tokenizer = field(default_factory=lambda: Tokenizer(model="word", size=1_000_000, lower="yes"))
    method: Bag = field(default_factory=Bag)
    train: Passes = field(default_factory=Passes)
    seed: int = bounded(1, least=0, most=2**63 - 1)


# --- n-gram models ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ngram:
    """Counts of runs of tokens, and how they become probabilities."""

    kind: ClassVar[str] = "ngram"
    order: int = bounded(5, least=1, most=10)  # tokens of the longest runs
    smoothing: Literal["none", "add-k", "katz", "stupid", "kneser-ney", "modified-kneser-ney"] = "modified-kneser-ney"
    k: float = bounded(1.0, above=0.0)  # add-k: added to every count
    # for each order the count up to which runs are left out, the last one for longer runs too; 0,0,1: 3-grams met once
    prune: tuple[int, ...] = field(default=(), metadata={"least": 0})
    entropy: float = bounded(0.0, least=0.0)  # leave out what changes perplexity by less than this share; 0: nothing


@dataclass(frozen=True)
class NgramModel:
    """A language model of counted runs of tokens."""

    kind: ClassVar[str] = "ngram-model"
    data: Text = field(default_factory=Text)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    method: Ngram = field(default_factory=Ngram)
    seed: int = bounded(1, least=0, most=2**63 - 1)


# --- alignment of words -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Aligner:
    """How words of a text and of its translation find each other, by counting (Brown et al. 1993)."""

    kind: ClassVar[str] = "aligner"
    # how probable the place is that a word comes from: all alike (Model 1); by a table for each pair of lengths (Model
    # 2); near the diagonal (Dyer et al. 2013); by the distance from the place before (the HMM; Vogel et al. 1996)
    places: Literal["even", "table", "diagonal", "jumps"] = "jumps"
    first: int = bounded(5, least=0, most=1000)  # passes with all places alike, before those of train.epochs
    null: float = bounded(0.08, above=0.0, most=0.9)  # diagonal, jumps: the share of words that come from none
    tension: float = bounded(4.0, above=0.0, most=100.0)  # diagonal: how strongly words keep to it, at the start
    jump: int = bounded(5, least=1, most=100)  # jumps: wider ones, to either side, share their weight
    # additive: strength more for every count; variational: mean-field with a prior of that strength, for rare words
    smoothing: Literal["none", "additive", "variational"] = "additive"
    strength: float = bounded(0.01, above=0.0)
    agree: bool = True  # words count as a pair as far as both directions say so (Liang et al. 2006)
    same: float = bounded(10.0, least=1.0)  # how much likelier the same spelling is at first: names, numbers, marks
    longest: int = bounded(100, least=1, most=1000)  # tokens; pairs with more on a side teach nothing
    # how the links of both directions are joined (Koehn et al. 2003), or those of one alone
    join: Literal[
        "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "forward", "backward"
    ] = "grow-diag-final-and"


@dataclass(frozen=True)
class AlignmentModel:
    """A model of which words belong together in texts and their translations."""

    kind: ClassVar[str] = "alignment"
    data: TaskTexts = field(default_factory=lambda: TaskTexts(text=("world",), tasks=("translation",)))
    tokenizer: Tokenizer = field(default_factory=lambda: Tokenizer(model="word", size=1_000_000, lower="yes"))
    method: Aligner = field(default_factory=Aligner)
    train: Passes = field(default_factory=Passes)
    gold: str = ""  # Pharaoh lines (0-0 1-2) with the right links of the test pairs
    possible: str = ""  # more of them with links that are not wrong, though they need not be found
    seed: int = bounded(1, least=0, most=2**63 - 1)


System = (
    Neural | Vectors | BagClassifier | NgramModel | AlignmentModel
)  # the union of all families' configurations, told apart by `kind`
