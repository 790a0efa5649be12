"""What is hidden or changed before a model reads, and what is asked of it: a function of the objective."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from firth.config import schema
from firth.data.batches.common import Batches
from firth.data.corrupt.denoising import Denoising
from firth.data.corrupt.masking import Masking
from firth.data.corrupt.permuting import Permuting
from firth.data.corrupt.prefixed import Prefixed, context_first
from firth.data.corrupt.writing import Writing
from firth.text.tokenizer import Tokenizer
from firth.types import Batch, Cursor

# A corruption is built once, and called with a batch, the seed and the batch's cursor.
Corruption = Callable[[Batch, int, Cursor], Batch]
CORRUPTIONS: dict[type, Callable[[Any, Tokenizer], Corruption]] = {
    schema.Masked: Masking,
    schema.Permuted: Permuting,
    schema.Replaced: Masking,
    schema.Distil: Masking,
    schema.Written: Writing,
    schema.Denoise: Denoising,
    schema.Prefix: Prefixed,
}
# What is marked where whole texts are scored, each token once.
READINGS: dict[type, Callable[[Batch], Batch]] = {schema.Prefix: context_first}


@dataclass(frozen=True)
class Corrupted:
    """Batches of whole text, each changed in a way that depends on the seed and its place alone."""

    inner: Batches
    change: Corruption
    seed: int

    def count(self, epoch: int) -> int:
        """How many batches an epoch has."""
        return self.inner.count(epoch)

    def batch(self, at: Cursor) -> Batch:
        """One training batch."""
        return self.change(self.inner.batch(at), self.seed, at)

    def once(self) -> Iterator[Batch]:
        """Every row of the split once, changed in the same way each time."""
        for batch in self.inner.once():
            yield self.change(batch, 0, batch.at)


def corrupted(batches: Batches, objective: object, tokenizer: Tokenizer, seed: int) -> Batches:
    """The batches as the objective wants them."""
    found = CORRUPTIONS.get(type(objective))
    return batches if found is None else Corrupted(batches, found(objective, tokenizer), seed)
