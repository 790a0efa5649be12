"""Language model metrics: perplexity per token, and bits per byte (BPB) of the original text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def perplexity(nll: float, tokens: float) -> float:
    """exp of the mean negative log-likelihood (nats) per token, with [END] (end of sequence) counted."""
    mean = nll / tokens
    return math.exp(mean) if mean < 700.0 else math.inf


def bits_per_byte(nll: float, size: int) -> float:
    """The negative log-likelihood of a whole text in bits over its size in bytes: independent of the tokenizer."""
    return nll / math.log(2) / size


def adaptive_nll(counts: Iterable[int]) -> float:
    """The length in nats of symbols that occur so often, each coded by add-one smoothed frequencies so far."""
    counts = list(counts)
    each = sum(math.lgamma(count + 1) for count in counts)
    return math.lgamma(sum(counts) + len(counts)) - math.lgamma(len(counts)) - each


@dataclass(frozen=True)
class ByteModel:
    """A unigram byte model that scores out-of-vocabulary text behind [UNK], so that a small vocabulary gains nothing.

    Bytes are independent, with add-one smoothed frequencies from the training text; each unknown span ends with one
    more symbol, scored as a space. Where spans have spaces in them, it is coded after each space whether the span ends.
    """

    counts: Sequence[int]  # (256,)

    def nll(self, oov_counts: Sequence[int], spans: int) -> float:
        """The negative log-likelihood of out-of-vocabulary spans, given how often each byte occurs in them."""
        total = sum(self.counts) + 256
        symbols = list(oov_counts) or [0] * 256
        spaces = symbols[ord(" ")]
        symbols[ord(" ")] += spans
        ends = adaptive_nll([spans, spaces]) if spans and spaces else 0.0
        return ends + sum(
            n * -math.log((count + 1) / total) for n, count in zip(symbols, self.counts, strict=True) if n
        )
