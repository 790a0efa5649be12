"""What there is to tell about a tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from firth.text.tokenizer import Tokenizer


def describe(tokenizer: Tokenizer, sample: Sequence[str] = (), *, longest: int = 10) -> dict[str, Any]:
    """Its facts, as JSON values; on a sample of documents also how well it covers and shortens them."""
    pieces = [piece for piece, i in tokenizer.vocabulary().items() if i not in tokenizer.special.ids]
    facts = {
        "kind": tokenizer.kind,
        "size": tokenizer.size,
        "reversible": tokenizer.reversible,
        "special": {name: i for name, i in asdict(tokenizer.special).items() if i is not None},
        "hash": tokenizer.hash,
        "longest": sorted(pieces, key=lambda piece: (-len(piece), piece))[:longest],
    }
    return {**facts, **_coverage(tokenizer, sample)} if sample else facts


def _coverage(tokenizer: Tokenizer, sample: Sequence[str]) -> dict[str, Any]:
    accounts = tokenizer.account_batch(sample)
    tokens = sum(len(account.ids) for account in accounts)
    characters, size = sum(map(len, sample)), sum(len(text.encode()) for text in sample)
    return {
        "characters_per_token": characters / tokens if tokens else 0.0,
        "bytes_per_token": size / tokens if tokens else 0.0,
        "unknown_share": sum(account.unknown_count for account in accounts) / tokens if tokens else 0.0,
        "lossless_share": sum(account.lossless for account in accounts) / len(sample),
    }
