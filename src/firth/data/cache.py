"""Tokenised splits on disk, memory-mapped: written once per content and tokenizer, read by every run."""

from __future__ import annotations

import json
import os
import threading
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from firth.errors import FirthError
from firth.runs import files
from firth.text.tokenizer import Tokenizer

FORMAT = 1
_BLOCK = 1 << 20  # characters handed to the tokenizer at once
_TYPES = {"uint16": np.uint16, "uint32": np.uint32}


@dataclass(frozen=True)
class Tally:
    """What the original text amounts to; the yardstick needs it when the text itself is no longer at hand."""

    documents: int
    tokens: int  # with one [END] per document
    bytes: int  # of the documents in UTF-8
    histogram: tuple[int, ...]  # how often each byte value occurs
    unknown: tuple[int, ...] = ()  # the same for the text that stands under [UNK]; only of evaluation splits
    unknown_count: int = 0
    lossless: bool = True  # whether the tokens, with unknown text put back, give the text exactly


@dataclass(frozen=True, eq=False)
class Split:
    """One tokenised split: documents one after the other, each closed by [END]."""

    name: str
    key: str  # a digest of its text, whatever the tokenizer
    ids: np.ndarray  # (tokens,) memory-mapped
    starts: np.ndarray  # (documents + 1,)
    tally: Tally
    names: tuple[str, ...] = ()  # of the labels that are to be told; none where plain text is all there is

    @property
    def notes(self) -> dict[str, Any]:
        """What a run must remember of it, apart from its text."""
        return {}


def default_cache() -> Path:
    """Where token caches live: $FIRTH_CACHE, else the user's cache folder."""
    root = os.environ.get("FIRTH_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "firth"
    return Path(root).expanduser()


def tokenised(
    cache: Path, name: str, key: str, documents: Iterable[str], tokenizer: Tokenizer, *, account: bool
) -> Split:
    """The split from the cache, or tokenised now; `account` also records what is unknown or lost."""
    place = cache / "tokens" / files.digest(f"{FORMAT} {key} {tokenizer.hash} {account}".encode())[:32]
    if not (place / "tally.json").exists():
        _build(place, documents, tokenizer, account)
    return _open(place, name, key)


def _open(place: Path, name: str, key: str) -> Split:
    try:
        values = json.loads((place / "tally.json").read_text())
        tally = Tally(**{k: tuple(v) if isinstance(v, list) else v for k, v in values["tally"].items()})
        ids = np.memmap(place / "ids.bin", dtype=_TYPES[values["dtype"]], mode="r")
        starts = np.load(place / "starts.npy", mmap_mode="r")
        if ids.shape != (tally.tokens,) or starts.shape != (tally.documents + 1,) or starts[-1] != tally.tokens:
            raise ValueError("its files do not belong together")
        return Split(name, key, ids, starts, tally)
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"damaged token cache ({error})"
        raise FirthError(what, where=place, do="delete this folder; it is made anew") from None


def _build(place: Path, documents: Iterable[str], tokenizer: Tokenizer, account: bool) -> None:
    beside = place.with_name(f".{place.name}.{os.getpid()}.{threading.get_ident()}")
    files.make_folder(beside)
    dtype = "uint16" if tokenizer.size <= 1 << 16 else "uint32"
    lengths = array("q")
    count = _Account(tokenizer) if account else _Count(tokenizer)
    try:
        with files.explained(place), (beside / "ids.bin").open("wb") as file:
            for block in blocks(documents):
                found = [(*ids, tokenizer.special.end) for ids in count.encode(block)]
                file.write(np.fromiter(chain.from_iterable(found), _TYPES[dtype]).tobytes())
                lengths.extend(map(len, found))
        if lengths:
            _finish(beside, place, count.tally(lengths), lengths, dtype)
    finally:
        files.remove_folder(beside)
    if not lengths:
        raise FirthError("no documents in this split", do="give more text, other shares, or --document line")


def _finish(beside: Path, place: Path, tally: Tally, lengths: array, dtype: str) -> None:
    with files.explained(place):
        np.save(beside / "starts.npy", np.cumsum(np.frombuffer(array("q", [0]) + lengths, np.int64)))
        (beside / "tally.json").write_text(json.dumps({"dtype": dtype, "tally": asdict(tally)}))
        for path in (*beside.iterdir(), beside):  # on disk before they count: no one looks into them again
            files.sync_folder(path)
        try:
            files.rename(beside, place)
        except OSError:  # something is there: what another process made meanwhile, or the rest of a broken one
            if not (place / "tally.json").exists():
                files.remove_folder(place)
                files.rename(beside, place)


def blocks(documents: Iterable[str]) -> Iterator[list[str]]:
    """Documents in lists of about a megabyte, so that the tokenizer can work in parallel and memory stays bounded."""
    block, size = [], 0
    for document in documents:
        block.append(document)
        size += len(document)
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def byte_histogram(texts: Iterable[bytes]) -> np.ndarray:
    """How often each byte value occurs."""
    return np.bincount(np.frombuffer(b"".join(texts), np.uint8), minlength=256)


class _Count:
    """Encodes blocks and counts their bytes."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.histogram = np.zeros(256, np.int64)

    def encode(self, block: list[str]) -> Iterable[list[int]]:
        self.histogram += byte_histogram(text.encode() for text in block)
        return self.tokenizer.encode_batch(block)

    def tally(self, lengths: array) -> Tally:
        histogram = tuple(map(int, self.histogram))
        return Tally(len(lengths), sum(lengths), sum(histogram), histogram)


class _Account(_Count):
    """The same, and keeps account of unknown and lost text (slower: for validation and test)."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self.unknown = np.zeros(256, np.int64)
        self.unknown_count, self.lossless = 0, True

    def encode(self, block: list[str]) -> Iterable[list[int]]:
        self.histogram += byte_histogram(text.encode() for text in block)
        for entry in self.tokenizer.account_batch(block):
            self.unknown += byte_histogram([entry.unknown])
            self.unknown_count += entry.unknown_count
            self.lossless &= entry.lossless
            yield entry.ids

    def tally(self, lengths: array) -> Tally:
        plain = asdict(super().tally(lengths))
        unknown = {"unknown": tuple(map(int, self.unknown)), "unknown_count": self.unknown_count}
        return Tally(**{**plain, **unknown, "lossless": self.lossless})
