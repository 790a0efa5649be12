"""Scores of tagged sentences: token accuracy, and precision, recall and F1 of chunks in three countings.

- `conlleval`: as the script of CoNLL-2000 to 2003. Tags that break the scheme are read as they come: an I that
  continues nothing begins a chunk. It knows B, I, E and O.
- `seqeval`: as seqeval's default mode. The same, but it knows S as well.
- `seqeval-strict`: as seqeval's strict mode. Only chunks that are well formed in the given scheme count.

On well-formed BIO or IOB1 tags all three agree, on BIO that breaks the scheme the first two, on BIOES the last two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from firth.errors import FirthError, unknown
from firth.metrics.corpus_metric import CorpusStatistics, digest, ratio
from firth.metrics.label_counts import LabelCounts, check_lengths, count_labels
from firth.metrics.score import signature

Counting = Literal["conlleval", "seqeval", "seqeval-strict"]
COUNTINGS: tuple[Counting, ...] = ("conlleval", "seqeval", "seqeval-strict")
Tags = Sequence[str]
OUTSIDE = "O"
_UNNAMED = "_"  # seqeval's label of a tag that is a prefix alone
# Of the schemes that are read strictly: the tags that begin a chunk, go on in it, and may be its last.
_STRICT = {
    "iob1": ("IB", "I", "IB"),
    "iob2": ("B", "I", "BI"),
    "bioes": ("BS", "IE", "ES"),
    "bilou": ("BU", "IL", "LU"),
}
_ALIASES = {"bio": "iob2", "iob": "iob1", "iobes": "bioes"}


class Chunk(NamedTuple):
    """The words `start` up to, not including, `end`, and their label."""

    start: int
    end: int
    label: str


class _Tag(NamedTuple):
    prefix: str
    label: str


_EDGE = _Tag(OUTSIDE, _UNNAMED)


def token_accuracy(gold: Sequence[Tags], predicted: Sequence[Tags]) -> CorpusStatistics:
    """The fraction of words with the right tag."""
    check_lengths(gold, predicted)
    counts = [(sum(map(str.__eq__, *pair)), len(pair[0])) for pair in zip(gold, predicted, strict=True)]
    return CorpusStatistics("accuracy", np.array(counts, float).reshape(-1, 2), ratio, signature(_data(gold)))


def sentence_accuracy(gold: Sequence[Tags], predicted: Sequence[Tags]) -> CorpusStatistics:
    """The fraction of sentences without a wrong tag."""
    check_lengths(gold, predicted)
    counts = [(list(true) == list(guess), 1) for true, guess in zip(gold, predicted, strict=True)]
    return CorpusStatistics("sentence_accuracy", np.array(counts, float).reshape(-1, 2), ratio, signature(_data(gold)))


def count_chunks(
    gold: Sequence[Tags], predicted: Sequence[Tags], counting: Counting = "conlleval", scheme: str = ""
) -> LabelCounts:
    """Chunks by label, in one of three countings; a chunk is correct if its words and its label are."""
    check_lengths(gold, predicted)
    sides = [[chunks(tags, counting, scheme) for tags in side] for side in (gold, predicted)]
    fields = {"counting": counting, **({"scheme": scheme} if scheme else {}), **_data(gold)}
    return count_labels(*sides, lambda chunk: chunk.label, **fields)


def chunk_f1(
    gold: Sequence[Tags], predicted: Sequence[Tags], counting: Counting = "conlleval", scheme: str = ""
) -> CorpusStatistics:
    """Micro-averaged F1 of chunks; its details are precision and recall."""
    return replace(count_chunks(gold, predicted, counting, scheme).statistics(), name="f1")


def chunks(tags: Tags, counting: Counting = "conlleval", scheme: str = "") -> list[Chunk]:
    """The chunks of a sentence as a counting sees them; only the strict one needs the scheme."""
    if counting not in COUNTINGS:
        raise unknown("counting", counting, COUNTINGS)
    parts = [_split(tag) for tag in tags]
    if counting == "seqeval-strict":
        return _strict_chunks(tags, parts, scheme)
    known = "BIE" if counting == "conlleval" else "BIES"
    result, start, before = [], 0, _EDGE
    for position, tag in enumerate([*parts, _EDGE]):
        if _ends(before, tag, known):
            result.append(Chunk(start, position, before.label))
        if _starts(before, tag, known):
            start = position
        before = tag
    return result


def _ends(before: _Tag, tag: _Tag, known: str) -> bool:
    """Whether a chunk ends between two words. conlleval has no rule for an E before a B of the same label."""
    if before.prefix == OUTSIDE:
        return False
    if before.label != tag.label or tag.prefix == OUTSIDE:
        return before.prefix in known or before.label != tag.label
    if "S" in known:
        return before.prefix in "ES" or (before.prefix in "BI" and tag.prefix in "BS")
    return (before.prefix in "BI" and tag.prefix == "B") or (before.prefix == "E" and tag.prefix in "EI")


def _starts(before: _Tag, tag: _Tag, known: str) -> bool:
    """Whether a chunk starts between two words."""
    if tag.prefix == OUTSIDE:
        return False
    if before.label != tag.label:
        return True
    if "S" in known:
        return tag.prefix in "BS" or (before.prefix in "ESO" and tag.prefix in "EI")
    return (before.prefix in "BIO" and tag.prefix == "B") or (before.prefix in "EO" and tag.prefix in "EI")


def _strict_chunks(tags: Tags, parts: Sequence[_Tag], scheme: str) -> list[Chunk]:
    """The chunks that begin, go on and end as the scheme demands; what breaks it belongs to none."""
    name = _ALIASES.get(scheme.lower(), scheme.lower())
    if name not in _STRICT:
        raise unknown("tagging scheme", scheme, [*_STRICT, *_ALIASES])
    begins, goes_on, last = _STRICT[name]
    for tag, part in zip(tags, parts, strict=True):
        if part.prefix not in {OUTSIDE, *begins, *goes_on}:
            raise FirthError(f"{tag!r} is not a tag of {name}", do="name the scheme of these tags, or count otherwise")
    result, position, before = [], 0, _EDGE
    while position < len(parts):
        start, tag = position, parts[position]
        position += 1
        if tag.prefix in begins and (name != "iob1" or _begins_iob1(before, tag)):
            while position < len(parts) and _goes_on(parts[position - 1], parts[position], goes_on, last, name):
                position += 1
            after = parts[position] if position < len(parts) else _EDGE
            if parts[position - 1].prefix in last and not (name == "iob1" and _breaks_iob1(parts[position - 1], after)):
                result.append(Chunk(start, position, tag.label))
        before = parts[position - 1]
    return result


def _goes_on(before: _Tag, tag: _Tag, goes_on: str, last: str, name: str) -> bool:
    ended = name in ("bioes", "bilou") and before.prefix in last
    return not ended and tag.prefix in goes_on and tag.label == before.label


def _begins_iob1(before: _Tag, tag: _Tag) -> bool:
    """A B only directly after a chunk of the same label; an I after O, after B, or after another label."""
    same = before.label == tag.label
    if tag.prefix == "B":
        return before.prefix in "IB" and same
    return before.prefix in "OB" or not same


def _breaks_iob1(before: _Tag, after: _Tag) -> bool:
    return before.prefix == after.prefix == "B" and before.label != after.label


def _split(tag: str) -> _Tag:
    return _Tag(tag[:1] or OUTSIDE, tag[1:].removeprefix("-") or _UNNAMED)


def _data(gold: Sequence[Tags]) -> dict[str, object]:
    return {"data": digest([[" ".join(tags) for tags in gold]])}
