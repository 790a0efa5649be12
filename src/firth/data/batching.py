"""Batches as pure functions of (seed, epoch, index): any batch of any epoch can be made on its own.

A document's tokens w1 … wn [END] are predicted from [START] w1 … wn. In a contiguous stream the [END] of one document
stands before the next one's first token, and is shown to the model as [START]: so [START] is never predicted, [END]
never read, and a document costs the same tokens in every kind of batch.
"""

from __future__ import annotations

from firth.config.schema import Apart, Batching, Bucketed, Contiguous, Framed, Joined, Packed, Pairs, Pictured, Windows
from firth.data.batches.common import Batches
from firth.data.batches.examples import ApartBatches, JoinedBatches
from firth.data.batches.framed import FramedBatches
from firth.data.batches.pairs import PairBatches
from firth.data.batches.pictures import PictureBatches
from firth.data.batches.ring import ContiguousBatches, WindowBatches
from firth.data.batches.rows import BucketedBatches, PackedBatches
from firth.data.cache import Split
from firth.text.special import Special

__all__ = ["Batches", "batches", "context", "reading"]

_KINDS = {
    Contiguous: ContiguousBatches,
    Bucketed: BucketedBatches,
    Packed: PackedBatches,
    Windows: WindowBatches,
    Framed: FramedBatches,
    Joined: JoinedBatches,
    Apart: ApartBatches,
    Pairs: PairBatches,
    Pictured: PictureBatches,
}


def batches(config: Batching, split: Split, special: Special | None, seed: int) -> Batches:
    """The batches of a split as configured; pictures have no special tokens."""
    return _KINDS[type(config)](config, split, special, seed)


def reading(config: Batching) -> Batching:
    """How a text is read when it is scored: with as much before each token as the model can use."""
    return _KINDS[type(config)].reading(config)


def context(config: Batching) -> str:
    """What a token's prediction may look back on, for the signature of a score."""
    return _KINDS[type(config)].context(config)
