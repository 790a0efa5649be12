"""Plain text, a document a line and words between blanks, counted and numbered by compiled loops.

Words are those of `str.split`, documents the lines that have any. The text comes in pieces, cut anywhere; bytes are
UTF-8. It is read twice, once to count and once to encode, so that memory does not grow with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from pathlib import Path

import numpy as np

from firth.counts.compiled import kernel
from firth.counts.vocabulary import TYPES, Pair, Runs, Vocabulary, chosen
from firth.runs import files

_BLOCK = 1 << 20  # bytes scanned at once
_EMPTY = np.int64(-1)
_BASIS, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)  # FNV-1a, 64 bit
_HIGH = np.uint64(32)
Text = Iterable[str | bytes]


def count_lines(text: Text, *, least: int = 1, most: int | None = None, types: int = TYPES) -> Vocabulary:
    """The vocabulary of a text: words that occur `least` times, at most `most` of them; see `count_words`."""
    table = _Table()
    with Runs() as runs:
        for block in _blocks(text):
            table.scan(block)
            if len(table) > types:
                runs.put(sorted(table.pairs()))
                table = _Table()
        if runs:
            return chosen(runs.merged(sorted(table.pairs())), least, most)
        return chosen(table.pairs(least) or table.pairs(), least, most)


def encode_lines(
    text: Text, vocabulary: Vocabulary, *, drop_unknown: bool = False, place: Path | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """As `Vocabulary.encode`, for a text in pieces; with a `place`, the numbers are in that file, memory-mapped."""
    scanned = _encoded(text, vocabulary, drop_unknown)
    ids, starts, total = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)], 0
    if place is None:
        for found, ends in scanned:
            ids.append(found)
            starts.append(ends)
        return np.concatenate(ids), np.concatenate(starts)
    with files.explained(place), place.open("wb") as file:
        for found, ends in scanned:
            found.tofile(file)
            starts.append(ends)
            total += len(found)
    whole = np.memmap(place, np.int32, "r", shape=(total,)) if total else ids[0]
    return whole, np.concatenate(starts)


def line_encoder(vocabulary: Vocabulary) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A function that encodes a block of whole lines as `encode_lines` does; several threads may call it at once."""
    table = _Table(vocabulary)

    def encode(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        under_way = copy(table)
        under_way.open = np.zeros(1, np.int64)
        ids, ends = under_way.encode(block, False)
        return ids, np.concatenate([[0], ends, [len(ids)] if under_way.open[0] else []]).astype(np.int64)

    return encode


def line_blocks(text: Text, size: int = 0) -> Iterator[np.ndarray]:
    """The text in UTF-8 in blocks of so many bytes (0: a megabyte), cut only where a line ends."""
    return _blocks(text, b"\n", size)


def _encoded(text: Text, vocabulary: Vocabulary, drop_unknown: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Block by block, the numbers of the words and where documents end."""
    table, total = _Table(vocabulary), 0
    for block in _blocks(text):
        ids, ends = table.encode(block, drop_unknown)
        yield ids, ends + total
        total += len(ids)
    if table.open[0]:
        yield np.zeros(0, np.int32), np.array([total], np.int64)


def _blocks(text: Text, ends: bytes = b" \n", least: int = 0) -> Iterator[np.ndarray]:
    """The text in UTF-8, cut only behind one of these bytes: where a word ends."""
    held, size, least = [], 0, least or _BLOCK
    for data in _small(text, least):
        size += len(data)
        cut = max(data.rfind(end) for end in ends) + 1
        if size < least or not cut:
            held.append(data)
            continue
        yield np.frombuffer(b"".join([*held, data[:cut]]), np.uint8)
        held, size = [data[cut:]], len(data) - cut
    if size:
        yield np.frombuffer(b"".join(held), np.uint8)


def _small(text: Text, most: int) -> Iterator[bytes]:
    for piece in [text] if isinstance(text, (str, bytes)) else text:
        for low in range(0, len(piece), most):
            part = piece[low : low + most]
            yield part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part


class _Table:
    """Words by their hash: their bytes one after the other, where each begins, and how often it came."""

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        words = [word.encode("utf-8", "surrogatepass") for word in vocabulary.words] if vocabulary else []
        self.bytes = np.frombuffer(b"".join(words) or bytes(1 << 16), np.uint8).copy()
        self.begins = np.zeros(max(len(words), 1 << 12) + 1, np.int64)
        np.cumsum([len(word) for word in words], out=self.begins[1 : len(words) + 1])
        self.counts = np.zeros(len(self.begins) - 1, np.int64)
        self.state = np.array([len(words), 0], np.int64)  # words here, bytes scanned of the block
        self.open = np.zeros(1, np.int64)  # words so far in the document that is under way
        self._place()

    def __len__(self) -> int:
        return int(self.state[0])

    def scan(self, block: np.ndarray) -> None:
        """Count the words of a block."""
        self.state[1] = 0
        while not _count(block, self.slots, self.bytes, self.begins, self.counts, self.state):
            self._grow(len(block))

    def encode(self, block: np.ndarray, drop_unknown: bool) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of a block's words, and how many of them there are at the end of each document."""
        ids, ends = np.empty(len(block) // 2 + 1, np.int32), np.empty(len(block), np.int64)
        args = block, self.slots, self.bytes, self.begins, drop_unknown, self.open, ids, ends
        words, documents = _encode(*args)
        return ids[:words].copy(), ends[:documents].copy()

    def pairs(self, least: int = 1) -> list[Pair]:
        """The words that came so often, with their counts."""
        kept = np.flatnonzero(self.counts[: len(self)] >= least)
        data, counts = self.bytes[: self.begins[len(self)]].tobytes(), self.counts[kept].tolist()
        edges = zip(self.begins[kept].tolist(), self.begins[kept + 1].tolist(), counts, strict=True)
        return [(data[low:high], count) for low, high, count in edges]

    def _grow(self, longest: int) -> None:
        """Twice the room for words if there is none left, else for their bytes: enough for the longest of a block."""
        if len(self) < len(self.counts):
            self.bytes = np.concatenate([self.bytes, np.empty(max(len(self.bytes), longest), np.uint8)])
            return
        self.begins = np.concatenate([self.begins, np.zeros(len(self.counts), np.int64)])
        self.counts = np.concatenate([self.counts, np.zeros(len(self.counts), np.int64)])
        self._place()

    def _place(self) -> None:
        """The hash table, at most half full."""
        self.slots = np.full(1 << int(2 * len(self.counts) - 1).bit_length(), _EMPTY)
        _fill(self.slots, self.bytes, self.begins, len(self))


# --- kernels --------------------------------------------------------------------------------------------------------


@kernel
def _blank(block, at):
    """How many bytes of white space begin here: what `str.isspace` says of one character in UTF-8."""
    first = block[at]
    if first <= 32:
        return int(first == 32 or 9 <= first <= 13 or first >= 28)
    if first < 0xC2 or first > 0xE3:
        return 0
    second = block[at + 1] if at + 1 < len(block) else 0
    if first == 0xC2:
        return 2 * int(second == 0x85 or second == 0xA0)
    third = block[at + 2] if at + 2 < len(block) else 0
    if first == 0xE1:
        return 3 * int(second == 0x9A and third == 0x80)
    if first == 0xE2:
        spaces = second == 0x80 and (0x80 <= third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF)
        return 3 * int(spaces or (second == 0x81 and third == 0x9F))
    return 3 * int(first == 0xE3 and second == 0x80 and third == 0x80)


@kernel
def _word(block, at):
    """The end of the word that begins here, and its hash."""
    code = _BASIS
    while at < len(block):
        byte = block[at]
        if (byte <= 32 or byte >= 0xC2) and _blank(block, at):
            break
        code = (code ^ np.uint64(byte)) * _PRIME
        at += 1
    return at, code ^ (code >> _HIGH)


@kernel
def _find(block, low, high, code, slots, data, begins):
    """The slot of a word, and its number or −1; a slot holds the hash's upper half and the number."""
    mask, tag = np.int64(len(slots) - 1), np.int64(code >> _HIGH) << 32
    slot = np.int64(code) & mask
    while slots[slot] != _EMPTY:
        number = slots[slot] & 0xFFFFFFFF
        if slots[slot] - number == tag and begins[number + 1] - begins[number] == high - low:
            begin, same = begins[number], True
            for i in range(high - low):
                if data[begin + i] != block[low + i]:
                    same = False
                    break
            if same:
                return slot, number
        slot = (slot + 1) & mask
    return slot, np.int64(-1)


@kernel
def _fill(slots, data, begins, size):
    """Put the first words into an empty table."""
    for number in range(size):
        code = _BASIS
        for at in range(begins[number], begins[number + 1]):
            code = (code ^ np.uint64(data[at])) * _PRIME
        code = code ^ (code >> _HIGH)
        slot = np.int64(code) & np.int64(len(slots) - 1)
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & np.int64(len(slots) - 1)
        slots[slot] = (np.int64(code >> _HIGH) << 32) | number


@kernel
def _count(block, slots, data, begins, counts, state):
    """Count words from where the state says; False where the table must grow first."""
    size, at = state[0], state[1]
    while at < len(block):
        blank = _blank(block, at)
        if blank:
            at += blank
            continue
        end, code = _word(block, at)
        slot, number = _find(block, at, end, code, slots, data, begins)
        if number < 0:
            if size == len(counts) or begins[size] + end - at > len(data):
                state[0], state[1] = size, at
                return False
            number, begin = size, begins[size]
            slots[slot] = (np.int64(code >> _HIGH) << 32) | number
            for i in range(end - at):
                data[begin + i] = block[at + i]
            begins[size + 1] = begin + end - at
            size += 1
        counts[number] += 1
        at = end
    state[0], state[1] = size, at
    return True


@kernel
def _encode(block, slots, data, begins, drop, open_, ids, ends):
    """Numbers of the words and ends of documents; how many of each."""
    at = words = documents = 0
    while at < len(block):
        blank = _blank(block, at)
        if blank:
            if block[at] == 10 and open_[0]:
                ends[documents] = words
                documents, open_[0] = documents + 1, 0
            at += blank
            continue
        end, code = _word(block, at)
        _, number = _find(block, at, end, code, slots, data, begins)
        if number >= 0 or not drop:
            ids[words] = number
            words += 1
        open_[0] += 1
        at = end
    return words, documents
