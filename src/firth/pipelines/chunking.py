"""Chunking: texts longer than a model's maximum length, split at sentence boundaries."""

from __future__ import annotations

from collections.abc import Iterable

from firth.tokenizers.split import split_sentences
from firth.tokenizers.tokenizer import Tokenizer


def split_text(text: str, tokenizer: Tokenizer, max_length: int) -> list[str]:
    """The chunks of a text, of at most `max_length` tokens (0: any number): the whole of it, as many sentences at a
    time as fit, and of a sentence that is too long as many words."""
    if not max_length or len(tokenizer.encode(text)) <= max_length:
        return [text]
    parts: list[str] = []
    for sentence in split_sentences(text):
        fits = len(tokenizer.encode(sentence)) <= max_length
        parts += [sentence] if fits else _pack(sentence.split(), tokenizer, max_length)
    return _pack(parts, tokenizer, max_length)


def _pack(parts: Iterable[str], tokenizer: Tokenizer, max_length: int) -> list[str]:
    """Parts joined by blanks, as many at a time as fit."""
    chunks: list[str] = []
    for part in parts:
        longer = f"{chunks[-1]} {part}" if chunks else part
        if chunks and len(tokenizer.encode(longer)) <= max_length:
            chunks[-1] = longer
        else:
            chunks.append(part)
    return chunks
