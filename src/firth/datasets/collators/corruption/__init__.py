"""Corruption of batches by objective: masked language modelling, permutation language modelling, prefix LM, denoising
and span corruption, and the shifted decoder inputs of teacher forcing.

What a collating function of other toolkits does per objective (`DataCollatorForLanguageModeling` and its kin) is here a
function from a batch of whole text to the batch with corrupted inputs and the targets to predict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from firth.config import schema
from firth.datasets.collators.collator import Batches
from firth.datasets.collators.corruption.denoising import Denoising
from firth.datasets.collators.corruption.masking import Masking
from firth.datasets.collators.corruption.permutation import Permutation
from firth.datasets.collators.corruption.prefix import PrefixSplit, context_as_prefix
from firth.datasets.collators.corruption.teacher_forcing import TeacherForcing
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Batch, Cursor

# A corruption is built once, and called with a batch, the seed and the batch's cursor.
Corruption = Callable[[Batch, int, Cursor], Batch]
CORRUPTIONS: dict[type, Callable[[Any, Tokenizer], Corruption]] = {
    schema.MaskedLM: Masking,
    schema.PermutationLM: Permutation,
    schema.ReplacedTokenDetection: Masking,
    schema.Distillation: Masking,
    schema.Seq2Seq: TeacherForcing,
    schema.Denoising: Denoising,
    schema.PrefixLM: PrefixSplit,
}
# What is done to a batch where texts are scored, each token once.
EVALUATION_CORRUPTIONS: dict[type, Callable[[Batch], Batch]] = {schema.PrefixLM: context_as_prefix}


@dataclass(frozen=True)
class CorruptedBatches:
    """Batches corrupted for an objective; the noise is a function of the seed and the cursor alone."""

    batches: Batches
    corruption: Corruption
    seed: int

    def count(self, epoch: int) -> int:
        """The number of batches of an epoch."""
        return self.batches.count(epoch)

    def batch(self, at: Cursor) -> Batch:
        """One training batch."""
        return self.corruption(self.batches.batch(at), self.seed, at)

    def evaluation_batches(self) -> Iterator[Batch]:
        """One pass for evaluation, with the same noise each time."""
        for batch in self.batches.evaluation_batches():
            yield self.corruption(batch, 0, batch.cursor)


def corrupt_batches(batches: Batches, objective: object, tokenizer: Tokenizer, seed: int) -> Batches:
    """The batches corrupted for the objective; as they are for objectives without corruption."""
    corruption = CORRUPTIONS.get(type(objective))
    return batches if corruption is None else CorruptedBatches(batches, corruption(objective, tokenizer), seed)
