"""Training of fastText's supervised classifier (Joulin et al. 2017): the mean of a text's feature vectors predicts its
labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from firth.config.schema import FastText
from firth.embeddings import fasttext_kernels
from firth.embeddings.fasttext_features import EncodedLines, Features, WordSplitter
from firth.embeddings.fasttext_model import Classifier
from firth.embeddings.huffman import HuffmanPaths, huffman_paths
from firth.embeddings.method import Loss
from firth.types import derive_seed, generator

CHUNK_WORDS = 20_000  # words of a chunk, about
ROW_ALIGNMENT = 16  # rows are padded to a multiple of this many floats
LOSSES = {
    "softmax": fasttext_kernels.SOFTMAX,
    "hierarchical-softmax": fasttext_kernels.HIERARCHICAL,
    "one-vs-all": fasttext_kernels.OVA,
}


class LabelVocabulary:
    """The labels of the training texts by descending frequency, and their counts."""

    def __init__(self, labels: Sequence[Sequence[str]]) -> None:
        names, counts = np.unique([label for of_text in labels for label in of_text], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        self.names = tuple(str(names[index]) for index in order)
        self.counts = counts[order].astype(np.int64)
        self._ids = {name: index for index, name in enumerate(self.names)}

    def targets(self, labels: Sequence[Sequence[str]], loss: str) -> fasttext_kernels.Targets:
        """The label ids of each text; labels never seen in training are left out."""
        ids = self._ids
        known = [[ids[label] for label in dict.fromkeys(of_text) if label in ids] for of_text in labels]
        flat = np.array([label for of_text in known for label in of_text], np.int32)
        starts = np.concatenate([[0], np.cumsum([len(of_text) for of_text in known])]).astype(np.int64)
        return fasttext_kernels.Targets(LOSSES[loss], flat, starts, *label_tree(self.counts, loss))


def label_tree(counts: np.ndarray, loss: str) -> HuffmanPaths:
    """The labels' Huffman paths for hierarchical softmax; empty for other losses."""
    if loss != "hierarchical-softmax" or len(counts) < 2:
        return HuffmanPaths(np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(len(counts) + 1, np.int64))
    return huffman_paths(counts)


class FastTextTrainer:
    """Input and output vectors, updated in place; texts are shuffled anew for each epoch."""

    has_loss = True

    def __init__(
        self,
        features: Features,
        lines: EncodedLines,
        labels: Sequence[Sequence[str]],
        config: FastText,
        epochs: int = 5,
        seed: int = 0,
    ) -> None:
        self.features, self.config, self.epochs, self.seed = features, config, epochs, seed
        self.labels = LabelVocabulary(labels)
        self.line_features, self.targets = features.line_features(lines), self.labels.targets(labels, config.loss)
        self.size, count = len(lines.words), len(labels)
        self.chunks = max(1, min(count, self.size // CHUNK_WORDS))
        self._chunk_borders = list(pairwise(np.linspace(0, count, self.chunks + 1).astype(np.int64)))
        self._order = (-1, np.zeros(0, np.int64))
        width = config.width
        self.inputs = np.zeros((len(features), -(-width // ROW_ALIGNMENT) * ROW_ALIGNMENT), np.float32)
        uniform = generator(seed, "bags").random((len(features), width), dtype=np.float32)
        self.inputs[:, :width] = (uniform - np.float32(0.5)) * np.float32(2 / width)
        self.outputs = np.zeros((len(self.labels.names), self.inputs.shape[1]), np.float32)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters."""
        return {"inputs": self.inputs, "outputs": self.outputs}

    def train_chunk(self, epoch: int, chunk: int) -> Loss:
        """Train on one chunk of an epoch; the learning rate decays linearly to 0 over all chunks."""
        rates = (self.config.learning_rate * (1 - (epoch + n / self.chunks) / self.epochs) for n in (chunk, chunk + 1))
        seed, order = derive_seed(self.seed, "job", epoch, chunk), self._shuffled(epoch)
        return self._pass(self.line_features, self.targets, order, *self._chunk_borders[chunk], *rates, seed)

    def held_out(self, lines: EncodedLines, labels: Sequence[Sequence[str]]) -> Loss:
        """The loss on other texts; texts with only unseen labels do not count."""
        targets = self.labels.targets(labels, self.config.loss)
        seed, order = derive_seed(0, "held out"), np.arange(len(labels))
        return self._pass(self.features.line_features(lines), targets, order, 0, len(labels), 0.0, 0.0, seed)

    def classifier(self, counts: np.ndarray, split_words: WordSplitter) -> Classifier:
        """The current classifier."""
        width, labels = self.config.width, self.labels
        inputs, outputs = (np.ascontiguousarray(array[:, :width]) for array in (self.inputs, self.outputs))
        about = (labels.names, labels.counts, self.config.loss)
        return Classifier(self.features, counts, *about, inputs, outputs, split_words=split_words)

    def _shuffled(self, epoch: int) -> np.ndarray:
        """The order of an epoch: a pure function of the seed, computed once (or by two threads, identically)."""
        cached, order = self._order
        if cached != epoch:
            count = len(self.line_features.starts) - 1
            order = np.argsort(generator(self.seed, "order", epoch).random(count), kind="stable")
            self._order = (epoch, order)
        return order

    def _pass(self, line_features, targets, order, begin, stop, first_rate, last_rate, seed) -> Loss:
        rates = (float(first_rate), float(last_rate))
        arguments = (line_features, targets, order, begin, stop, *rates, seed | 1, self.inputs, self.outputs)
        return Loss(*fasttext_kernels.train(*arguments))
