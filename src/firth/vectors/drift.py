"""What training on has changed: how far known words moved, and whether they keep their neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firth.data.randomness import generator
from firth.vectors.neighbours import best
from firth.vectors.store import WordVectors

WORDS = 2000  # words whose neighbours are compared, at most: drawn from all that both know
NEAR = 10  # neighbours of each
SHOWN = 20  # words that moved most


@dataclass(frozen=True)
class Drift:
    """Of the words that were known before."""

    words: int
    new: int  # words that were not
    kept: float  # share of the nearest words that are still among the nearest
    cosine: float  # of a word's vector before and after, on average
    moved: tuple[tuple[str, float], ...]  # those that keep the fewest neighbours, with the share they keep

    def lines(self) -> list[str]:
        """For a person."""
        most = ", ".join(f"{word} ({share:.0%})" for word, share in self.moved)
        told = [
            f"known before: {self.words:,} words; new: {self.new:,}",
            f"of their {NEAR} nearest words they keep {self.kept:.1%}; mean cosine with before {self.cosine:.3f}",
        ]
        return [*told, f"changed most: {most}"] if most else told


def measure(before: WordVectors, after: WordVectors, seed: int = 0) -> Drift:
    """Compare two stores; neighbours are looked for among the words that both have."""
    places = np.array([before.words.find(word) for word in after.words], np.int64)
    here = np.flatnonzero(places >= 0)
    old, new = _unit(before.vectors[places[here]]), _unit(after.vectors[here])
    drawn = np.arange(len(here))
    if len(drawn) > WORDS:
        drawn = np.sort(generator(seed, "drift").choice(len(here), WORDS, replace=False))
    near = [_neighbours(rows, drawn) for rows in (old, new)]
    pairs = zip(*near, strict=True)
    shares = np.array([len(np.intersect1d(a, b)) / len(a) if len(a) else 1.0 for a, b in pairs])
    cosines = np.einsum("ij,ij->i", old, new) if old.shape == new.shape else np.full(len(here), np.nan)
    order = np.argsort(shares, kind="stable")[:SHOWN]
    moved = tuple((after.words[here[drawn[place]]], float(shares[place])) for place in order if shares[place] < 1)
    kept = float(shares.mean()) if len(shares) else 1.0
    return Drift(len(here), len(after) - len(here), kept, float(cosines.mean()) if len(here) else 1.0, moved)


def _unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)


def _neighbours(unit: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """The nearest rows of each of these, without itself."""
    found = best(lambda start, stop: unit[rows] @ unit[start:stop].T, len(unit), NEAR + 1).rows
    return [near[near != row][:NEAR] for near, row in zip(found, rows, strict=True)]
