"""What a network says at its end, and what it learns by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from firth.config.core import bounded


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
    sampled: int = bounded(0, least=0)  # tokens drawn as rivals of the right one in training, on average; 0: all


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
