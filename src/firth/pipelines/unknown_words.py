"""Replacement of unknown target tokens: spelled by a character decoder (Luong and Manning 2016), or copied from the
source word with the highest attention weight (Luong et al. 2015)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from firth.tokenizers import characters

if TYPE_CHECKING:
    from firth.pipelines.translate import TranslationModel


def copy_words(model: TranslationModel, text: str, ids: Sequence[int]) -> list[str]:
    """For each unknown token the source word that it attends to most."""
    encoding, unknown = model.source.encode_with_offsets(text), model.tokenizer.special.unknown
    weights = model.attention_weights(text, len(encoding.ids), ids)
    spans = [text[first:last].strip() for first, last in encoding.offsets] or [""]
    rows = [row for token, row in zip(ids, weights, strict=True) if token == unknown]
    return [spans[int(row.argmax()) if row.size else 0] for row in rows]


@torch.no_grad()
def spell_words(model: TranslationModel, text: str, ids: Sequence[int]) -> list[str]:
    """For each unknown token a word by the character decoder, if the model has one; else a copied word."""
    decoder = model.system.head.character_decoder
    if decoder is None:
        return copy_words(model, text, ids)
    first = int(model.config.objective.add_start_token)
    states = model.system.encode(model.teacher_forced_batch(text, ids)).states[0, first : first + len(ids)]
    unknown = torch.tensor(ids) == model.tokenizer.special.unknown
    return [characters.decode_word(word) for word in decoder.generate(states[unknown])]


def keep_unknown(model: TranslationModel, text: str, ids: Sequence[int]) -> list[str]:
    """For each unknown token [UNK] itself."""
    unknown = model.tokenizer.special.unknown
    return [model.tokenizer.id_to_token(unknown) for token in ids if token == unknown]


STRATEGIES: dict[str, Callable[[TranslationModel, str, Sequence[int]], list[str]]] = {
    "spell": spell_words,
    "copy": copy_words,
    "keep": keep_unknown,
}


def decode_with_unknowns(model: TranslationModel, text: str, ids: Sequence[int], strategy: str) -> str:
    """The text of target tokens for a source text; unknown tokens are replaced by a strategy."""
    unknown, tokenizer = model.tokenizer.special.unknown, model.tokenizer
    if unknown not in ids:
        return tokenizer.decode(ids)
    words = iter(STRATEGIES[strategy](model, text, ids))
    visible = [token for token in ids if token == unknown or token not in tokenizer.special.ids]
    decoded = tokenizer.decode(visible, skip_special_tokens=False)  # [UNK] spaced like any word
    return re.sub(re.escape(tokenizer.id_to_token(unknown)), lambda match: next(words, match[0]), decoded).strip()
