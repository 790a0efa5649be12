"""Word vectors with their queries, as gensim's KeyedVectors: most_similar, analogies, similarity, doesnt_match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from firth.arguments import as_count, as_list, as_path, as_text
from firth.display import html_facts
from firth.embeddings import nearest_neighbours
from firth.embeddings.word_table import WordTable
from firth.errors import FirthError, unknown

if TYPE_CHECKING:
    from firth.embeddings.subwords import Subwords

Method = Literal["additive", "multiplicative"]
BLOCK = 4096  # rows processed at once: they stay in the processor's cache
_EPSILON = 1e-6  # keeps 3CosMul finite (Levy and Goldberg 2014)


class Neighbour(NamedTuple):
    """A word and its similarity."""

    word: str
    score: float


class WordVectors:
    """A vector for each word of a vocabulary, immutable (gensim's KeyedVectors). Arrays may be memory-mapped."""

    def __init__(
        self,
        words: Sequence[str],
        vectors: np.ndarray,
        *,
        counts: np.ndarray | None = None,
        context: np.ndarray | None = None,
        subwords: Subwords | None = None,
        norms: np.ndarray | None = None,
        is_mean: bool = False,
        where: object = "",
    ) -> None:
        """`where` is the file of the vectors, named in errors; `norms` are their L2 norms if already known.

        `is_mean`: the vectors are the means of word and context vectors, as GloVe's are.
        """
        self.words = WordTable.of(words)
        self.vectors = _matrix(vectors, len(self.words), "vectors", where)
        self.counts = None if counts is None else np.asarray(counts, np.int64)
        self.context = None if context is None else _matrix(context, len(self.words), "context vectors", where)
        self.subwords, self.is_mean = subwords, is_mean
        self._norms, self._where = norms, where
        if self.counts is not None and self.counts.shape != (len(self.words),):
            raise FirthError(f"{len(self.counts)} counts for {len(self.words)} words", where=where)

    # --- words ---

    @property
    def width(self) -> int:
        """The dimension of the vectors."""
        return self.vectors.shape[1]

    vector_size = width  # as gensim calls it

    @property
    def index_to_key(self) -> list[str]:
        """The words in the order of the rows, as gensim calls them."""
        return list(self.words)

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The row of each word, as gensim calls it."""
        return {word: row for row, word in enumerate(self.words)}

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, words: str | Iterable[str]) -> np.ndarray:
        """The vector of a word (width,); of a list of words their vectors (words, width)."""
        return self.vector(words) if isinstance(words, str) else self.matrix(as_list(words, "words"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The matrix of all vectors (words, width), for `numpy.asarray`."""
        return np.array(self.vectors, dtype) if copy else np.asarray(self.vectors, dtype)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.words

    def __repr__(self) -> str:
        return f"WordVectors({len(self)} words, width {self.width})"

    def _repr_html_(self) -> str:
        first = list(islice(self.words, 10))
        return html_facts("WordVectors", {"words": len(self), "width": self.width, "first words": first})

    def index(self, word: str) -> int:
        """The word's row; for an out-of-vocabulary word an error that suggests similar spellings."""
        index = self.words.find(as_text(word, "word"))
        if index < 0:
            raise self._oov_error(word)
        return index

    def vector(self, word: str) -> np.ndarray:
        """float32 (width,): the word's vector; that of an out-of-vocabulary word is composed of its subwords."""
        index = self.words.find(as_text(word, "word"))
        if index >= 0:
            return np.asarray(self.vectors[index])
        if self.subwords is None or not len(self.subwords.bucket_ids(word)):
            raise self._oov_error(word)
        return self.subwords.vector(word)

    def matrix(self, words: Iterable[str]) -> np.ndarray:
        """float32 (words, width): the vectors of these words."""
        rows = [self.vector(word) for word in words]
        return np.stack(rows) if rows else np.empty((0, self.width), np.float32)

    def _oov_error(self, word: str) -> FirthError:
        close = self.words.close_matches(word)
        do = f"did you mean {' or '.join(map(repr, close))}?" if close else "give a word of the vocabulary"
        return FirthError(f"the word {word!r} has no vector", where=self._where, do=do)

    # --- norms ---

    @cached_property
    def norms(self) -> np.ndarray:
        """float32 (words,): the L2 norm of each vector, 1 for a zero vector. NaN in a vector is an error."""
        norms = self._norms
        if norms is None:
            starts = range(0, len(self), BLOCK)
            parts = (row_norms(self.vectors[low : low + BLOCK], low, self.words, self._where) for low in starts)
            norms = np.concatenate(list(parts))
        return np.where(norms == 0, np.float32(1), norms)

    @cached_property
    def unit_vectors(self) -> np.ndarray:
        """float32 (words, width): L2-normalised vectors; zero vectors stay zero. A copy of the vectors' size."""
        return self._normalised()

    def _normalised(self) -> np.ndarray:
        unit = np.empty(self.vectors.shape, np.float32)
        for low in range(0, len(self), BLOCK):
            block = slice(low, low + BLOCK)
            np.divide(self.vectors[block], self.norms[block, None], out=unit[block])
        return unit

    # --- queries ---

    def similarity(self, a: str, b: str) -> float:
        """The cosine similarity of two words."""
        left, right = self._unit_queries([a, b])
        return float(left @ right)

    def most_similar(
        self,
        positive: str | Sequence[str | np.ndarray],
        negative: str | Sequence[str | np.ndarray] = (),
        topn: int = 10,
        method: Method = "additive",
        restrict_vocab: int | Iterable[str] | None = None,
        index: nearest_neighbours.Index | None = None,
    ) -> list[Neighbour]:
        """The words most similar to the positive words (or vectors) and least to the negative ones, these excluded.

        `method` is 3CosAdd (additive) or 3CosMul (multiplicative). `restrict_vocab` restricts the search to the first
        words of the vocabulary, or to some words; with an `index` the search is approximate (3CosAdd only).
        """
        if method not in _METHODS:
            raise unknown("similarity method", method, _METHODS)
        topn = as_count(topn, "topn", least=0)
        positive, negative = _as_list(positive), _as_list(negative)
        if not positive and not negative:
            raise FirthError("no word to compare with", do="give at least one word")
        excluded = {word for word in (*positive, *negative) if isinstance(word, str)}
        positive_rows, negative_rows = self._unit_queries(positive), self._unit_queries(negative)
        rows = self._restricted_rows(restrict_vocab)
        k = topn + len(excluded)
        if index is not None and method == "additive" and rows is None:
            neighbours = index.nearest(_sum(positive_rows, negative_rows)[None], k)
        else:
            score = _METHODS[method](self, positive_rows, negative_rows, rows)
            neighbours = nearest_neighbours.top_k_blocks(score, self._size(rows), k)
        return self._to_neighbours(neighbours, rows, excluded)[:topn]

    def analogy(self, a: str, b: str, c: str, topn: int = 1, method: Method = "additive") -> list[Neighbour]:
        """The answers to the analogy: `a` is to `b` as `c` is to these."""
        return self.most_similar([b, c], [a], topn=topn, method=method)

    def doesnt_match(self, words: Sequence[str]) -> str:
        """The odd one out: the word farthest from the mean of all."""
        words = as_list(words, "words")
        if len(words) < 2:
            raise FirthError("no odd one out among fewer than two words", do="give more words")
        rows = self._unit_queries(words)
        return words[int(np.argmin(rows @ rows.sum(axis=0)))]

    def approximate_index(self, method: Literal["ivf", "hnsw"] = "ivf") -> nearest_neighbours.Index:
        """An approximate nearest-neighbour (ANN) index for `most_similar`: fast for large vocabularies."""
        return nearest_neighbours.build_index(self._normalised(), method)  # the index keeps its own copy

    def _unit_queries(self, words: Sequence[str | np.ndarray]) -> np.ndarray:
        """The unit vectors (words, width) of words or vectors, in float64; NaN in one is an error."""
        vectors = [np.asarray(word, np.float32) if _is_vector(word) else self.vector(word) for word in words]
        for word, vector in zip(words, vectors, strict=True):
            if vector.shape != (self.width,):
                raise FirthError(f"a vector of shape {vector.shape}, not ({self.width},)")
            row_norms(vector[None], words=[word] if isinstance(word, str) else (), where=self._where)
        return np.array([_unit(vector) for vector in vectors]).reshape(len(vectors), self.width)

    def _restricted_rows(self, restrict_vocab: int | Iterable[str] | None) -> np.ndarray | int | None:
        if restrict_vocab is None or isinstance(restrict_vocab, int):
            return restrict_vocab
        words = [restrict_vocab] if isinstance(restrict_vocab, str) else restrict_vocab
        return np.unique(np.array([self.index(word) for word in words], np.int64))

    def _size(self, rows: np.ndarray | int | None) -> int:
        if isinstance(rows, int):
            return max(0, min(rows, len(self)))
        return len(self) if rows is None else len(rows)

    def cosines(self, queries: np.ndarray, rows: np.ndarray | int | None = None) -> Callable[[int, int], np.ndarray]:
        """A function of a block (start, stop) of the vocabulary, or of these rows: its cosines (queries, rows)."""
        columns = queries.astype(np.float32).T  # (width, queries)

        def score(start: int, stop: int) -> np.ndarray:
            block = rows[start:stop] if isinstance(rows, np.ndarray) else slice(start, stop)
            return (np.asarray(self.vectors[block]) @ columns).T / self.norms[block]

        return score

    def _to_neighbours(
        self, neighbours: nearest_neighbours.Neighbours, rows: np.ndarray | int | None, excluded: set[str]
    ) -> list[Neighbour]:
        indices = rows[neighbours.indices[0]] if isinstance(rows, np.ndarray) else neighbours.indices[0]
        scored = zip(indices, neighbours.scores[0], strict=True)
        pairs = ((self.words[index], score) for index, score in scored if index >= 0)
        return [Neighbour(word, float(score)) for word, score in pairs if word not in excluded]

    # --- context vectors, subsets, files ---

    def kind(self, name: Literal["word", "context", "sum", "concatenated"]) -> WordVectors:
        """The word vectors, the context vectors, their sum, or their concatenation."""
        if name not in KINDS:
            raise unknown("kind of vectors", name, KINDS)
        if name == "word" and not self.is_mean:
            return self
        if self.context is None:
            raise FirthError(f"no context vectors, so no {name!r}", where=self._where, do="keep them when training")
        word = 2 * self.vectors - self.context if self.is_mean else self.vectors
        return WordVectors(self.words, KINDS[name](word, self.context), counts=self.counts, where=self._where)

    def most_frequent(self, count: int) -> WordVectors:
        """Only the most frequent words, by descending frequency; without counts the first words."""
        from firth.embeddings.lookup import most_frequent

        return self if count >= len(self) else self._subset(most_frequent(self, max(0, count)))

    def _subset(self, rows: np.ndarray) -> WordVectors:
        counts, context = (None if array is None else array[rows] for array in (self.counts, self.context))
        return WordVectors(
            [self.words[row] for row in rows],
            self.vectors[rows],
            counts=counts,
            context=context,
            subwords=self.subwords and self.subwords.subset(rows),
            is_mean=self.is_mean,
            where=self._where,
        )

    def save(self, path: str | Path, format: str = "") -> None:
        """Write a file; without a format the extension decides."""
        from firth.embeddings import formats

        formats.write(self, path, format)

    @classmethod
    def load(cls, path: str | Path) -> WordVectors:
        """Read a file; its format is detected from its content."""
        from firth.embeddings import formats

        return formats.read(as_path(path))


def _cos_add(vectors: WordVectors, positive: np.ndarray, negative: np.ndarray, rows: np.ndarray | int | None):
    """3CosAdd (Mikolov et al. 2013)."""
    return vectors.cosines(_sum(positive, negative)[None], rows)


def _cos_mul(vectors: WordVectors, positive: np.ndarray, negative: np.ndarray, rows: np.ndarray | int | None):
    """3CosMul (Levy and Goldberg 2014, eq. 4), with cosines shifted to 0 … 1."""
    cosines = vectors.cosines(np.concatenate([positive, negative]), rows)

    def score(start: int, stop: int) -> np.ndarray:
        shifted = (1 + cosines(start, stop)) / 2  # (queries, rows)
        return (shifted[: len(positive)].prod(0) / (shifted[len(positive) :].prod(0) + np.float32(_EPSILON)))[None]

    return score


_METHODS = {"additive": _cos_add, "multiplicative": _cos_mul}
KINDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "word": lambda word, context: word,
    "context": lambda word, context: context,
    "sum": lambda word, context: word + context,
    "concatenated": lambda word, context: np.concatenate([word, context], axis=1),
}


