"""Masking for masked language modelling (MLM; BERT, Devlin et al. 2019).

A fraction of the tokens (15 %) is selected for prediction; of these 80 % become [MASK], 10 % a random token and 10 %
stay as they are (the 80/10/10 rule). Dynamic masking samples a new mask each time (RoBERTa; Liu et al. 2019); static
masking gives each sequence a fixed number of masks that are used in turn, epoch by epoch (BERT: 10).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firth.config import schema
from firth.errors import FirthError
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Batch, Cursor, Target, Tokens, generator


class Masking:
    """Selects tokens for prediction and replaces them by [MASK], by a random token, or leaves them (80/10/10)."""

    def __init__(self, config: schema.Masking, tokenizer: Tokenizer) -> None:
        if config.mask_token_fraction + config.random_token_fraction > 1 + 1e-9:
            total = config.mask_token_fraction + config.random_token_fraction
            what = f"objective.mask_token_fraction + objective.random_token_fraction = {total:g}, more than 1"
            raise FirthError(what, do="lower one of them")
        self.config, self.mask = config, tokenizer.special.mask
        special = sorted(tokenizer.special.ids | {*tokenizer.sentinels})
        self.ordinary = np.setdiff1d(np.arange(tokenizer.vocab_size), special)

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with masked inputs; target weights are 1 where a token is predicted."""
        text, target = batch.streams["text"], batch.targets["text"]
        candidates = (target.weight > 0) & text.mask
        if self.config.masking == "dynamic":
            uniform = generator(seed, "mask", at.epoch, at.index).random((3, *candidates.shape))
            selected = select_positions(candidates, uniform[0], self.config.mask_probability)
        else:
            number = at.epoch % self.config.static_masks
            uniform, selected = self._static_masks(text, candidates, target.positions, seed, number)
        masked = selected & (uniform[1] < self.config.mask_token_fraction)
        changed = self.config.mask_token_fraction + self.config.random_token_fraction
        replaced = selected & ~masked & (uniform[1] < changed)
        ids = np.where(masked, self.mask, target.values)
        ids = np.where(replaced, self.ordinary[(uniform[2] * len(self.ordinary)).astype(np.int64)], ids)
        predicted = Target(target.values, selected.astype(np.float32), target.positions)
        return replace(batch, streams={"text": replace(text, ids=ids)}, targets={**batch.targets, "text": predicted})

    def _static_masks(
        self, text: Tokens, candidates: np.ndarray, positions: np.ndarray, seed: int, mask_number: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Uniform numbers (3, rows, time) and selected tokens (rows, time), seeded by each document's own position: a
        document has the same mask each time, whatever it is packed with."""
        documents = text.mask.astype(np.int64) if text.document is None else text.document
        uniform, selected = np.zeros((3, *candidates.shape)), np.zeros(candidates.shape, bool)
        for row, count in enumerate(documents.max(1)):
            for document in range(1, int(count) + 1):
                here = np.flatnonzero(documents[row] == document)
                known = positions[row, here][candidates[row, here]]
                random = generator(seed, "mask", mask_number, int(known[0]) if len(known) else -1)
                uniform[:, row, here] = random.random((3, len(here)))
                chosen = select_positions(
                    candidates[row, here][None], uniform[0, row, here][None], self.config.mask_probability
                )
                selected[row, here] = chosen[0]
        return uniform, selected


def select_positions(candidates: np.ndarray, uniform: np.ndarray, fraction: float) -> np.ndarray:
    """A fraction of the candidates of each row, at least one: those with the lowest uniform numbers."""
    counts = np.where(candidates.any(1), np.maximum(1, np.rint(fraction * candidates.sum(1))), 0)
    order = np.argsort(np.where(candidates, uniform, 2.0), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(candidates.shape[1])[None], axis=1)
    return candidates & (rank < counts[:, None])
