"""Heads: what is predicted from hidden states (LM head, classifier, pooling, discriminator, pointer-generator)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from firth.config.core import bounded

# Hidden state of the first or last token (of a bidirectional network the last of each direction), the mean or the
# maximum of all, last, maximum and mean side by side (ULMFiT), or a mean weighted by attention (Yang et al. 2016).
PoolingKind = Literal["first", "last", "mean", "max", "last-max-mean", "attention"]


@dataclass(frozen=True)
class LMHead:
    """Language-model head: a softmax over the vocabulary at every position."""

    kind: ClassVar[str] = "lm"
    outputs: ClassVar[str] = "vocabulary"  # what has an output each
    predicts: ClassVar[str] = "tokens"  # the targets that it needs
    pooling: ClassVar[str] = "none"  # what only heads over one vector of a text have
    problem_type: ClassVar[str] = "single-label"
    combine: ClassVar[str] = "none"
    copies: ClassVar[bool] = False
    tied: bool = True  # weight tying: the output matrix is the input embedding (Press and Wolf 2017)
    bias: bool = True  # a bias for each token of the vocabulary
    transform: bool = False  # a dense layer with activation and norm before the output matrix (BERT)
    activation: Literal["gelu", "gelu-tanh", "relu", "silu"] = "gelu"  # activation of the transform
    norm_epsilon: float = bounded(1e-12, above=0.0)  # epsilon of the transform's norm
    scale_states: bool = False  # hidden states are divided by the square root of their width first (T5)
    # width of a character-level decoder for out-of-vocabulary words (Luong and Manning 2016); 0: none
    character_width: int = bounded(0, least=0)
    sampled_softmax: int = bounded(0, least=0)  # sampled softmax: classes in a training step, on average; 0: all


@dataclass(frozen=True)
class PointerGeneratorHead(LMHead):
    """LM head mixed with a copy distribution over the source tokens, by their attention weights (See et al. 2017)."""

    kind: ClassVar[str] = "pointer-generator"
    copies: ClassVar[bool] = True


@dataclass(frozen=True)
class OtherHead:
    """A head that predicts no tokens."""

    outputs: ClassVar[str] = "none"
    predicts: ClassVar[str] = "tokens"  # the targets that it needs
    pooling = "none"  # without annotation, so that fields of these names keep their place below
    problem_type = "single-label"
    combine = "none"
    copies: ClassVar[bool] = False  # what only LM heads have
    tied: ClassVar[bool] = True
    character_width: ClassVar[int] = 0


@dataclass(frozen=True)
class DiscriminatorHead(OtherHead):
    """Replaced-token discriminator: one logit at every position (ELECTRA; Clark et al. 2020)."""

    kind: ClassVar[str] = "discriminator"


@dataclass(frozen=True)
class ClassificationHead(OtherHead):
    """Sequence classification: a logit for each label, from one pooled vector of the text or image."""

    kind: ClassVar[str] = "classification"
    outputs: ClassVar[str] = "labels"
    predicts: ClassVar[str] = "labels"
    pooling: PoolingKind = "first"
    # the vectors u, v of an example's two sequences (batching.pair_encoding). difference: u, v and |u - v| side by side
    # (Reimers and Gurevych 2019); sum: u + v (GPT-1)
    combine: Literal["none", "difference", "sum"] = "none"
    pooler: bool = True  # a dense layer with activation before the logits (BERT)
    activation: Literal["tanh", "gelu", "relu"] = "tanh"  # the pooler's (BERT: tanh; ELECTRA: gelu; DistilBERT: relu)
    bias: bool = True  # bias of the logits (GPT-1 and GPT-2: none)
    dropout: float = bounded(0.1, least=0.0, most=0.95)  # dropout before the logits
    max_norm: float = bounded(0.0, least=0.0)  # the weights of a logit have at most this norm (Kim 2014: 3); 0: any
    # single-label: a softmax over the labels; multi-label: a sigmoid for each; regression: the outputs are the values
    problem_type: Literal["single-label", "multi-label", "regression"] = "single-label"
    output_activation: Literal["none", "sigmoid"] = "none"  # activation of the values of a regression (cross-encoders)


@dataclass(frozen=True)
class TaggingHead(OtherHead):
    """Sequence tagging: a tag for each word, in every layer of tags of the data."""

    kind: ClassVar[str] = "tagging"
    outputs: ClassVar[str] = "labels"
    predicts: ClassVar[str] = "tags"
    # softmax: each tag by itself; crf: all tags of a sentence together (Lafferty et al. 2001; Lample et al. 2016)
    decoder: Literal["softmax", "crf"] = "crf"
    subwords: Literal["first", "last", "mean"] = "first"  # a word's state, from those of its subword tokens
    hidden: int = bounded(0, least=0)  # width of a tanh layer before the scores of tags (Lample et al. 2016); 0: none
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the words' states


@dataclass(frozen=True)
class SpanHead(OtherHead):
    """Extractive question answering: the first and the last token of the answer (Devlin et al. 2019)."""

    kind: ClassVar[str] = "span"
    predicts: ClassVar[str] = "spans"
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the hidden states


@dataclass(frozen=True)
class ChoiceHead(OtherHead):
    """Multiple choice: a score for each choice from its pooled vector, and a softmax over the choices."""

    kind: ClassVar[str] = "choice"
    predicts: ClassVar[str] = "choices"
    pooling: PoolingKind = "first"
    pooler: bool = True  # a dense layer with tanh before the score (BERT)
    dropout: float = bounded(0.1, least=0.0, most=0.95)  # dropout before the score


@dataclass(frozen=True)
class PoolingHead(OtherHead):
    """Sentence embedding: one vector for the whole text."""

    kind: ClassVar[str] = "pooling"
    predicts: ClassVar[str] = "pairs"
    pooling: PoolingKind = "mean"
    normalize: bool = True  # embeddings of length 1 (sentence-transformers: Normalize)


TaskHead = ClassificationHead | TaggingHead | SpanHead | ChoiceHead  # of labelled tasks
Head = LMHead | PointerGeneratorHead | DiscriminatorHead | TaskHead | PoolingHead
