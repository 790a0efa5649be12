"""The interface of all trainers of word vectors (word2vec, GloVe, count-based) to the training loop."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from firth.embeddings.training_text import Corpus
from firth.embeddings.word_vectors import WordVectors


class Loss(NamedTuple):
    """A sum of losses in float64, and how many were summed."""

    count: int
    total: float

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.count + other.count, self.total + other.total)

    @property
    def mean(self) -> float:
        """The mean loss."""
        return self.total / self.count if self.count else 0.0


class EmbeddingTrainer(Protocol):
    """Word vectors in training. An epoch is a number of chunks; each updates the arrays in place.

    Chunks trained in order by one thread give identical bytes; several threads train lock-free (Hogwild), which is not
    reproducible.
    """

    has_loss: bool
    chunks: int  # per epoch
    size: int  # words (or co-occurrence cells) per epoch, for the throughput
    arrays: dict[str, np.ndarray]  # the parameters and optimizer state: what a checkpoint holds

    def train_chunk(self, epoch: int, chunk: int) -> Loss:
        """Train on one chunk; returns the loss before each update."""

    def held_out(self, corpus: Corpus) -> Loss | None:
        """The held-out loss on other text, without updates; None where the method has no loss."""

    def word_vectors(self) -> WordVectors:
        """The current word vectors, with the context vectors."""
