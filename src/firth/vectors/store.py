"""Word vectors and what can be asked of them, whoever made them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from firth.errors import FirthError, unknown
from firth.vectors import neighbours
from firth.vectors.words import Words

if TYPE_CHECKING:
    from firth.vectors.subwords import Subwords

How = Literal["additive", "multiplicative"]
BLOCK = 4096  # rows looked at in one go: they stay in the processor's cache
_LITTLE = 1e-6  # keeps the multiplicative score finite (Levy and Goldberg 2014)


class Neighbour(NamedTuple):
    """A word and how near it is."""

    word: str
    score: float


class WordVectors:
    """A vector for each word; nothing in it changes. Arrays may be memory-mapped."""

    def __init__(
        self,
        words: Sequence[str],
        vectors: np.ndarray,
        *,
        counts: np.ndarray | None = None,
        context: np.ndarray | None = None,
        subwords: Subwords | None = None,
        lengths: np.ndarray | None = None,
        mean: bool = False,
        where: object = "",
    ) -> None:
        """`where` is the file they come from, which errors name; `lengths` spares working them out again.

        `mean` says that the vectors are the means of words' own and context vectors, as GloVe's are.
        """
        self.words: Sequence[str] = Words.of(words)
        self.vectors = _matrix(vectors, len(self.words), "vectors", where)
        self.counts = None if counts is None else np.asarray(counts, np.int64)
        self.context = None if context is None else _matrix(context, len(self.words), "context vectors", where)
        self.subwords, self.mean = subwords, mean
        self._lengths, self._where = lengths, where
        if self.counts is not None and self.counts.shape != (len(self.words),):
            raise FirthError(f"{len(self.counts)} counts for {len(self.words)} words", where=where)

    # --- words ---

    @property
    def width(self) -> int:
        """Numbers in a vector."""
        return self.vectors.shape[1]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.words

    def __repr__(self) -> str:
        return f"WordVectors({len(self)} words, width {self.width})"

    def index(self, word: str) -> int:
        """The word's row; an error offers the nearest spellings."""
        found = self.words.find(word)
        if found < 0:
            raise self._unknown(word)
        return found

    def vector(self, word: str) -> np.ndarray:
        """float32 (width,): the word's own, or if it was never seen, what its parts say."""
        found = self.words.find(word)
        if found >= 0:
            return np.asarray(self.vectors[found])
        if self.subwords is None or not len(self.subwords.hashes(word)):
            raise self._unknown(word)
        return self.subwords.vector(word)

    def matrix(self, words: Iterable[str]) -> np.ndarray:
        """float32 (words, width)."""
        found = [self.vector(word) for word in words]
        return np.stack(found) if found else np.empty((0, self.width), np.float32)

    def _unknown(self, word: str) -> FirthError:
        near = self.words.near(word)
        do = f"did you mean {' or '.join(map(repr, near))}?" if near else "ask for a word of the vocabulary"
        return FirthError(f"the word {word!r} has no vector", where=self._where, do=do)

    # --- lengths ---

    @cached_property
    def lengths(self) -> np.ndarray:
        """float32 (words,): the length of each vector, 1 for a vector of zeros. NaN in a vector is an error."""
        lengths = self._lengths
        if lengths is None:
            starts = range(0, len(self), BLOCK)
            parts = (row_lengths(self.vectors[low : low + BLOCK], low, self.words, self._where) for low in starts)
            lengths = np.concatenate(list(parts))
        return np.where(lengths == 0, np.float32(1), lengths)

    @cached_property
    def unit(self) -> np.ndarray:
        """float32 (words, width): rows of length 1; zeros stay zeros. It takes as much memory as the vectors."""
        return self._directed()

    def _directed(self) -> np.ndarray:
        unit = np.empty(self.vectors.shape, np.float32)
        for low in range(0, len(self), BLOCK):
            here = slice(low, low + BLOCK)
            np.divide(self.vectors[here], self.lengths[here, None], out=unit[here])
        return unit

    # --- questions ---

    def similarity(self, a: str, b: str) -> float:
        """The cosine of two words' vectors."""
        one, other = self._directions([a, b])
        return float(one @ other)

    def most_similar(
        self,
        positive: str | Sequence[str | np.ndarray],
        negative: str | Sequence[str | np.ndarray] = (),
        count: int = 10,
        how: How = "additive",
        among: int | Iterable[str] | None = None,
        index: neighbours.Index | None = None,
    ) -> list[Neighbour]:
        """The words nearest to some words (or vectors) and farthest from others, never those asked.

        `among` keeps to the first words of the vocabulary, or to some words; `index` is quick and may miss some.
        """
        if how not in _WAYS:
            raise unknown("way to combine words", how, _WAYS)
        positive, negative = _several(positive), _several(negative)
        if not positive and not negative:
            raise FirthError("no word to compare with", do="give at least one word")
        asked = {word for word in (*positive, *negative) if isinstance(word, str)}
        towards, away = self._directions(positive), self._directions(negative)
        rows = self._rows(among)
        wanted = max(0, count) + len(asked)
        if index is not None and how == "additive" and rows is None:
            found = index.nearest(_sum(towards, away)[None], wanted)
        else:
            found = neighbours.best(_WAYS[how](self, towards, away, rows), self._size(rows), wanted)
        return self._named(found, rows, asked)[: max(0, count)]

    def analogy(self, a: str, b: str, c: str, count: int = 1, how: How = "additive") -> list[Neighbour]:
        """`a` is to `b` as `c` is to these."""
        return self.most_similar([b, c], [a], count=count, how=how)

    def doesnt_match(self, words: Sequence[str]) -> str:
        """The word that is farthest from the mean direction of all."""
        words = list(words)
        if len(words) < 2:
            raise FirthError("no odd one out among fewer than two words", do="give more words")
        directions = self._directions(words)
        return words[int(np.argmin(directions @ directions.sum(axis=0)))]

    def approximate(self, how: Literal["lists", "graph"] = "lists") -> neighbours.Index:
        """An index for `most_similar`: quick for large vocabularies, and it may miss some words."""
        return neighbours.approximate(self._directed(), how)  # the index keeps its own copy

    def _directions(self, words: Sequence[str | np.ndarray]) -> np.ndarray:
        """Rows of length 1 (words, width) in float64; NaN in one is an error."""
        found = [self.vector(word) if isinstance(word, str) else np.asarray(word, np.float32) for word in words]
        for word, vector in zip(words, found, strict=True):
            if vector.shape != (self.width,):
                raise FirthError(f"a vector of shape {vector.shape}, not ({self.width},)")
            row_lengths(vector[None], words=[word] if isinstance(word, str) else (), where=self._where)
        return np.array([_direction(vector) for vector in found]).reshape(len(found), self.width)

    def _rows(self, among: int | Iterable[str] | None) -> np.ndarray | int | None:
        if among is None or isinstance(among, int):
            return among
        words = [among] if isinstance(among, str) else among
        return np.unique(np.array([self.index(word) for word in words], np.int64))

    def _size(self, rows: np.ndarray | int | None) -> int:
        if isinstance(rows, int):
            return max(0, min(rows, len(self)))
        return len(self) if rows is None else len(rows)

    def cosines(self, directions: np.ndarray, rows: np.ndarray | int | None = None) -> Callable[[int, int], np.ndarray]:
        """A function that gives the cosines (directions, rows) of a block of the vocabulary, or of some rows of it."""
        across = directions.astype(np.float32).T

        def score(start: int, stop: int) -> np.ndarray:
            here = rows[start:stop] if isinstance(rows, np.ndarray) else slice(start, stop)
            return (np.asarray(self.vectors[here]) @ across).T / self.lengths[here]

        return score

    def _named(self, found: neighbours.Found, rows: np.ndarray | int | None, asked: set[str]) -> list[Neighbour]:
        places = rows[found.rows[0]] if isinstance(rows, np.ndarray) else found.rows[0]
        pairs = ((self.words[place], score) for place, score in zip(places, found.scores[0], strict=True) if place >= 0)
        return [Neighbour(word, float(score)) for word, score in pairs if word not in asked]

    # --- other vectors, files ---

    def kind(self, name: Literal["word", "context", "sum", "concatenated"]) -> WordVectors:
        """The vectors as words, as context, their sum, or one behind the other."""
        if name not in _KINDS:
            raise unknown("kind of vectors", name, _KINDS)
        if name == "word" and not self.mean:
            return self
        if self.context is None:
            raise FirthError(f"no context vectors, so no {name!r}", where=self._where, do="keep them when training")
        own = 2 * self.vectors - self.context if self.mean else self.vectors
        return WordVectors(self.words, _KINDS[name](own, self.context), counts=self.counts, where=self._where)

    def top(self, count: int) -> WordVectors:
        """The most frequent words alone, the most frequent first; the first ones, where there are no counts."""
        from firth.vectors.asking import frequent

        return self if count >= len(self) else self._only(frequent(self, max(0, count)))

    def _only(self, rows: np.ndarray) -> WordVectors:
        counts, context = (None if part is None else part[rows] for part in (self.counts, self.context))
        words = [self.words[row] for row in rows]
        parts = self.subwords and self.subwords.only(rows)
        also = {"counts": counts, "context": context, "subwords": parts, "mean": self.mean, "where": self._where}
        return WordVectors(words, self.vectors[rows], **also)

    def save(self, path: str | Path, format: str = "") -> None:
        """Write a file; the format follows from the ending if none is given."""
        from firth.vectors import files

        files.write(self, path, format)

    @classmethod
    def load(cls, path: str | Path) -> WordVectors:
        """Read a file of any format, whatever its name."""
        from firth.vectors import files

        return files.read(path)


