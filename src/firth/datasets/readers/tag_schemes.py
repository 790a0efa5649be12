"""Tagging schemes for spans (named entities, chunks): IOB1, IOB2 (BIO), BIOES (IOBES) and BILOU, detected, checked and
converted into each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from firth.errors import FirthError, unknown

OUTSIDE = "O"
# The tags of a span of one word and of several; IOB1 has B only between adjacent spans of the same label.
SCHEMES = {"iob1": ("I", "III"), "iob2": ("B", "BII"), "bioes": ("S", "BIE"), "bilou": ("U", "BIL")}
ALIASES = {"bio": "iob2", "iob": "iob1", "iobes": "bioes"}
FIRST, LAST = frozenset("BSU"), frozenset("ESLU")


class Span(NamedTuple):
    """The words `start` up to, not including, `end`, and their label."""

    start: int
    end: int
    label: str


def scheme_name(name: str) -> str:
    """The scheme of this name or alias."""
    scheme = ALIASES.get(name.lower(), name.lower())
    if scheme not in SCHEMES:
        raise unknown("tagging scheme", name, [*SCHEMES, *ALIASES])
    return scheme


def split_tag(tag: str) -> tuple[str, str]:
    """The prefix and the label of a tag: B-PER is B and PER."""
    prefix, _, label = tag.partition("-")
    return prefix, label


def continues(before: str, tag: str) -> bool:
    """Whether a tag continues the span of the tag before it, in any scheme."""
    return _continues(split_tag(before), split_tag(tag))


def tags_to_spans(tags: Sequence[str]) -> list[Span]:
    """The spans of a sentence in any scheme; a tag that cannot continue a span begins one, as in conlleval."""
    spans, start, last = [], -1, (OUTSIDE, "")
    for position, tag in enumerate([*tags, OUTSIDE]):
        now = split_tag(tag)
        if start >= 0 and not _continues(last, now):
            spans.append(Span(start, position, last[1]))
            start = -1
        if start < 0 and now[0] != OUTSIDE:
            start = position
        last = now
    return spans


def spans_to_tags(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """One tag per word for spans that do not overlap."""
    scheme = scheme_name(scheme)
    single, several = SCHEMES[scheme]
    tags, before = [OUTSIDE] * length, Span(-1, -1, "")
    for span in sorted(spans):
        if not max(before.end, 0) <= span.start < span.end <= length:
            raise FirthError(f"span {span.start}-{span.end} is empty, overlaps another or exceeds the sentence")
        size = span.end - span.start
        prefixes = single if size == 1 else several[0] + several[1] * (size - 2) + several[2]
        if scheme == "iob1" and before.end == span.start and before.label == span.label:
            prefixes = "B" + prefixes[1:]
        tags[span.start : span.end] = [_tag(prefix, span.label) for prefix in prefixes]
        before = span
    return tags


def convert(tags: Sequence[str], new: str) -> list[str]:
    """The tags of a sentence in another scheme."""
    return spans_to_tags(tags_to_spans(tags), len(tags), new)


def faults(tags: Sequence[str], scheme: str) -> list[tuple[int, str]]:
    """The positions where a sentence violates a scheme, each with what is wrong."""
    scheme = scheme_name(scheme)
    bad = [
        (position, f"{tag!r} is not a tag of {scheme}") for position, tag in enumerate(tags) if not _is_tag(tag, scheme)
    ]
    if bad:
        return bad
    right = convert(tags, scheme)
    positions = [position for position, (tag, correct) in enumerate(zip(tags, right, strict=True)) if tag != correct]
    return [(position, _explain(tags, position, right[position], scheme)) for position in positions]


def detect(sentences: Iterable[Sequence[str]]) -> str | None:
    """The scheme of some sentences: the first in which all are valid; None if there is none, or no span at all."""
    possible, any_span = list(SCHEMES), False
    for tags in sentences:
        any_span = any_span or any(tag != OUTSIDE for tag in tags)
        possible = [scheme for scheme in possible if not faults(tags, scheme)]
        if not possible:
            return None
    return possible[0] if any_span else None


def _tag(prefix: str, label: str) -> str:
    return f"{prefix}-{label}" if label else prefix


def _is_tag(tag: str, scheme: str) -> bool:
    prefix, _ = split_tag(tag)
    allowed = {*SCHEMES[scheme][0], *SCHEMES[scheme][1], "B"}
    return tag == OUTSIDE or (prefix in allowed and not tag.endswith("-"))


def _continues(last: tuple[str, str], now: tuple[str, str]) -> bool:
    return now[0] != OUTSIDE and now[0] not in FIRST and last[0] not in LAST and now[1] == last[1]


def _explain(tags: Sequence[str], position: int, expected: str, scheme: str) -> str:
    before = tags[position - 1] if position else "the beginning"
    after = tags[position + 1] if position + 1 < len(tags) else "the end"
    return f"{tags[position]!r} between {before} and {after} in {scheme}, expected {expected!r}"
