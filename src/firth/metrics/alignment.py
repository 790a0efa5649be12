"""How good links between the words of two texts are, and what kinds of words they make.

Links are pairs (left, right), words counted from 0; there is a collection of them for each pair of texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

Link = tuple[int, int]
MANY = 3  # links from which on fertility is no longer told apart


class Agreement(NamedTuple):
    """Numbers of links: found, found and possible, found and sure, sure."""

    found: int
    possible: int
    right: int
    sure: int

    @property
    def error_rate(self) -> float | None:
        """1 − (found and sure + found and possible) / (found + sure) (Och and Ney 2003); None without any link."""
        total = self.found + self.sure
        return 1.0 - (self.right + self.possible) / total if total else None

    @property
    def precision(self) -> float | None:
        """The share of what was found that is possible."""
        return self.possible / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of what is sure that was found."""
        return self.right / self.sure if self.sure else None


def agreement(
    found: Iterable[Collection[Link]],
    sure: Iterable[Collection[Link]],
    possible: Iterable[Collection[Link]] | None = None,
) -> Agreement:
    """Compare links with sure ones; those that are merely possible are not wrong. What is sure is possible too."""
    counts = [0, 0, 0, 0]
    sure = list(sure)
    for links, needed, allowed in zip(found, sure, sure if possible is None else possible, strict=True):
        links, needed = set(links), set(needed)
        now = len(links), len(links & (needed | set(allowed))), len(links & needed), len(needed)
        counts = [sum(pair) for pair in zip(counts, now, strict=True)]
    return Agreement(*counts)


def error_rate(
    found: Iterable[Collection[Link]],
    sure: Iterable[Collection[Link]],
    possible: Iterable[Collection[Link]] | None = None,
) -> float | None:
    """The alignment error rate over all texts together; 0 is best, None: there are no links at all."""
    return agreement(found, sure, possible).error_rate


def diagonal(left: int, right: int) -> list[Link]:
    """Each right word with the left word at the same height, whatever the words: the baseline."""
    return [((2 * j + 1) * left // (2 * right), j) for j in range(right)] if left else []


class Fertility(NamedTuple):
    """Kinds of words, as shares."""

    left: tuple[float, ...]  # of left words with no, one, two, three or more links
    spurious: float  # of right words without any
    one_to_one: float  # of links whose words have no other


def fertility(found: Iterable[Collection[Link]], sizes: Sequence[tuple[int, int]]) -> Fertility | None:
    """How many words the words of a text become; sizes: left and right words of each pair. None without words."""
    words, bare, single, links = [0] * (MANY + 1), 0, 0, 0
    for pairs, (left, right) in zip(found, sizes, strict=True):
        lefts, rights = Counter(i for i, _ in set(pairs)), Counter(j for _, j in set(pairs))
        for i in range(left):
            words[min(lefts[i], MANY)] += 1
        bare += right - len(rights)
        single += sum(lefts[i] == rights[j] == 1 for i, j in set(pairs))
        links += len(set(pairs))
    total, others = sum(words), sum(right for _, right in sizes)
    if not total or not others:
        return None
    return Fertility(tuple(count / total for count in words), bare / others, single / links if links else 0.0)
