"""Token cache: tokenised splits on disk, memory-mapped; written once per content and tokenizer, shared by all runs."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from firth.errors import FirthError
from firth.runs import atomic_files
from firth.tokenizers.tokenizer import Tokenizer

FORMAT = 1
_BLOCK = 1 << 20  # characters handed to the tokenizer at once
_TYPES = {"uint16": np.uint16, "uint32": np.uint32}


@dataclass(frozen=True)
class Tally:
    """Counts of the original text; metrics such as bits per byte need them when the text itself is no longer there."""

    documents: int
    tokens: int  # with one [END] per document
    bytes: int  # of the documents in UTF-8
    histogram: tuple[int, ...]  # how often each byte value occurs
    unknown: tuple[int, ...] = ()  # the same for out-of-vocabulary text ([UNK]); only of evaluation splits
    unknown_count: int = 0
    lossless: bool = True  # whether the tokens, with out-of-vocabulary text put back, decode to the text exactly


@dataclass(frozen=True, eq=False)
class Split:
    """One tokenised split: the token ids of its documents in sequence, each closed by [END]."""

    name: str
    key: str  # a digest of its text, whatever the tokenizer
    ids: np.ndarray  # (tokens,) memory-mapped
    starts: np.ndarray  # (documents + 1,)
    tally: Tally
    label_names: tuple[str, ...] = ()  # of the labels to predict; none for plain text

    @property
    def metadata(self) -> dict[str, Any]:
        """What a run stores of the split besides its text."""
        return {}


def default_cache() -> Path:
    """The folder of token caches: $FIRTH_CACHE, else the user's cache folder."""
    root = os.environ.get("FIRTH_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "firth"
    return Path(root).expanduser()


def usable_cache() -> Path:
    """The same to score with: where it cannot be written, a temporary folder of this process."""
    cache = default_cache()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            return cache
    except OSError:
        return Path(_temporary_cache().name)


@functools.cache
def _temporary_cache() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="firth-cache-")


def tokenise_split(
    cache: Path, name: str, key: str, documents: Iterable[str], tokenizer: Tokenizer, *, account: bool
) -> Split:
    """The split from the cache, or tokenised now; `account` also counts out-of-vocabulary and lost text."""
    path = cache / "tokens" / atomic_files.digest(f"{FORMAT} {key} {tokenizer.hash} {account}".encode())[:32]
    if not (path / "tally.json").exists():
        _build(path, documents, tokenizer, account)
    return _open(path, name, key)


def _open(path: Path, name: str, key: str) -> Split:
    try:
        values = json.loads((path / "tally.json").read_text())
        tally = Tally(**{k: tuple(v) if isinstance(v, list) else v for k, v in values["tally"].items()})
        ids = np.memmap(path / "ids.bin", dtype=_TYPES[values["dtype"]], mode="r")
        starts = np.load(path / "starts.npy", mmap_mode="r")
        if ids.shape != (tally.tokens,) or starts.shape != (tally.documents + 1,) or starts[-1] != tally.tokens:
            raise ValueError("its files do not belong together")
        return Split(name, key, ids, starts, tally)
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"damaged token cache ({error})"
        raise FirthError(what, where=path, do="delete this folder; it is rebuilt") from None


def _build(path: Path, documents: Iterable[str], tokenizer: Tokenizer, account: bool) -> None:
    dtype = "uint16" if tokenizer.vocab_size <= 1 << 16 else "uint32"
    lengths = array("q")
    count = _Account(tokenizer) if account else _Count(tokenizer)
    with atomic_files.building(path) as temporary:
        with atomic_files.explain_errors(path), (temporary / "ids.bin").open("xb") as file:
            for block in blocks(documents):
                encoded = [(*ids, tokenizer.special.end) for ids in count.encode(block)]
                file.write(np.fromiter(chain.from_iterable(encoded), _TYPES[dtype]).tobytes())
                lengths.extend(map(len, encoded))
        if lengths:
            _finish(temporary, path, count.tally(lengths), lengths, dtype)
    if not lengths:
        raise FirthError("no documents in this split", do="give more text, other fractions, or --document line")


def _finish(temporary: Path, path: Path, tally: Tally, lengths: array, dtype: str) -> None:
    with atomic_files.explain_errors(path):
        np.save(temporary / "starts.npy", np.cumsum(np.frombuffer(array("q", [0]) + lengths, np.int64)))
        (temporary / "tally.json").write_text(json.dumps({"dtype": dtype, "tally": asdict(tally)}))
        for entry in (*temporary.iterdir(), temporary):  # synced before the rename: they are not checked again
            atomic_files.sync_folder(entry)
        try:
            atomic_files.rename(temporary, path)
        except OSError:  # the folder exists: made by another process meanwhile, or left by one that crashed
            if not (path / "tally.json").exists():
                atomic_files.remove_folder(path)
                atomic_files.rename(temporary, path)


def blocks(documents: Iterable[str]) -> Iterator[list[str]]:
    """Documents in lists of about a megabyte, for parallel tokenisation in bounded memory."""
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
    """The count of each byte value (256,)."""
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
    """The same, and counts out-of-vocabulary and lost text too (slower: for validation and test)."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self.unknown = np.zeros(256, np.int64)
        self.unknown_count, self.lossless = 0, True

    def encode(self, block: list[str]) -> Iterable[list[int]]:
        self.histogram += byte_histogram(text.encode() for text in block)
        for entry in self.tokenizer.encode_batch_with_oov(block):
            self.unknown += byte_histogram([entry.oov_bytes])
            self.unknown_count += entry.oov_count
            self.lossless &= entry.lossless
            yield entry.ids

    def tally(self, lengths: array) -> Tally:
        plain = asdict(super().tally(lengths))
        unknown = {"unknown": tuple(map(int, self.unknown)), "unknown_count": self.unknown_count}
        return Tally(**{**plain, **unknown, "lossless": self.lossless})
