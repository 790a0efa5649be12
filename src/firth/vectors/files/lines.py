"""Text files with a word and its vector on each line: read in blocks of bounded memory, by compiled code."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.vectors.store import WordVectors, row_lengths
from firth.vectors.words import Words

BLOCK = 1 << 22  # bytes read at a time
LONGEST = 1 << 24  # bytes of a line
_SAMPLE = 1000  # lines that say how wide the vectors are
_SPACE = b" \t\r"
_HEADER = re.compile(rb"(\d{1,18}) +(\d{1,18})")
UNKNOWN = b"<unk>"  # GloVe's last line, which its header does not count


class Header(NamedTuple):
    """The first line of word2vec's files."""

    count: int
    width: int


def header(line: bytes) -> Header | None:
    """Two whole numbers with spaces between, or None."""
    found = _HEADER.fullmatch(line.rstrip())
    return Header(int(found[1]), int(found[2])) if found else None


def blocks(file: BinaryIO, shown: str) -> Iterator[bytes]:
    """The content in pieces of whole lines; the last line gets an end if it has none."""
    rest = b""
    while block := file.read(BLOCK):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield rest + block[:cut]
            rest = block[cut:]
        else:
            rest += block
        if len(rest) > LONGEST:
            raise FirthError(f"a line of more than {LONGEST >> 20} MB", where=shown, do="give a file of vectors")
    if rest:
        yield rest + b"\n"


def width_of(block: bytes) -> int:
    """How many numbers most lines have behind their word: a word may have spaces in it."""
    rows = [len(line.split()) - 1 for line in block.split(b"\n", _SAMPLE)[:_SAMPLE] if line.strip()]
    often = Counter(rows).most_common()
    return min((width for width, times in often if times == often[0][1]), default=0)


def parse(line: bytes, width: int, where: str) -> tuple[bytes, list[float]]:
    """The word and the numbers of a line, or an error that says what is wrong with it: the plain twin."""
    rest, numbers = line.rstrip(_SPACE), []
    for column in range(width):
        rest, field = _last_field(rest.rstrip(b" \t") if column else rest)
        if not field or not rest:
            what = f"{len(line.split()) - 1} numbers behind the word, not {width}"
            raise FirthError(what, where=where, do="the file is cut short or its first line is wrong")
        numbers.append(_number(field, where))
    return rest[:-1], numbers[::-1]


def _last_field(text: bytes) -> tuple[bytes, bytes]:
    """What stands before the last field, with the space between, and the field."""
    cut = max(text.rfind(b" "), text.rfind(b"\t")) + 1
    return (text[:cut], text[cut:]) if cut > 1 else (b"", text)


def _number(field: bytes, where: str) -> float:
    try:
        with np.errstate(over="ignore"):
            found = float(np.float32(float(field)))
    except (ValueError, OverflowError):
        shown = field[:40].decode(errors="replace")
        raise FirthError(f"{shown!r} is not a number", where=where, do="give a file of vectors") from None
    if not math.isfinite(found):
        raise FirthError(f"{field.decode()!r} in a vector", where=where, do="train the vectors again")
    return found


class _Names(list):
    """Words that are decoded when an error shows them."""

    def __getitem__(self, place: int) -> str:
        return super().__getitem__(place).decode(errors="replace")


