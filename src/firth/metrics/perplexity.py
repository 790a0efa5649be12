"""Language model metrics: perplexity per token, and bits per byte (BPB) of the original text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def perplexity(nll: float, tokens: float) -> float:
    """exp of the mean negative log-likelihood (nats) per token, with [END] (end of sequence) counted."""
    mean = nll / tokens
    return math.exp(mean) if mean < 700.0 else math.inf


def bits_per_byte(nll: float, size: int) -> float:
    """The negative log-likelihood of a whole text in bits over its size in bytes: independent of the tokenizer."""
    return nll / math.log(2) / size


@dataclass(frozen=True)
class ByteModel:
    """A unigram byte model that scores out-of-vocabulary text behind [UNK], so that a small vocabulary gains nothing.

    Bytes are independent, with add-one smoothed frequencies from the training text; each unknown span ends with one
    more symbol, scored as a space.
    """

    counts: Sequence[int]  # (256,)

    def nll(self, oov_counts: Sequence[int], spans: int) -> float:
        """The negative log-likelihood of out-of-vocabulary spans, given how often each byte occurs in them."""
        total = sum(self.counts) + 256
        symbols = list(oov_counts) or [0] * 256
        symbols[ord(" ")] += spans
        return sum(n * -math.log((count + 1) / total) for n, count in zip(symbols, self.counts, strict=True) if n)
