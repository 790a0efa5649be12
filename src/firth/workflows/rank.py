"""Ranking alternative texts by their probability under a language model: "great ape" or "grey tape"?"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firth.errors import FirthError
from firth.pipelines.language_model import LanguageModel
from firth.tokenizers.regexes import IDEOGRAPHS

_NO_SPACE = re.compile(f"[\\s{IDEOGRAPHS}]")


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
    joined = [join_context(context, text) for text in texts]
    prefix_length = _common_prefix(model, context, joined)
    scores = [row[prefix_length:] for row in model.token_scores(joined, whole=whole)]
    oov_nll = np.subtract(model.oov_nll(joined), model.oov_nll([context])[0])
    sums = [float(row.sum(dtype=np.float64)) - oov for row, oov in zip(scores, oov_nll, strict=True)]
    relative_probabilities = softmax(sums)
    ranked = [
        Ranked(text, total, -total / math.log(2), len(row), total / len(row) if len(row) else None, fraction,
               tuple(model.tokenizer.oov_spans(text)))
        for text, total, row, fraction in zip(texts, sums, scores, relative_probabilities, strict=True)
    ]  # fmt: skip
    return sorted(ranked, key=lambda each: -each.log_probability)


def join_context(context: str, text: str) -> str:
    """Append a text to its context, with a space between unless one is there or the script has none."""
    if not context or not text or _NO_SPACE.match(text[0]) or _NO_SPACE.match(context[-1]):
        return context + text
    return f"{context} {text}"


def softmax(scores: Sequence[float]) -> list[float]:
    """Softmax of log-probabilities; uniform where all are −∞."""
    highest = max(scores)
    if highest == -math.inf:
        return [1 / len(scores)] * len(scores)
    weights = [math.exp(score - highest) for score in scores]
    return [weight / sum(weights) for weight in weights]


def _common_prefix(model: LanguageModel, context: str, joined: Sequence[str]) -> int:
    """The number of leading tokens that all share: a tokenizer may merge the context's end with the text."""
    if not context:
        return 0
    context_ids, *rows = model.tokenizer.encode_batch([context, *joined])
    count = 0
    while count < len(context_ids) and all(row[: count + 1] == context_ids[: count + 1] for row in rows):
        count += 1
    return count
