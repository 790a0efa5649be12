"""Keyness: keywords of a target corpus against a reference corpus, and of the reference against the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from firth.corpus import association_measures
from firth.corpus.collocations import PARTS, CollocateCounts
from firth.corpus.corpus_index import Index
from firth.errors import FirthError, unknown

ZERO_COUNT = 0.5  # replaces a frequency of 0 in ratios (Hardie 2014)


class Keyword(NamedTuple):
    """A word that is more frequent in one of two corpora."""

    word: str
    count: int  # in this corpus
    other_count: int  # in the other corpus
    log_likelihood: float  # Dunning's G²
    log_ratio: float  # Hardie's log ratio: binary logarithm of the ratio of relative frequencies
    difference: float  # %DIFF (Gabrielatos and Marchi 2011): how many per cent more frequent
    dispersion: float  # Juilland's D in this corpus


@dataclass(frozen=True)
class Keyness:
    """The keywords of the target corpus, those of the reference corpus, and the sizes of both in tokens."""

    target: tuple[Keyword, ...]
    reference: tuple[Keyword, ...]
    sizes: tuple[int, int]


class _Frequencies(NamedTuple):
    """The frequency list of one corpus, or of the windows around a node word in it."""

    index: Index
    type_ids: np.ndarray
    counts: np.ndarray
    size: int
    parts: Callable[[np.ndarray], np.ndarray]  # from type ids to counts in each corpus part


def keyness(
    target: Index, reference: Index, *, measure: str = "log-likelihood", min_count: int = 5, limit: int = 20
) -> Keyness:
    """The keywords of two corpora, which may be two views of one index (`where`)."""
    return _compare(_corpus_frequencies(target), _corpus_frequencies(reference), measure, min_count, limit)


def collocate_keyness(
    target: Index,
    target_counts: CollocateCounts,
    reference: Index,
    reference_counts: CollocateCounts,
    *,
    measure: str = "log-likelihood",
    min_count: int = 3,
    limit: int = 20,
) -> Keyness:
    """Keyness of the collocates of a word in two corpora."""
    windows = _window_frequencies(target, target_counts), _window_frequencies(reference, reference_counts)
    return _compare(*windows, measure, min_count, limit)


MEASURES = {"log-likelihood": 2, "log-ratio": 3, "difference": 4}  # index of each in a `Keyword` without its word


def _corpus_frequencies(index: Index) -> _Frequencies:
    def parts(type_ids: np.ndarray) -> np.ndarray:
        return _count_parts(index, type_ids)

    return _Frequencies(index, np.arange(len(index.types)), index.counts, index.size, parts)


def _window_frequencies(index: Index, cooccurrences: CollocateCounts) -> _Frequencies:
    def parts(type_ids: np.ndarray) -> np.ndarray:
        return cooccurrences.parts[np.searchsorted(cooccurrences.type_ids, type_ids)]

    return _Frequencies(index, cooccurrences.type_ids, cooccurrences.counts, cooccurrences.window_tokens, parts)


def _count_parts(index: Index, type_ids: np.ndarray) -> np.ndarray:
    """(types, PARTS) the frequency of each type in every part of the corpus."""
    rows = np.zeros((len(type_ids), PARTS), np.int64)
    for row, type_id in zip(rows, type_ids, strict=True):
        ids = np.flatnonzero(index.folded_ids == type_id) if index.ignore_case else [type_id]
        for i in ids:
            positions = index.postings[index.posting_offsets[i] : index.posting_offsets[i + 1]].astype(np.int64)
            positions = index.view_positions(positions[index.is_selected(positions)])
            row += np.bincount(association_measures.part_of(positions, index.size, PARTS), minlength=PARTS)
    return rows


def _compare(target: _Frequencies, reference: _Frequencies, measure: str, min_count: int, limit: int) -> Keyness:
    if measure not in MEASURES:
        raise unknown("measure", measure, MEASURES)
    first, second = target.index, reference.index
    if first.ignore_case != second.ignore_case or first.split_rule != second.split_rule:
        do = "open both with the same `split` and `ignore_case`"
        raise FirthError("the two corpora are split into words differently", do=do)
    keywords = [
        _keywords(one, other, measure, max(min_count, 1), limit)
        for one, other in ((target, reference), (reference, target))
    ]
    return Keyness(*keywords, (target.size, reference.size))


def _keywords(
    corpus: _Frequencies, other: _Frequencies, measure: str, min_count: int, limit: int
) -> tuple[Keyword, ...]:
    """The top keywords of a corpus against the other."""
    frequent = corpus.counts >= min_count
    type_ids, counts = corpus.type_ids[frequent], corpus.counts[frequent]
    other_counts = _look_up_counts(other, corpus, type_ids)
    scores = _scores(counts, other_counts, corpus.size, other.size)
    positive = scores[1] > 0
    type_ids, counts, other_counts = type_ids[positive], counts[positive], other_counts[positive]
    scores = [score[positive] for score in scores]
    best = np.lexsort([type_ids, -counts, -scores[MEASURES[measure] - 2]])[:limit]
    dispersion = association_measures.juilland_d(corpus.parts(type_ids[best])) if len(best) else []
    return tuple(
        Keyword(
            corpus.index.types.word(type_ids[i]),
            counts[i].item(),
            other_counts[i].item(),
            *(score[i].item() for score in scores),
            float(juilland),
        )
        for i, juilland in zip(best, dispersion, strict=True)
    )


def _scores(counts: np.ndarray, other_counts: np.ndarray, size: int, other_size: int) -> list[np.ndarray]:
    """Log-likelihood, log ratio and %DIFF."""
    relative, other_relative = counts / size, np.maximum(other_counts, ZERO_COUNT) / max(other_size, 1)
    g2 = association_measures.log_likelihood(counts, size, counts + other_counts, size + other_size)
    return [g2, np.log2(relative / other_relative), 100 * (relative - other_relative) / other_relative]


def _look_up_counts(corpus: _Frequencies, other: _Frequencies, type_ids: np.ndarray) -> np.ndarray:
    """The frequencies in `corpus` of the words that have these type ids in the other corpus."""
    own_ids = type_ids
    if corpus.index.types is not other.index.types:
        own_ids = corpus.index.types.find_all([other.index.types.word(type_id) for type_id in type_ids])
    if not len(corpus.type_ids):
        return np.zeros(len(type_ids), np.int64)
    rows = np.minimum(np.searchsorted(corpus.type_ids, own_ids), len(corpus.type_ids) - 1)
    return np.where(corpus.type_ids[rows] == own_ids, corpus.counts[rows], 0)
