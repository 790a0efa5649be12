"""A text without its printer's habits: line breaks, quotation marks and dashes tell editions apart, not authors."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from firth.text.split import sentences

SIZE = 1000  # characters: a document ends with the sentence in which it reaches them
_HELD = 20 * SIZE  # characters cut into sentences at once

_RULES = (
    (re.compile('[“”„«»"‘’‚‹›`´]'), "'"),
    (re.compile(r"\s*(?:-{2,}|[—–―]|(?<=\s)-(?=\s))\s*"), " - "),
    (re.compile(r"…|\. \. \."), "..."),
    (re.compile(r"_(?=\w)|(?<=\w)_"), ""),  # how plain text files print italics
    (re.compile(r"\s+"), " "),
)


def levelled(documents: Iterable[str]) -> Iterator[str]:
    """The same words in documents of about one size, with one kind of quotation mark, dash and white space."""
    held = ""
    for sentence in _sentences(documents):
        held = f"{held} {sentence}" if held else sentence
        if len(held) >= SIZE:
            yield held
            held = ""
    if held:
        yield held


def _sentences(documents: Iterable[str]) -> Iterator[str]:
    """One after the other, also where a line or a document breaks in the midst of one."""
    held = ""
    for document in documents:
        held += f" {document}"
        if len(held) >= _HELD:
            *whole, held = _cut(_plain(held))
            yield from whole
    yield from _cut(_plain(held))


def _cut(text: str) -> Iterator[str]:
    """Sentences; one of more than a document's size is cut between words."""
    for sentence in sentences(text):
        yield from textwrap.wrap(sentence, SIZE, break_on_hyphens=False) if len(sentence) > SIZE else [sentence]


def _plain(text: str) -> str:
    for pattern, put in _RULES:
        text = pattern.sub(put, text)
    return text.strip()
