"""How evaluations ask for words, what they answer, and the weights of words in a mean."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from firth.errors import FirthError
from firth.metrics.score import Score, signature

if TYPE_CHECKING:
    from firth.vectors.store import WordVectors


@dataclass(frozen=True)
class Asking:
    """How words of a question are looked up, and how analogies are reckoned."""

    case: Literal["fold", "exact"] = "fold"  # fold: as written, else in lower case
    unseen: Literal["subwords", "skip"] = "subwords"  # a word that is not known; skip also where there are no subwords
    how: Literal["additive", "multiplicative"] = "additive"
    restrict: int = 0  # only so many words, the most frequent; 0: all
    seed: int = 0  # of clusterings

    def __post_init__(self) -> None:
        if self.restrict < 0:
            raise FirthError(f"restrict = {self.restrict}, expected 0 (all words) or more")


@dataclass(frozen=True)
class Result:
    """What a set of questions gave: signed scores, over how many of its questions, and which words were not known."""

    name: str
    kind: str
    scores: tuple[Score, ...]  # the main one first
    asked: int  # questions in the set
    answered: int  # those that could be answered
    unknown: tuple[str, ...] = ()  # words that the vocabulary does not have
    parts: tuple[Result, ...] = ()

    @property
    def value(self) -> float | None:
        """The main score."""
        return self.scores[0].value

    @property
    def coverage(self) -> float:
        """The share of questions that could be answered."""
        return self.answered / self.asked if self.asked else 0.0


class Known:
    """Looks words up as `asking` says, and remembers those that the vocabulary does not have."""

    def __init__(self, vectors: WordVectors, asking: Asking | None = None) -> None:
        self.vectors, self.asking = vectors, asking or Asking()
        self.unknown: dict[str, None] = {}
        self.limit = min(self.asking.restrict or len(vectors), len(vectors))
        self.chosen = frequent(vectors, self.limit) if self.limit < len(vectors) else None  # None: all, as they come
        self._places = {} if self.chosen is None else {int(index): n for n, index in enumerate(self.chosen)}
        composes = self.asking.unseen == "subwords" and getattr(vectors, "subwords", None) is not None
        self.unseen = "subwords" if composes else "skip"
        self._found: dict[str, int] = {}

    def index(self, word: str) -> int:
        """The word's place among the words in use (the most frequent first where they are restricted), else -1."""
        if word not in self._found:
            self._found[word] = found = self._find(word)
            if found < 0:
                self.unknown[word] = None
        return self._found[word]

    def _find(self, word: str) -> int:
        for form in (word, word.lower()) if self.asking.case == "fold" else (word,):
            if form in self.vectors:
                index = self.vectors.index(form)
                index = index if self.chosen is None else self._places.get(index, -1)
                if index >= 0:
                    return index
        return -1

    def rows(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """The vectors at these places among the words in use, of length 1; zeros stay zeros."""
        places = np.asarray(places, np.int64)
        return unit(self.vectors.vectors[places if self.chosen is None else self.chosen[places]])

    def vector(self, word: str) -> np.ndarray | None:
        """The word's vector of length 1, through its subwords if need be; None if there is none."""
        place = self.index(word)
        if place >= 0:
            return self.rows([place])[0]
        if self.unseen == "skip":
            return None
        try:
            found = self.vectors.vector(word)
        except FirthError:
            return None  # a word too short to have subwords
        return unit(found[None])[0]

    def matrix(self, words: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of the words that have one (known, width), and where those stand."""
        found = [(place, row) for place, word in enumerate(words) if (row := self.vector(word)) is not None]
        empty = np.zeros((0, self.vectors.vectors.shape[1]), np.float32)
        rows = np.stack([row for _, row in found]) if found else empty
        return rows, np.array([place for place, _ in found], np.int64)

    def signature(self, name: str, questions: Iterable[object], **more: object) -> str:
        """How a number over these questions came about."""
        asking = {"case": self.asking.case, "unseen": self.unseen, "words": self.limit}
        told = {"set": name.replace("|", "/"), "data": digest(questions), **asking}
        return signature({**told, "width": self.vectors.vectors.shape[1], **more})

    def report(self) -> tuple[str, ...]:
        """The words asked for that the vocabulary does not have, in the order they were asked."""
        return tuple(self.unknown)


def frequent(vectors: WordVectors, count: int) -> np.ndarray:
    """The indices of the most frequent words; without counts the first, as the files of all tools are sorted."""
    if vectors.counts is None:
        return np.arange(min(count, len(vectors)))
    return np.argsort(-np.asarray(vectors.counts), kind="stable")[:count]


def unit(rows: np.ndarray) -> np.ndarray:
    """The rows, each of length 1, as float32; zeros stay zeros."""
    rows = np.asarray(rows, np.float32)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, np.float32(1.0))


def rarity(vectors: WordVectors, smooth: float = 1e-3) -> np.ndarray:
    """The weight of each word in a mean: smooth / (smooth + its frequency), after Arora, Liang and Ma (2017).

    Without counts the frequencies are Zipf's, by the order of the words.
    """
    counts = None if vectors.counts is None else np.asarray(vectors.counts, np.float64)
    if counts is None or counts.sum() <= 0:
        counts = 1.0 / np.arange(1, len(vectors) + 1)
    return (smooth / (smooth + counts / counts.sum())).astype(np.float32)


def digest(questions: Iterable[object]) -> str:
    """Eight hexadecimal digits that tell two sets of questions apart."""
    found = hashlib.sha256()
    for question in questions:
        found.update(repr(question).encode())
    return found.hexdigest()[:8]
