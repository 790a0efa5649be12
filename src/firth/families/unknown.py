"""Words for tokens that a vocabulary lacks: spelled letter by letter, or copied from where a network looked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from firth.text import letters

if TYPE_CHECKING:
    from firth.families.translating import TranslatingModel


def copied(model: TranslatingModel, text: str, ids: Sequence[int]) -> list[str]:
    """For each unknown token the word of the source that was looked at most for it."""
    encoding, unknown = model.source.encode(text), model.tokenizer.special.unknown
    weights = model.weights(text, len(encoding.ids), ids)
    spans = [text[first:last].strip() for first, last in encoding.offsets] or [""]
    rows = [row for token, row in zip(ids, weights, strict=True) if token == unknown]
    return [spans[int(row.argmax()) if row.size else 0] for row in rows]


@torch.no_grad()
def spelled(model: TranslatingModel, text: str, ids: Sequence[int]) -> list[str]:
    """For each unknown token a word, letter by letter, if the model has learned to spell; else copied ones."""
    writer = model.system.head.letters
    if writer is None:
        return copied(model, text, ids)
    first = int(model.config.objective.opened)
    states = model.system.encode(model.forced(text, ids)).states[0, first : first + len(ids)]
    unknown = torch.tensor(ids) == model.tokenizer.special.unknown
    return [letters.read(word) for word in writer.spell(states[unknown])]


def kept(model: TranslatingModel, text: str, ids: Sequence[int]) -> list[str]:
    """The mark of unknown tokens itself."""
    unknown = model.tokenizer.special.unknown
    return [model.tokenizer.piece(unknown) for token in ids if token == unknown]


WAYS: dict[str, Callable[[TranslatingModel, str, Sequence[int]], list[str]]] = {
    "spell": spelled,
    "copy": copied,
    "keep": kept,
}


def text_of(model: TranslatingModel, text: str, ids: Sequence[int], way: str) -> str:
    """Tokens that were written for a text as text; those that are unknown as words of one of the ways."""
    unknown, tokenizer = model.tokenizer.special.unknown, model.tokenizer
    if unknown not in ids:
        return tokenizer.decode(ids)
    found = iter(WAYS[way](model, text, ids))
    told = [token for token in ids if token == unknown or token not in tokenizer.special.ids]
    marked = tokenizer.decode(told, show_special=True)  # with blanks where they would be around any word
    return re.sub(re.escape(tokenizer.piece(unknown)), lambda mark: next(found, mark[0]), marked).strip()