def row_norms(rows: np.ndarray, first: int = 0, words: Sequence[str] = (), where: object = "") -> np.ndarray:
    """The L2 norms, float32 (rows,); NaN or an infinity in a row is an error that names its word."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    for row in np.flatnonzero(~np.isfinite(norms)):
        if not np.isfinite(rows[row]).all():
            name = repr(words[first + row]) if len(words) > first + row else f"row {first + row + 1}"
            raise FirthError(f"the vector of {name} has NaN or an infinity in it", where=where, do="train it again")
        norms[row] = np.linalg.norm(rows[row].astype(np.float64))  # the squares overflowed
    return norms


def _matrix(array: np.ndarray, words: int, name: str, where: object) -> np.ndarray:
    """The array as float32 (words, width), copied only if needed."""
    array = array if isinstance(array, np.memmap) else np.ascontiguousarray(array)
    if array.ndim != 2 or len(array) != words:
        raise FirthError(f"{name} of shape {array.shape} for {words} words", where=where)
    if not words or not array.shape[1]:
        raise FirthError(
            "no words" if not words else f"{name} of width 0",
            where=where,
            do="word vectors need at least one word and one dimension",
        )
    return array if array.dtype == np.float32 else array.astype(np.float32)


def _unit(vector: np.ndarray) -> np.ndarray:
    vector = vector.astype(np.float64)
    norm = np.linalg.norm(vector)
    return vector / norm if norm else vector


def _sum(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    return _unit(positive.sum(axis=0) - negative.sum(axis=0))


def _as_list(words: str | np.ndarray | Sequence[str | np.ndarray]) -> list[str | np.ndarray]:
    if isinstance(words, str) or (isinstance(words, np.ndarray) and words.ndim == 1 and words.dtype.kind == "f"):
        return [words]
    return as_list(words, "words")


def _is_vector(value: Any) -> bool:
    """Whether a query is a vector rather than a word: an array of numbers."""
    return isinstance(value, (np.ndarray, list, tuple)) and np.asarray(value).dtype.kind in "fiu"
