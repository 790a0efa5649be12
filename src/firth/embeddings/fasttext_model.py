"""A trained fastText classifier: prediction, its own file format, and fastText's .bin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.embeddings import array_bundle, fasttext_kernels
from firth.embeddings.fasttext_features import FeatureOptions, Features, WordSplitter
from firth.embeddings.formats import fasttext_bin
from firth.embeddings.huffman import huffman_paths
from firth.embeddings.subwords import Subwords
from firth.embeddings.word_table import WordTable
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.runs.weights import require_finite

KIND = "a classifier"
LABEL_PREFIX = "__label__"
LOSSES = {"softmax": "softmax", "hierarchical-softmax": "hs", "one-vs-all": "ova"}  # ours -> fastText's
_BLOCK = 1 << 22  # probabilities computed at once
_WHITESPACE = re.compile(r"[ \n\r\t\v\f\0]+")  # where fastText splits words


def split_on_whitespace(texts: Sequence[str]) -> Iterable[list[str]]:
    """Split as fastText does: at whitespace, without words that look like labels."""
    for text in texts:
        yield [word for word in _WHITESPACE.split(text) if word and not word.startswith(LABEL_PREFIX)]


@dataclass(frozen=True, eq=False)
class Classifier:
    """Input vectors of the features of a text, output vectors of its labels."""

    features: Features
    counts: np.ndarray  # of the words
    labels: tuple[str, ...]
    label_counts: np.ndarray
    loss: str  # one of LOSSES
    inputs: np.ndarray  # float32 (features, width)
    outputs: np.ndarray  # float32 (labels or nodes, width)
    split_words: WordSplitter

    @property
    def width(self) -> int:
        """The width of the vectors."""
        return self.inputs.shape[1]

    # --- prediction -----------------------------------------------------------------------------------------------

    def predict(
        self, texts: str | Sequence[str], count: int = 1, threshold: float = 0.0
    ) -> list[list[tuple[str, float]]]:
        """The `count` most probable labels of each text with their probabilities, none below the threshold."""
        texts, predictions = [texts] if isinstance(texts, str) else list(texts), []
        size = max(1, min(1000, _BLOCK // max(1, self._scores_per_text)))
        for start in range(0, len(texts), size):
            probabilities = self.probabilities(texts[start : start + size])
            best = np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
            for row, indices in zip(probabilities, best, strict=True):
                predictions.append([(self.labels[i], float(row[i])) for i in indices if row[i] >= threshold])
        return predictions

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """float64 (texts, labels); independent probabilities with one-vs-all."""
        scores = self.text_vectors(texts).astype(np.float64) @ self.outputs.T.astype(np.float64)
        if self.loss == "softmax":
            scores = np.exp(scores - scores.max(1, keepdims=True))
            return scores / scores.sum(1, keepdims=True)
        if self.loss == "one-vs-all":
            return np.exp(-np.logaddexp(0.0, -scores))
        if len(self.labels) < 2:
            return np.ones((len(scores), len(self.labels)))
        tree = huffman_paths(self.label_counts)
        branches = scores[:, tree.nodes] * np.where(tree.codes > 0, -1.0, 1.0)  # −logit of the branch taken at a node
        return np.exp(-np.add.reduceat(np.logaddexp(0.0, branches), tree.offsets[:-1], axis=1))

    def text_vectors(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (texts, width): the mean of the input rows of each text."""
        lines = self.features.encode(self.split_words(texts))
        out = np.zeros((len(texts), self.width), np.float32)
        fasttext_kernels.line_means(self.features.line_features(lines), 0, len(texts), self.inputs, out)
        return out

    def vectors(self) -> WordVectors:
        """The word vectors; with subwords also for out-of-vocabulary words."""
        words, options = self.features.words, self.features.options
        word_rows, subwords = np.ascontiguousarray(self.inputs[: len(words)]), None
        vectors = word_rows
        if options.max_n:
            buckets, used = np.ascontiguousarray(self.inputs[len(words) :]), self.features.used_buckets
            subwords = Subwords(buckets, options.min_n, options.max_n, word_rows, used, options.buckets)
            vectors = subwords.compose(words, word_rows)
        return WordVectors(words, vectors, counts=self.counts, subwords=subwords)

    @property
    def _scores_per_text(self) -> int:
        """Scores computed for a text: the path in the Huffman tree has several for each label."""
        return len(self.labels) * (32 if self.loss == "hierarchical-softmax" else 1)

    # --- its own file ---------------------------------------------------------------------------------------------

    def write(self, path: Path, metadata: Mapping[str, Any]) -> None:
        """Write everything but the tokenizer, with metadata of the caller's."""
        features = self.features
        about = {"labels": self.labels, "predict": self.loss, "shape": features.options, "note": dict(metadata)}
        arrays = {"inputs": self.inputs, "outputs": self.outputs, "counts": self.counts}
        arrays |= {"label_counts": self.label_counts, "used": features.used_buckets.astype(np.int64)}
        array_bundle.write(path, KIND, about, {**arrays, "words": np.frombuffer(features.words.blob, np.uint8)})

    @classmethod
    def read(cls, path: Path, split_words: WordSplitter = split_on_whitespace) -> tuple[Classifier, dict[str, Any]]:
        """The classifier of a file, and the caller's metadata in it."""
        about, arrays = array_bundle.read(path, KIND)
        try:
            features = Features(WordTable(arrays["words"].tobytes()), FeatureOptions(*about["shape"]), arrays["used"])
            classifier = cls(
                features,
                arrays["counts"],
                tuple(about["labels"]),
                arrays["label_counts"],
                about["predict"],
                arrays["inputs"],
                arrays["outputs"],
                split_words,
            )
            rows, labels = len(classifier.inputs), len(classifier.outputs)
            if rows != len(features) or labels != len(classifier.labels) or classifier.loss not in LOSSES:
                raise ValueError
            if classifier.outputs.shape[1] != classifier.width:
                raise ValueError
            require_finite(arrays, path)
            return classifier, dict(about["note"])
        except (KeyError, ValueError, TypeError, IndexError):
            raise FirthError("damaged: its arrays do not fit", where=path, do="restore it, or train again") from None

    # --- fastText's file ------------------------------------------------------------------------------------------

    def export(self, path: str | Path, epochs: int = 5) -> None:
        """Write a .bin that fastText loads; predictions agree on texts whose words are separated by whitespace."""
        words, features = self.features.words, self.features.options
        options = fasttext_bin.Options(
            dim=self.width,
            epoch=epochs,
            wordNgrams=features.word_ngrams,
            loss=fasttext_bin.LOSSES[LOSSES[self.loss]],
            model=fasttext_bin.MODELS["supervised"],
            bucket=features.bucket_count,
            minn=features.min_n,
            maxn=features.max_n,
        )
        rows = np.zeros((len(words) + features.bucket_count, self.width), np.float32)
        rows[: len(words)] = self.inputs[: len(words)]
        rows[len(words) + self.features.used_buckets] = self.inputs[len(words) :]
        labels = tuple(LABEL_PREFIX + label for label in self.labels)
        tokens = int(self.counts.sum() + self.label_counts.sum())
        content = (words, self.counts, labels, self.label_counts, tokens, rows, self.outputs)
        fasttext_bin.write_model(fasttext_bin.Model(options, *content), path)

    @classmethod
    def from_fasttext(cls, path: str | Path) -> Classifier:
        """The classifier in a .bin of fastText."""
        model = fasttext_bin.read(path)
        options = model.options
        if options.model != fasttext_bin.MODELS["supervised"] or not model.labels:
            do = "give a model that fastText trained with supervised"
            raise FirthError("a model of word vectors, not a classifier", where=path, do=do)
        names = {fasttext_bin.LOSSES[theirs]: ours for ours, theirs in LOSSES.items()}
        buckets = len(model.input) - len(model.words)
        features = FeatureOptions(options.wordNgrams, min(options.minn, options.maxn), options.maxn, buckets)
        labels = tuple(label.removeprefix(LABEL_PREFIX) for label in model.labels)
        loss = names.get(options.loss, "one-vs-all")  # negative sampling predicts each label independently too
        content = (model.counts, labels, model.label_counts, loss, model.input, model.output)
        return cls(Features(model.words, features), *content, split_on_whitespace)
