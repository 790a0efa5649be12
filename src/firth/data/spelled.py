"""How the words are spelled that a vocabulary lacks: in the tokens of a split they are all [UNK]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firth.data.cache import Split
from firth.text.letters import LONGEST, PAD, spell
from firth.text.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Spelled:
    """The letters of unknown tokens, in their order."""

    places: np.ndarray  # (unknown,) where they stand among all tokens
    letters: np.ndarray  # (unknown, LONGEST)

    def between(self, first: int, last: int) -> np.ndarray:
        """Letters of the tokens from one place to another (last - first, LONGEST); known ones have none."""
        found = np.full((last - first, LONGEST), PAD, np.int64)
        start, stop = np.searchsorted(self.places, (first, last))
        found[self.places[start:stop] - first] = self.letters[start:stop]
        return found


def spelled(split: Split, texts: Sequence[str], tokenizer: Tokenizer) -> Spelled:
    """The spellings of all unknown tokens of a split, whose documents are these texts."""
    places = np.flatnonzero(np.asarray(split.ids) == tokenizer.special.unknown)
    documents = np.unique(np.searchsorted(split.starts, places, side="right") - 1)
    words = [word for document in documents for word in tokenizer.unknown_spans(texts[document])]
    letters = np.stack([spell(word.strip()) for word in words]) if words else np.zeros((0, LONGEST), np.int64)
    return Spelled(places, letters)
