"""What every method of training word vectors offers to the loop that runs it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from firth.vectors.corpus import Corpus
from firth.vectors.store import WordVectors


class Loss(NamedTuple):
    """How many losses were summed, and their sum in float64."""

    count: int
    total: float

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.count + other.count, self.total + other.total)

    @property
    def mean(self) -> float:
        """Of one of them."""
        return self.total / self.count if self.count else 0.0


class Learner(Protocol):
    """Vectors in training. An epoch is so many pieces of work; each changes the arrays in place.

    Pieces done one after the other, in their order, give the same bytes; several threads may do them at once, without
    locks, and then they do not.
    """

    predicts: bool  # whether there is anything to lose
    pieces: int  # of an epoch
    size: int  # words (or cells) of an epoch, for the speed
    arrays: dict[str, np.ndarray]  # all that training changes: what a checkpoint holds

    def work(self, epoch: int, piece: int) -> Loss:
        """Do one piece; the loss before each step."""

    def held_out(self, corpus: Corpus) -> Loss | None:
        """The loss of other text, nothing changed; None where the method has no such thing."""

    def store(self) -> WordVectors:
        """The vectors as they are, with those of contexts."""
