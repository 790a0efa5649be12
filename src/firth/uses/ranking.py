"""Which of several texts a language model holds for the most probable: "great ape" or "grey tape"?"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firth.errors import FirthError
from firth.families.language import LanguageModel
from firth.text.patterns import IDEOGRAPHS

_NO_SPACE = re.compile(f"[\\s{IDEOGRAPHS}]")


@dataclass(frozen=True)
class Ranked:
    """A text among its alternatives."""

    text: str
    log_probability: float  # in nats, after the context; what is unknown in it is spelled out byte by byte
    bits: float  # the same as a cost: -log2
    tokens: int  # scored, [END] included if the text is whole
    per_token: float | None  # nats; None if there is no token
    share: float  # of the probability of all alternatives together
    unknown: tuple[str, ...]  # what the vocabulary does not have


def rank(model: LanguageModel, texts: Sequence[str], *, whole: bool = True, context: str = "") -> list[Ranked]:
    """The texts by their probability, best first: as whole documents, or as prefixes of one.

    With a context, each is scored as what follows it (with a space between where one belongs); the context's own
    probability is left out.
    """
    texts = list(texts) if not isinstance(texts, str) else [texts]
    if not texts:
        raise FirthError("no texts to rank", do="give at least one")
    joined = [join(context, text) for text in texts]
    skipped = _shared(model, context, joined)
    scores = [row[skipped:] for row in model.token_scores(joined, whole=whole)]
    extra = np.subtract(model.spelling_costs(joined), model.spelling_costs([context])[0])
    sums = [float(row.sum(dtype=np.float64)) - cost for row, cost in zip(scores, extra, strict=True)]
    shares = softmax(sums)
    found = [
        Ranked(text, total, -total / math.log(2), len(row), total / len(row) if len(row) else None, share,
               tuple(model.tokenizer.unknown_spans(text)))
        for text, total, row, share in zip(texts, sums, scores, shares, strict=True)
    ]  # fmt: skip
    return sorted(found, key=lambda each: -each.log_probability)


def join(context: str, text: str) -> str:
    """A text after its context, with a space between unless one is there or the script has none."""
    if not context or not text or _NO_SPACE.match(text[0]) or _NO_SPACE.match(context[-1]):
        return context + text
    return f"{context} {text}"


def softmax(scores: Sequence[float]) -> list[float]:
    """The shares of log-probabilities; equal ones where none is possible."""
    highest = max(scores)
    if highest == -math.inf:
        return [1 / len(scores)] * len(scores)
    weights = [math.exp(score - highest) for score in scores]
    return [weight / sum(weights) for weight in weights]


def _shared(model: LanguageModel, context: str, joined: Sequence[str]) -> int:
    """How many first tokens are the context's in all texts: a tokenizer may join its end to what follows."""
    if not context:
        return 0
    first, *rows = model.tokenizer.encode_batch([context, *joined])
    count = 0
    while count < len(first) and all(row[: count + 1] == first[: count + 1] for row in rows):
        count += 1
    return count
