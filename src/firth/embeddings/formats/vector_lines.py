"""Text formats with a word and its vector on each line: parsed in blocks of bounded memory, by compiled code."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from firth.embeddings.word_table import WordTable
from firth.embeddings.word_vectors import WordVectors, row_norms
from firth.errors import FirthError

BLOCK = 1 << 22  # bytes read at a time
MAX_LINE = 1 << 24  # bytes of a line
_SAMPLE_LINES = 1000  # lines that the width is inferred from
_SPACE = b" \t\r"
_HEADER = re.compile(rb"(\d{1,18}) +(\d{1,18})")
UNKNOWN = b"<unk>"  # GloVe's last line, which the header does not count


class Header(NamedTuple):
    """The header of word2vec's files."""

    count: int
    width: int


def parse_header(line: bytes) -> Header | None:
    """The header `count width`, or None."""
    match = _HEADER.fullmatch(line.rstrip())
    return Header(int(match[1]), int(match[2])) if match else None


def read_blocks(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The content in blocks of whole lines; the last line gets a newline if it has none."""
    rest = b""
    while block := file.read(BLOCK):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield rest + block[:cut]
            rest = block[cut:]
        else:
            rest += block
        if len(rest) > MAX_LINE:
            raise FirthError(f"a line of more than {MAX_LINE >> 20} MB", where=name, do="give a file of vectors")
    if rest:
        yield rest + b"\n"


def infer_width(block: bytes) -> int:
    """The most common number of fields after the word: a word may contain spaces."""
    widths = [len(line.split()) - 1 for line in block.split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES] if line.strip()]
    common = Counter(widths).most_common()
    return min((width for width, count in common if count == common[0][1]), default=0)


def parse_line(line: bytes, width: int, where: str) -> tuple[bytes, list[float]]:
    """The word and the vector of a line, or an error that says what is wrong with it: the reference implementation."""
    rest, numbers = line.rstrip(_SPACE), []
    for column in range(width):
        rest, field = _last_field(rest.rstrip(b" \t") if column else rest)
        if not field or not rest:
            what = f"{len(line.split()) - 1} numbers after the word, not {width}"
            raise FirthError(what, where=where, do="the file is truncated or its header is wrong")
        numbers.append(_parse_number(field, where))
    return rest[:-1], numbers[::-1]


def _last_field(text: bytes) -> tuple[bytes, bytes]:
    """The text before the last field, with the separator, and the field."""
    cut = max(text.rfind(b" "), text.rfind(b"\t")) + 1
    return (text[:cut], text[cut:]) if cut > 1 else (b"", text)


def _parse_number(field: bytes, where: str) -> float:
    try:
        with np.errstate(over="ignore"):
            value = float(np.float32(float(field)))
    except (ValueError, OverflowError):
        text = field[:40].decode(errors="replace")
        raise FirthError(f"{text!r} is not a number", where=where, do="give a file of vectors") from None
    if not math.isfinite(value):
        raise FirthError(f"{field.decode()!r} in a vector", where=where, do="train the vectors again")
    return value


class _Names(list):
    """Words that are decoded only for an error message."""

    def __getitem__(self, index: int) -> str:
        return super().__getitem__(index).decode(errors="replace")


class VectorRows:
    """Words and vectors added block by block to preallocated arrays."""

    def __init__(self, count: int, width: int, name: str) -> None:
        """Allocate `count` rows, as the header says, and one for GloVe's `<unk>`."""
        self.name, self.width, self.count, self.size = name, width, count, 0
        self._words: list[bytes] = []
        try:
            self.vectors, self.norms = np.empty((count + 1, width), np.float32), np.empty(count + 1, np.float32)
        except (MemoryError, ValueError):
            what = f"its header says {count} vectors of width {width}, which do not fit in memory"
            raise FirthError(what, where=name, do="check the file") from None

    def add(self, words: list[bytes], vectors: np.ndarray) -> None:
        """Add rows; they must be finite."""
        self.next_rows(len(words))[:] = vectors
        self.add_words(words)

    def next_rows(self, count: int) -> np.ndarray:
        """The slots of the next rows; `add_words` must follow."""
        return self.vectors[self.size : self.size + count]

    def add_words(self, words: list[bytes]) -> None:
        """Add the words of the rows written to `next_rows`; the vectors must be finite."""
        names = _Names(words)
        self.norms[self.size : self.size + len(words)] = row_norms(self.next_rows(len(words)), 0, names, self.name)
        self._words.append(b"\n".join(words) + b"\n" if words else b"")
        self.size += len(words)

    def word_vectors(self) -> WordVectors:
        """The word vectors added so far."""
        blob = b"".join(self._words)
        if blob.count(b"\n") != self.size:
            raise FirthError("a word contains a newline", where=self.name, do="give a file of vectors")
        vectors, lengths = self.vectors[: self.size], self.norms[: self.size]
        return WordVectors(WordTable(blob), vectors, norms=lengths, where=self.name)


def read_rows(file: BinaryIO, rows: VectorRows, line_number: int) -> None:
    """Read all remaining lines, from this line number on; GloVe's `<unk>` may be one more than the header says."""
    for block in read_blocks(file, rows.name):
        words, vectors = parse_block(block, rows.width, rows.name, line_number)
        over = rows.size + len(words) - rows.count
        if over > 1 or (over == 1 and words[-1] != UNKNOWN):
            what = f"more than the {rows.count} vectors that its header says"
            raise FirthError(what, where=rows.name, do="correct the header")
        if not rows.size and words and line_number > 1:
            _check_width(words[0], rows.width, f"{rows.name}:{line_number}")
        rows.add(words, vectors)
        line_number += block.count(b"\n")
    if rows.size < rows.count:
        raise too_few_error(rows.size, rows.count, rows.name)


def _check_width(word: bytes, width: int, where: str) -> None:
    """An error if the first vector is wider than the header says: the excess numbers would become part of the words."""
    excess = word.split()[1:]
    if excess and all(map(is_number, excess)):
        what = f"{width + len(excess)} numbers after the word, not the {width} that the header says"
        raise FirthError(what, where=where, do="correct the header")


def is_number(field: bytes) -> bool:
    """Whether Python parses it as a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def too_few_error(size: int, count: int, name: str) -> FirthError:
    """The error for a truncated file."""
    what = f"{size} vectors, not the {count} that its header says"
    return FirthError(what, where=name, do="the file is truncated: download or write it again")


def parse_block(block: bytes, width: int, name: str, line_number: int) -> tuple[list[bytes], np.ndarray]:
    """The words and vectors of whole lines; `line_number` is that of the first."""
    from firth.embeddings.formats.line_parser import BLANK, PARSED, parse_lines

    text = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    vectors = np.empty((len(ends), width), np.float32)
    stops, states = np.empty(len(ends), np.int64), np.empty(len(ends), np.int64)
    parse_lines(text, ends, vectors, stops, states)
    starts = np.concatenate([[0], ends + 1])[:-1]
    words = [block[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
    for row in np.flatnonzero((states != PARSED) & (states != BLANK)):
        words[row], vectors[row] = parse_line(block[starts[row] : ends[row]], width, f"{name}:{line_number + row}")
    if not all(words):
        words = [word for word, state in zip(words, states, strict=True) if state != BLANK]
        vectors = vectors[states != BLANK]
    return words, vectors


def count_lines(file: BinaryIO, name: str) -> int:
    """The number of lines that are not blank."""
    return sum(sum(map(bool, map(bytes.strip, block.split(b"\n")))) for block in read_blocks(file, name))


def format_rows(
    words: WordTable, vectors: np.ndarray, number_format: str = "%.9g", separator: str = " "
) -> Iterator[bytes]:
    """Lines of a word and its vector, a block at a time; nine digits restore the same float32."""
    line = separator.join([number_format] * vectors.shape[1])
    for low in range(0, len(vectors), 1024):
        rows = zip(words[low : low + 1024], np.asarray(vectors[low : low + 1024]).tolist(), strict=True)
        yield "".join(f"{word}{separator}{line % tuple(row)}\n" for word, row in rows).encode()
