"""What taggings are allowed: those of a tagging scheme, and those that a user's constraints leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from firth.datasets.readers.tag_schemes import OUTSIDE, SCHEMES, scheme_name, split_tag
from firth.errors import FirthError, unknown
from firth.generation.structured.linear_chain import FORBIDDEN, LinearChain

EDGE = "<edge>"  # in place of a tag: before the first word, or after the last one
IO = "io"  # I or O alone: spans of one label that touch are one


@dataclass(frozen=True)
class TagConstraints:
    """Constraints as data. A tag may hold wildcards (`*-PER`, `B-*`); a transition is a pair, EDGE at either end."""

    words: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the tags that a word may have, by its form
    forbidden: Sequence[tuple[str, str]] = ()  # transitions that never happen
    forced: Sequence[tuple[str, str]] = ()  # after the first tag only the second (of several pairs: one of them)

    def chain(self, tags: Sequence[str]) -> LinearChain:
        """Zeros, and −inf for each transition that is forbidden; to be added to a chain over these tags."""
        edges = [*tags, EDGE]
        allowed = np.ones((len(edges), len(edges)), bool)  # from → to, with the edge as the last row and column
        for before, after in self.forbidden:
            allowed[np.ix_(_find(before, edges), _find(after, edges))] = False
        for first in dict.fromkeys(before for before, _ in self.forced):
            wanted = [at for before, after in self.forced if before == first for at in _find(after, edges)]
            allowed[np.ix_(_find(first, edges), [at for at in range(len(edges)) if at not in wanted])] = False
        return _chain(allowed)

    def allowed(
        self, words: Sequence[str], tags: Sequence[str], positions: Mapping[int, Sequence[str]] | None = None
    ) -> np.ndarray:
        """Which tags (words, tags) each word of a sentence may have: by its form, and by its position from 0."""
        mask = np.ones((len(words), len(tags)), bool)
        given = [(at, self.words[word]) for at, word in enumerate(words) if word in self.words]
        for at, names in [*given, *(positions or {}).items()]:
            if not 0 <= at < len(words):
                raise FirthError(f"tags for word {at} of a sentence of {len(words)} words", do="count words from 0")
            mask[at] &= np.isin(np.arange(len(tags)), [each for name in names for each in _find(name, tags)])
        return mask


def restrict(emissions: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The emissions with −inf where a tag is not allowed; for logits of a softmax as well: the rest is normalised."""
    return np.where(allowed, emissions, FORBIDDEN)


def scheme_constraints(tags: Sequence[str], scheme: str) -> LinearChain:
    """Zeros, and −inf for each transition, start and end that a tagging scheme forbids: iob1, iob2 (bio), bioes, bilou
    or io."""
    kind = IO if scheme.lower() == IO else scheme_name(scheme)
    parts = [split_tag(tag) for tag in tags]
    for tag, (prefix, label) in zip(tags, parts, strict=True):
        if tag != OUTSIDE and (prefix not in _prefixes(kind) or tag == f"{prefix}-" or (prefix == OUTSIDE and label)):
            raise FirthError(f"{tag!r} is not a tag of {kind}", do="name the scheme of these tags")
    edges = [*parts, (OUTSIDE, "")]
    return _chain(np.array([[_may_follow(kind, before, after) for after in edges] for before in edges]))


def _prefixes(kind: str) -> set[str]:
    if kind == IO:
        return {"I"}
    single, several = SCHEMES[kind]
    return {single, *several, "B"}


def _may_follow(kind: str, before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a tag may follow another; the edges of a sentence are like O."""
    single, several = SCHEMES["iob1"] if kind == IO else SCHEMES[kind]
    if kind == "iob1" and after[0] == "B":  # only between two spans of one label
        return before[0] != OUTSIDE and before[1] == after[1]
    first, last = {single, several[0], OUTSIDE}, {single, several[2], OUTSIDE}
    if several[1] == several[2]:  # a span may end at any of its words
        last.add("B")
    begins = after[0] in first and before[0] in last
    inside = {several[0], several[1], "B"}
    return begins or (after[0] in several[1:] and before[0] in inside and before[1] == after[1])


def _chain(allowed: np.ndarray) -> LinearChain:
    """0 where allowed (from, to), else −inf; the last row is the start, the last column the end."""
    scores = np.where(allowed, 0.0, FORBIDDEN)
    return LinearChain.of(scores[:-1, :-1], scores[-1, :-1], scores[:-1, -1])


def _find(pattern: str, tags: Sequence[str]) -> list[int]:
    """The tags that a name, perhaps with wildcards, stands for; an edge only by its own."""
    indices = [at for at, tag in enumerate(tags) if tag == pattern or (tag != EDGE and fnmatchcase(tag, pattern))]
    if not indices:
        raise unknown("tag", pattern, [tag for tag in tags if tag != EDGE])
    return indices
