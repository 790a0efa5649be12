"""Typographic normalisation: line breaks, quotation marks and dashes distinguish editions, not authors."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from firth.tokenizers.split import split_sentences

DOCUMENT_SIZE = 1000  # characters: a document ends with the sentence that reaches it
_BUFFER_SIZE = 20 * DOCUMENT_SIZE  # characters split into sentences at once

_RULES = (
    (re.compile('[“”„«»"‘’‚‹›`´]'), "'"),
    (re.compile(r"\s*(?:-{2,}|[—–―]|(?<=\s)-(?=\s))\s*"), " - "),
    (re.compile(r"…|\. \. \."), "..."),
    (re.compile(r"_(?=\w)|(?<=\w)_"), ""),  # italics in plain text files
    (re.compile(r"\s+"), " "),
)


def normalise_typography(documents: Iterable[str]) -> Iterator[str]:
    """Yield the same words in documents of about one size, with one kind of quotation mark, dash and whitespace."""
    buffer = ""
    for sentence in _sentences(documents):
        buffer = f"{buffer} {sentence}" if buffer else sentence
        if len(buffer) >= DOCUMENT_SIZE:
            yield buffer
            buffer = ""
    if buffer:
        yield buffer


def _sentences(documents: Iterable[str]) -> Iterator[str]:
    """Yield sentences, also those that a line or document break interrupts."""
    buffer = ""
    for document in documents:
        buffer += f" {document}"
        if len(buffer) >= _BUFFER_SIZE:
            *complete, buffer = _split(_normalise(buffer))
            yield from complete
    yield from _split(_normalise(buffer))


def _split(text: str) -> Iterator[str]:
    """Split into sentences; one longer than a document is split between words."""
    for sentence in split_sentences(text):
        yield from (
            textwrap.wrap(sentence, DOCUMENT_SIZE, break_on_hyphens=False)
            if len(sentence) > DOCUMENT_SIZE
            else [sentence]
        )


def _normalise(text: str) -> str:
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.strip()
