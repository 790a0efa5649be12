"""Senses of words: the contexts of a word in clusters, each a sense with a vector.

A context is the weighted mean of the vectors around a word. One matrix, fitted on other words, takes mean contexts to
word vectors (Khodak et al., 2018, "A la carte embedding"); what it makes of a cluster's mean is the sense's vector.
So a word's vector should lie near the sum of its senses' vectors, each weighted by how frequent it is (Arora et al.,
2018, "Linear algebraic structure of word senses"). `law` measures how near.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from firth.data.randomness import generator
from firth.errors import FirthError, unknown
from firth.vectors import bundle
from firth.vectors.asking import frequent, rarity, unit
from firth.vectors.clustering import k_means

if TYPE_CHECKING:
    from firth.vectors.store import WordVectors

BLOCK = 8192  # words of text looked at in one go
KIND = "sense vectors"
SHARPNESS = 10.0  # how decidedly a context chooses its sense: the factor of the cosine in an exponent


@dataclass(frozen=True)
class Inducing:
    """How contexts become senses."""

    window: int = 5  # words on each side
    most: int = 4  # senses of a word
    least: float = 0.05  # the share of a word's contexts that makes a sense
    apart: float = 0.8  # senses whose vectors have a larger cosine are one
    contexts: int = 2000  # of a word that are looked at, drawn at random where there are more
    others: int = 20_000  # frequent words that the matrix is fitted on
    seed: int = 0

    def __post_init__(self) -> None:
        if self.window < 1 or self.most < 1 or self.contexts < 1:
            what = f"window = {self.window}, most = {self.most}, contexts = {self.contexts}"
            raise FirthError(f"{what}: each must be 1 or more", where="senses")


@dataclass(frozen=True, eq=False)
class Senses:
    """The sense vectors of some words; those of words[n] are rows first[n] to first[n + 1]."""

    words: tuple[str, ...]
    first: np.ndarray  # (words + 1,)
    vectors: np.ndarray  # (senses, width) float32
    shares: np.ndarray  # (senses,) float32; those of a word sum to 1
    counts: np.ndarray  # (words,) contexts seen
    transform: np.ndarray  # (width, width): a row of means times it lies in the space of the word vectors
    inducing: Inducing

    def __contains__(self, word: str) -> bool:
        return word in self._places

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: n for n, word in enumerate(self.words)}

    def of(self, word: str) -> tuple[np.ndarray, np.ndarray]:
        """The word's sense vectors and their shares, the most frequent sense first."""
        if word not in self._places:
            raise unknown("word with senses", word, self.words)
        rows = slice(*self.first[self._places[word] :][:2])
        return self.vectors[rows], self.shares[rows]

    def chances(self, word: str, context: np.ndarray) -> np.ndarray:
        """How probable each sense is in a context (a mean vector around the word); all zeros tell nothing."""
        vectors, shares = self.of(word)
        near = unit(vectors) @ unit((context @ self.transform)[None])[0]
        chances = shares * np.exp(SHARPNESS * (near - near.max()))
        return chances / chances.sum()

    def save(self, path: str | Path) -> None:
        """Write them to one file, which nothing in it can execute."""
        arrays = {name: getattr(self, name) for name in ("first", "vectors", "shares", "counts", "transform")}
        bundle.write(path, KIND, {"words": list(self.words), "inducing": asdict(self.inducing)}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Senses:
        """Read them back."""
        note, arrays = bundle.read(path, KIND)
        try:
            return cls(tuple(note["words"]), inducing=Inducing(**note["inducing"]), **arrays)
        except (TypeError, KeyError):
            raise FirthError(f"not a file with {KIND}", where=path, do="make it again") from None


class Surroundings:
    """Mean vectors of what stands around words."""

    def __init__(self, vectors: WordVectors, window: int = 5) -> None:
        self.vectors, self.window, self.weights = vectors, window, rarity(vectors)
        self._found: dict[str, int] = {}

    def ids(self, words: Iterable[str]) -> np.ndarray:
        """The words' indices; -1 for one that is not known (also not in lower case)."""
        found = self._found
        return np.array([found[word] if word in found else self._find(word) for word in words], np.int64)

    def _find(self, word: str) -> int:
        form = word if word in self.vectors else word.lower()
        self._found[word] = self.vectors.index(form) if form in self.vectors else -1
        return self._found[word]

    def means(self, ids: np.ndarray) -> np.ndarray:
        """Around each place, itself left out, the mean of the vectors of length 1, rare words weighing more."""
        weights = np.where(ids >= 0, self.weights[ids], np.float32(0.0))
        rows = unit(self.vectors.vectors[ids]) * weights[:, None]
        both = np.c_[rows, weights].astype(np.float64)  # the last column: the sum of weights
        sums = np.r_[np.zeros((1, both.shape[1])), np.cumsum(both, 0)]
        place = np.arange(len(ids))
        low, high = np.maximum(place - self.window, 0), np.minimum(place + self.window + 1, len(ids))
        around = sums[high] - sums[low] - both
        weight = around[:, -1:]
        return np.where(weight > 1e-9, around[:, :-1] / np.maximum(weight, 1e-9), 0.0).astype(np.float32)

    def blocks(self, sentences: Iterable[Sequence[str]], size: int = BLOCK) -> Iterator[np.ndarray]:
        """The ids of sentences in long rows, so far apart that no window reaches from one into another."""
        gap = np.full(self.window, -1, np.int64)
        held, count = [], 0
        for sentence in sentences:
            held += [self.ids(sentence), gap]
            count += len(held[-2])
            if count >= size:
                yield np.concatenate(held)
                held, count = [], 0
        if held:
            yield np.concatenate(held)


class _Gathered:
    """Contexts of the words asked for, a fair sample of each word's, and sums of contexts of other frequent words."""

    def __init__(self, around: Surroundings, words: Sequence[str], inducing: Inducing) -> None:
        self.around, self.inducing = around, inducing
        vectors = around.vectors
        self.asked = [vectors.index(word) for word in words]
        self.is_asked = np.zeros(len(vectors), bool)
        self.is_asked[self.asked] = True
        fitted = frequent(vectors, inducing.others)
        self.fitted = fitted[~self.is_asked[fitted]]  # never the words that the law is measured on
        self.slot = np.full(len(vectors), -1, np.int64)
        self.slot[self.fitted] = np.arange(len(self.fitted))
        self.sums = np.zeros((len(self.fitted), vectors.vectors.shape[1]))
        self.counts = np.zeros(len(self.fitted))
        self.samples: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {index: [] for index in self.asked}
        self.seen = dict.fromkeys(self.asked, 0)

    def add(self, ids: np.ndarray, number: int) -> None:
        means = self.around.means(ids)
        keys = generator(self.inducing.seed, "senses", number).random(len(ids))
        told = (ids >= 0) & means.any(1)
        self._sum(ids, means, told)
        places = np.flatnonzero(told & self.is_asked[ids])
        places = places[np.argsort(ids[places], kind="stable")]
        found, first = np.unique(ids[places], return_index=True)
        if not len(found):
            return
        for index, here in zip(found.tolist(), np.split(places, first[1:]), strict=True):
            self.seen[index] += len(here)
            self.samples[index].append((keys[here], means[here]))
            if sum(len(key) for key, _ in self.samples[index]) > 2 * self.inducing.contexts:
                self.samples[index] = [self._drawn(index)]

    def _sum(self, ids: np.ndarray, means: np.ndarray, told: np.ndarray) -> None:
        from scipy.sparse import csr_matrix

        slots = np.where(told, self.slot[ids], -1)
        places = np.flatnonzero(slots >= 0)
        picked = csr_matrix((np.ones(len(places)), (slots[places], places)), (len(self.sums), len(ids)))
        self.sums += picked @ means
        self.counts += np.bincount(slots[places], minlength=len(self.counts))

    def _drawn(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """The contexts with the smallest keys: as fair as drawing them once all are known."""
        keys, means = (np.concatenate(part) for part in zip(*self.samples[index], strict=True))
        first = np.sort(np.argsort(keys, kind="stable")[: self.inducing.contexts])
        return keys[first], means[first]

    def contexts(self, index: int) -> np.ndarray:
        """The contexts of a word (contexts, width)."""
        width = self.sums.shape[1]
        return self._drawn(index)[1] if self.samples[index] else np.zeros((0, width), np.float32)

    def transform(self) -> np.ndarray:
        """The matrix from mean contexts to word vectors, by least squares weighted with the logarithm of counts."""
        enough = self.counts >= 2
        width = self.sums.shape[1]
        if enough.sum() < 2 * width:
            return np.eye(width, dtype=np.float32)  # too few words to tell: contexts as they are
        means = self.sums[enough] / self.counts[enough, None]
        targets = unit(self.around.vectors.vectors[self.fitted[enough]])
        weighted = means * np.log1p(self.counts[enough])[:, None]
        square = weighted.T @ means
        square += np.eye(width) * (1e-3 * np.trace(square) / width)
        return np.linalg.solve(square, weighted.T @ targets).astype(np.float32)


def induce(
    vectors: WordVectors, sentences: Iterable[Sequence[str]], words: Sequence[str], inducing: Inducing | None = None
) -> Senses:
    """Sense vectors of these words from their places in a text of split sentences; an unknown word is an error."""
    inducing, words = inducing or Inducing(), tuple(dict.fromkeys(words))
    around = Surroundings(vectors, inducing.window)
    gathered = _Gathered(around, words, inducing)
    for number, ids in enumerate(around.blocks(sentences)):
        gathered.add(ids, number)
    transform = gathered.transform()
    kept, rows, shares, counts = [], [], [], []
    for word, index in zip(words, gathered.asked, strict=True):
        contexts = gathered.contexts(index) @ transform
        if len(contexts):
            found = split(contexts, inducing)
            kept.append(word)
            rows.append(found[0])
            shares.append(found[1])
            counts.append(gathered.seen[index])
    if not kept:
        raise FirthError("none of the words stands in the text among words that are known", do="give more text")
    first = np.cumsum([0, *map(len, rows)])
    senses = np.concatenate(rows).astype(np.float32)
    return Senses(tuple(kept), first, senses, np.concatenate(shares), np.array(counts, np.int64), transform, inducing)


def split(contexts: np.ndarray, inducing: Inducing) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each cluster of contexts and its share, the largest first; together they are the mean of all."""
    points = unit(contexts)
    clusters = k_means(points, min(inducing.most, len(points)), starts=3, steps=50, seed=inducing.seed)
    labels = clusters.labels
    while (pair := _too_close(contexts, labels, inducing)) is not None:
        labels = np.where(labels == pair[0], pair[1], labels)
    kept, counts = np.unique(labels, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    means = np.stack([contexts[labels == label].mean(0) for label in kept[order]])
    return means, (counts[order] / counts.sum()).astype(np.float32)


def _too_close(contexts: np.ndarray, labels: np.ndarray, inducing: Inducing) -> tuple[int, int] | None:
    """Two clusters to be made one: the smallest, if it is too small, and its nearest; else the two nearest."""
    kept, counts = np.unique(labels, return_counts=True)
    if len(kept) < 2:
        return None
    means = unit(np.stack([contexts[labels == label].mean(0) for label in kept]))
    near = means @ means.T
    np.fill_diagonal(near, -np.inf)
    small = int(counts.argmin())
    if counts[small] < inducing.least * len(labels):
        return int(kept[small]), int(kept[near[small].argmax()])
    one, other = np.unravel_index(near.argmax(), near.shape)
    return (int(kept[one]), int(kept[other])) if near[one, other] > inducing.apart else None


class Law(NamedTuple):
    """How near words' vectors are to sums of their sense vectors: mean cosines."""

    weighted: float  # each sense weighted by its share
    equal: float  # all senses of a word weighted alike
    largest: float  # the most frequent sense alone
    chance: float  # the weighted sum of another word
    each: dict[str, float]  # the first, word by word

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return self._asdict()


def law(vectors: WordVectors, senses: Senses) -> Law:
    """Measure the law on the words that have senses; the matrix was fitted on other words."""
    own = unit(np.stack([vectors.vector(word) for word in senses.words]))
    pairs = [senses.of(word) for word in senses.words]

    def cosines(sums: Sequence[np.ndarray]) -> np.ndarray:
        return np.einsum("ij,ij->i", own, unit(np.stack(sums)))

    weighted = [shares @ rows for rows, shares in pairs]
    found = cosines(weighted)
    return Law(
        float(found.mean()),
        float(cosines([rows.mean(0) for rows, _ in pairs]).mean()),
        float(cosines([rows[0] for rows, _ in pairs]).mean()),
        float(cosines([*weighted[1:], weighted[0]]).mean()) if len(pairs) > 1 else 0.0,
        {word: float(value) for word, value in zip(senses.words, found, strict=True)},
    )
