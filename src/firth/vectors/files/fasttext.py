"""fastText's .bin, read (versions 11 and 12) and written (12): words, labels and both matrices."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from firth.data import packed
from firth.data.packed import replacing
from firth.errors import FirthError
from firth.vectors.files import output
from firth.vectors.store import WordVectors, row_lengths
from firth.vectors.subwords import Subwords
from firth.vectors.words import Words

MAGIC = struct.pack("<i", 793712314)
LOSSES = {"hs": 1, "ns": 2, "softmax": 3, "ova": 4}
MODELS = {"cbow": 1, "skipgram": 2, "supervised": 3}
_WORD, _LABEL = 0, 1
_BLOCK = 1 << 20
_AGAIN = "the file is damaged or cut short: fetch or write it again"


class Options(NamedTuple):
    """How a model was trained, in the order and under the names of the file."""

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
    """All that a file holds: `input` has a row per word, then one per bucket; `output` one per word or label."""

    options: Options
    words: Words
    counts: np.ndarray  # int64 (words,)
    labels: tuple[str, ...]  # with their prefix
    label_counts: np.ndarray  # int64 (labels,)
    tokens: int  # words of the text, counted as often as they occur
    input: np.ndarray  # float32 (words + buckets, width)
    output: np.ndarray  # float32 (words or labels, width)

    def vectors(self, where: object = "") -> WordVectors:
        """The word vectors, also of words never seen if the model has n-grams of characters."""
        own, buckets = self.input[: len(self.words)], self.input[len(self.words) :]
        parts, vectors, context = None, own, None
        if self.options.maxn and len(buckets):
            parts = Subwords(buckets, min(self.options.minn, self.options.maxn), self.options.maxn, own)
            vectors = parts.compose(self.words, own)
        if self.options.model != MODELS["supervised"] and self.options.loss != LOSSES["hs"]:  # else not one per word
            context = self.output if self.output.shape == own.shape else None
        return WordVectors(self.words, vectors, counts=self.counts, context=context, subwords=parts, where=where)


def model_of(store: WordVectors, options: Options | None = None) -> Model:
    """The skip-gram model that has these vectors; `options` says how they were trained, if that is known."""
    parts = store.subwords
    own = store.vectors if parts is None else parts.divide(store.words, store.vectors)
    least, most, count = (0, 0, 0) if parts is None else (parts.least, parts.most, parts.count)
    counts = np.ones(len(store), np.int64) if store.counts is None else store.counts
    return Model(
        options=(options or Options(store.width))._replace(dim=store.width, bucket=count, minn=least, maxn=most),
        words=store.words,
        counts=counts,
        labels=(),
        label_counts=np.empty(0, np.int64),
        tokens=int(counts.sum()),
        input=np.asarray(own) if parts is None else np.concatenate([own, parts.all_buckets()]),
        output=np.zeros(store.vectors.shape, np.float32) if store.context is None else store.context,
    )


# --- reading ---


class _Source:
    """An opened file, taken piece by piece; a piece that is not there is an error."""

    def __init__(self, file: BinaryIO, shown: str, size: int | None) -> None:
        self._file, self.shown, self._left = file, shown, size
        self._ahead = b""

    def take(self, form: str) -> tuple:
        """Some numbers."""
        count = struct.calcsize(form)
        self._fill(count)
        data, self._ahead = self._ahead[:count], self._ahead[count:]
        return struct.unpack(form, data)

    def entries(self, count: int) -> tuple[list[bytes], np.ndarray, np.ndarray]:
        """Names with their numbers and kinds."""
        names, counts, kinds, at = [], [], [], 0
        for _ in range(count):
            while (end := self._ahead.find(b"\0", at)) < 0 or end + 10 > len(self._ahead):
                self._ahead, at = self._ahead[at:], 0
                self._fill(len(self._ahead) + 1)
            names.append(self._ahead[at:end])
            number, kind = _ENTRY.unpack_from(self._ahead, end + 1)
            counts.append(number)
            kinds.append(kind)
            at = end + 10
        self._ahead = self._ahead[at:]
        return names, np.array(counts, np.int64), np.array(kinds, np.int64)

    def matrix(self, rows: int, columns: int) -> np.ndarray:
        """float32, read into place."""
        size = rows * columns * 4
        if self._left is not None and size > self._left + len(self._ahead):
            raise FirthError(f"no room in it for {rows} vectors of width {columns}", where=self.shown, do=_AGAIN)
        try:
            found = np.empty((rows, columns), "<f4")
        except (MemoryError, ValueError):
            what = f"{rows} vectors of width {columns}, more than the memory holds"
            raise FirthError(what, where=self.shown, do=_AGAIN) from None
        place = memoryview(found).cast("B") if found.size else memoryview(b"")
        first = min(size, len(self._ahead))
        place[:first], self._ahead = self._ahead[:first], self._ahead[first:]
        while first < size:
            if not (got := self._file.readinto(place[first : first + (1 << 24)])):
                raise FirthError("it ends within a matrix", where=self.shown, do=_AGAIN)
            first += got
            self._left = None if self._left is None else self._left - got
        return found

    def _fill(self, count: int) -> None:
        """At least so many bytes ahead."""
        while len(self._ahead) < count:
            block = self._file.read(_BLOCK)
            if not block:
                raise FirthError("it ends too early", where=self.shown, do=_AGAIN)
            self._ahead += block
            self._left = None if self._left is None else self._left - len(block)


_ENTRY = struct.Struct("<qb")


def read(path: str | Path) -> Model:
    """Everything in a file, plain or packed."""
    path = Path(path)
    with packed.reading(str(path)), path.open("rb") as raw, packed.unpacked(raw) as file:
        return read_model(file, str(path), path.stat().st_size if file is raw else None)


def read_vectors(file: BinaryIO, shown: str, size: int | None) -> WordVectors:
    """The word vectors of an opened file."""
    return read_model(file, shown, size).vectors(shown)


def read_model(file: BinaryIO, shown: str, size: int | None) -> Model:
    """Everything in an opened file; `size` is its length in bytes if that is known."""
    source = _Source(file, shown, size)
    options = _options(source)
    words, counts, labels, label_counts, tokens = _dictionary(source)
    rows = _matrix(source, options.dim, "input")
    made = _matrix(source, options.dim, "output")
    if len(rows) != len(words) + options.bucket and len(rows) != len(words):
        what = f"{len(rows)} input vectors for {len(words)} words and {options.bucket} buckets"
        raise FirthError(what, where=shown, do=_AGAIN)
    if file.read(1) or source._ahead:
        raise FirthError("more behind its last vector", where=shown, do=_AGAIN)
    return Model(options, words, counts, labels, label_counts, tokens, rows, made)


def _options(source: _Source) -> Options:
    magic, version = source.take("<4si")
    if magic != MAGIC or version not in (11, 12):
        what = "not a model of fastText" if magic != MAGIC else f"a model of fastText's version {version}"
        raise FirthError(what, where=source.shown, do="firth reads versions 11 and 12")
    options = Options(*source.take("<12id"))
    if version == 11 and options.model == MODELS["supervised"]:
        options = options._replace(maxn=0)  # it was in the file, but not used
    if options.dim < 1 or min(options.bucket, options.minn, options.maxn) < 0:
        what = f"width {options.dim}, {options.bucket} buckets, n-grams of {options.minn} to {options.maxn}"
        raise FirthError(what, where=source.shown, do=_AGAIN)
    return options


def _dictionary(source: _Source) -> tuple[Words, np.ndarray, tuple[str, ...], np.ndarray, int]:
    size, words, labels, tokens, pruned = source.take("<3i2q")
    if words < 1 or labels < 0 or size != words + labels:
        raise FirthError(f"{words} words and {labels} labels of {size}", where=source.shown, do=_AGAIN)
    if pruned >= 0:
        raise _quantised(source.shown)
    names, counts, kinds = source.entries(size)
    blob = b"".join(name + b"\n" for name in names[:words])
    if (kinds[:words] != _WORD).any() or (kinds[words:] != _LABEL).any() or blob.count(b"\n") != words:
        raise FirthError("its words are not followed by its labels", where=source.shown, do=_AGAIN)
    shown = tuple(name.decode(errors="replace") for name in names[words:])
    return Words(blob), counts[:words], shown, counts[words:], tokens


def _matrix(source: _Source, width: int, name: str) -> np.ndarray:
    (quantised,) = source.take("<?")
    if quantised:
        raise _quantised(source.shown)
    rows, columns = source.take("<2q")
    if rows < 0 or columns != width:
        raise FirthError(f"an {name} matrix of {rows} by {columns}", where=source.shown, do=_AGAIN)
    found = source.matrix(rows, columns)
    for low in range(0, rows, output.ROWS):
        row_lengths(found[low : low + output.ROWS], low, (), source.shown)
    return found


def _quantised(shown: str) -> FirthError:
    return FirthError("a quantised model of fastText (.ftz)", where=shown, do="give the .bin it was made from")


# --- writing ---


def write(store: WordVectors, path: Path) -> None:
    """A file that fastText loads, with the same vectors."""
    for _ in output.row_blocks(store):
        pass  # NaN is found before anything is written
    write_model(model_of(store), path)


def write_model(model: Model, path: str | Path) -> None:
    """A file that fastText loads."""
    names = [*model.words, *model.labels]
    for name in names:
        if not name or "\0" in name:
            raise FirthError(f"the word {name!r}, which a fastText file cannot hold", where=path, do="leave it out")
    counts = [*model.counts.tolist(), *model.label_counts.tolist()]
    kinds = [_WORD] * len(model.words) + [_LABEL] * len(model.labels)
    with replacing(Path(path)) as file:
        file.write(MAGIC + struct.pack("<13id", 12, *model.options))
        file.write(struct.pack("<3i2q", len(names), len(model.words), len(model.labels), model.tokens, -1))
        entries = zip(names, counts, kinds, strict=True)
        file.write(b"".join(name.encode() + b"\0" + _ENTRY.pack(count, kind) for name, count, kind in entries))
        for matrix in (model.input, model.output):
            file.write(struct.pack("<?2q", False, *matrix.shape))
            for low in range(0, len(matrix), output.ROWS):
                file.write(np.ascontiguousarray(matrix[low : low + output.ROWS], "<f4").tobytes())
