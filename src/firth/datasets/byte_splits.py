"""Splits by size: each held-out split is a fraction of the text's bytes, whatever the sizes of its documents.

Small documents stay whole: in blocks, in a random order, they are taken until a block's part of the held-out bytes is
reached; what one block takes too much or too little, the next ones make up for. Large documents are cut: laid end to
end, they are divided into equal strata, and from each stratum both held-out splits take one contiguous stretch. The
sizes alone say where everything belongs, so the text is never in memory. A document that repeats an earlier one is in
its split, cut in the same places; the copies count together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from firth.datasets.document_sizes import Repeats

TRAIN, VALID, TEST = 0, 1, 2
CUT = 3  # a document whose pieces belong to different splits
BLOCK = 1000  # documents put into a random order together
STREAM = 0x5918  # keeps these random numbers apart from other uses of the same seed
LARGEST_PART = 1 / 4  # of a held-out split that one document may be; a larger one is cut
MIN_CUT = 1024  # bytes; smaller documents are never cut
MIN_STRETCH = 2048  # bytes of a stretch, unless the held-out split is smaller than that
MAX_STRETCHES = 24  # of one split: enough to resample them
SLACK = 1 / 8  # of a stretch: how far its ends may move to a paragraph, line or sentence boundary


class Stretch(NamedTuple):
    """A held-out part of the large documents laid end to end, in bytes."""

    start: int
    stop: int
    split: int
    slack: int  # how far its ends may move


@dataclass(frozen=True, eq=False)
class ByteSplits:
    """The split of every document and piece of a text, from the sizes of its documents alone."""

    sizes: np.ndarray  # (documents,) in bytes
    targets: tuple[int, int]  # bytes of validation and test
    seed: int
    repeats: Repeats | None = None  # documents that go where an earlier one went

    @cached_property
    def total(self) -> int:
        """The bytes of the text."""
        return int(np.sum(self.sizes, dtype=np.int64))

    @cached_property
    def max_whole(self) -> int:
        """The bytes up to which a document stays whole."""
        wanted = [target for target in self.targets if target]
        return max(MIN_CUT, int(LARGEST_PART * min(wanted, default=self.total)))

    @cached_property
    def large(self) -> int:
        """The bytes of the documents that are cut, those that occur several times counted once."""
        every = sum(int(sizes[sizes > self.max_whole].sum()) for _, sizes in self._blocks())
        if self.repeats is None:
            return every
        repeated = np.asarray(self.sizes[self.repeats.documents])
        return every - int(repeated[repeated > self.max_whole].sum())

    @cached_property
    def _cut_repeats(self) -> dict[int, int]:
        """Each document that repeats one that is cut, and that one."""
        if self.repeats is None:
            return {}
        is_cut = np.asarray(self.sizes[self.repeats.firsts]) > self.max_whole
        return dict(zip(self.repeats.documents[is_cut].tolist(), self.repeats.firsts[is_cut].tolist(), strict=True))

    @cached_property
    def _groups(self) -> Groups:
        """The documents that are repeated."""
        none = np.zeros(0, np.int64)
        return Groups.of(self.sizes, self.repeats or Repeats(none, none), self.max_whole)

    @property
    def _divided(self) -> int:
        """The bytes that are divided: all but those of texts that stay in training."""
        return self.total - self._groups.kept_bytes

    @property
    def is_possible(self) -> bool:
        """Whether there is enough to give every split a part."""
        return len(self.sizes) - self._groups.undrawn >= 3 or self.large > 0

    def assign(self) -> Iterator[np.ndarray]:
        """The splits of the documents, a block at a time (uint8); CUT for those that are cut."""
        owed = np.zeros(2)  # bytes that the blocks so far should have given to validation and test, and have not
        group_splits = np.zeros(len(self._groups.firsts), np.uint8)  # the splits of repeated documents
        needed = not self.large
        for block, sizes in self._blocks():
            splits = np.where(sizes > self.max_whole, CUT, TRAIN).astype(np.uint8)
            counted, is_drawn = self._groups.count_together(block * BLOCK, sizes)
            small = np.flatnonzero((splits == TRAIN) & is_drawn)
            words = self._random(block, len(small) + 2)
            order = small[np.argsort(words[2:], kind="stable")]
            owed += np.array(self.targets) / self._divided * counted[small].sum()
            is_last = (block + 1) * BLOCK >= len(self.sizes)
            coins = [0.5, 0.5] if is_last else (words[:2] / 2**64).tolist()
            gives = needed and len(small) >= 3
            valid, test = self._counts(counted[order], owed, coins, needed=gives)
            needed = needed and not gives
            splits[order[:valid]] = VALID
            splits[order[len(order) - test :]] = TEST
            owed -= [counted[small][splits[small] == split].sum() for split in (VALID, TEST)]
            self._groups.follow(block * BLOCK, splits, group_splits)
            yield splits

    def _counts(self, sizes: np.ndarray, owed: np.ndarray, coins: list[float], needed: bool) -> tuple[int, int]:
        """How many documents validation takes from the front and test from the back; `needed`: at least one each."""
        valid = _take(np.cumsum(sizes), owed[0], coins[0])
        test = _take(np.cumsum(sizes[::-1]), owed[1], coins[1])
        if not needed:
            return min(valid, len(sizes) - test), test
        one_valid, one_test = (int(target > 0) for target in self.targets)
        spare = len(sizes) - 1  # training keeps one
        test = min(max(test, one_test), spare - one_valid)
        return min(max(valid, one_valid), spare - test), test

    @cached_property
    def stretches(self) -> list[Stretch]:
        """The held-out parts of the large documents, in order: two per stratum, one in each half."""
        targets = [target * self.large // max(self._divided, 1) for target in self.targets]
        strata = min(max(max(targets) // MIN_STRETCH, 1), MAX_STRETCHES)
        result = []
        for stratum in range(strata if self.large else 0):
            first, half, end = (self.large * n // (2 * strata) for n in range(2 * stratum, 2 * stratum + 3))
            swap, *places = self._random(-1 - stratum, 3).tolist()
            lengths = [target * (stratum + 1) // strata - target * stratum // strata for target in targets]
            for split, length, place in zip((VALID, TEST), lengths, places, strict=True):
                start, stop = (first, half) if (split == VALID) == (swap % 2 == 0) else (half, end)
                start += place * max(stop - start - length, 0) >> 64
                result.append(Stretch(start, start + length, split, int(length * SLACK)))
        return sorted(stretch for stretch in result if stretch.stop > stretch.start)

    def pieces(self, documents: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Every document or piece of one with its split, in order; joined, the pieces are the document."""
        offset, number = 0, 0  # in the large documents; in the block
        blocks, splits = self.assign(), np.zeros(0, np.uint8)
        offsets = dict.fromkeys(self._cut_repeats.values(), 0)  # of those that come again
        for index, document in enumerate(documents):
            if number == len(splits):
                splits, number = next(blocks, np.zeros(0, np.uint8)), 0
                if not len(splits):
                    raise GrownError
            if splits[number] != CUT:
                yield int(splits[number]), document
            elif (first := self._cut_repeats.get(index)) is not None:
                yield from self._cut(document, offsets[first])
            else:
                yield from self._cut(document, offset)
                if index in offsets:
                    offsets[index] = offset
                offset += int(self.sizes[index])
            number += 1

    def _cut(self, document: str, offset: int) -> Iterator[tuple[int, str]]:
        """The pieces of a large document that begins there."""
        return cut(document, self._within(offset, offset + len(document.encode())))

    def _within(self, start: int, stop: int) -> list[Stretch]:
        """The stretches within a document that begins and ends there, in bytes from its beginning."""
        return [
            each._replace(start=max(each.start - start, 0), stop=min(each.stop, stop) - start)
            for each in self.stretches
            if each.start < stop and each.stop > start
        ]

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        for block in range(-(-len(self.sizes) // BLOCK)):
            yield block, np.asarray(self.sizes[block * BLOCK : (block + 1) * BLOCK], np.int64)

    def _random(self, block: int, count: int) -> np.ndarray:
        """Raw words of a block's own stream: NumPy does not promise that what is made of them stays the same."""
        key = np.array([self.seed % 2**64, block % 2**64], np.uint64)
        return np.random.Philox(key=key, counter=[0, 0, 0, STREAM]).random_raw(count)


@dataclass(frozen=True, eq=False)
class Groups:
    """The documents that come several times: their copies count together and follow the first."""

    repeats: Repeats
    firsts: np.ndarray  # (groups,) ascending
    totals: np.ndarray  # (groups,) bytes of all copies
    is_kept: np.ndarray  # (groups,) whether they stay in training: all copies are too much for a held-out split
    kept_bytes: int
    undrawn: int  # documents that no split draws: repeats, and what stays in training

    @classmethod
    def of(cls, sizes: np.ndarray, repeats: Repeats, max_whole: int) -> Groups:
        """The groups of a text; texts stay in training unless that were most of it."""
        firsts, group = np.unique(repeats.firsts, return_inverse=True)
        own = np.asarray(sizes[firsts], np.int64)
        totals = own + np.bincount(group, np.asarray(sizes[repeats.documents]), len(firsts)).astype(np.int64)
        is_kept = (totals > max_whole) & (own <= max_whole)
        if 2 * int(totals[is_kept].sum()) > int(np.sum(sizes, dtype=np.int64)):
            is_kept[:] = False
        return cls(repeats, firsts, totals, is_kept, int(totals[is_kept].sum()), len(group) + int(is_kept.sum()))

    def count_together(self, start: int, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bytes that each document of a block stands for, and whether it is drawn."""
        counted, is_drawn = sizes.copy(), np.ones(len(sizes), bool)
        groups = self._within(self.firsts, start, len(sizes))
        counted[self.firsts[groups] - start] = self.totals[groups]
        is_drawn[self.firsts[groups] - start] = ~self.is_kept[groups]
        is_drawn[self.repeats.documents[self._within(self.repeats.documents, start, len(sizes))] - start] = False
        return counted, is_drawn

    def follow(self, start: int, splits: np.ndarray, group_splits: np.ndarray) -> None:
        """Remember the splits of the block's first copies in `group_splits`, and give them to its repeats."""
        groups = self._within(self.firsts, start, len(splits))
        group_splits[groups] = splits[self.firsts[groups] - start]
        repeats = self._within(self.repeats.documents, start, len(splits))
        group = np.searchsorted(self.firsts, self.repeats.firsts[repeats])
        splits[self.repeats.documents[repeats] - start] = group_splits[group]

    @staticmethod
    def _within(places: np.ndarray, start: int, count: int) -> slice:
        return slice(*np.searchsorted(places, (start, start + count)).tolist())


class GrownError(Exception):
    """There are more documents than sizes."""


def target_bytes(total: int, fractions: tuple[float, float], limit: int) -> tuple[int, int]:
    """The bytes of validation and test: fractions of the total, at most the limit each (0: none), at least 1."""
    valid, test = (
        max(1, min(int(total * fraction + 0.5), limit or total)) if fraction else 0 for fraction in fractions
    )
    return valid, test


def _take(ends: np.ndarray, owed: float, coin: float) -> int:
    """How many documents to take for the bytes owed; the one that goes beyond, as probably as it is owed."""
    count = int(np.searchsorted(ends, owed, side="right"))
    before = int(ends[count - 1]) if count else 0
    if count < len(ends) and coin * (ends[count] - before) < owed - before:
        count += 1
    return count


def cut(document: str, stretches: list[Stretch]) -> Iterator[tuple[int, str]]:
    """The document in pieces with their splits, cut at boundaries near the ends of the stretches."""
    pieces, at, size = [], 0, len(document.encode())
    ends = characters_at(document, [end for each in stretches for end in (each.start, each.stop)])
    for stretch, start, stop in zip(stretches, ends[::2], ends[1::2], strict=True):
        slack = stretch.slack * len(document) // size  # in characters
        first = max(at, nearest_cut(document, start, slack))
        last = max(first, nearest_cut(document, stop, slack))
        pieces += [(TRAIN, document[at:first]), (stretch.split, document[first:last])]
        at = last
    yield from join_blank([*pieces, (TRAIN, document[at:])])


def join_blank(pieces: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The pieces, those without text joined to the one before, or at the beginning to the one after."""
    split, text = TRAIN, ""
    for next_split, following in pieces:
        if not following or following.isspace():
            text += following
        elif text.isspace() or not text:
            split, text = next_split, text + following
        else:
            yield split, text
            split, text = next_split, following
    if text:
        yield split, text


# --- where a text can be cut ---

_CLOSING = r"[\"'”’»」』）)\]]*"
# The best first: a paragraph; a line that ends a sentence; a sentence; a line; a word.
BOUNDARIES = [
    re.compile(pattern)
    for pattern in (
        r"\n[^\S\n]*\n\s*",
        rf"[.!?…。！？؟।:]{_CLOSING}[^\S\n]*\n",
        rf"(?:[.!?…؟।]{_CLOSING}\s+|[。！？]{_CLOSING}\s*)",
        r"\n",
        r"\s+|[、，；]",
    )
]


def nearest_cut(text: str, place: int, slack: int) -> int:
    """The best boundary at most `slack` characters from the place, the place itself if there is none."""
    low, high = place - slack, place + slack
    if low <= 0 or high >= len(text):  # the text's own end is the best boundary
        return 0 if place < len(text) - place else len(text)
    window = text[low:high]
    for pattern in BOUNDARIES:
        ends = [low + match.end() for match in pattern.finditer(window)]
        if ends:
            return min(ends, key=lambda end: abs(end - place))
    return _between_characters(text, place)


def _between_characters(text: str, place: int) -> int:
    """The place, or one before: combining marks, joiners and variation selectors stay with their character."""
    from unicodedata import combining

    def continues(sign: str) -> bool:
        return combining(sign) > 0 or sign in "\u200d\ufe0f" or "\U0001f3fb" <= sign <= "\U0001f3ff"

    first = max(place - 8, 0)
    while place > first and place < len(text) and (continues(text[place]) or text[place - 1] == "\u200d"):
        place -= 1
    return place


def characters_at(text: str, places: list[int]) -> list[int]:
    """The characters before each place in bytes of UTF-8, a partial one not counted."""
    if text.isascii():
        return places
    data = text.encode()
    return [len(data[:place].decode(errors="ignore")) for place in places]
