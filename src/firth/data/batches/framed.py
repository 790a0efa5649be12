"""Pieces of documents as BERT reads them: [CLS] words [SEP], or [CLS] words [SEP] more words [SEP]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from firth.config.schema import Framed
from firth.data.batches.rows import PackedBatches, Pieces
from firth.data.cache import Split
from firth.data.randomness import generator
from firth.errors import FirthError
from firth.types import Batch, Cursor, Target, Tokens


@dataclass(frozen=True)
class FramedPieces(Pieces):
    """Pieces without [END], whose frame takes room too."""

    frame: int = 2  # tokens

    @classmethod
    def within(cls, split: Split, length: int, frame: int) -> FramedPieces:
        """Documents cut so that a piece and its frame have at most `length` tokens."""
        whole = Pieces.of(split, length - frame, end=1)
        return cls(whole.first, whole.last, frame)

    def cuttable(self, split: Split) -> FramedPieces:
        """Those that can be cut in two; an error where all are of one document, so that none comes from elsewhere."""
        whole = self.last - self.first > 1
        found = FramedPieces(self.first[whole], self.last[whole], self.frame)
        if len(np.unique(found.documents(split))) < 2:
            do = "give more documents (--document line or paragraph), or leave batching.pairs at none"
            raise FirthError(
                "pairs of segments need at least two documents of two tokens", where="batching.pairs", do=do
            )
        return found

    def documents(self, split: Split) -> np.ndarray:
        """The document that each piece is of."""
        return np.searchsorted(np.asarray(split.starts), self.first, side="right") - 1

    @property
    def sizes(self) -> np.ndarray:
        return self.last - self.first + self.frame


class FramedBatches(PackedBatches):
    """Framed pieces side by side. The targets are the tokens as they stand; which are asked is decided later."""

    config: Framed

    @staticmethod
    def context(config: Framed) -> str:
        return f"framed/{config.length}"

    @property
    def pairs(self) -> bool:
        """Whether pieces are made of two segments."""
        return self.config.pairs == "next"

    @lru_cache(maxsize=1)  # noqa: B019 - one plan; the object lives as long as the run
    def _pieces(self) -> FramedPieces:
        found = FramedPieces.within(self.split, self.config.length, 3 if self.pairs else 2)
        return found.cuttable(self.split) if self.pairs else found

    @lru_cache(maxsize=1)  # noqa: B019
    def _documents(self) -> np.ndarray:
        return self._pieces().documents(self.split)

    def _fill(self, rows: list[list[int]], at: Cursor) -> Batch:
        random = generator(self.seed, "pairs", at.epoch, at.index)
        made = [[self._piece(piece, random) for piece in row] for row in rows]
        width = max(sum(len(piece.ids) for piece in row) for row in made)
        table = np.zeros((6, len(rows), width), np.int64)  # ids, document, segment, places, told, next
        table[0] = self.special.padding
        asked = np.zeros((len(rows), width), np.float32)
        for number, row in enumerate(made):
            here = 0
            for mark, piece in enumerate(row, 1):
                span = slice(here, here + len(piece.ids))
                table[:5, number, span] = np.stack(
                    np.broadcast_arrays(piece.ids, mark, piece.segment, piece.places, piece.places >= 0)
                )
                table[5, number, here], asked[number, here] = piece.goes_on, float(self.pairs)
                here = span.stop
        ids, document, segment, places, told, goes_on = table
        alone = all(len(row) == 1 for row in rows)  # then padding alone must be told apart
        text = Tokens(ids, document > 0, None if alone else document, segment if self.pairs else None)
        targets = {"text": Target(ids, told.astype(np.float32), places)}
        targets |= {"next": Target(goes_on, asked)} if self.pairs else {}
        return Batch({"text": text}, targets, at)

    def _piece(self, number: int, random: np.random.Generator) -> _Piece:
        pieces = self._pieces()
        first, last = int(pieces.first[number]), int(pieces.last[number])
        if not self.pairs:
            return self._framed([np.arange(first, last)], goes_on=True)
        cut = first + int(random.integers(1, last - first))
        rest = np.arange(cut, last)
        goes_on = bool(random.random() < 0.5)
        second = rest if goes_on else self._elsewhere(number, len(rest), random)
        return self._framed([np.arange(first, cut), second], goes_on=goes_on)

    def _elsewhere(self, number: int, size: int, random: np.random.Generator) -> np.ndarray:
        """As many tokens, or fewer, from within a piece of another document up to its end: like what truly goes on, so
        that neither its first token nor its last gives it away."""
        pieces, documents = self._pieces(), self._documents()
        first, last = np.searchsorted(documents, [documents[number], documents[number] + 1])  # of its own document
        other = int(random.integers(len(documents) - (last - first)))
        other += (last - first) if other >= first else 0
        begin, end = int(pieces.first[other]), int(pieces.last[other])
        return np.arange(max(begin + 1, end - size), end)

    def _framed(self, segments: list[np.ndarray], *, goes_on: bool) -> _Piece:
        """Places of the tokens, -1 for what is no text."""
        ids, places, kinds = [[self.special.cls]], [[-1]], [[0]]
        for kind, segment in enumerate(segments):
            ids += [self.split.ids[segment], [self.special.sep]]
            places += [segment, [-1]]
            kinds += [np.full(len(segment) + 1, kind)]
        return _Piece(*(np.concatenate(part) for part in (ids, places, kinds)), goes_on)


@dataclass(frozen=True)
class _Piece:
    ids: np.ndarray
    places: np.ndarray
    segment: np.ndarray
    goes_on: bool
