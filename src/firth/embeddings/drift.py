"""Drift of word vectors after continued training: cosine with the vectors before, and overlap of the neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firth.embeddings.nearest_neighbours import top_k_blocks
from firth.embeddings.word_vectors import WordVectors
from firth.types import generator

MAX_WORDS = 2000  # words whose neighbours are compared, sampled from all shared words
NEIGHBOURS = 10  # nearest neighbours of each
MAX_SHOWN = 20  # words that changed most


@dataclass(frozen=True)
class Drift:
    """How the vectors of the words shared by both vocabularies changed."""

    shared_words: int
    new_words: int
    neighbour_overlap: float  # fraction of the nearest neighbours that are still nearest neighbours
    mean_cosine: float  # of a word's vectors before and after
    most_changed: tuple[tuple[str, float], ...]  # words of lowest neighbour overlap, with the overlap

    def lines(self) -> list[str]:
        """A summary in plain text."""
        changed = ", ".join(f"{word} ({overlap:.0%})" for word, overlap in self.most_changed)
        lines = [
            f"known before: {self.shared_words:,} words; new: {self.new_words:,}",
            f"overlap of their {NEIGHBOURS} nearest neighbours {self.neighbour_overlap:.1%}; "
            f"mean cosine with before {self.mean_cosine:.3f}",
        ]
        return [*lines, f"changed most: {changed}"] if changed else lines


def measure(before: WordVectors, after: WordVectors, seed: int = 0) -> Drift:
    """Compare word vectors before and after training; neighbours are searched among the shared words."""
    old_rows = np.array([before.words.find(word) for word in after.words], np.int64)
    shared = np.flatnonzero(old_rows >= 0)
    old, new = _l2_normalise(before.vectors[old_rows[shared]]), _l2_normalise(after.vectors[shared])
    sample = np.arange(len(shared))
    if len(sample) > MAX_WORDS:
        sample = np.sort(generator(seed, "drift").choice(len(shared), MAX_WORDS, replace=False))
    neighbours = zip(_neighbours(old, sample), _neighbours(new, sample), strict=True)
    overlaps = np.array([len(np.intersect1d(a, b)) / len(a) if len(a) else 1.0 for a, b in neighbours])
    cosines = np.einsum("ij,ij->i", old, new) if old.shape == new.shape else np.full(len(shared), np.nan)
    order = np.argsort(overlaps, kind="stable")[:MAX_SHOWN]
    changed = tuple((after.words[shared[sample[n]]], float(overlaps[n])) for n in order if overlaps[n] < 1)
    overlap = float(overlaps.mean()) if len(overlaps) else 1.0
    cosine = float(cosines.mean()) if len(shared) else 1.0
    return Drift(len(shared), len(after) - len(shared), overlap, cosine, changed)


def _l2_normalise(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms == 0, 1, norms)


def _neighbours(unit: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """The nearest neighbours of each of these rows, itself excluded."""
    neighbours = top_k_blocks(lambda start, stop: unit[rows] @ unit[start:stop].T, len(unit), NEIGHBOURS + 1)
    return [indices[indices != row][:NEIGHBOURS] for indices, row in zip(neighbours.indices, rows, strict=True)]
