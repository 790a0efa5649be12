"""Pairs of texts between their marks: what is read, and what is to be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firth.config import schema
from firth.data.corrupt.noises import Pair
from firth.errors import FirthError
from firth.text.letters import PAD
from firth.text.tokenizer import Tokenizer
from firth.types import Batch, Cursor, Target, Tokens


class Writing:
    """Makes of the two texts of each row the streams "source" and "target", and what is to be predicted."""

    def __init__(self, config: schema.Written, tokenizer: Tokenizer) -> None:
        self.config, self.tokenizer, self.special = config, tokenizer, tokenizer.special

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with the marks at the ends of both texts; all of the target is to be predicted."""
        if "source" not in batch.streams:
            do = "set data.kind=text-to-text and batching.kind=pairs"
            raise FirthError("no pairs of texts to learn from", where="data", do=do)
        sides = (batch.streams["source"], batch.streams["target"])
        rows = ([ids[mask] for ids, mask in zip(side.ids, side.mask, strict=True)] for side in sides)
        made = self.streams([Pair(*texts) for texts in zip(*rows, strict=True)])
        if sides[0].letters is not None:
            made = self._spelled(made, *sides)
        return replace(batch, **made)

    def _spelled(self, made: dict[str, dict], source: Tokens, target: Tokens) -> dict[str, dict]:
        """The same with the letters of what is read, and those of what is written as a target of their own."""
        first, streams, told = int(self.config.opened), made["streams"], made["targets"]["target"]

        def placed(side: Tokens, shape: tuple[int, ...]) -> np.ndarray:
            found = np.full((*shape, side.letters.shape[-1]), PAD, np.int64)
            found[:, first : first + side.letters.shape[1]] = side.letters
            return found

        letters = placed(target, told.values.shape)
        streams = {**streams, "source": replace(streams["source"], letters=placed(source, streams["source"].ids.shape))}
        target = Target(letters, (letters != PAD).astype(np.float32))
        return {"streams": streams, "targets": {**made["targets"], "letters": target}}

    def streams(self, pairs: Sequence[Pair]) -> dict[str, dict]:
        """Pairs as padded streams, with the marks at their ends, and the target."""
        config, special = self.config, self.special
        opening, first = [special.start] if config.opened else [], getattr(special, config.first)
        source, seen = padded([[*opening, *pair.source, special.end] for pair in pairs], special.pad)
        values, mask = padded([[*opening, *pair.target, special.end] for pair in pairs], special.pad)
        read = np.where(mask, np.roll(values, 1, axis=1), special.pad)
        read[:, 0] = first
        told = Target(values, mask.astype(np.float32))
        return {"streams": {"source": Tokens(source, seen), "target": Tokens(read, mask)}, "targets": {"target": told}}


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of tokens side by side, and which of them are real; both (rows, longest)."""
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, pad, np.int64)
    ids[mask] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return ids, mask