class Rows:
    """Words and vectors that come in block by block, into arrays made once."""

    def __init__(self, count: int, width: int, shown: str) -> None:
        """Room for `count` rows that the file promises, and for GloVe's `<unk>` behind them."""
        self.shown, self.width, self.count, self.size = shown, width, count, 0
        self._words: list[bytes] = []
        try:
            self.vectors, self.lengths = np.empty((count + 1, width), np.float32), np.empty(count + 1, np.float32)
        except (MemoryError, ValueError):
            what = f"its first line promises {count} vectors of width {width}, more than the memory holds"
            raise FirthError(what, where=shown, do="check the file") from None

    def add(self, words: list[bytes], vectors: np.ndarray) -> None:
        """Some rows more; they must be finite."""
        self.room(len(words))[:] = vectors
        self.fill(words)

    def room(self, count: int) -> np.ndarray:
        """Where the next rows go; `fill` must follow."""
        return self.vectors[self.size : self.size + count]

    def fill(self, words: list[bytes]) -> None:
        """The words of the rows that were put into the room; the vectors must be finite."""
        names = _Names(words)
        self.lengths[self.size : self.size + len(words)] = row_lengths(self.room(len(words)), 0, names, self.shown)
        self._words.append(b"\n".join(words) + b"\n" if words else b"")
        self.size += len(words)

    def store(self) -> WordVectors:
        """The store of what came in."""
        blob = b"".join(self._words)
        if blob.count(b"\n") != self.size:
            raise FirthError("a word with a line end in it", where=self.shown, do="give a file of vectors")
        vectors, lengths = self.vectors[: self.size], self.lengths[: self.size]
        return WordVectors(Words(blob), vectors, lengths=lengths, where=self.shown)


def read_rows(file: BinaryIO, rows: Rows, number: int) -> None:
    """All lines that are left, the first of them with this number; GloVe's `<unk>` may come as one too many."""
    for block in blocks(file, rows.shown):
        words, vectors = read_block(block, rows.width, rows.shown, number)
        over = rows.size + len(words) - rows.count
        if over > 1 or (over == 1 and words[-1] != UNKNOWN):
            what = f"more than the {rows.count} vectors that its first line promises"
            raise FirthError(what, where=rows.shown, do="mend the first line")
        if not rows.size and words and number > 1:
            _check_width(words[0], rows.width, f"{rows.shown}:{number}")
        rows.add(words, vectors)
        number += block.count(b"\n")
    if rows.size < rows.count:
        raise too_few(rows.size, rows.count, rows.shown)


def _check_width(word: bytes, width: int, where: str) -> None:
    """An error if the first line's vector is wider than the header says: all words would swallow numbers."""
    swallowed = word.split()[1:]
    if swallowed and all(map(is_number, swallowed)):
        what = f"{width + len(swallowed)} numbers behind the word, not the {width} that the first line promises"
        raise FirthError(what, where=where, do="mend the first line")


def is_number(field: bytes) -> bool:
    """Whether Python takes it for a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def too_few(size: int, count: int, shown: str) -> FirthError:
    """The error for a file that ends too early."""
    what = f"{size} vectors, not the {count} that its first line promises"
    return FirthError(what, where=shown, do="the file is cut short: fetch or write it again")


def read_block(block: bytes, width: int, shown: str, number: int) -> tuple[list[bytes], np.ndarray]:
    """The words and vectors of whole lines; `number` is that of the first."""
    from firth.vectors.files.parsing import BLANK, GOOD, read_lines

    text = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    vectors = np.empty((len(ends), width), np.float32)
    stops, states = np.empty(len(ends), np.int64), np.empty(len(ends), np.int64)
    read_lines(text, ends, vectors, stops, states)
    starts = np.concatenate([[0], ends[:-1] + 1])
    words = [block[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
    for row in np.flatnonzero((states != GOOD) & (states != BLANK)):
        words[row], vectors[row] = parse(block[starts[row] : ends[row]], width, f"{shown}:{number + row}")
    if not all(words):
        words = [word for word, state in zip(words, states, strict=True) if state != BLANK]
        vectors = vectors[states != BLANK]
    return words, vectors


def count_lines(file: BinaryIO, shown: str) -> int:
    """How many lines are not blank, in one pass."""
    return sum(sum(map(bool, map(bytes.strip, block.split(b"\n")))) for block in blocks(file, shown))


def rows_text(words: Words, vectors: np.ndarray, form: str = "%.9g", between: str = " ") -> Iterator[bytes]:
    """Lines of a word and its numbers, a block at a time; nine digits give back the same float32."""
    line = between.join([form] * vectors.shape[1])
    for low in range(0, len(vectors), 1024):
        some = np.asarray(vectors[low : low + 1024]).tolist()
        names = words[low : low + 1024]
        yield "".join(f"{name}{between}{line % tuple(row)}\n" for name, row in zip(names, some, strict=True)).encode()
