"""Two texts compared word by word: what is typical of the one against the other, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from firth.counts import measures
from firth.counts.collocations import PARTS, Company
from firth.counts.index import Index
from firth.errors import FirthError, unknown

ABSENT = 0.5  # stands for a count of 0 where a ratio needs one (Hardie)


class Keyword(NamedTuple):
    """A word typical of one of two texts."""

    word: str
    count: int  # here
    other: int  # there
    log_likelihood: float  # Dunning's G²
    log_ratio: float  # how many times it doubles
    difference: float  # %DIFF: by how many per cent it is more frequent
    dispersion: float  # Juilland's D here


@dataclass(frozen=True)
class Keyness:
    """The words typical of the first text, and those typical of the second."""

    here: tuple[Keyword, ...]
    there: tuple[Keyword, ...]
    sizes: tuple[int, int]


class _Side(NamedTuple):
    """Counts by name of one text."""

    index: Index
    names: np.ndarray
    counts: np.ndarray
    size: int
    parts: Callable[[np.ndarray], np.ndarray]  # from names to counts in each part


def keyness(
    here: Index, there: Index, *, measure: str = "log-likelihood", min_count: int = 5, limit: int = 20
) -> Keyness:
    """Words by how typical they are; the texts may be two views of one (`where`)."""
    return _compare(_whole(here), _whole(there), measure, min_count, limit)


def company_keyness(
    here: Index, near: Company, there: Index, far: Company, *, measure: str = "log-likelihood", min_count: int = 3,
    limit: int = 20,
) -> Keyness:  # fmt: skip
    """The same for the company of a word in two texts."""
    return _compare(_near(here, near), _near(there, far), measure, min_count, limit)


MEASURES = {"log-likelihood": 2, "log-ratio": 3, "difference": 4}  # the place of each in a `Keyword` after its word


def _whole(index: Index) -> _Side:
    return _Side(index, np.arange(len(index.names)), index.counts, index.size, lambda names: _parts(index, names))


def _near(index: Index, found: Company) -> _Side:
    def parts(names: np.ndarray) -> np.ndarray:
        return found.parts[np.searchsorted(found.names, names)]

    return _Side(index, found.names, found.counts, found.near, parts)


def _parts(index: Index, names: np.ndarray) -> np.ndarray:
    """How often each name stands in every part of the text."""
    rows = np.zeros((len(names), PARTS), np.int64)
    for row, name in zip(rows, names, strict=True):
        ids = np.flatnonzero(index.fold == name) if index.ignore_case else [name]
        for i in ids:
            places = index.postings[index.first[i] : index.first[i + 1]].astype(np.int64)
            places = index.rank(places[index.keeps(places)])
            row += np.bincount(measures.part_of(places, index.size, PARTS), minlength=PARTS)
    return rows


def _compare(here: _Side, there: _Side, measure: str, min_count: int, limit: int) -> Keyness:
    if measure not in MEASURES:
        raise unknown("measure", measure, MEASURES)
    if here.index.ignore_case != there.index.ignore_case or here.index.rule != there.index.rule:
        raise FirthError("the two texts are split differently", do="open both with the same settings")
    sides = []
    for one, two in ((here, there), (there, here)):
        sides.append(_typical(one, two, measure, max(min_count, 1), limit))
    return Keyness(*sides, (here.size, there.size))


def _typical(one: _Side, two: _Side, measure: str, min_count: int, limit: int) -> tuple[Keyword, ...]:
    enough = one.counts >= min_count
    names, counts = one.names[enough], one.counts[enough]
    others = _counted(two, one, names)
    scores = _scores(counts, others, one.size, two.size)
    more = scores[1] > 0
    names, counts, others, scores = names[more], counts[more], others[more], [score[more] for score in scores]
    best = np.lexsort([names, -counts, -scores[MEASURES[measure] - 2]])[:limit]
    spread = measures.juilland(one.parts(names[best])) if len(best) else []
    return tuple(
        Keyword(
            one.index.names.word(names[i]),
            counts[i].item(),
            others[i].item(),
            *(score[i].item() for score in scores),
            float(even),
        )
        for i, even in zip(best, spread, strict=True)
    )


def _scores(counts: np.ndarray, others: np.ndarray, size: int, other_size: int) -> list[np.ndarray]:
    """Log-likelihood, log ratio and %DIFF."""
    share, other = counts / size, np.maximum(others, ABSENT) / max(other_size, 1)
    g2 = measures.log_likelihood(counts, size, counts + others, size + other_size)
    return [g2, np.log2(share / other), 100 * (share - other) / other]


def _counted(side: _Side, asking: _Side, names: np.ndarray) -> np.ndarray:
    """How often the words that another text calls by these names occur on this side."""
    numbers = names
    if side.index.names is not asking.index.names:
        numbers = side.index.names.numbers([asking.index.names.word(name) for name in names])
    if not len(side.names):
        return np.zeros(len(names), np.int64)
    place = np.minimum(np.searchsorted(side.names, numbers), len(side.names) - 1)
    return np.where(side.names[place] == numbers, side.counts[place], 0)
