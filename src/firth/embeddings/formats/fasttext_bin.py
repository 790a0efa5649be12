"""fastText's .bin format, read (versions 11 and 12) and written (12): words, labels, input and output matrix."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from firth.datasets import compression
from firth.datasets.compression import open_atomic
from firth.embeddings.formats import vector_output
from firth.embeddings.subwords import Subwords
from firth.embeddings.word_table import WordTable
from firth.embeddings.word_vectors import WordVectors, row_norms
from firth.errors import FirthError

MAGIC = struct.pack("<i", 793712314)
LOSSES = {"hs": 1, "ns": 2, "softmax": 3, "ova": 4}
MODELS = {"cbow": 1, "skipgram": 2, "supervised": 3}
_WORD, _LABEL = 0, 1
_BLOCK = 1 << 20
_DAMAGED = "the file is damaged or truncated: download or write it again"


class Options(NamedTuple):
    """The training arguments, in the order and under the names of the file."""

    dim: int
    ws: int = 5
    epoch: int = 5
    minCount: int = 1
    neg: int = 5
    wordNgrams: int = 1
    loss: int = LOSSES["ns"]
    model: int = MODELS["skipgram"]
    bucket: int = 0
    minn: int = 0
    maxn: int = 0
    lrUpdateRate: int = 100
    t: float = 1e-4


@dataclass(frozen=True, eq=False)
class Model:
    """The content of a file: `input` has a row per word, then one per bucket; `output` one per word or label."""

    options: Options
    words: WordTable
    counts: np.ndarray  # int64 (words,)
    labels: tuple[str, ...]  # with their prefix
    label_counts: np.ndarray  # int64 (labels,)
    tokens: int  # in the training text
    input: np.ndarray  # float32 (words + buckets, width)
    output: np.ndarray  # float32 (words or labels, width)

    def vectors(self, where: object = "") -> WordVectors:
        """The word vectors; with character n-grams also for out-of-vocabulary words."""
        word_rows, buckets = self.input[: len(self.words)], self.input[len(self.words) :]
        subwords, vectors, context = None, word_rows, None
        if self.options.maxn and len(buckets):
            subwords = Subwords(buckets, min(self.options.minn, self.options.maxn), self.options.maxn, word_rows)
            vectors = subwords.compose(self.words, word_rows)
        if self.options.model != MODELS["supervised"] and self.options.loss != LOSSES["hs"]:  # else not one per word
            context = self.output if self.output.shape == word_rows.shape else None
        return WordVectors(self.words, vectors, counts=self.counts, context=context, subwords=subwords, where=where)


def from_word_vectors(store: WordVectors, options: Options | None = None) -> Model:
    """The skip-gram model of these word vectors; `options` are its training arguments, if known."""
    subwords, options = store.subwords, options or Options(store.width)
    word_rows = store.vectors if subwords is None else subwords.decompose(store.words, store.vectors)
    sizes = (0, 0, 0) if subwords is None else (subwords.min_n, subwords.max_n, subwords.bucket_count)
    counts = np.ones(len(store), np.int64) if store.counts is None else store.counts
    return Model(
        options=options._replace(dim=store.width, minn=sizes[0], maxn=sizes[1], bucket=sizes[2]),
        words=store.words,
        counts=counts,
        labels=(),
        label_counts=np.empty(0, np.int64),
        tokens=int(counts.sum()),
        input=np.asarray(word_rows) if subwords is None else np.concatenate([word_rows, subwords.all_buckets()]),
        output=np.zeros(store.vectors.shape, np.float32) if store.context is None else store.context,
    )


# --- reading ---


class _Reader:
    """A buffered reader of an opened file; a premature end is an error."""

    def __init__(self, file: BinaryIO, name: str, size: int | None) -> None:
        self._file, self.name, self._remaining = file, name, size
        self._buffer = b""

    def unpack(self, layout: str) -> tuple:
        """The next values, by a struct layout."""
        count = struct.calcsize(layout)
        self._fill(count)
        data, self._buffer = self._buffer[:count], self._buffer[count:]
        return struct.unpack(layout, data)

    def entries(self, count: int) -> tuple[list[bytes], np.ndarray, np.ndarray]:
        """Dictionary entries: names, counts and types."""
        names, counts, kinds, at = [], [], [], 0
        for _ in range(count):
            while (end := self._buffer.find(b"\0", at)) < 0 or end + 10 > len(self._buffer):
                self._buffer, at = self._buffer[at:], 0
                self._fill(len(self._buffer) + 1)
            names.append(self._buffer[at:end])
            number, kind = _ENTRY.unpack_from(self._buffer, end + 1)
            counts.append(number)
            kinds.append(kind)
            at = end + 10
        self._buffer = self._buffer[at:]
        return names, np.array(counts, np.int64), np.array(kinds, np.int64)

    def matrix(self, rows: int, columns: int) -> np.ndarray:
        """A float32 matrix, read without a copy."""
        size = rows * columns * 4
        if self._remaining is not None and size > self._remaining + len(self._buffer):
            raise FirthError(f"too short for {rows} vectors of width {columns}", where=self.name, do=_DAMAGED)
        try:
            matrix = np.empty((rows, columns), "<f4")
        except (MemoryError, ValueError):
            what = f"{rows} vectors of width {columns} do not fit in memory"
            raise FirthError(what, where=self.name, do=_DAMAGED) from None
        view = memoryview(matrix).cast("B") if matrix.size else memoryview(bytearray())
        filled = min(size, len(self._buffer))
        view[:filled], self._buffer = self._buffer[:filled], self._buffer[filled:]
        while filled < size:
            if not (count := self._file.readinto(view[filled : filled + (1 << 24)])):
                raise FirthError("it ends within a matrix", where=self.name, do=_DAMAGED)
            filled += count
            self._remaining = None if self._remaining is None else self._remaining - count
        return matrix

    def _fill(self, count: int) -> None:
        """Buffer at least `count` bytes."""
        while len(self._buffer) < count:
            block = self._file.read(_BLOCK)
            if not block:
                raise FirthError("unexpected end of file", where=self.name, do=_DAMAGED)
            self._buffer += block
            self._remaining = None if self._remaining is None else self._remaining - len(block)


_ENTRY = struct.Struct("<qb")


def read(path: str | Path) -> Model:
    """The model of a file, plain or compressed."""
    path = Path(path)
    with compression.explain_read_errors(str(path)), path.open("rb") as raw, compression.decompress(raw) as file:
        return read_model(file, str(path), path.stat().st_size if file is raw else None)


def read_vectors(file: BinaryIO, name: str, size: int | None) -> WordVectors:
    """The word vectors of an opened file."""
    return read_model(file, name, size).vectors(name)


def read_model(file: BinaryIO, name: str, size: int | None) -> Model:
    """The model of an opened file; `size` is its length in bytes if known."""
    reader = _Reader(file, name, size)
    options = _read_options(reader)
    words, counts, labels, label_counts, tokens = _read_dictionary(reader)
    input_matrix = _read_matrix(reader, options.dim, "input")
    output_matrix = _read_matrix(reader, options.dim, "output")
    if len(input_matrix) not in (len(words) + options.bucket, len(words)):
        what = f"{len(input_matrix)} input vectors for {len(words)} words and {options.bucket} buckets"
        raise FirthError(what, where=name, do=_DAMAGED)
    if file.read(1) or reader._buffer:
        raise FirthError("unexpected data after the last vector", where=name, do=_DAMAGED)
    return Model(options, words, counts, labels, label_counts, tokens, input_matrix, output_matrix)


def _read_options(reader: _Reader) -> Options:
    magic, version = reader.unpack("<4si")
    if magic != MAGIC or version not in (11, 12):
        what = "not a model of fastText" if magic != MAGIC else f"a model of fastText's version {version}"
        raise FirthError(what, where=reader.name, do="firth reads versions 11 and 12")
    options = Options(*reader.unpack("<12id"))
    if version == 11 and options.model == MODELS["supervised"]:
        options = options._replace(maxn=0)  # stored in the file, but not used
    if options.dim < 1 or min(options.bucket, options.minn, options.maxn) < 0:
        what = f"width {options.dim}, {options.bucket} buckets, n-grams of {options.minn} to {options.maxn}"
        raise FirthError(what, where=reader.name, do=_DAMAGED)
    return options


def _read_dictionary(reader: _Reader) -> tuple[WordTable, np.ndarray, tuple[str, ...], np.ndarray, int]:
    size, words, labels, tokens, pruned = reader.unpack("<3i2q")
    if words < 1 or labels < 0 or size != words + labels:
        raise FirthError(f"{words} words and {labels} labels of {size}", where=reader.name, do=_DAMAGED)
    if pruned >= 0:
        raise _quantised_error(reader.name)
    names, counts, kinds = reader.entries(size)
    blob = b"".join(name + b"\n" for name in names[:words])
    if (kinds[:words] != _WORD).any() or (kinds[words:] != _LABEL).any() or blob.count(b"\n") != words:
        raise FirthError("its words are not followed by its labels", where=reader.name, do=_DAMAGED)
    label_names = tuple(name.decode(errors="replace") for name in names[words:])
    return WordTable(blob), counts[:words], label_names, counts[words:], tokens


def _read_matrix(reader: _Reader, width: int, which: str) -> np.ndarray:
    (quantised,) = reader.unpack("<?")
    if quantised:
        raise _quantised_error(reader.name)
    rows, columns = reader.unpack("<2q")
    if rows < 0 or columns != width:
        raise FirthError(f"an {which} matrix of {rows} by {columns}", where=reader.name, do=_DAMAGED)
    matrix = reader.matrix(rows, columns)
    for low in range(0, rows, vector_output.ROW_BLOCK):
        row_norms(matrix[low : low + vector_output.ROW_BLOCK], low, (), reader.name)  # NaN is an error
    return matrix


def _quantised_error(name: str) -> FirthError:
    return FirthError("a quantised model of fastText (.ftz)", where=name, do="give the .bin it was made from")


# --- writing ---


def write(store: WordVectors, path: Path) -> None:
    """Write a file that fastText loads, with the same vectors."""
    for _ in vector_output.row_blocks(store):
        pass  # NaN is detected before anything is written
    write_model(from_word_vectors(store), path)


def write_model(model: Model, path: str | Path) -> None:
    """Write a file that fastText loads."""
    names = [*model.words, *model.labels]
    for name in names:
        if not name or "\0" in name:
            raise FirthError(f"the word {name!r}, which a fastText file cannot hold", where=path, do="leave it out")
    counts = [*model.counts.tolist(), *model.label_counts.tolist()]
    kinds = [_WORD] * len(model.words) + [_LABEL] * len(model.labels)
    with open_atomic(Path(path)) as file:
        file.write(MAGIC + struct.pack("<13id", 12, *model.options))
        file.write(struct.pack("<3i2q", len(names), len(model.words), len(model.labels), model.tokens, -1))
        entries = zip(names, counts, kinds, strict=True)
        file.write(b"".join(name.encode() + b"\0" + _ENTRY.pack(count, kind) for name, count, kind in entries))
        for matrix in (model.input, model.output):
            file.write(struct.pack("<?2q", False, *matrix.shape))
            for low in range(0, len(matrix), vector_output.ROW_BLOCK):
                file.write(np.ascontiguousarray(matrix[low : low + vector_output.ROW_BLOCK], "<f4").tobytes())