def _additive(store: WordVectors, towards: np.ndarray, away: np.ndarray, rows: np.ndarray | int | None):
    return store.cosines(_sum(towards, away)[None], rows)


def _multiplicative(store: WordVectors, towards: np.ndarray, away: np.ndarray, rows: np.ndarray | int | None):
    """Levy and Goldberg 2014, eq. 4, with cosines moved to 0 … 1."""
    cosines = store.cosines(np.concatenate([towards, away]), rows)

    def score(start: int, stop: int) -> np.ndarray:
        found = (1 + cosines(start, stop)) / 2  # (directions, rows)
        return (found[: len(towards)].prod(0) / (found[len(towards) :].prod(0) + np.float32(_LITTLE)))[None]

    return score


_WAYS = {"additive": _additive, "multiplicative": _multiplicative}
_KINDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "word": lambda word, context: word,
    "context": lambda word, context: context,
    "sum": lambda word, context: word + context,
    "concatenated": lambda word, context: np.concatenate([word, context], axis=1),
}


def row_lengths(rows: np.ndarray, first: int = 0, words: Sequence[str] = (), where: object = "") -> np.ndarray:
    """float32 (rows,); NaN or an infinity in a row is an error that names its word."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    for row in np.flatnonzero(~np.isfinite(lengths)):
        if not np.isfinite(rows[row]).all():
            name = repr(words[first + row]) if len(words) > first + row else f"row {first + row + 1}"
            raise FirthError(f"the vector of {name} has NaN or an infinity in it", where=where, do="train it again")
        lengths[row] = np.linalg.norm(rows[row].astype(np.float64))  # the squares were too large
    return lengths


def _matrix(array: np.ndarray, words: int, name: str, where: object) -> np.ndarray:
    """The array as float32 (words, width), not copied if it is that."""
    array = array if isinstance(array, np.memmap) else np.ascontiguousarray(array)
    if array.ndim != 2 or len(array) != words:
        raise FirthError(f"{name} of shape {array.shape} for {words} words", where=where)
    if not words or not array.shape[1]:
        raise FirthError("no words" if not words else f"{name} of width 0", where=where, do="a store needs some")
    return array if array.dtype == np.float32 else array.astype(np.float32)


def _direction(vector: np.ndarray) -> np.ndarray:
    vector = vector.astype(np.float64)
    length = np.linalg.norm(vector)
    return vector / length if length else vector


def _sum(towards: np.ndarray, away: np.ndarray) -> np.ndarray:
    return _direction(towards.sum(axis=0) - away.sum(axis=0))


def _several(words: str | np.ndarray | Sequence[str | np.ndarray]) -> list[str | np.ndarray]:
    if isinstance(words, str) or (isinstance(words, np.ndarray) and words.ndim == 1 and words.dtype.kind == "f"):
        return [words]
    return list(words)
