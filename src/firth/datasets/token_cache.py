"""Token cache: tokenised splits on disk, memory-mapped; written once per content and tokenizer, shared by all runs."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from firth.datasets.leakage import Overlap
from firth.errors import FirthError
from firth.metrics import edit_code
from firth.metrics.perplexity import ByteModel
from firth.runs import atomic_files
from firth.tokenizers.tokenizer import Tokenizer

FORMAT = 2
_BLOCK = 1 << 20  # characters handed to the tokenizer at once
_CHECKED = 1 << 20  # bytes of tokens checked at once
Say = Callable[[str], None]
IDS, STARTS, MANIFEST = "ids.bin", "starts.npy", "tally.json"
_TYPES = {"uint16": np.uint16, "uint32": np.uint32}


@dataclass(frozen=True)
class Tally:
    """Counts of the original text; metrics such as bits per byte need them when the text itself is no longer there."""

    documents: int
    tokens: int  # with one [END] per document
    bytes: int  # of the documents in UTF-8
    histogram: tuple[int, ...]  # how often each byte value occurs
    unknown: tuple[int, ...] = ()  # the same for out-of-vocabulary text ([UNK]); this and the rest: evaluation splits
    unknown_count: int = 0
    lossy: int = 0  # documents that the tokens, with out-of-vocabulary text put back, do not decode to exactly
    edits: tuple[int, ...] = ()  # operations that restore them, by context: see `metrics.edit_code`
    inserted: tuple[int, ...] = ()  # how often each byte value occurs in characters that these insert
    replaced: int = 0  # U+FFFD, which may stand for bytes that were not valid in the encoding

    @property
    def lossless(self) -> bool:
        """Whether the tokens, with out-of-vocabulary text put back, decode to the text exactly."""
        return not self.lossy

    def lost_nll(self, byte_counts: Sequence[int], encoding_errors: str) -> float:
        """The length in nats of a code for all that the tokens do not tell of the text, by a model of bytes.

        Whether anything is lost is not charged: it is one bit of a split, and the score says it.
        """
        byte_model = ByteModel(byte_counts)
        nll = byte_model.nll(self.unknown, self.unknown_count)
        if self.lossy:
            documents = edit_code.adaptive_nll([self.documents - self.lossy, self.lossy])
            nll += documents + edit_code.operations_nll(self.edits) + byte_model.nll(self.inserted, 0)
        return nll + (self.replaced * edit_code.REPLACED_NLL if encoding_errors == "replace" else 0.0)

    def lost(self, encoding_errors: str) -> list[str]:
        """What the tokenizer loses, in words."""
        operations = np.sum(np.reshape(self.edits, edit_code.SHAPE), 0) if self.lossy else np.zeros(4, int)
        unknown = 100 * self.unknown_count / self.tokens
        causes = {
            f"unknown words {unknown:.2g}%": self.unknown_count,
            "case": operations[edit_code.CASE] * 100 > sum(operations[edit_code.CASE :]),  # not one by chance
            "white space or characters": operations[edit_code.DELETE] + operations[edit_code.INSERT],
            "invalid bytes": self.replaced if encoding_errors == "replace" else 0,
        }
        return [cause for cause, is_lost in causes.items() if is_lost]


@dataclass(frozen=True, eq=False)
class Split:
    """One tokenised split: the token ids of its documents in sequence, each closed by [END]."""

    name: str
    key: str  # a digest of its text, whatever the tokenizer
    ids: np.ndarray  # (tokens,) memory-mapped
    starts: np.ndarray  # (documents + 1,)
    tally: Tally
    label_names: tuple[str, ...] = ()  # of the labels to predict; none for plain text
    digest: str = ""  # of tokens, documents and tally, as they were read from the cache
    overlap: Overlap | None = None  # with the training text; None: not a held-out split of it

    @property
    def signed_fields(self) -> dict[str, str]:
        """What the signature of a score says of the split."""
        ids = {"ids": self.digest[:8]} if self.digest else {}
        return {"split": self.name, "data": self.key[:8], **ids, **(self.overlap.signed if self.overlap else {})}

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


def _note(text: str) -> None:
    print(text, file=sys.stderr)


def tokenise_split(
    cache: Path,
    name: str,
    key: str,
    documents: Iterable[str],
    tokenizer: Tokenizer,
    *,
    account: bool,
    say: Say = _note,
) -> Split:
    """The split from the cache, or tokenised now; `account` also counts out-of-vocabulary and lost text. The cache is
    checked against the digests it was written with; a damaged one is rebuilt, with a note."""
    path = cache / "tokens" / atomic_files.digest(f"{FORMAT} {key} {tokenizer.hash} {account}".encode())[:32]
    if (path / MANIFEST).exists():
        try:
            return _open(path, name, key, tokenizer.vocab_size)
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
            say(f"note: damaged token cache ({error}): it is rebuilt")
            with atomic_files.explain_errors(path):
                atomic_files.remove_folder(path)
    _build(path, documents, tokenizer, account)
    try:
        return _open(path, name, key, tokenizer.vocab_size)
    except ValueError as error:
        do = "check the disk, or set FIRTH_CACHE to another"
        raise FirthError(f"the token cache cannot be read back ({error})", where=path, do=do) from None


def _open(path: Path, name: str, key: str, vocab_size: int) -> Split:
    """The split of a folder, every byte of which is checked."""
    content = (path / MANIFEST).read_bytes()
    values = json.loads(content)
    tally = Tally(**{k: tuple(v) if isinstance(v, list) else v for k, v in values["tally"].items()})
    dtype, digests = np.dtype(_TYPES[values["dtype"]]), values["sha256"]
    measured = {"tally": _tally_digest(tally), STARTS: atomic_files.digest_file(path / STARTS)}
    measured[IDS], largest = _digest_and_largest(path / IDS, dtype)
    if wrong := [part for part in measured if digests.get(part) != measured[part]]:
        raise ValueError(f"{wrong[0]} has changed since it was written")
    if largest >= vocab_size:
        raise ValueError(f"token {largest} is not in a vocabulary of {vocab_size}")
    ids = np.memmap(path / IDS, dtype=dtype, mode="r")
    starts = np.load(path / STARTS, mmap_mode="r")
    if ids.shape != (tally.tokens,) or starts.shape != (tally.documents + 1,) or starts[-1] != tally.tokens:
        raise ValueError("its files do not belong together")
    digest = atomic_files.digest(json.dumps([values["dtype"], *sorted(measured.items())]).encode())
    return Split(name, key, ids, starts, tally, digest=digest)


def _tally_digest(tally: Tally) -> str:
    return atomic_files.digest(json.dumps(asdict(tally), sort_keys=True).encode())


def _digest_and_largest(path: Path, dtype: np.dtype) -> tuple[str, int]:
    """The sha256 of the token ids and the largest of them, in one pass."""
    digest, largest = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_CHECKED):
            digest.update(block)
            if len(block) % dtype.itemsize:
                raise ValueError(f"{path.name} is cut")
            largest = max(largest, int(np.frombuffer(block, dtype).max()))
    return digest.hexdigest(), largest


def _build(path: Path, documents: Iterable[str], tokenizer: Tokenizer, account: bool) -> None:
    dtype = "uint16" if tokenizer.vocab_size <= 1 << 16 else "uint32"
    lengths = array("q")
    count = _Account(tokenizer) if account else _Count(tokenizer)
    with atomic_files.building(path) as temporary:
        with atomic_files.explain_errors(path), (temporary / IDS).open("xb") as file:
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
        np.save(temporary / STARTS, np.cumsum(np.frombuffer(array("q", [0]) + lengths, np.int64)))
        digests = {part: atomic_files.digest_file(temporary / part) for part in (IDS, STARTS)}
        manifest = {"dtype": dtype, "sha256": {**digests, "tally": _tally_digest(tally)}, "tally": asdict(tally)}
        (temporary / MANIFEST).write_text(json.dumps(manifest))
        for entry in (*temporary.iterdir(), temporary):  # synced before the rename: they are not checked again
            atomic_files.sync_folder(entry)
        try:
            atomic_files.rename(temporary, path)
        except OSError:  # the folder exists: made by another process meanwhile, or left by one that crashed
            if not (path / MANIFEST).exists():
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
        self.unknown, self.inserted = np.zeros(256, np.int64), np.zeros(256, np.int64)
        self.edits = np.zeros(edit_code.SHAPE, np.int64)
        self.unknown_count = self.lossy = self.replaced = 0

    def encode(self, block: list[str]) -> Iterable[list[int]]:
        self.histogram += byte_histogram(text.encode() for text in block)
        for text, entry in zip(block, self.tokenizer.encode_batch_with_oov(block), strict=True):
            self.unknown += byte_histogram([entry.oov_bytes])
            self.unknown_count += entry.oov_count
            self.replaced += text.count("\ufffd")
            if not entry.lossless:
                self._count_edits(entry.decoded, text)
            yield entry.ids

    def _count_edits(self, decoded: str, text: str) -> None:
        self.lossy += 1
        counts = edit_code.count(decoded, edit_code.edits(decoded, text))
        self.edits += counts.operations
        self.inserted += counts.inserted

    def tally(self, lengths: array) -> Tally:
        lost = {name: tuple(getattr(self, name).ravel().tolist()) for name in ("unknown", "edits", "inserted")}
        counts = {name: getattr(self, name) for name in ("unknown_count", "lossy", "replaced")}
        return Tally(**{**asdict(super().tally(lengths)), **lost, **counts})
