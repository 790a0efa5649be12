"""Training objectives: causal, masked, permutation and prefix language modelling, seq2seq, denoising, contrastive …"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

from firth.config.core import bounded


@dataclass(frozen=True)
class ObjectiveOptions:
    """What every objective has."""

    # the streams that it makes of a batch's -> what they hold; none: those of the batch
    streams: ClassVar[Mapping[str, str]] = MappingProxyType({})
    noise: ClassVar[tuple[str, ...]] = ()
    next_sentence = False  # without annotation, so that a field of this name keeps its place below
    class_weights = "none"
    special_tokens: ClassVar[tuple[str, ...]] = ("cls", "sep", "mask", "end")  # roles of those it needs


@dataclass(frozen=True)
class CausalLM(ObjectiveOptions):
    """Causal language modelling: predict each token from those before it."""

    kind: ClassVar[str] = "causal-lm"
    special_tokens: ClassVar[tuple[str, ...]] = ("start", "end")


@dataclass(frozen=True)
class Masking(ObjectiveOptions):
    """Which tokens are masked, and what replaces them (Devlin et al. 2019)."""

    mask_probability: float = bounded(0.15, above=0.0, most=0.95)  # probability that a token is selected for prediction
    mask_token_fraction: float = bounded(0.8, least=0.0, most=1.0)  # fraction of the selected tokens replaced by [MASK]
    # fraction of the selected tokens replaced by a random token; the rest stay
    random_token_fraction: float = bounded(0.1, least=0.0, most=1.0)
    # dynamic: a new mask each time a row is seen (RoBERTa); static: a row has `static_masks` masks in turn (BERT: 10)
    masking: Literal["dynamic", "static"] = "dynamic"
    static_masks: int = bounded(10, least=1)  # static masking: masks per row


@dataclass(frozen=True)
class MaskedLM(Masking):
    """Masked language modelling (MLM): predict masked tokens from both sides (BERT; Devlin et al. 2019)."""

    kind: ClassVar[str] = "masked-lm"
    next_sentence: bool = False  # next-sentence prediction (NSP) too; needs batching.pairs = next-sentence


@dataclass(frozen=True)
class PermutationLM(ObjectiveOptions):
    """Permutation language modelling: predict the last tokens of a random factorisation order (Yang et al. 2019)."""

    kind: ClassVar[str] = "permutation-lm"
    # fraction of the tokens to predict: the last of the order
    predict_fraction: float = bounded(1 / 6, above=0.0, most=1.0)
    # neighbouring tokens are predicted together, at most so many; short spans are more frequent
    max_span_length: int = bounded(5, least=1)
    # all: every token has a rank in the order; targets: only predicted tokens, the others attend to each other (XLNet)
    permute: Literal["all", "targets"] = "targets"


@dataclass(frozen=True)
class ReplacedTokenDetection(Masking):
    """Replaced token detection: a discriminator finds the tokens a small generator replaced (ELECTRA)."""

    kind: ClassVar[str] = "replaced-token"
    # the generator's width and heads, relative to the discriminator's
    generator_size: float = bounded(0.25, above=0.0, most=1.0)
    discriminator_weight: float = bounded(50.0, least=0.0)  # weight of the discriminator's loss; the generator's is 1


@dataclass(frozen=True)
class Distillation(Masking):
    """Knowledge distillation of a masked language model from a teacher (DistilBERT; Sanh et al. 2019)."""

    kind: ClassVar[str] = "distillation"
    teacher: str = ""  # run of a masked language model; its folder must stay while the student is trained
    temperature: float = bounded(2.0, above=0.0)  # temperature of both softmaxes
    distil_tokens: Literal["all", "masked"] = "all"  # at which positions the teacher's distribution is matched
    distillation_weight: float = bounded(5.0, least=0.0)  # weight of the cross entropy with the teacher's distribution
    mlm_weight: float = bounded(2.0, least=0.0)  # weight of the masked-language-modelling loss
    cosine_weight: float = bounded(1.0, least=0.0)  # weight of the cosine loss between hidden states


DecoderStart = Literal["start", "end", "pad"]


@dataclass(frozen=True)
class Seq2Seq(ObjectiveOptions):
    """Sequence to sequence with teacher forcing (Sutskever et al. 2014)."""

    kind: ClassVar[str] = "seq2seq"
    streams: ClassVar[Mapping[str, str]] = MappingProxyType({"source": "tokens", "target": "tokens"})
    decoder_start: DecoderStart = "start"  # first token of the decoder's input (T5: pad; BART: end)
    add_start_token: bool = False  # source and target begin with [START] (BART); they always end with [END]
    label_smoothing: float = bounded(0.0, least=0.0, most=0.95)  # probability given to all tokens alike
    coverage_weight: float = bounded(0.0, least=0.0)  # weight of the coverage loss (See et al. 2017)


Noise = Literal[
    "token-masking",
    "bert-style",
    "token-deletion",
    "text-infilling",
    "sentence-permutation",
    "document-rotation",
    "token-shuffling",
    "prefix-lm",
    "token-dropping",
    "sentinel-tokens",
    "span-corruption",
]


@dataclass(frozen=True)
class Denoising(Seq2Seq):
    """Denoising: reconstruct a corrupted text (BART; Lewis et al. 2020) or what it lacks (T5; Raffel et al. 2020)."""

    kind: ClassVar[str] = "denoising"
    # Corruptions, applied in this order. The target is the whole text after: token-masking, bert-style (some masked
    # tokens are random), token-deletion, text-infilling (a span becomes one [MASK]), sentence-permutation,
    # document-rotation, token-shuffling. The target is only what is missing after: prefix-lm, token-dropping,
    # sentinel-tokens (neighbouring tokens become one sentinel), span-corruption (the same with spans); these stand
    # alone.
    noise: tuple[Noise, ...] = ("span-corruption",)  # type: ignore[misc] # a field here, a constant above
    noise_density: float = bounded(0.15, above=0.0, most=0.95)  # fraction of the tokens to corrupt
    mean_span_length: float = bounded(3.0, least=1.0)  # mean length of a corrupted span, in tokens


@dataclass(frozen=True)
class PrefixLM(ObjectiveOptions):
    """Prefix language modelling: predict the rest of a text from its bidirectional prefix (Raffel et al. 2020)."""

    kind: ClassVar[str] = "prefix-lm"


@dataclass(frozen=True)
class Supervised(ObjectiveOptions):
    """Supervised learning of a labelled task: the head decides what is predicted and what it costs."""

    kind: ClassVar[str] = "supervised"
    # balanced: all labels have the same weight in the loss, however rare; none: all examples have
    class_weights: Literal["none", "balanced"] = "none"
    special_tokens: ClassVar[tuple[str, ...]] = ("cls", "sep", "end")


@dataclass(frozen=True)
class Contrastive(ObjectiveOptions):
    """Contrastive learning with in-batch negatives (InfoNCE: Oord et al. 2018; SimCSE: Gao et al. 2021)."""

    kind: ClassVar[str] = "contrastive"
    temperature: float = bounded(0.05, above=0.0)  # divides the cosine similarities


Objective = (
    CausalLM
    | MaskedLM
    | PermutationLM
    | ReplacedTokenDetection
    | Distillation
    | Seq2Seq
    | Denoising
    | PrefixLM
    | Supervised
    | Contrastive
)
