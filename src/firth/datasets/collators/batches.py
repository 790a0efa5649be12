"""The collator of each batching configuration: one table, and the functions that look it up.

A batch is a pure function of (seed, epoch, index): any batch of any epoch is collated on its own. For next-token
prediction (teacher forcing) a document's tokens w1 … wn [END] are the targets of the inputs [START] w1 … wn. In a
contiguous stream the [END] of one document precedes the next one's first token, and is fed to the model as [START]: so
[START] is never a target, [END] never an input, and a document has the same targets in every kind of batch.
"""

from __future__ import annotations

from firth.config.schema import (
    Batching,
    Bucketed,
    Contiguous,
    ImageRows,
    Packed,
    SegmentPairs,
    SentencePairs,
    SourceTarget,
    TwoTowers,
    Windows,
)
from firth.datasets.collators.collator import Batches
from firth.datasets.collators.contiguous import ContiguousBatches, WindowBatches
from firth.datasets.collators.image_batches import ImageBatches
from firth.datasets.collators.packing import BucketedBatches, PackedBatches
from firth.datasets.collators.segment_pairs import SegmentPairBatches
from firth.datasets.collators.sentence_pairs import SentencePairBatches, TwoTowerBatches
from firth.datasets.collators.source_target import SourceTargetBatches
from firth.datasets.token_cache import Split
from firth.tokenizers.special_tokens import SpecialTokens

__all__ = ["Batches", "context_label", "evaluation_batching", "make_batches"]

_KINDS = {
    Contiguous: ContiguousBatches,
    Bucketed: BucketedBatches,
    Packed: PackedBatches,
    Windows: WindowBatches,
    SegmentPairs: SegmentPairBatches,
    SentencePairs: SentencePairBatches,
    TwoTowers: TwoTowerBatches,
    SourceTarget: SourceTargetBatches,
    ImageRows: ImageBatches,
}


def make_batches(config: Batching, split: Split, special: SpecialTokens | None, seed: int) -> Batches:
    """The batches of a split as configured; images have no special tokens."""
    return _KINDS[type(config)](config, split, special, seed)


def evaluation_batching(config: Batching) -> Batching:
    """The batching for evaluation: each token is scored with as much left context as the model can use."""
    return _KINDS[type(config)].evaluation_batching(config)


def context_label(config: Batching) -> str:
    """The context that a token is predicted from, for the signature of a score."""
    return _KINDS[type(config)].context(config)
