"""Similarity of synsets in the taxonomy of hypernyms: by paths (path, Wu-Palmer, Leacock-Chodorow) and by information
content (Resnik, Lin, Jiang-Conrath)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from firth.errors import FirthError, unknown
from firth.lexicon.lexical_database import Lexicon
from firth.lexicon.synsets import Synset

if TYPE_CHECKING:
    from firth.lexicon.information_content import InformationContent

Pair = tuple[Synset, Synset]


class Similarity(NamedTuple):
    """The similarity of two words: the greatest of any two of their synsets, and which these are."""

    measure: str
    value: float
    left: Synset
    right: Synset


class _Common(NamedTuple):
    """A common hypernym of two synsets, and the distances of the two to it."""

    id: str
    left: int
    right: int


def _common_hypernyms(lexicon: Lexicon, pair: Pair) -> Iterator[_Common]:
    left, right = (lexicon.hypernym_distances(synset.id) for synset in pair)
    return (_Common(id_, left[id_], right[id_]) for id_ in left if id_ in right)


def _distance(lexicon: Lexicon, pair: Pair) -> int | None:
    """The length of the shortest path through a common hypernym."""
    return min((common.left + common.right for common in _common_hypernyms(lexicon, pair)), default=None)


def path_similarity(lexicon: Lexicon, pair: Pair) -> float | None:
    """1 / (1 + length of the shortest path); None if there is no path."""
    distance = _distance(lexicon, pair)
    return None if distance is None else 1 / (1 + distance)


def wu_palmer(lexicon: Lexicon, pair: Pair) -> float | None:
    """Wu and Palmer (1994): 2d / (i + j + 2d), d the depth of a common hypernym, i and j the paths to it; the greatest
    over the common hypernyms."""
    return max(
        (2 * d / (common.left + common.right + 2 * d)
         for common in _common_hypernyms(lexicon, pair) for d in [lexicon.depth(common.id)]),
        default=None,
    )  # fmt: skip


def leacock_chodorow(lexicon: Lexicon, pair: Pair) -> float | None:
    """Leacock and Chodorow (1998): -log of (1 + path length) / 2D, D the greatest depth of the part of speech."""
    distance = _distance(lexicon, pair)
    if distance is None or pair[0].category != pair[1].category:
        return None
    return -math.log((1 + distance) / (2 * max(1, lexicon.max_depth(pair[0].category))))


def resnik(lexicon: Lexicon, pair: Pair, content: InformationContent) -> float | None:
    """Resnik (1995): the information content of the most informative common hypernym."""
    return max((content[common.id] for common in _common_hypernyms(lexicon, pair)), default=None)


def lin(lexicon: Lexicon, pair: Pair, content: InformationContent) -> float | None:
    """Lin (1998): 2 × Resnik's value / the sum of the two synsets' information content."""
    shared = resnik(lexicon, pair, content)
    if shared is None:
        return None
    total = content[pair[0].id] + content[pair[1].id]
    return 2 * shared / total if total and math.isfinite(total) else float(pair[0].id == pair[1].id)


def jiang_conrath(lexicon: Lexicon, pair: Pair, content: InformationContent) -> float | None:
    """Jiang and Conrath (1997): 1 / their distance, the sum of both information contents less twice Resnik's value."""
    shared = resnik(lexicon, pair, content)
    if shared is None:
        return None
    distance = content[pair[0].id] + content[pair[1].id] - 2 * shared
    return 1 / distance if distance > 0 else math.inf


BY_PATH: dict[str, Callable[[Lexicon, Pair], float | None]] = {
    "path": path_similarity, "wu-palmer": wu_palmer, "leacock-chodorow": leacock_chodorow,
}  # fmt: skip
BY_CONTENT: dict[str, Callable[[Lexicon, Pair, InformationContent], float | None]] = {
    "resnik": resnik, "lin": lin, "jiang-conrath": jiang_conrath,
}  # fmt: skip
MEASURES = (*BY_PATH, *BY_CONTENT)


def synset_similarity(
    lexicon: Lexicon, left: Synset, right: Synset, measure: str = "path", content: InformationContent | None = None
) -> float | None:
    """The similarity of two synsets; None if no hypernym is common to them."""
    if measure in BY_PATH:
        return BY_PATH[measure](lexicon, (left, right))
    if measure not in BY_CONTENT:
        raise unknown("measure", measure, MEASURES)
    if content is None:
        raise FirthError(f"{measure} needs information content", do="give a text to count, with --text in the command")
    return BY_CONTENT[measure](lexicon, (left, right), content)


def word_similarity(
    lexicon: Lexicon, a: str, b: str, measure: str = "path", content: InformationContent | None = None, pos: str = ""
) -> Similarity | None:
    """The greatest similarity of any synset of one word (or name of a synset) with any of the other; None if there is
    none."""
    best = None
    for left, right in product(lexicon.find(a, pos), lexicon.find(b, pos)):
        value = synset_similarity(lexicon, left, right, measure, content)
        if value is not None and (best is None or value > best.value):
            best = Similarity(measure, value, left, right)
    return best
