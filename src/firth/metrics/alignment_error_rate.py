"""Word alignment metrics: alignment error rate (AER), precision, recall (Och and Ney 2003), and fertility.

An alignment is a collection of links (source position, target position), counted from 0; there is one for each
sentence pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

Link = tuple[int, int]
Alignments = Iterable[Collection[Link]]
MAX_FERTILITY = 3  # words with this many links or more are counted together


class AlignmentCounts(NamedTuple):
    """Numbers of links: predicted A, |A ∩ P| with the possible, |A ∩ S| with the sure, and sure S."""

    predicted: int
    predicted_possible: int
    predicted_sure: int
    sure: int

    @property
    def error_rate(self) -> float | None:
        """The alignment error rate, 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|); None without any link."""
        total = self.predicted + self.sure
        return 1.0 - (self.predicted_sure + self.predicted_possible) / total if total else None

    @property
    def precision(self) -> float | None:
        """The fraction of predicted links that are possible."""
        return self.predicted_possible / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """The fraction of sure links that are predicted."""
        return self.predicted_sure / self.sure if self.sure else None


def count_links(predicted: Alignments, sure: Alignments, possible: Alignments | None = None) -> AlignmentCounts:
    """Compare predicted with gold links: possible links are not wrong, sure links are required (and possible)."""
    counts = [0, 0, 0, 0]
    sure = list(sure)
    for links, gold, allowed in zip(predicted, sure, sure if possible is None else possible, strict=True):
        links, gold = set(links), set(gold)
        pair_counts = len(links), len(links & (gold | set(allowed))), len(links & gold), len(gold)
        counts = [sum(both) for both in zip(counts, pair_counts, strict=True)]
    return AlignmentCounts(*counts)


def alignment_error_rate(predicted: Alignments, sure: Alignments, possible: Alignments | None = None) -> float | None:
    """The alignment error rate over all sentence pairs together; 0 is best, None without any link."""
    return count_links(predicted, sure, possible).error_rate


def diagonal_alignment(source_length: int, target_length: int) -> list[Link]:
    """The diagonal baseline: each target word linked to the source word at the same relative position."""
    if not source_length:
        return []
    return [((2 * j + 1) * source_length // (2 * target_length), j) for j in range(target_length)]


class Fertility(NamedTuple):
    """Fertility statistics, as fractions."""

    source: tuple[float, ...]  # of source words with no, one, two, three or more links
    spurious: float  # of target words without a link
    one_to_one: float  # of links whose two words have no other


def fertility(alignments: Alignments, lengths: Sequence[tuple[int, int]]) -> Fertility | None:
    """How many target words each source word is linked to, given the lengths (source, target); None without words."""
    by_fertility, unlinked, single, links = [0] * (MAX_FERTILITY + 1), 0, 0, 0
    for alignment, (source_length, target_length) in zip(alignments, lengths, strict=True):
        alignment = set(alignment)
        source_links, target_links = Counter(i for i, _ in alignment), Counter(j for _, j in alignment)
        for i in range(source_length):
            by_fertility[min(source_links[i], MAX_FERTILITY)] += 1
        unlinked += target_length - len(target_links)
        single += sum(source_links[i] == target_links[j] == 1 for i, j in alignment)
        links += len(alignment)
    source_words, target_words = sum(by_fertility), sum(target_length for _, target_length in lengths)
    if not source_words or not target_words:
        return None
    fractions = tuple(count / source_words for count in by_fertility)
    return Fertility(fractions, unlinked / target_words, single / links if links else 0.0)
