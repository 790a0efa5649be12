"""Compiled word counting and encoding of plain text with one document per line (LineSentence format).

Words are those of `str.split`, documents the non-empty lines. The text is an iterable of pieces, split anywhere; bytes
are UTF-8. It is read twice, once to count and once to encode, so that memory does not grow with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from pathlib import Path

import numpy as np

from firth.corpus.vocabulary import MAX_TYPES, Pair, SortedRuns, Vocabulary, select_words
from firth.jit import kernel
from firth.runs import atomic_files

_BLOCK = 1 << 20  # bytes scanned at once
_EMPTY_SLOT = np.int64(-1)
_BASIS, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)  # FNV-1a, 64 bit
_HIGH = np.uint64(32)
Text = Iterable[str | bytes]


def count_words_in_lines(
    text: Text, *, min_count: int = 1, max_words: int | None = None, max_types: int = MAX_TYPES
) -> Vocabulary:
    """The vocabulary of a text: words that occur `min_count` times or more, at most `max_words`; see `count_words`."""
    table = _HashTable()
    with SortedRuns() as runs:
        for block in _blocks(text):
            table.scan(block)
            if len(table) > max_types:
                runs.add(sorted(table.pairs()))
                table = _HashTable()
        if runs:
            return select_words(runs.merge(sorted(table.pairs())), min_count, max_words)
        return select_words(table.pairs(min_count) or table.pairs(), min_count, max_words)


def encode_lines(
    text: Text, vocabulary: Vocabulary, *, drop_unknown: bool = False, path: Path | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """As `Vocabulary.encode`, for a text in pieces; with a `path`, the ids are in that file, memory-mapped."""
    blocks = _encode_blocks(text, vocabulary, drop_unknown)
    ids, starts, total = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)], 0
    if path is None:
        for block_ids, ends in blocks:
            ids.append(block_ids)
            starts.append(ends)
        return np.concatenate(ids), np.concatenate(starts)
    with atomic_files.explain_errors(path), path.open("wb") as file:
        for block_ids, ends in blocks:
            block_ids.tofile(file)
            starts.append(ends)
            total += len(block_ids)
    mapped = np.memmap(path, np.int32, "r", shape=(total,)) if total else ids[0]
    return mapped, np.concatenate(starts)


def line_encoder(vocabulary: Vocabulary) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A thread-safe function that encodes a block of whole lines as `encode_lines` does."""
    table = _HashTable(vocabulary)

    def encode(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        copied = copy(table)
        copied.open_words = np.zeros(1, np.int64)
        ids, ends = copied.encode(block, False)
        return ids, np.concatenate([[0], ends, [len(ids)] if copied.open_words[0] else []]).astype(np.int64)

    return encode


def line_blocks(text: Text, size: int = 0) -> Iterator[np.ndarray]:
    """The text in UTF-8 in blocks of at least `size` bytes (0: a megabyte), split only at line ends."""
    return _blocks(text, b"\n", size)


def _encode_blocks(text: Text, vocabulary: Vocabulary, drop_unknown: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each block, the ids of its words and where documents end."""
    table, total = _HashTable(vocabulary), 0
    for block in _blocks(text):
        ids, ends = table.encode(block, drop_unknown)
        yield ids, ends + total
        total += len(ids)
    if table.open_words[0]:
        yield np.zeros(0, np.int32), np.array([total], np.int64)


def _blocks(text: Text, ends: bytes = b" \n", min_size: int = 0) -> Iterator[np.ndarray]:
    """The text in UTF-8, split only after one of these bytes, where a word ends."""
    pending, size, min_size = [], 0, min_size or _BLOCK
    for data in _split_pieces(text, min_size):
        size += len(data)
        cut = max(data.rfind(end) for end in ends) + 1
        if size < min_size or not cut:
            pending.append(data)
            continue
        yield np.frombuffer(b"".join([*pending, data[:cut]]), np.uint8)
        pending, size = [data[cut:]], len(data) - cut
    if size:
        yield np.frombuffer(b"".join(pending), np.uint8)


def _split_pieces(text: Text, max_size: int) -> Iterator[bytes]:
    for piece in [text] if isinstance(text, (str, bytes)) else text:
        for low in range(0, len(piece), max_size):
            part = piece[low : low + max_size]
            yield part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part


class _HashTable:
    """A hash table of words: their bytes concatenated, the offset of each, and its count."""

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        words = [word.encode("utf-8", "surrogatepass") for word in vocabulary.words] if vocabulary else []
        self.bytes = np.frombuffer(b"".join(words) or bytes(1 << 16), np.uint8).copy()
        self.offsets = np.zeros(max(len(words), 1 << 12) + 1, np.int64)
        np.cumsum([len(word) for word in words], out=self.offsets[1 : len(words) + 1])
        self.counts = np.zeros(len(self.offsets) - 1, np.int64)
        self.state = np.array([len(words), 0], np.int64)  # words in the table, bytes scanned of the block
        self.open_words = np.zeros(1, np.int64)  # words so far in the unfinished document
        self._rehash()

    def __len__(self) -> int:
        return int(self.state[0])

    def scan(self, block: np.ndarray) -> None:
        """Count the words of a block."""
        self.state[1] = 0
        while not _count_block(block, self.slots, self.bytes, self.offsets, self.counts, self.state):
            self._grow(len(block))

    def encode(self, block: np.ndarray, drop_unknown: bool) -> tuple[np.ndarray, np.ndarray]:
        """The ids of a block's words, and how many of them precede the end of each document."""
        ids, ends = np.empty(len(block) // 2 + 1, np.int32), np.empty(len(block), np.int64)
        args = block, self.slots, self.bytes, self.offsets, drop_unknown, self.open_words, ids, ends
        words, documents = _encode_block(*args)
        return ids[:words].copy(), ends[:documents].copy()

    def pairs(self, min_count: int = 1) -> list[Pair]:
        """The words that occur at least so often, with their counts."""
        frequent = np.flatnonzero(self.counts[: len(self)] >= min_count)
        data, counts = self.bytes[: self.offsets[len(self)]].tobytes(), self.counts[frequent].tolist()
        edges = zip(self.offsets[frequent].tolist(), self.offsets[frequent + 1].tolist(), counts, strict=True)
        return [(data[low:high], count) for low, high, count in edges]

    def _grow(self, max_length: int) -> None:
        """Double the capacity for words if it is used up, else that for their bytes: enough for any word of a block."""
        if len(self) < len(self.counts):
            self.bytes = np.concatenate([self.bytes, np.empty(max(len(self.bytes), max_length), np.uint8)])
            return
        self.offsets = np.concatenate([self.offsets, np.zeros(len(self.counts), np.int64)])
        self.counts = np.concatenate([self.counts, np.zeros(len(self.counts), np.int64)])
        self._rehash()

    def _rehash(self) -> None:
        """Build the slots of the hash table, at most half full."""
        self.slots = np.full(1 << int(2 * len(self.counts) - 1).bit_length(), _EMPTY_SLOT)
        _fill_table(self.slots, self.bytes, self.offsets, len(self))


# --- kernels --------------------------------------------------------------------------------------------------------


@kernel
def _whitespace_length(block, at):
    """The bytes of a whitespace character (as of `str.isspace`) in UTF-8 that starts here; 0 if there is none."""
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
def _scan_word(block, at):
    """The end of the word that starts here, and its hash."""
    code = _BASIS
    while at < len(block):
        byte = block[at]
        if (byte <= 32 or byte >= 0xC2) and _whitespace_length(block, at):
            break
        code = (code ^ np.uint64(byte)) * _PRIME
        at += 1
    return at, code ^ (code >> _HIGH)


@kernel
def _find_slot(block, low, high, code, slots, data, offsets):
    """The slot of a word, and its id or −1; a slot holds the upper half of the hash and the id."""
    mask, tag = np.int64(len(slots) - 1), np.int64(code >> _HIGH) << 32
    slot = np.int64(code) & mask
    while slots[slot] != _EMPTY_SLOT:
        word_id = slots[slot] & 0xFFFFFFFF
        if slots[slot] - word_id == tag and offsets[word_id + 1] - offsets[word_id] == high - low:
            offset, same = offsets[word_id], True
            for i in range(high - low):
                if data[offset + i] != block[low + i]:
                    same = False
                    break
            if same:
                return slot, word_id
        slot = (slot + 1) & mask
    return slot, np.int64(-1)


@kernel
def _fill_table(slots, data, offsets, size):
    """Insert the first words into an empty table."""
    for word_id in range(size):
        code = _BASIS
        for at in range(offsets[word_id], offsets[word_id + 1]):
            code = (code ^ np.uint64(data[at])) * _PRIME
        code = code ^ (code >> _HIGH)
        slot = np.int64(code) & np.int64(len(slots) - 1)
        while slots[slot] != _EMPTY_SLOT:
            slot = (slot + 1) & np.int64(len(slots) - 1)
        slots[slot] = (np.int64(code >> _HIGH) << 32) | word_id


@kernel
def _count_block(block, slots, data, offsets, counts, state):
    """Count words from the offset in the state on; False if the table must grow first."""
    size, at = state[0], state[1]
    while at < len(block):
        whitespace = _whitespace_length(block, at)
        if whitespace:
            at += whitespace
            continue
        end, code = _scan_word(block, at)
        slot, word_id = _find_slot(block, at, end, code, slots, data, offsets)
        if word_id < 0:
            if size == len(counts) or offsets[size] + end - at > len(data):
                state[0], state[1] = size, at
                return False
            word_id, offset = size, offsets[size]
            slots[slot] = (np.int64(code >> _HIGH) << 32) | word_id
            for i in range(end - at):
                data[offset + i] = block[at + i]
            offsets[size + 1] = offset + end - at
            size += 1
        counts[word_id] += 1
        at = end
    state[0], state[1] = size, at
    return True


@kernel
def _encode_block(block, slots, data, offsets, drop, open_words, ids, ends):
    """Write the ids of the words and the ends of documents; returns the number of each."""
    at = words = documents = 0
    while at < len(block):
        whitespace = _whitespace_length(block, at)
        if whitespace:
            if block[at] == 10 and open_words[0]:
                ends[documents] = words
                documents, open_words[0] = documents + 1, 0
            at += whitespace
            continue
        end, code = _scan_word(block, at)
        _, word_id = _find_slot(block, at, end, code, slots, data, offsets)
        if word_id >= 0 or not drop:
            ids[words] = word_id
            words += 1
        open_words[0] += 1
        at = end
    return words, documents
