"""The sizes of a text's documents and which of them repeat an earlier one: measured once per content, and cached."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np

from firth.datasets import memory_map
from firth.datasets.sources import Source
from firth.errors import FirthError
from firth.runs import atomic_files

_BLOCK = 10_000  # documents measured at once
_SORTED = 4_000_000  # hashes sorted at once


@dataclass(frozen=True, eq=False)
class Repeats:
    """The documents whose text, up to white space around it, occurred before."""

    documents: np.ndarray  # (repeats,) ascending
    firsts: np.ndarray  # (repeats,) where the text occurred first

    def __bool__(self) -> bool:
        return len(self.documents) > 0


@dataclass(frozen=True, eq=False)
class DocumentSizes:
    """The bytes of each document in UTF-8, and the documents that repeat others."""

    sizes: np.ndarray  # (documents,)
    repeats: Repeats


def measure_documents(source: Source, cache: Path, say: Callable[[str], None] = lambda _: None) -> DocumentSizes:
    """The sizes and repeats of a source, from the cache if they are there and undamaged."""
    path = cache / "counts" / f"{source.fingerprint()[:32]}.documents"
    if path.is_file():
        try:
            return _read(path)
        except FirthError:
            say("note: the cached sizes of documents are damaged: they are measured again")
    _measure(source, path)
    return _read(path)


def _read(path: Path) -> DocumentSizes:
    arrays, _ = memory_map.read(path, "sizes of documents", _check)
    return DocumentSizes(arrays["sizes"], Repeats(arrays["repeats"], arrays["firsts"]))


def _check(arrays: memory_map.Arrays, metadata: memory_map.Metadata) -> None:
    if metadata["sha256"] != {name: atomic_files.digest(memoryview(values)) for name, values in arrays.items()}:
        raise ValueError("its arrays have changed")


def _measure(source: Source, path: Path) -> None:
    sizes, hashes = array("q"), array("Q")
    for block in _blocks(source):
        for text in block:
            sizes.append(len(text) if text.isascii() else len(text.encode()))
            hashes.append(text_hash(text))
    repeats = find_repeats(np.frombuffer(hashes, np.uint64))
    arrays = {"sizes": np.frombuffer(sizes, np.int64), "repeats": repeats.documents, "firsts": repeats.firsts}
    digests = {name: atomic_files.digest(memoryview(np.ascontiguousarray(each))) for name, each in arrays.items()}
    atomic_files.make_folder(path.parent)
    memory_map.write(path, arrays, {"sha256": digests})


def _blocks(source: Source) -> Iterator[list[str]]:
    documents = iter(source)
    while block := list(islice(documents, _BLOCK)):
        yield block


def text_hash(text: str) -> int:
    """A 64-bit hash of a text, whatever is blank around it."""
    return int.from_bytes(blake2b(text.strip().encode(), digest_size=8).digest(), "little")


def find_repeats(hashes: np.ndarray) -> Repeats:
    """The documents whose hash occurs before, found in bounded parts: hashes are divided by their remainder."""
    parts = -(-len(hashes) // _SORTED)
    pairs = [_repeats_in(hashes, part, parts) for part in range(parts)]
    documents, firsts = (np.concatenate([np.zeros(0, np.int64), *(pair[side] for pair in pairs)]) for side in (0, 1))
    order = np.argsort(documents, kind="stable")
    return Repeats(documents[order], firsts[order])


def _repeats_in(hashes: np.ndarray, part: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
    places = np.flatnonzero(hashes % np.uint64(parts) == part) if parts > 1 else np.arange(len(hashes))
    _, first, inverse = np.unique(hashes[places], return_index=True, return_inverse=True)
    is_repeat = first[inverse] != np.arange(len(places))
    return places[is_repeat], places[first[inverse[is_repeat]]]
