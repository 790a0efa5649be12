"""Teacher forcing for sequence-to-sequence models: shifted decoder inputs, the target tokens shifted right by one.

Source and target close with [END] (and may open with [START], as in BART); the first decoder input is the configured
start token (T5: padding, BART: [END]).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firth.config import schema
from firth.datasets.collators.corruption.noise import SourceTargetPair
from firth.errors import FirthError
from firth.tokenizers.characters import PAD
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import CHARACTERS, Batch, Cursor, Target, Tokens


class TeacherForcing:
    """Adds special tokens to source and target, and makes the shifted decoder inputs and the targets."""

    def __init__(self, config: schema.Seq2Seq, tokenizer: Tokenizer) -> None:
        self.config, self.tokenizer, self.special = config, tokenizer, tokenizer.special

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with streams "source" and "target" (shifted decoder inputs); all target tokens are predicted."""
        if "source" not in batch.streams:
            do = "set data.kind=text-to-text and batching.kind=source-target"
            raise FirthError("no source and target texts to train on", where="data", do=do)
        sides = (batch.streams["source"], batch.streams["target"])
        rows = ([ids[mask] for ids, mask in zip(side.ids, side.mask, strict=True)] for side in sides)
        parts = self.make_streams([SourceTargetPair(*texts) for texts in zip(*rows, strict=True)])
        if sides[0].characters is not None:
            parts = self._with_characters(parts, *sides)
        return replace(batch, **parts)

    def _with_characters(self, parts: dict[str, dict], source: Tokens, target: Tokens) -> dict[str, dict]:
        """The same with the characters of the source's OOV words, and those of the target as a further target."""
        first, streams, targets = int(self.config.add_start_token), parts["streams"], parts["targets"]

        def aligned(side: Tokens, shape: tuple[int, ...]) -> np.ndarray:
            """The characters at the positions that their tokens have between special tokens."""
            characters = np.full((*shape, side.characters.shape[-1]), PAD, np.int64)
            characters[:, first : first + side.characters.shape[1]] = side.characters
            return characters

        values = aligned(target, targets["target"].values.shape)
        spelled = replace(streams["source"], characters=aligned(source, streams["source"].ids.shape))
        characters = Target(values, (values != PAD).astype(np.float32))
        return {"streams": {**streams, "source": spelled}, "targets": {**targets, CHARACTERS: characters}}

    def make_streams(self, pairs: Sequence[SourceTargetPair]) -> dict[str, dict]:
        """Pairs as padded streams between special tokens, the decoder inputs shifted right, and the target."""
        config, special = self.config, self.special
        opening, first = [special.start] if config.add_start_token else [], getattr(special, config.decoder_start)
        source, source_mask = pad_batch([[*opening, *pair.source, special.end] for pair in pairs], special.pad)
        values, mask = pad_batch([[*opening, *pair.target, special.end] for pair in pairs], special.pad)
        decoder_inputs = np.where(mask, np.roll(values, 1, axis=1), special.pad)
        decoder_inputs[:, 0] = first
        predicted = Target(values, mask.astype(np.float32))
        return {
            "streams": {"source": Tokens(source, source_mask), "target": Tokens(decoder_inputs, mask)},
            "targets": {"target": predicted},
        }


def pad_batch(sequences: Sequence[Sequence[int]], pad: int) -> tuple[np.ndarray, np.ndarray]:
    """The sequences padded to the longest, and the padding mask (True = real); both (rows, longest)."""
    lengths = np.array([len(sequence) for sequence in sequences])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, pad, np.int64)
    ids[mask] = np.concatenate([np.asarray(sequence, np.int64) for sequence in sequences])
    return ids, mask
