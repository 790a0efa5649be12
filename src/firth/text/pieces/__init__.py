"""SentencePiece models, run exactly as SentencePiece runs them (Kudo and Richardson 2018).

The Rust library can hold such a model but not its whole behaviour: it normalises by grapheme, adds scores in another
precision and finds control symbols in plain text. A file imported from SentencePiece therefore carries the model's
pieces as they were, in its `model.sentencepiece`, which other programs pass over; firth encodes by them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from firth.text.pieces.cutting import CUT, Cut, Finish
from firth.text.pieces.model import NOTE, Model
from firth.text.pieces.normaliser import Normaliser

if TYPE_CHECKING:
    import tokenizers

__all__ = ["NOTE", "Exact", "Model"]


class Found(NamedTuple):
    """What the library's encodings have that a tokenizer asks for."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class Exact:
    """Stands for the library's tokenizer: encodes by the model, leaves everything else to the library."""

    normalizer = None  # the offsets given are final

    def __init__(self, rust: tokenizers.Tokenizer, model: Model) -> None:
        self._rust = rust
        self._normalise = Normaliser(model)
        self._cut = CUT[model.kind](model)
        self._finish = Finish(model)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rust, name)

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool = False) -> list[Found]:
        """The tokens of each text, and where in it they stand."""
        found = []
        for text in texts:
            cuts, origin = self._encode(text)
            found.append(Found([cut.id for cut in cuts], [(origin[cut.start], origin[cut.end]) for cut in cuts]))
        return found

    def encode_batch_fast(self, texts: Sequence[str], add_special_tokens: bool = False) -> list[Found]:
        """The tokens alone."""
        return [Found([cut.id for cut in self._encode(text)[0]], []) for text in texts]

    def _encode(self, text: str) -> tuple[list[Cut], list[int]]:
        if not isinstance(text, str) or _HALF.search(text):
            raise TypeError("not text")
        normal, origin = self._normalise(text)
        return self._finish(normal, self._cut(normal)), origin


_HALF = re.compile("[\ud800-\udfff]")
