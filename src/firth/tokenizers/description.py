"""A summary of a tokenizer: kind, vocabulary size, special tokens, and compression and coverage on a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from firth.tokenizers.tokenizer import Tokenizer


def describe(tokenizer: Tokenizer, sample: Sequence[str] = (), *, longest: int = 10) -> dict[str, Any]:
    """The tokenizer's properties as JSON values; with a sample of documents, also compression and OOV fraction."""
    tokens = [token for token, i in tokenizer.vocabulary().items() if i not in tokenizer.special.ids]
    properties = {
        "kind": tokenizer.kind,
        "vocab_size": tokenizer.vocab_size,
        "reversible": tokenizer.reversible,
        "special": {role: i for role, i in asdict(tokenizer.special).items() if i is not None},
        "hash": tokenizer.hash,
        "longest": sorted(tokens, key=lambda token: (-len(token), token))[:longest],
    }
    return {**properties, **_coverage(tokenizer, sample)} if sample else properties


def _coverage(tokenizer: Tokenizer, sample: Sequence[str]) -> dict[str, Any]:
    encodings = tokenizer.encode_batch_with_oov(sample)
    tokens = sum(len(encoding.ids) for encoding in encodings)
    characters, size = sum(map(len, sample)), sum(len(text.encode()) for text in sample)
    return {
        "characters_per_token": characters / tokens if tokens else 0.0,
        "bytes_per_token": size / tokens if tokens else 0.0,
        "unknown_fraction": sum(encoding.oov_count for encoding in encodings) / tokens if tokens else 0.0,
        "lossless_fraction": sum(encoding.lossless for encoding in encodings) / len(sample),
    }
