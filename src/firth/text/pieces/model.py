"""What a SentencePiece model consists of."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from firth.errors import FirthError

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # types of pieces, by SentencePiece's numbers
SPACE = "▁"  # how a space is written in pieces
NOTE = "sentencepiece"  # where a tokenizer file keeps the model as it was
KINDS = ("unigram", "bpe", "char", "word")


class Piece(NamedTuple):
    """An entry of the vocabulary; its number is its place."""

    text: str
    score: float
    type: int = NORMAL


@dataclass(frozen=True)
class Model:
    """All of a SentencePiece model that decides how text is cut."""

    kind: str  # unigram, bpe, char or word
    pieces: tuple[Piece, ...]
    charsmap: bytes = b""
    prefix: bool = True  # a space is put before the text
    trim: bool = True  # spaces around the text and all but one in a row are dropped
    escape: bool = True  # spaces become ▁
    suffix: bool = False  # the space belongs to the word before it
    bytes: bool = False  # unknown characters become bytes

    def to_json(self) -> dict[str, Any]:
        """As a tokenizer file keeps it."""
        return {**asdict(self), "pieces": [list(p) for p in self.pieces], "charsmap": _letters(self.charsmap)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], where: object) -> Model:
        """The model whose `to_json` this is."""
        try:
            pieces = tuple(Piece(str(text), float(score), int(kind)) for text, score, kind in values["pieces"])
            made = cls(**{**values, "pieces": pieces, "charsmap": base64.b64decode(values["charsmap"])})
            if made.kind not in KINDS or not pieces:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise FirthError(f"damaged: its {NOTE} entry is incomplete", where=where, do="import it again") from None
        return made


def _letters(data: bytes) -> str:
    return base64.b64encode(data).decode()


def any_of(texts: Sequence[str]) -> re.Pattern[str] | None:
    """Whichever of the texts stands here, the longest first."""
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True)))) if texts else None
