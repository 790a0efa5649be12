"""Word sense induction: the contexts of a word are clustered, and each cluster is a sense with a vector.

A context vector is the SIF-weighted mean of the vectors around a word. One linear transform, fitted on other words,
maps mean context vectors to word vectors (Khodak et al. 2018, "A la carte embedding"); a sense vector is the
transformed mean of its cluster. A word vector should then be close to the linear superposition of its sense vectors,
weighted by the senses' frequencies (Arora et al. 2018, "Linear algebraic structure of word senses"): see
`measure_superposition`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from firth.embeddings import array_bundle
from firth.embeddings.kmeans import k_means
from firth.embeddings.lookup import l2_normalise, most_frequent, sif_weights
from firth.errors import FirthError, unknown
from firth.runs.weights import require_finite
from firth.types import generator

if TYPE_CHECKING:
    from firth.embeddings.word_vectors import WordVectors

BLOCK = 8192  # words of text processed at once
KIND = "sense vectors"
INVERSE_TEMPERATURE = 10.0  # of the softmax over the cosines of a context with the senses
_ARRAYS = {"first": "first", "vectors": "vectors", "priors": "shares", "counts": "counts", "transform": "transform"}


@dataclass(frozen=True)
class InductionOptions:
    """Options of word sense induction."""

    window: int = 5  # words on each side
    max_senses: int = 4  # of a word
    min_fraction: float = 0.05  # smallest fraction of a word's contexts that makes a sense
    merge_cosine: float = 0.8  # senses whose vectors have a larger cosine are merged
    max_contexts: int = 2000  # of a word, sampled at random if there are more
    fit_words: int = 20_000  # frequent words that the transform is fitted on
    seed: int = 0

    def __post_init__(self) -> None:
        if self.window < 1 or self.max_senses < 1 or self.max_contexts < 1:
            what = f"window = {self.window}, max_senses = {self.max_senses}, max_contexts = {self.max_contexts}"
            raise FirthError(f"{what}: each must be 1 or more", where="senses")


@dataclass(frozen=True, eq=False)
class WordSenses:
    """The sense vectors of some words; those of words[n] are rows first[n] to first[n + 1]."""

    words: tuple[str, ...]
    first: np.ndarray  # (words + 1,)
    vectors: np.ndarray  # (senses, width) float32
    priors: np.ndarray  # (senses,) float32: the relative frequencies of the senses of a word, which sum to 1
    counts: np.ndarray  # (words,) contexts in the text
    transform: np.ndarray  # (width, width): context vector @ transform lies in the space of the word vectors
    options: InductionOptions

    def __contains__(self, word: str) -> bool:
        return word in self._word_ids

    @cached_property
    def _word_ids(self) -> dict[str, int]:
        return {word: n for n, word in enumerate(self.words)}

    def senses_of(self, word: str) -> tuple[np.ndarray, np.ndarray]:
        """The word's sense vectors and their prior probabilities, the most frequent sense first."""
        if word not in self._word_ids:
            raise unknown("word with senses", word, self.words)
        rows = slice(*self.first[self._word_ids[word] :][:2])
        return self.vectors[rows], self.priors[rows]

    def probabilities(self, word: str, context: np.ndarray) -> np.ndarray:
        """Word sense disambiguation: the probability of each sense given a context vector; a zero one gives the
        priors."""
        vectors, priors = self.senses_of(word)
        cosines = l2_normalise(vectors) @ l2_normalise((context @ self.transform)[None])[0]
        probabilities = priors * np.exp(INVERSE_TEMPERATURE * (cosines - cosines.max()))
        return probabilities / probabilities.sum()

    def save(self, path: str | Path) -> None:
        """Write one safetensors file."""
        arrays = {stored: getattr(self, name) for name, stored in _ARRAYS.items()}
        array_bundle.write(path, KIND, {"words": list(self.words), "options": asdict(self.options)}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> WordSenses:
        """Read a file of `save`."""
        metadata, arrays = array_bundle.read(path, KIND)
        try:
            arrays = {name: arrays[stored] for name, stored in _ARRAYS.items()}
            senses = cls(words=tuple(metadata["words"]), options=InductionOptions(**metadata["options"]), **arrays)
            senses._check()
        except (TypeError, KeyError, ValueError):
            raise FirthError(f"not a file with {KIND}", where=path, do="write it again") from None
        require_finite(arrays, Path(path))
        return senses

    def _check(self) -> None:
        """ValueError if the arrays do not fit together."""
        words, width = len(self.words), len(self.transform)
        if not all(isinstance(word, str) for word in self.words) or self.first.dtype.kind != "i":
            raise ValueError
        if self.first.shape != (words + 1,) or self.first[0] != 0 or (np.diff(self.first) < 1).any():
            raise ValueError
        rows = int(self.first[-1])
        shapes = [array.shape for array in (self.vectors, self.priors, self.counts, self.transform)]
        if shapes != [(rows, width), (rows,), (words,), (width, width)]:
            raise ValueError


class ContextVectors:
    """SIF-weighted mean vectors of the contexts of words."""

    def __init__(self, vectors: WordVectors, window: int = 5) -> None:
        self.vectors, self.window, self.weights = vectors, window, sif_weights(vectors)
        self._cache: dict[str, int] = {}

    def ids(self, words: Iterable[str]) -> np.ndarray:
        """The words' indices; -1 for an OOV word (also in lower case)."""
        cache = self._cache
        return np.array([cache[word] if word in cache else self._find(word) for word in words], np.int64)

    def _find(self, word: str) -> int:
        form = word if word in self.vectors else word.lower()
        self._cache[word] = self.vectors.index(form) if form in self.vectors else -1
        return self._cache[word]

    def means(self, ids: np.ndarray) -> np.ndarray:
        """The context vector of each position: the SIF-weighted mean of the unit vectors around it, itself excluded."""
        weights = np.where(ids >= 0, self.weights[ids], np.float32(0.0))
        rows = l2_normalise(self.vectors.vectors[ids]) * weights[:, None]
        both = np.c_[rows, weights].astype(np.float64)  # the last column: the sum of weights
        sums = np.r_[np.zeros((1, both.shape[1])), np.cumsum(both, 0)]
        position = np.arange(len(ids))
        low, high = np.maximum(position - self.window, 0), np.minimum(position + self.window + 1, len(ids))
        context = sums[high] - sums[low] - both
        weight = context[:, -1:]
        return np.where(weight > 1e-9, context[:, :-1] / np.maximum(weight, 1e-9), 0.0).astype(np.float32)

    def blocks(self, sentences: Iterable[Sequence[str]], size: int = BLOCK) -> Iterator[np.ndarray]:
        """The ids of sentences concatenated into blocks, padded so that no window crosses sentences."""
        padding = np.full(self.window, -1, np.int64)
        block, count = [], 0
        for sentence in sentences:
            block += [self.ids(sentence), padding]
            count += len(block[-2])
            if count >= size:
                yield np.concatenate(block)
                block, count = [], 0
        if block:
            yield np.concatenate(block)


class _ContextSampler:
    """A random sample of the contexts of each target word, and sums of the contexts of other frequent words."""

    def __init__(self, context_vectors: ContextVectors, words: Sequence[str], options: InductionOptions) -> None:
        self.context_vectors, self.options = context_vectors, options
        vectors = context_vectors.vectors
        self.target_ids = [vectors.index(word) for word in words]
        self.is_target = np.zeros(len(vectors), bool)
        self.is_target[self.target_ids] = True
        frequent = most_frequent(vectors, options.fit_words)
        self.fit_ids = frequent[~self.is_target[frequent]]  # never the words that the superposition is measured on
        self.fit_slot = np.full(len(vectors), -1, np.int64)
        self.fit_slot[self.fit_ids] = np.arange(len(self.fit_ids))
        self.sums = np.zeros((len(self.fit_ids), vectors.vectors.shape[1]))
        self.counts = np.zeros(len(self.fit_ids))
        self.samples: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {index: [] for index in self.target_ids}
        self.context_counts = dict.fromkeys(self.target_ids, 0)

    def add(self, ids: np.ndarray, number: int) -> None:
        means = self.context_vectors.means(ids)
        keys = generator(self.options.seed, "senses", number).random(len(ids))
        valid = (ids >= 0) & means.any(1)
        self._add_to_sums(ids, means, valid)
        positions = np.flatnonzero(valid & self.is_target[ids])
        positions = positions[np.argsort(ids[positions], kind="stable")]
        targets, first = np.unique(ids[positions], return_index=True)
        if not len(targets):
            return
        for index, of_target in zip(targets.tolist(), np.split(positions, first[1:]), strict=True):
            self.context_counts[index] += len(of_target)
            self.samples[index].append((keys[of_target], means[of_target]))
            if sum(len(key) for key, _ in self.samples[index]) > 2 * self.options.max_contexts:
                self.samples[index] = [self._subsample(index)]

    def _add_to_sums(self, ids: np.ndarray, means: np.ndarray, valid: np.ndarray) -> None:
        from scipy.sparse import csr_matrix

        slots = np.where(valid, self.fit_slot[ids], -1)
        positions = np.flatnonzero(slots >= 0)
        selection = csr_matrix((np.ones(len(positions)), (slots[positions], positions)), (len(self.sums), len(ids)))
        self.sums += selection @ means
        self.counts += np.bincount(slots[positions], minlength=len(self.counts))

    def _subsample(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """The contexts with the smallest random keys: a uniform sample, as in reservoir sampling."""
        keys, means = (np.concatenate(arrays) for arrays in zip(*self.samples[index], strict=True))
        smallest = np.sort(np.argsort(keys, kind="stable")[: self.options.max_contexts])
        return keys[smallest], means[smallest]

    def contexts(self, index: int) -> np.ndarray:
        """The sampled context vectors of a word (contexts, width)."""
        width = self.sums.shape[1]
        return self._subsample(index)[1] if self.samples[index] else np.zeros((0, width), np.float32)

    def transform(self) -> np.ndarray:
        """The transform from mean context vectors to word vectors: ridge regression weighted by the log of counts."""
        enough = self.counts >= 2
        width = self.sums.shape[1]
        if enough.sum() < 2 * width:
            return np.eye(width, dtype=np.float32)  # too few words to fit it
        means = self.sums[enough] / self.counts[enough, None]
        targets = l2_normalise(self.context_vectors.vectors.vectors[self.fit_ids[enough]])
        weighted = means * np.log1p(self.counts[enough])[:, None]
        gram = weighted.T @ means
        gram += np.eye(width) * (1e-3 * np.trace(gram) / width)
        return np.linalg.solve(gram, weighted.T @ targets).astype(np.float32)


def induce_senses(
    vectors: WordVectors,
    sentences: Iterable[Sequence[str]],
    words: Sequence[str],
    options: InductionOptions | None = None,
) -> WordSenses:
    """Sense vectors of these words from their contexts in tokenised sentences; an OOV word is an error."""
    options, words = options or InductionOptions(), tuple(dict.fromkeys(words))
    context_vectors = ContextVectors(vectors, options.window)
    sampler = _ContextSampler(context_vectors, words, options)
    for number, ids in enumerate(context_vectors.blocks(sentences)):
        sampler.add(ids, number)
    transform = sampler.transform()
    induced, rows, priors, counts = [], [], [], []
    for word, index in zip(words, sampler.target_ids, strict=True):
        contexts = sampler.contexts(index) @ transform
        if len(contexts):
            means, fractions = cluster_contexts(contexts, options)
            induced.append(word)
            rows.append(means)
            priors.append(fractions)
            counts.append(sampler.context_counts[index])
    if not induced:
        raise FirthError("none of the words occurs in the text among words of the vocabulary", do="give more text")
    first = np.cumsum([0, *map(len, rows)])
    senses = np.concatenate(rows).astype(np.float32)
    counts = np.array(counts, np.int64)
    return WordSenses(tuple(induced), first, senses, np.concatenate(priors), counts, transform, options)


def sample_contexts(
    context_vectors: ContextVectors, sentences: Iterable[Sequence[str]], words: Sequence[str], options: InductionOptions
) -> dict[str, np.ndarray]:
    """The context vectors of each word (contexts, width), at most `max_contexts`, in the space of the word vectors."""
    sampler = _ContextSampler(context_vectors, words, options)
    for number, ids in enumerate(context_vectors.blocks(sentences)):
        sampler.add(ids, number)
    transform = sampler.transform()
    return {word: sampler.contexts(at) @ transform for word, at in zip(words, sampler.target_ids, strict=True)}


def cluster_contexts(contexts: np.ndarray, options: InductionOptions) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each cluster of contexts and its fraction, the largest first; their weighted sum is the overall
    mean."""
    points = l2_normalise(contexts)
    clusters = k_means(points, min(options.max_senses, len(points)), n_init=3, max_iter=50, seed=options.seed)
    labels = clusters.labels
    while (pair := _clusters_to_merge(contexts, labels, options)) is not None:
        labels = np.where(labels == pair[0], pair[1], labels)
    names, counts = np.unique(labels, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    means = np.stack([contexts[labels == label].mean(0) for label in names[order]])
    return means, (counts[order] / counts.sum()).astype(np.float32)


def _clusters_to_merge(contexts: np.ndarray, labels: np.ndarray, options: InductionOptions) -> tuple[int, int] | None:
    """Two clusters to merge: the smallest with its nearest if it is too small, or the two nearest if they are close."""
    names, counts = np.unique(labels, return_counts=True)
    if len(names) < 2:
        return None
    means = l2_normalise(np.stack([contexts[labels == label].mean(0) for label in names]))
    cosines = means @ means.T
    np.fill_diagonal(cosines, -np.inf)
    smallest = int(counts.argmin())
    if counts[smallest] < options.min_fraction * len(labels):
        return int(names[smallest]), int(names[cosines[smallest].argmax()])
    i, j = np.unravel_index(cosines.argmax(), cosines.shape)
    return (int(names[i]), int(names[j])) if cosines[i, j] > options.merge_cosine else None


class Superposition(NamedTuple):
    """Mean cosines of word vectors with linear superpositions of their sense vectors."""

    weighted: float  # senses weighted by their priors
    unweighted: float  # all senses of a word weighted equally
    dominant: float  # only the most frequent sense
    baseline: float  # the weighted superposition of another word
    per_word: dict[str, float]  # the weighted one of each word

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return self._asdict()


def measure_superposition(vectors: WordVectors, senses: WordSenses) -> Superposition:
    """Measure linear superposition on the words that have senses; the transform was fitted on other words."""
    word_vectors = l2_normalise(np.stack([vectors.vector(word) for word in senses.words]))
    pairs = [senses.senses_of(word) for word in senses.words]

    def cosines(sums: Sequence[np.ndarray]) -> np.ndarray:
        return np.einsum("ij,ij->i", word_vectors, l2_normalise(np.stack(sums)))

    weighted = [priors @ rows for rows, priors in pairs]
    values = cosines(weighted)
    return Superposition(
        float(values.mean()),
        float(cosines([rows.mean(0) for rows, _ in pairs]).mean()),
        float(cosines([rows[0] for rows, _ in pairs]).mean()),
        float(cosines([*weighted[1:], weighted[0]]).mean()) if len(pairs) > 1 else 0.0,
        {word: float(value) for word, value in zip(senses.words, values, strict=True)},
    )
