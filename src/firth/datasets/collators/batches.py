"""The collator of each batching configuration and the corruption of each objective: two tables; and prefetching.

A batch is a pure function of (seed, epoch, index): any batch of any epoch is collated on its own. For next-token
prediction (teacher forcing) a document's tokens w1 … wn [END] are the targets of the inputs [START] w1 … wn. In a
contiguous stream the [END] of one document precedes the next one's first token, and is fed to the model as [START]: so
[START] is never a target, [END] never an input, and a document has the same targets in every kind of batch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets.collators.choice_rows import ChoiceBatches
from firth.datasets.collators.collator import Batches
from firth.datasets.collators.contiguous import ContiguousBatches, WindowBatches
from firth.datasets.collators.corruption.denoising import Denoising
from firth.datasets.collators.corruption.masking import Masking
from firth.datasets.collators.corruption.permutation import Permutation
from firth.datasets.collators.corruption.prefix import PrefixSplit, context_as_prefix
from firth.datasets.collators.corruption.teacher_forcing import TeacherForcing
from firth.datasets.collators.dialogue_batches import DialogueBatches
from firth.datasets.collators.image_batches import ImageBatches
from firth.datasets.collators.packing import BucketedBatches, PackedBatches
from firth.datasets.collators.question_context import QuestionContextBatches
from firth.datasets.collators.segment_pairs import SegmentPairBatches
from firth.datasets.collators.sentence_pairs import SentencePairBatches, TwoTowerBatches
from firth.datasets.collators.source_target import SourceTargetBatches
from firth.datasets.collators.word_rows import SubwordBatches, WordBatches
from firth.datasets.token_cache import Split
from firth.tokenizers.special_tokens import SpecialTokens
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Batch, Cursor

_KINDS = {
    schema.Contiguous: ContiguousBatches,
    schema.Bucketed: BucketedBatches,
    schema.Packed: PackedBatches,
    schema.Windows: WindowBatches,
    schema.SegmentPairs: SegmentPairBatches,
    schema.SentencePairs: SentencePairBatches,
    schema.QuestionContext: QuestionContextBatches,
    schema.ChoiceRows: ChoiceBatches,
    schema.TwoTowers: TwoTowerBatches,
    schema.SourceTarget: SourceTargetBatches,
    schema.DialogueRows: DialogueBatches,
    schema.ImageRows: ImageBatches,
    schema.WordRows: WordBatches,
    schema.SubwordRows: SubwordBatches,
}


def make_batches(config: schema.Batching, split: Split, special: SpecialTokens | None, seed: int) -> Batches:
    """The batches of a split as configured; images have no special tokens."""
    return _KINDS[type(config)](config, split, special, seed)


def evaluation_batching(config: schema.Batching) -> schema.Batching:
    """The batching for evaluation: each token is scored with as much left context as the model can use."""
    return _KINDS[type(config)].evaluation_batching(config)


def context_label(config: schema.Batching) -> str:
    """The context that a token is predicted from, for the signature of a score."""
    return _KINDS[type(config)].context(config)


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


def next_cursor(batches: Batches, at: Cursor) -> Cursor:
    """The cursor after a batch."""
    if at.index + 1 < batches.count(at.epoch):
        return Cursor(at.epoch, at.index + 1)
    return Cursor(at.epoch + 1, 0)


def prefetch_batches(batches: Batches, start: Cursor) -> Generator[Batch[np.ndarray]]:
    """Batches from `start` on, without end; a batch is a pure function of its cursor, so the thread changes nothing."""
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(batches.batch, start)
        while True:
            start = next_cursor(batches, start)
            batch, ahead = ahead.result(), pool.submit(batches.batch, start)
            yield batch
