"""The characters of out-of-vocabulary (OOV) words, which are all [UNK] in the tokens of a split, for character-level
models (Luong and Manning 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firth.datasets.token_cache import Split
from firth.tokenizers.characters import MAX_WORD_BYTES, PAD, encode_word
from firth.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class OovCharacters:
    """The characters of the [UNK] tokens of a split, in their order."""

    positions: np.ndarray  # (unknown,) among all tokens of the split
    characters: np.ndarray  # (unknown, MAX_WORD_BYTES)

    def between(self, first: int, last: int) -> np.ndarray:
        """The characters of the tokens first … last-1 (last - first, MAX_WORD_BYTES); known words have none."""
        characters = np.full((last - first, MAX_WORD_BYTES), PAD, np.int64)
        start, stop = np.searchsorted(self.positions, (first, last))
        characters[self.positions[start:stop] - first] = self.characters[start:stop]
        return characters


def find_oov_characters(split: Split, texts: Sequence[str], tokenizer: Tokenizer) -> OovCharacters:
    """The characters of all [UNK] tokens of a split, whose documents are these texts."""
    positions = np.flatnonzero(np.asarray(split.ids) == tokenizer.special.unknown)
    documents = np.unique(np.searchsorted(split.starts, positions, side="right") - 1)
    words = [word for document in documents for word in tokenizer.oov_spans(texts[document])]
    characters = [np.zeros((0, MAX_WORD_BYTES), np.int64), *(encode_word(word.strip())[None] for word in words)]
    return OovCharacters(positions, np.concatenate(characters))
