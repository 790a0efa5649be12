"""The leakage audit: which held-out texts are in the training text too, exactly or nearly.

A held-out text overlaps if at least half of its bytes are lines that the training text has (case and white space
ignored), or if it is a near-duplicate of a training text by MinHash. The lines of all training texts are compared, with
the first 32 MB of a held-out split. Near-duplicates are searched for among a sample if the text has more than a
megabyte, since signatures take a good part of the time of tokenising.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from firth.datasets.near_duplicates import MinHasher, MinHashLSH
from firth.runs import atomic_files

FORMAT = 1  # of the cached result
MAX_OVERLAP = 0.01  # of a held-out split; above it, scores are warned about
SIMILARITY = 0.8  # Jaccard, of near-duplicates
KNOWN = 0.5  # of a text's bytes are in lines of the training text
SHOWN = 60  # characters of an example
_HASHES = 64  # of a signature
_NEAR_BYTES = 1_000_000  # searched for near-duplicates one by one; after each so many, one text of four times fewer
_MAX_BYTES = 32_000_000  # of a held-out split; no more of it is read


@dataclass(frozen=True)
class Overlap:
    """What a held-out split shares with the training text."""

    texts: int
    overlapping: int = 0
    bytes: int = 0
    overlapping_bytes: int = 0
    near: int = 0  # of the overlapping texts, near-duplicates only
    every: int = 1  # training texts per one that was searched for near-duplicates, at the end of the text
    found: tuple[tuple[int, str], ...] = ()  # numbers and beginnings of overlapping texts, the first of them

    @property
    def fraction(self) -> float:
        """Of the bytes."""
        return self.overlapping_bytes / self.bytes if self.bytes else 0.0

    @property
    def signed(self) -> dict[str, str]:
        """The field of a signature; none without overlap."""
        shown = f"{self.fraction:.1%}" if self.fraction >= 0.001 else "<0.1%"
        return {"leak": shown} if self.overlapping else {}


@dataclass(eq=False)
class _HeldOut:
    """A held-out split while the training text is read."""

    sizes: list[int] = field(default_factory=list)
    lines: list[dict[bytes, int]] = field(default_factory=list)  # of each text, its bytes by hash
    beginnings: list[str] = field(default_factory=list)
    near: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    sampled: list[int] = field(default_factory=list)  # texts in the index
    index: MinHashLSH = field(default_factory=lambda: MinHashLSH(SIMILARITY, MinHasher(num_hashes=_HASHES)))


def audit(train: Iterable[str], held_out: Mapping[str, Iterable[str]], *, shown: int = 1) -> dict[str, Overlap]:
    """The overlap of each held-out split with the training text, and the first texts that overlap."""
    splits = {name: _read(texts) for name, texts in held_out.items()}
    wanted = {line for split in splits.values() for lines in split.lines for line in lines}
    sample, known = _Sample(), set()
    for text in train:
        known |= wanted.intersection(_lines(text))
        if sample.takes(text):
            for split in splits.values():
                split.near[split.index.matches(text.split())] = True
    return {name: _overlap(split, known, sample.every, shown) for name, split in splits.items()}


@dataclass
class _Sample:
    """Takes all texts at first, and ever fewer."""

    every: int = 1
    number: int = -1
    bytes: int = 0

    def takes(self, text: str) -> bool:
        """Whether the next text is in the sample."""
        self.number += 1
        if self.number % self.every or text.isspace() or not text:
            return False
        self.bytes += len(text)
        if self.bytes >= _NEAR_BYTES:
            self.bytes, self.every = 0, 4 * self.every
        return True


def _read(texts: Iterable[str]) -> _HeldOut:
    split, sample, size = _HeldOut(), _Sample(), 0
    for number, text in enumerate(texts):
        if (size := size + len(text)) > _MAX_BYTES and number:
            break
        split.sizes.append(len(text.encode()))
        split.lines.append(_lines(text))
        split.beginnings.append(text[: 4 * SHOWN])
        if sample.takes(text):
            split.index.insert(text.split())
            split.sampled.append(number)
    split.near = np.zeros(len(split.sampled), bool)
    return split


def normalise(text: str) -> str:
    """The text without the differences that the audit ignores."""
    return " ".join(text.casefold().split())


def _lines(text: str) -> dict[bytes, int]:
    """The hashes of a text's lines that are not blank, case and white space ignored, and the bytes of each."""
    lines = (" ".join(line.split()).encode() for line in text.casefold().splitlines())
    return {blake2b(line, digest_size=8).digest(): len(line) for line in lines if line}


def _overlap(split: _HeldOut, known: set[bytes], every: int, shown: int) -> Overlap:
    exact = {number for number, lines in enumerate(split.lines) if _is_known(lines, known)}
    near = {split.sampled[place] for place in np.flatnonzero(split.near)} - exact
    overlapping = sorted(exact | near)
    size = sum(split.sizes[number] for number in overlapping)
    found = tuple((number, " ".join(split.beginnings[number].split())[:SHOWN]) for number in overlapping[:shown])
    return Overlap(len(split.sizes), len(overlapping), sum(split.sizes), size, len(near), every, found)


def _is_known(lines: Mapping[bytes, int], known: set[bytes]) -> bool:
    size = sum(lines.values())
    return size > 0 and sum(lines[line] for line in lines.keys() & known) >= KNOWN * size


# --- what is said ---------------------------------------------------------------------------------------------------


def report(overlaps: Mapping[str, Overlap], say: Callable[[str], None], unit: str = "documents") -> None:
    """Say the overlap of each split with the training text, and warn of those that make scores too good."""
    if not overlaps:
        return
    say("also in train: " + ", ".join(f"{each.fraction:.1%} of {name}" for name, each in overlaps.items()))
    for name, each in overlaps.items():
        if each.fraction > MAX_OVERLAP:
            say("warning: " + describe(name, each, unit))


def describe(name: str, overlap: Overlap, unit: str) -> str:
    """What is in the training text too, and what to do about it."""
    count = f"{overlap.overlapping:,} of {overlap.texts:,} {name} {unit} are in the training text too"
    sample = " (in a sample)" if overlap.every > 1 else ""
    near = f", {overlap.near:,} of them nearly{sample}" if overlap.near else ""
    example = f' (such as "{overlap.found[0][1]}")' if overlap.found else ""
    return f"{count}{near}{example}, so scores on them are too good; take them out of one or the other"


def to_json(overlaps: Mapping[str, Overlap]) -> dict[str, Any]:
    """As JSON values, with a digest."""
    values = {name: asdict(overlap) for name, overlap in overlaps.items()}
    return {"overlaps": values, "sha256": _digest(values)}


def from_json(content: Mapping[str, Any]) -> dict[str, Overlap]:
    """The inverse of `to_json`; ValueError if the values are not those of the digest."""
    if _digest(content["overlaps"]) != content["sha256"]:
        raise ValueError("damaged")
    found = {name: tuple(map(tuple, values["found"])) for name, values in content["overlaps"].items()}
    return {name: Overlap(**{**values, "found": found[name]}) for name, values in content["overlaps"].items()}


def _digest(values: Mapping[str, Any]) -> str:
    return atomic_files.digest(json.dumps(values, sort_keys=True).encode())
