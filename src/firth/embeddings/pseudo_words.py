"""Sense induction on pseudo-words (Schütze 1992; Gale et al. 1992): two words are merged into one, and the induced
senses should tell them apart. No annotation is needed, so it works on any text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from firth.embeddings.lookup import l2_normalise, most_frequent
from firth.embeddings.senses import ContextVectors, InductionOptions, cluster_contexts, sample_contexts
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.metrics.bootstrap import ConfidenceInterval, bootstrap_ratios, confidence_interval
from firth.types import generator

MIN_CONTEXTS = 10  # of each word
METHODS = ("induced", "labelled", "majority")  # clusters; means of labelled contexts; the more frequent word


class PseudoWordAccuracy(NamedTuple):
    """One pseudo-word: contexts of the second half, and the right ones by each method."""

    pair: tuple[str, str]
    contexts: int
    senses: int  # that were induced
    right: tuple[int, int, int]  # in the order of METHODS


@dataclass(frozen=True)
class PseudoWordResult:
    """All pseudo-words, and the means of their accuracies."""

    rows: tuple[PseudoWordAccuracy, ...]
    means: dict[str, float]
    intervals: dict[str, ConfidenceInterval]  # over the pseudo-words

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        rows = [row._asdict() for row in self.rows]
        return {"accuracy": self.means, "intervals": {k: list(v) for k, v in self.intervals.items()}, "rows": rows}


def choose_pairs(vectors: WordVectors, count: int, max_vocab: int = 2000, seed: int = 0) -> list[tuple[str, str]]:
    """Random pairs of frequent words, no word in two of them; the very frequent ones (mostly function words) and single
    letters are left out."""
    words = [vectors.words[n] for n in most_frequent(vectors, max_vocab)]
    words = [word for word in words[len(words) // 20 :] if len(word) > 2 and word.isalpha()]
    if len(words) < 2:
        raise FirthError("fewer than two words to merge", do="give vectors with more words")
    order = generator(seed, "pseudo-words").permutation(len(words))
    shuffled = [words[n] for n in order]
    return list(zip(shuffled[: 2 * count : 2], shuffled[1 : 2 * count : 2], strict=False))


def measure_pseudo_words(
    vectors: WordVectors,
    sentences: Iterable[Sequence[str]],
    pairs: Sequence[tuple[str, str]],
    options: InductionOptions | None = None,
) -> PseudoWordResult:
    """The accuracy of induced senses on pseudo-words: half of the contexts are clustered, each cluster means the word
    that is more frequent in it, and the other half is scored."""
    options = options or InductionOptions(max_senses=2)
    words = list(dict.fromkeys(word for pair in pairs for word in pair))
    contexts = sample_contexts(ContextVectors(vectors, options.window), sentences, words, options)
    rows = [
        _measure(pair, contexts[pair[0]], contexts[pair[1]], options)
        for pair in pairs
        if min(len(contexts[word]) for word in pair) >= MIN_CONTEXTS
    ]
    if not rows:
        what = f"no pair of words with {MIN_CONTEXTS} contexts each"
        raise FirthError(what, do="give more text, or other pairs")
    shares = np.array([np.array(row.right) / row.contexts for row in rows]).T  # (methods, pairs)
    resampled = bootstrap_ratios(shares, np.ones(len(rows)), options.seed)
    intervals = {name: confidence_interval(values) for name, values in zip(METHODS, resampled.T, strict=True)}
    return PseudoWordResult(tuple(rows), dict(zip(METHODS, shares.mean(1).tolist(), strict=True)), intervals)


def _measure(
    pair: tuple[str, str], first: np.ndarray, second: np.ndarray, options: InductionOptions
) -> PseudoWordAccuracy:
    points = np.concatenate([first, second])
    gold = np.repeat([0, 1], [len(first), len(second)])
    train = generator(options.seed, "pseudo-word", *pair).permutation(len(points)) < len(points) // 2
    means, _ = cluster_contexts(points[train], options)
    induced = _by_nearest(points, means)
    meaning = [_majority(gold[train & (induced == sense)], gold[train]) for sense in range(len(means))]
    labelled = np.stack([points[train & (gold == word)].mean(0) for word in (0, 1)])
    predictions = (
        np.array(meaning)[induced],
        _by_nearest(points, labelled),
        np.full(len(gold), _majority(gold[train])),
    )
    right = tuple(int((each == gold)[~train].sum()) for each in predictions)
    return PseudoWordAccuracy(pair, int((~train).sum()), len(means), right)


def _by_nearest(points: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The index of the mean with the greatest cosine."""
    return (l2_normalise(points) @ l2_normalise(means).T).argmax(1)


def _majority(gold: np.ndarray, otherwise: np.ndarray | None = None) -> int:
    if not len(gold):
        return _majority(otherwise) if otherwise is not None and len(otherwise) else 0
    return int(np.bincount(gold, minlength=2).argmax())
