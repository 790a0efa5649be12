"""From configured text to a tokenizer and three tokenised splits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.config import schema
from firth.data.cache import Split, tokenised
from firth.data.sources import Source, open_source
from firth.data.splits import assign
from firth.errors import FirthError
from firth.runs import files
from firth.text.tokenizer import Tokenizer

NAMES = ("train", "valid", "test")
_BLOCK = 10_000  # documents whose split is drawn at once


@dataclass(frozen=True)
class Documents:
    """The documents of one split; iterating reads the source anew."""

    source: Source
    number: int = 0  # which split of the source; the source has only one where the shares are 0
    total: int = 0
    shares: tuple[float, float] = (0.0, 0.0)
    seed: int = 0

    @cached_property
    def key(self) -> str:
        """The same content gives the same key, on every machine."""
        parts = [self.source.fingerprint(), self.number, self.total, self.shares, self.seed]
        return files.digest(json.dumps(parts).encode())

    def __iter__(self) -> Iterator[str]:
        if not any(self.shares):
            yield from self.source
            return
        drawn = np.zeros(0, np.uint8)
        for index, document in enumerate(self.source):
            place = index % _BLOCK
            if index == self.total:
                raise FirthError("the text grew while it was read", where=self.source.describe(), do="run again")
            if place == 0:
                drawn = assign(index, min(index + _BLOCK, self.total), self.total, *self.shares, self.seed)
            if drawn[place] == self.number:
                yield document


def documents(config: schema.Text, seed: int, cache: Path) -> dict[str, Documents]:
    """The three splits as documents: own files where given, else shares of the text."""
    spool = cache / "spool"
    source = open_source(config.text, config, spool)
    own = {"valid": config.valid, "test": config.test}
    shares = tuple(
        0.0 if own[name] else share
        for name, share in zip(NAMES[1:], (config.valid_share, config.test_share), strict=True)
    )
    total = count(source, cache) if any(shares) else 0
    if any(shares) and total < 3:
        raise FirthError(
            f"{total} document{'s' * (total != 1)}, too few to split three ways",
            where=source.describe(),
            do="use --document line, or give --valid and --test",
        )
    found = {"train": Documents(source, 0, total, shares, seed)}
    for number, name in enumerate(NAMES[1:], 1):
        if own[name]:
            found[name] = Documents(open_source(own[name], config, spool))
        elif shares[number - 1]:
            found[name] = Documents(source, number, total, shares, seed)
    return found


def count(source: Source, cache: Path) -> int:
    """How many documents there are: counted once per content."""
    note = cache / "counts" / source.fingerprint()[:32]
    try:
        return int(note.read_text())
    except (OSError, ValueError):
        total = sum(1 for _ in source)
    files.make_folder(note.parent)
    files.replace_file(note, str(total).encode())
    return total


def make_tokenizer(config: schema.Tokenizer | schema.NoTokenizer, train: Iterable[str]) -> Tokenizer:
    """The ready-made tokenizer that was asked for, or one trained on the training split."""
    if isinstance(config, schema.NoTokenizer):
        do = "leave tokenizer.kind out"
        raise FirthError("text is read as tokens, and so needs a tokenizer", where="tokenizer.kind", do=do)
    return Tokenizer.train(config, train).with_specials()


def read_text(
    config: schema.Neural | schema.NgramModel, ready: Tokenizer | None, cache: Path, say: Callable[[str], None]
) -> tuple[Tokenizer, dict[str, Split]]:
    """The text of a configuration as tokens, by a tokenizer that is ready or trained now."""
    say(f"reading {', '.join(config.data.text)}")
    found = documents(config.data, config.seed, cache)
    tokenizer = ready or make_tokenizer(config.tokenizer, found["train"])
    say(f"tokenizer: {tokenizer.kind}, {tokenizer.size:,} tokens")
    return tokenizer, tokenise(found, tokenizer, cache, say)


def tokenise(
    found: Mapping[str, Documents], tokenizer: Tokenizer, cache: Path, say: Callable[[str], None]
) -> dict[str, Split]:
    """Every split as tokens, from the cache where it has them."""
    splits = {}
    for name, part in found.items():
        account = name != "train"  # only scores need to know what is unknown or lost
        splits[name] = tokenised(cache, name, part.key, part, tokenizer, account=account)
        tally = splits[name].tally
        say(f"{name}: {tally.documents:,} documents, {tally.tokens:,} tokens, {tally.bytes:,} bytes")
    return splits
