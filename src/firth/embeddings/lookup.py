"""Vocabulary lookup of evaluations: options, out-of-vocabulary (OOV) words, results; SIF weights of words in a mean."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from firth.errors import FirthError
from firth.metrics.score import Score, signature

if TYPE_CHECKING:
    from firth.embeddings.word_vectors import WordVectors


@dataclass(frozen=True)
class EvaluationOptions:
    """How the words of a question are looked up, and by which method analogies are solved."""

    case: Literal["fold", "exact"] = "fold"  # fold: as written, else in lower case
    oov: Literal["subwords", "skip"] = "subwords"  # out-of-vocabulary words; skip too if there are no subwords
    method: Literal["additive", "multiplicative"] = "additive"  # 3CosAdd or 3CosMul
    restrict_vocab: int = 0  # search only the most frequent words; 0: all
    seed: int = 0  # of k-means

    def __post_init__(self) -> None:
        if self.restrict_vocab < 0:
            raise FirthError(f"restrict_vocab = {self.restrict_vocab}, expected 0 (all words) or more")


@dataclass(frozen=True)
class Result:
    """The result of a test set: signed scores, how many of its questions were answered, and the OOV words."""

    name: str
    kind: str
    scores: tuple[Score, ...]  # the main one first
    total: int  # questions in the set
    answered: int  # questions without OOV words
    oov_words: tuple[str, ...] = ()
    sections: tuple[Result, ...] = ()

    @property
    def value(self) -> float | None:
        """The main score."""
        return self.scores[0].value

    @property
    def coverage(self) -> float:
        """The fraction of questions that could be answered."""
        return self.answered / self.total if self.total else 0.0


class VocabularyLookup:
    """Looks words up by the options, and records out-of-vocabulary words."""

    def __init__(self, vectors: WordVectors, options: EvaluationOptions | None = None) -> None:
        self.vectors, self.options = vectors, options or EvaluationOptions()
        self.oov_words: dict[str, None] = {}
        self.limit = min(self.options.restrict_vocab or len(vectors), len(vectors))
        self.selected = None if self.limit == len(vectors) else most_frequent(vectors, self.limit)  # None: all words
        self._positions = {} if self.selected is None else {int(index): n for n, index in enumerate(self.selected)}
        composes = self.options.oov == "subwords" and getattr(vectors, "subwords", None) is not None
        self.oov = "subwords" if composes else "skip"
        self._cache: dict[str, int] = {}

    def index(self, word: str) -> int:
        """The word's index among the words in use (by frequency if the vocabulary is restricted), or -1."""
        if word not in self._cache:
            self._cache[word] = index = self._find(word)
            if index < 0:
                self.oov_words[word] = None
        return self._cache[word]

    def _find(self, word: str) -> int:
        for form in (word, word.lower()) if self.options.case == "fold" else (word,):
            if form in self.vectors:
                index = self.vectors.index(form)
                index = index if self.selected is None else self._positions.get(index, -1)
                if index >= 0:
                    return index
        return -1

    def rows(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """The unit vectors of these indices among the words in use; zero vectors stay zero."""
        indices = np.asarray(indices, np.int64)
        return l2_normalise(self.vectors.vectors[indices if self.selected is None else self.selected[indices]])

    def vector(self, word: str) -> np.ndarray | None:
        """The word's unit vector, for an OOV word composed of its subwords; None if there is none."""
        index = self.index(word)
        if index >= 0:
            return self.rows([index])[0]
        if self.oov == "skip":
            return None
        try:
            vector = self.vectors.vector(word)
        except FirthError:
            return None  # a word too short to have subwords
        return l2_normalise(vector[None])[0]

    def matrix(self, words: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """The unit vectors (known, width) of the words that have one, and the positions of these words in the list."""
        known = [(position, row) for position, word in enumerate(words) if (row := self.vector(word)) is not None]
        empty = np.zeros((0, self.vectors.vectors.shape[1]), np.float32)
        rows = np.stack([row for _, row in known]) if known else empty
        return rows, np.array([position for position, _ in known], np.int64)

    def signature(self, name: str, questions: Iterable[object], **more: object) -> str:
        """The signature of a score over these questions."""
        options = {"case": self.options.case, "oov": self.oov, "words": self.limit}
        parts = {"set": name.replace("|", "/"), "data": digest(questions), **options}
        return signature({**parts, "width": self.vectors.vectors.shape[1], **more})

    def list_oov_words(self) -> tuple[str, ...]:
        """The OOV words met so far, in order."""
        return tuple(self.oov_words)


def most_frequent(vectors: WordVectors, count: int) -> np.ndarray:
    """The indices of the most frequent words; without counts the first, since vector files are sorted by frequency."""
    if vectors.counts is None:
        return np.arange(min(count, len(vectors)))
    return np.argsort(-np.asarray(vectors.counts), kind="stable")[:count]


def l2_normalise(rows: np.ndarray) -> np.ndarray:
    """The rows scaled to unit L2 norm, as float32; zero rows stay zero."""
    rows = np.asarray(rows, np.float32)
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(norms > 0, norms, np.float32(1.0))


def sif_weights(vectors: WordVectors, smoothing: float = 1e-3) -> np.ndarray:
    """Smooth inverse frequency (SIF) weights, a / (a + p(w)) with a = `smoothing` (Arora, Liang and Ma 2017).

    Without counts, word frequencies follow Zipf's law by the order of the words.
    """
    counts = None if vectors.counts is None else np.asarray(vectors.counts, np.float64)
    if counts is None or counts.sum() <= 0:
        counts = 1.0 / np.arange(1, len(vectors) + 1)
    return (smoothing / (smoothing + counts / counts.sum())).astype(np.float32)


def digest(questions: Iterable[object]) -> str:
    """A hash of the questions, eight hexadecimal digits."""
    state = hashlib.sha256()
    for question in questions:
        state.update(repr(question).encode())
    return state.hexdigest()[:8]
