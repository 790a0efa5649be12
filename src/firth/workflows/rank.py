"""Ranking alternative texts by their probability under a language model: "great ape" or "grey tape"?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from firth.errors import FirthError
from firth.pipelines.language_model import LanguageModel


@dataclass(frozen=True)
class Ranked:
    """A text with its score among the alternatives."""

    text: str
    log_probability: float  # in nats, given the context; out-of-vocabulary text is scored byte by byte
    bits: float  # −log2 of the probability
    tokens: int  # scored, [END] included if the text is whole
    per_token: float | None  # log-probability per token in nats; None if there is no token
    relative_probability: float  # of the total probability of all alternatives
    oov: tuple[str, ...]  # out-of-vocabulary spans


def rank(model: LanguageModel, texts: Sequence[str], *, whole: bool = True, context: str = "") -> list[Ranked]:
    """Sort texts by log-probability, best first: as whole documents, or as prefixes of one.

    With a context, each is scored conditionally on it (joined by a space where the script has one); the context's own
    probability is not counted.
    """
    texts = list(texts) if not isinstance(texts, str) else [texts]
    if not texts:
        raise FirthError("no texts to rank", do="give at least one text")
    (scores,) = model.continuation_scores([(context, texts)], whole=whole)
    sums = scores.log_likelihoods.tolist()
    relative_probabilities = softmax(sums)
    ranked = [
        Ranked(text, total, -total / math.log(2), count, total / count if count else None, fraction,
               tuple(model.tokenizer.oov_spans(text)))
        for text, total, count, fraction in
        zip(texts, sums, scores.token_counts.tolist(), relative_probabilities, strict=True)
    ]  # fmt: skip
    return sorted(ranked, key=lambda each: -each.log_probability)


def softmax(scores: Sequence[float]) -> list[float]:
    """Softmax of log-probabilities; uniform where all are −∞."""
    highest = max(scores)
    if highest == -math.inf:
        return [1 / len(scores)] * len(scores)
    weights = [math.exp(score - highest) for score in scores]
    return [weight / sum(weights) for weight in weights]
