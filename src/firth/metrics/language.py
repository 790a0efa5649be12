"""The yardstick of language models: perplexity per token, and bits per byte of the original text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def perplexity(nats: float, tokens: float) -> float:
    """exp of the mean negative log-likelihood per token, [END] counted."""
    mean = nats / tokens
    return math.exp(mean) if mean < 700.0 else math.inf


def bits_per_byte(nats: float, size: int) -> float:
    """Bits for the whole text over its bytes, whatever the tokens."""
    return nats / math.log(2) / size


@dataclass(frozen=True)
class ByteModel:
    """Spells out the text under [UNK], so that a model cannot gain by not knowing words.

    Bytes are drawn independently from their add-one frequencies in the training text; each unknown piece ends with
    one more symbol, charged as a space.
    """

    counts: Sequence[int]  # (256,)

    def nats(self, unknown: Sequence[int], pieces: int) -> float:
        """The cost of pieces of unknown text, given how often each byte occurs in them."""
        total = sum(self.counts) + 256
        symbols = list(unknown) or [0] * 256
        symbols[ord(" ")] += pieces
        return sum(n * -math.log((count + 1) / total) for n, count in zip(symbols, self.counts, strict=True) if n)
