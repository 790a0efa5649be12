"""The leakage audit: which held-out texts are in the training text too, exactly or nearly.

A held-out text overlaps if at least half of it are lines that the training text has (case ignored), or nine tenths of
it are passages of 24 words that the training text has, however lines and documents are divided; or if it is a
near-duplicate by MinHash of a training text that begins or ends like it. All training texts are compared, with the
first 32 MB of a held-out split. MinHash signatures take time: they are computed only of texts with such a beginning or
end, and of a sample if these are many.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from firth.datasets.near_duplicates import MinHasher, estimate_jaccard
from firth.datasets.ngram_overlap import NgramOverlap, reader
from firth.runs import atomic_files

FORMAT = 2  # of the cached result
MAX_OVERLAP = 0.01  # of a held-out split; above it, scores are warned about
SIMILARITY = 0.8  # Jaccard, of near-duplicates
KNOWN = 0.5  # of a text's characters are in lines of the training text
COPIED = 0.9  # of its words are in passages of the training text; of near-duplicates about as many are
SHOWN = 60  # characters of an example
_HASHES = 64  # of a signature
_END = 24  # characters at the beginning or end that near-duplicates have in common
_MAX_ALIKE = 4  # held-out texts with the same beginning or end that are compared
_BUDGET = 200_000  # characters whose signatures are computed one by one; after each so many, a quarter as often
_OVERHEAD = 500  # characters that take as long as the rest of the work for a text
_MAX_BYTES = 32_000_000  # of a held-out split; no more of it is read


@dataclass(frozen=True)
class Overlap:
    """What a held-out split shares with the training text."""

    texts: int
    overlapping: int = 0
    bytes: int = 0
    overlapping_bytes: int = 0
    near: int = 0  # of the overlapping texts, those that were not found by their lines
    every: int = 1  # training texts like held-out ones per one that was compared, at the end of the text
    examples: tuple[tuple[int, str], ...] = ()  # numbers and beginnings of overlapping texts, the first of them

    @property
    def fraction(self) -> float:
        """Of the bytes."""
        return self.overlapping_bytes / self.bytes if self.bytes else 0.0

    @property
    def signed(self) -> dict[str, str]:
        """The field of a signature; none without overlap."""
        shown = f"{self.fraction:.1%}" if self.fraction >= 0.001 else "<0.1%"
        return {"leak": shown} if self.overlapping else {}


_Place = tuple[str, int]  # a held-out split and the number of a text


class _Text(NamedTuple):
    """A held-out text while the training text is read."""

    text: str  # normalised
    size: int  # in bytes, of the original
    beginning: str  # of the original


def audit(train: Iterable[str], held_out: Mapping[str, Iterable[str]], *, shown: int = 1) -> dict[str, Overlap]:
    """The overlap of each held-out split with the training text, and the first texts that overlap."""
    splits = {name: list(_read(texts)) for name, texts in held_out.items()}
    wanted = {line for texts in splits.values() for each in texts for line in each.text.splitlines()}
    near, known = _NearDuplicates(splits), set[str]()
    passages = {name: NgramOverlap(each.text for each in texts) for name, texts in splits.items()}
    with reader([each.mark for each in passages.values()]) as read:
        for text in map(normalise, train):
            known |= wanted.intersection(text.splitlines())
            near.compare(text)
            read(text)
    alike = {name: near.found_in(name) | passages[name].known_texts(COPIED) for name in splits}
    return {name: _overlap(texts, known, alike[name], near.sample.every, shown) for name, texts in splits.items()}


def normalise(text: str) -> str:
    """The text without the differences that the audit ignores."""
    return text.lower().strip()


def _read(texts: Iterable[str]) -> Iterator[_Text]:
    size = 0
    for text in texts:
        if size > _MAX_BYTES:
            break
        yield _Text(normalise(text), length := len(text.encode()), text[: 4 * SHOWN])
        size += length


def _overlap(texts: Sequence[_Text], known: set[str], near: set[int], every: int, shown: int) -> Overlap:
    exact = {number for number, each in enumerate(texts) if _is_known(each.text, known)}
    overlapping = sorted(exact | near)
    size = sum(texts[number].size for number in overlapping)
    examples = tuple((number, " ".join(texts[number].beginning.split())[:SHOWN]) for number in overlapping[:shown])
    total = sum(each.size for each in texts)
    return Overlap(len(texts), len(overlapping), total, size, len(near - exact), every, examples)


def _is_known(text: str, known: set[str]) -> bool:
    sizes = [(len(line), line in known) for line in text.splitlines() if not line.isspace()]
    total = sum(size for size, _ in sizes)
    return total > 0 and sum(size for size, is_known in sizes if is_known) >= KNOWN * total


class _NearDuplicates:
    """The held-out texts, compared with one training text after the other that begins or ends like one of them."""

    def __init__(self, splits: Mapping[str, Sequence[_Text]]) -> None:
        self.sample, self._splits, self._hasher = _Sample(), splits, MinHasher(num_hashes=_HASHES)
        self._alike: dict[str, list[_Place]] = {}  # by beginning or end
        self._signatures: dict[_Place, np.ndarray] = {}  # of those that have been compared
        self._found: set[_Place] = set()
        for name, texts in splits.items():
            for number, each in enumerate(texts):
                for end in (each.text[:_END], each.text[-_END:]) if each.text else ():
                    if len(alike := self._alike.setdefault(end, [])) < _MAX_ALIKE:
                        alike.append((name, number))

    def compare(self, text: str) -> None:
        """Remember the held-out texts that are near-duplicates of this one."""
        alike = self._alike.get(text[:_END], []) + self._alike.get(text[-_END:], [])
        if alike and self.sample.takes(text):
            signature = self._hasher.signature(text.split())
            self._found.update(
                each for each in alike if estimate_jaccard(signature, self._signature(each)) >= SIMILARITY
            )

    def _signature(self, place: _Place) -> np.ndarray:
        if place not in self._signatures:
            name, number = place
            self._signatures[place] = self._hasher.signature(self._splits[name][number].text.split())
        return self._signatures[place]

    def found_in(self, name: str) -> set[int]:
        """The numbers of the near-duplicates in a split."""
        return {number for split, number in self._found if split == name}


@dataclass
class _Sample:
    """Takes all texts at first, and ever fewer."""

    every: int = 1
    number: int = -1
    cost: int = 0

    def takes(self, text: str) -> bool:
        """Whether the next text is in the sample."""
        self.number += 1
        if self.number % self.every:
            return False
        self.cost += _OVERHEAD + len(text)
        if self.cost >= _BUDGET:
            self.cost, self.every = 0, 4 * self.every
        return True


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
    example = f' (such as "{overlap.examples[0][1]}")' if overlap.examples else ""
    return f"{count}{near}{example}, so scores on them are too good; take them out of one or the other"


def to_json(overlaps: Mapping[str, Overlap]) -> dict[str, Any]:
    """As JSON values, with a digest."""
    values = {name: asdict(overlap) for name, overlap in overlaps.items()}
    return {"overlaps": values, "sha256": _digest(values)}


def from_json(content: Mapping[str, Any]) -> dict[str, Overlap]:
    """The inverse of `to_json`; ValueError if the values are not those of the digest."""
    if _digest(content["overlaps"]) != content["sha256"]:
        raise ValueError("damaged")
    examples = {name: tuple(map(tuple, values["examples"])) for name, values in content["overlaps"].items()}
    return {name: Overlap(**{**values, "examples": examples[name]}) for name, values in content["overlaps"].items()}


def _digest(values: Mapping[str, Any]) -> str:
    return atomic_files.digest(json.dumps(values, sort_keys=True).encode())
