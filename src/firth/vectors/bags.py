"""fastText's classifier in training (Joulin et al. 2017): the mean of a text's rows predicts its labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from firth.config.schema import Bag
from firth.data.randomness import generator, number
from firth.vectors import bag_kernels
from firth.vectors.bag_classifier import Classifier
from firth.vectors.features import Features, Lines, Spelling
from firth.vectors.huffman import Paths, paths
from firth.vectors.learner import Loss

JOB = 20_000  # words of a piece of work, about
LANES = 16  # rows are padded to a multiple of so many numbers
METHODS = {"softmax": bag_kernels.SOFTMAX, "hierarchical": bag_kernels.HIERARCHICAL, "ova": bag_kernels.OVA}


class Labels:
    """The labels of the training texts, from frequent to rare, and how often each stands."""

    def __init__(self, given: Sequence[Sequence[str]]) -> None:
        names, counts = np.unique([label for labels in given for label in labels], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        self.names = tuple(str(names[place]) for place in order)
        self.counts = counts[order].astype(np.int64)
        self._numbers = {name: place for place, name in enumerate(self.names)}

    def aims(self, given: Sequence[Sequence[str]], predict: str) -> bag_kernels.Aims:
        """What each text should say; labels never seen in training cannot be said."""
        numbers = self._numbers
        known = [[numbers[label] for label in dict.fromkeys(labels) if label in numbers] for labels in given]
        flat = np.array([label for labels in known for label in labels], np.int32)
        starts = np.concatenate([[0], np.cumsum([len(labels) for labels in known])]).astype(np.int64)
        return bag_kernels.Aims(METHODS[predict], flat, starts, *tree(self.counts, predict))


def tree(counts: np.ndarray, predict: str) -> Paths:
    """The labels' paths in a Huffman tree; none where there is no need of one."""
    if predict != "hierarchical" or len(counts) < 2:
        return Paths(np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(len(counts) + 1, np.int64))
    return paths(counts)


class Model:
    """Rows of input and of output, changed in place. Texts are read in an order drawn anew for each epoch."""

    predicts = True

    def __init__(
        self,
        features: Features,
        lines: Lines,
        given: Sequence[Sequence[str]],
        config: Bag,
        epochs: int = 5,
        seed: int = 0,
    ) -> None:
        self.features, self.config, self.epochs, self.seed = features, config, epochs, seed
        self.labels = Labels(given)
        self.text, self.aims = features.text(lines), self.labels.aims(given, config.predict)
        self.size, count = len(lines.words), len(given)
        self.pieces = max(1, min(count, self.size // JOB))
        self._borders = list(pairwise(np.linspace(0, count, self.pieces + 1).astype(np.int64)))
        self._order = (-1, np.zeros(0, np.int64))
        width = config.width
        self.inputs = np.zeros((len(features), -(-width // LANES) * LANES), np.float32)
        start = generator(seed, "bags").random((len(features), width), dtype=np.float32)
        self.inputs[:, :width] = (start - np.float32(0.5)) * np.float32(2 / width)
        self.outputs = np.zeros((len(self.labels.names), self.inputs.shape[1]), np.float32)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All that training changes."""
        return {"inputs": self.inputs, "outputs": self.outputs}

    def work(self, epoch: int, piece: int) -> Loss:
        """One piece of an epoch; the rate falls to 0 in a straight line over all of them."""
        first, last = (self.config.rate * (1 - (epoch + at / self.pieces) / self.epochs) for at in (piece, piece + 1))
        seed = number(self.seed, "job", epoch, piece)
        return self._pass(self.text, self.aims, self._shuffled(epoch), *self._borders[piece], first, last, seed)

    def held_out(self, lines: Lines, given: Sequence[Sequence[str]]) -> Loss:
        """Of other texts; those whose labels are all new have none."""
        aims = self.labels.aims(given, self.config.predict)
        seed, order = number(0, "held out"), np.arange(len(given))
        return self._pass(self.features.text(lines), aims, order, 0, len(given), 0.0, 0.0, seed)

    def classifier(self, counts: np.ndarray, spell: Spelling) -> Classifier:
        """The classifier as it is."""
        width, labels = self.config.width, self.labels
        inputs, outputs = (np.ascontiguousarray(array[:, :width]) for array in (self.inputs, self.outputs))
        about = (labels.names, labels.counts, self.config.predict)
        return Classifier(self.features, counts, *about, inputs, outputs, spell)

    def _shuffled(self, epoch: int) -> np.ndarray:
        """The order of an epoch: a pure function of the seed, made once (or by two threads, alike)."""
        known, order = self._order
        if known != epoch:
            count = len(self.text.starts) - 1
            order = np.argsort(generator(self.seed, "order", epoch).random(count), kind="stable")
            self._order = (epoch, order)
        return order

    def _pass(self, text, aims, order, begin, stop, first, last, seed) -> Loss:
        rows = (self.inputs, self.outputs)
        return Loss(*bag_kernels.learn(text, aims, order, begin, stop, float(first), float(last), seed | 1, *rows))
