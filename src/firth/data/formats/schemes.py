"""Spans as one tag a word: IOB1, IOB2 (BIO), BIOES (IOBES) and BILOU; found out, checked and turned into each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from firth.errors import FirthError, unknown

OUTSIDE = "O"
# How a span of one word and of several words is written; IOB1 has B only between spans of one label that touch.
SCHEMES = {"iob1": ("I", "III"), "iob2": ("B", "BII"), "bioes": ("S", "BIE"), "bilou": ("U", "BIL")}
ALIASES = {"bio": "iob2", "iob": "iob1", "iobes": "bioes"}
FIRST, LAST = frozenset("BSU"), frozenset("ESLU")


class Span(NamedTuple):
    """Words `start` up to, not including, `end`."""

    start: int
    end: int
    label: str


def named(name: str) -> str:
    """The scheme of this name."""
    found = ALIASES.get(name.lower(), name.lower())
    if found not in SCHEMES:
        raise unknown("tagging scheme", name, [*SCHEMES, *ALIASES])
    return found


def spans(tags: Sequence[str]) -> list[Span]:
    """The spans of a sentence in any scheme; a tag that cannot go on a span begins one, as conlleval has it."""
    found, start, last = [], -1, (OUTSIDE, "")
    for place, tag in enumerate([*tags, OUTSIDE]):
        now = _parts(tag)
        if start >= 0 and not _goes_on(last, now):
            found.append(Span(start, place, last[1]))
            start = -1
        if start < 0 and now[0] != OUTSIDE:
            start = place
        last = now
    return found


def tags(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """One tag a word for spans that do not overlap."""
    scheme = named(scheme)
    single, several = SCHEMES[scheme]
    found, before = [OUTSIDE] * length, Span(-1, -1, "")
    for span in sorted(spans):
        if not max(before.end, 0) <= span.start < span.end <= length:
            raise FirthError(f"span {span.start}-{span.end} is empty, overlaps another or reaches out of the sentence")
        size = span.end - span.start
        letters = single if size == 1 else several[0] + several[1] * (size - 2) + several[2]
        if scheme == "iob1" and before.end == span.start and before.label == span.label:
            letters = "B" + letters[1:]
        found[span.start : span.end] = [_tag(letter, span.label) for letter in letters]
        before = span
    return found


def convert(given: Sequence[str], new: str) -> list[str]:
    """The tags of a sentence in another scheme."""
    return tags(spans(given), len(given), new)


def faults(given: Sequence[str], scheme: str) -> list[tuple[int, str]]:
    """The places where a sentence breaks the rules of a scheme, each with what is wrong."""
    scheme = named(scheme)
    bad = [(place, f"{tag!r} is no tag of {scheme}") for place, tag in enumerate(given) if not _is_tag(tag, scheme)]
    if bad:
        return bad
    right = convert(given, scheme)
    places = [place for place, (tag, wanted) in enumerate(zip(given, right, strict=True)) if tag != wanted]
    return [(place, _explain(given, place, right[place], scheme)) for place in places]


def detect(sentences: Iterable[Sequence[str]]) -> str | None:
    """The scheme of some sentences: the first in which all are right; none if there is no such, or no span at all."""
    possible, any_span = list(SCHEMES), False
    for given in sentences:
        any_span = any_span or any(tag != OUTSIDE for tag in given)
        possible = [scheme for scheme in possible if not faults(given, scheme)]
        if not possible:
            return None
    return possible[0] if any_span else None


def _parts(tag: str) -> tuple[str, str]:
    letter, _, label = tag.partition("-")
    return letter, label


def _tag(letter: str, label: str) -> str:
    return f"{letter}-{label}" if label else letter


def _is_tag(tag: str, scheme: str) -> bool:
    letter, _ = _parts(tag)
    allowed = {*SCHEMES[scheme][0], *SCHEMES[scheme][1], "B"}
    return tag == OUTSIDE or (letter in allowed and not tag.endswith("-"))


def _goes_on(last: tuple[str, str], now: tuple[str, str]) -> bool:
    return now[0] != OUTSIDE and now[0] not in FIRST and last[0] not in LAST and now[1] == last[1]


def _explain(given: Sequence[str], place: int, wanted: str, scheme: str) -> str:
    before = given[place - 1] if place else "the beginning"
    after = given[place + 1] if place + 1 < len(given) else "the end"
    return f"{given[place]!r} between {before} and {after} in {scheme}, expected {wanted!r}"
