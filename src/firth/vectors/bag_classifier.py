"""A trained classifier of bags of words: what it says of texts, its own file, and fastText's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.errors import FirthError
from firth.vectors import bag_kernels, bundle
from firth.vectors.features import Features, Shape, Spelling
from firth.vectors.files import fasttext
from firth.vectors.huffman import paths
from firth.vectors.store import WordVectors
from firth.vectors.subwords import Subwords
from firth.vectors.words import Words

KIND = "a classifier"
PREFIX = "__label__"
LOSSES = {"softmax": "softmax", "hierarchical": "hs", "ova": "ova"}  # ours -> fastText's
_BLOCK = 1 << 22  # probabilities worked out at once
_BLANK = re.compile(r"[ \n\r\t\v\f\0]+")  # what fastText cuts words at


def by_blanks(texts: Sequence[str]) -> Iterable[list[str]]:
    """As fastText cuts: at blanks, and what looks like a label is not part of the text."""
    for text in texts:
        yield [word for word in _BLANK.split(text) if word and not word.startswith(PREFIX)]


@dataclass(frozen=True, eq=False)
class Classifier:
    """Rows of input for the features of a text, rows of output for its labels."""

    features: Features
    counts: np.ndarray  # of the words
    labels: tuple[str, ...]
    label_counts: np.ndarray
    predict_by: str  # softmax, hierarchical or ova
    inputs: np.ndarray  # float32 (features, width)
    outputs: np.ndarray  # float32 (labels or nodes, width)
    spell: Spelling

    @property
    def width(self) -> int:
        """Of the vectors."""
        return self.inputs.shape[1]

    # --- asking ---------------------------------------------------------------------------------------------------

    def predict(
        self, texts: str | Sequence[str], count: int = 1, threshold: float = 0.0
    ) -> list[list[tuple[str, float]]]:
        """The `count` most probable labels of each text with their probabilities, none below the threshold."""
        texts, found = [texts] if isinstance(texts, str) else list(texts), []
        size = max(1, min(1000, _BLOCK // max(1, self._cost)))
        for start in range(0, len(texts), size):
            chances = self.probabilities(texts[start : start + size])
            best = np.argsort(-chances, axis=1, kind="stable")[:, :count]
            for row, places in zip(chances, best, strict=True):
                found.append([(self.labels[at], float(row[at])) for at in places if row[at] >= threshold])
        return found

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """float64 (texts, labels); of each label by itself where they are asked one by one (ova)."""
        scores = self.text_vectors(texts).astype(np.float64) @ self.outputs.T.astype(np.float64)
        if self.predict_by == "softmax":
            scores = np.exp(scores - scores.max(1, keepdims=True))
            return scores / scores.sum(1, keepdims=True)
        if self.predict_by == "ova":
            return np.exp(-np.logaddexp(0.0, -scores))
        if len(self.labels) < 2:
            return np.ones((len(scores), len(self.labels)))
        tree = paths(self.label_counts)
        ways = scores[:, tree.nodes] * np.where(tree.codes > 0, -1.0, 1.0)  # the farther below 0, the surer the way
        return np.exp(-np.add.reduceat(np.logaddexp(0.0, ways), tree.offsets[:-1], axis=1))

    def text_vectors(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (texts, width): the mean of the rows of each text."""
        lines = self.features.lines(self.spell(texts))
        out = np.zeros((len(texts), self.width), np.float32)
        bag_kernels.average(self.features.text(lines), 0, len(texts), self.inputs, out)
        return out

    def vectors(self) -> WordVectors:
        """The words as a store, with the vectors of words never seen if words have parts."""
        words, shape = self.features.words, self.features.shape
        own, parts = np.ascontiguousarray(self.inputs[: len(words)]), None
        vectors = own
        if shape.most:
            buckets = np.ascontiguousarray(self.inputs[len(words) :])
            parts = Subwords(buckets, shape.least, shape.most, own, self.features.used, shape.buckets)
            vectors = parts.compose(words, own)
        return WordVectors(words, vectors, counts=self.counts, subwords=parts)

    @property
    def _cost(self) -> int:
        """Numbers for a text: a path in the tree has several for each label."""
        return len(self.labels) * (32 if self.predict_by == "hierarchical" else 1)

    # --- its own file ---------------------------------------------------------------------------------------------

    def write(self, path: Path, note: Mapping[str, Any]) -> None:
        """Everything but the tokenizer, with a note of the caller's."""
        about = {"labels": self.labels, "predict": self.predict_by, "shape": self.features.shape, "note": dict(note)}
        arrays = {"inputs": self.inputs, "outputs": self.outputs, "counts": self.counts}
        arrays |= {"label_counts": self.label_counts, "used": self.features.used.astype(np.int64)}
        bundle.write(path, KIND, about, {**arrays, "words": np.frombuffer(self.features.words.blob, np.uint8)})

    @classmethod
    def read(cls, path: Path, spell: Spelling = by_blanks) -> tuple[Classifier, dict[str, Any]]:
        """The classifier of a file, and the note with it."""
        about, arrays = bundle.read(path, KIND)
        try:
            features = Features(Words(arrays["words"].tobytes()), Shape(*about["shape"]), arrays["used"])
            kept = (arrays["counts"], tuple(about["labels"]), arrays["label_counts"], about["predict"])
            found = cls(features, *kept, arrays["inputs"], arrays["outputs"], spell)
            fitting = len(features) == len(found.inputs) and len(found.labels) == len(found.outputs)
            if not fitting or found.outputs.shape[1] != found.width or about["predict"] not in LOSSES:
                raise ValueError
            return found, dict(about["note"])
        except (KeyError, ValueError, TypeError, IndexError):
            raise FirthError("damaged: its parts do not fit", where=path, do="restore it, or train again") from None

    # --- fastText's file ------------------------------------------------------------------------------------------

    def export(self, path: str | Path, epochs: int = 5) -> None:
        """A .bin that fastText loads and that says the same of texts whose words have blanks between them."""
        words, shape = self.features.words, self.features.shape
        options = fasttext.Options(
            dim=self.width,
            epoch=epochs,
            wordNgrams=shape.ngrams,
            loss=fasttext.LOSSES[LOSSES[self.predict_by]],
            model=fasttext.MODELS["supervised"],
            bucket=shape.hashed,
            minn=shape.least,
            maxn=shape.most,
        )
        rows = np.zeros((len(words) + shape.hashed, self.width), np.float32)
        rows[: len(words)] = self.inputs[: len(words)]
        rows[len(words) + self.features.used] = self.inputs[len(words) :]
        labels = tuple(PREFIX + label for label in self.labels)
        tokens = int(self.counts.sum() + self.label_counts.sum())
        kept = (words, self.counts, labels, self.label_counts, tokens, rows, self.outputs)
        fasttext.write_model(fasttext.Model(options, *kept), path)

    @classmethod
    def from_fasttext(cls, path: str | Path) -> Classifier:
        """The classifier in a .bin of fastText."""
        found = fasttext.read(path)
        options = found.options
        if options.model != fasttext.MODELS["supervised"] or not found.labels:
            do = "give one that fastText trained with supervised"
            raise FirthError("a model of word vectors, not a classifier", where=path, do=do)
        names = {fasttext.LOSSES[theirs]: ours for ours, theirs in LOSSES.items()}
        buckets = len(found.input) - len(found.words)
        shape = Shape(options.wordNgrams, min(options.minn, options.maxn), options.maxn, buckets)
        labels = tuple(label.removeprefix(PREFIX) for label in found.labels)
        by = names.get(options.loss, "ova")  # with negative sampling each label is asked by itself too
        kept = (found.counts, labels, found.label_counts, by, found.input, found.output)
        return cls(Features(found.words, shape), *kept, by_blanks)
