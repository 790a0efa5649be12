"""Sequence tagging as a scikit-learn estimator: sentences are lists of words, `y` their lists of tags."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from firth.config import schema
from firth.datasets.sources import keep_documents
from firth.datasets.tagged_sentences import as_documents
from firth.metrics import tagging
from firth.sklearn.input_checks import InputError, check_sentences, check_tags
from firth.sklearn.run_estimator import RunEstimator, as_objects
from firth.sklearn.training_files import TrainingFiles


class SequenceTagger(RunEstimator):
    """A tagger of words: any preset that is trained on tagged sentences. Its score is the F1 of spans, as conlleval
    counts, where the tags mark spans (B-PER, I-PER, O), and the accuracy of words where they do not."""

    takes = "tagged sentences"
    classes_: np.ndarray

    def __init__(
        self,
        preset: str = "crf-tagger",
        *,
        size: str | None = None,
        out: str | Path | None = None,
        random_state: Any = None,
        progress: str = "quiet",
        **settings: Any,
    ) -> None:
        super().__init__(preset, size=size, out=out, random_state=random_state, progress=progress, **settings)

    @staticmethod
    def fits(config: schema.System) -> bool:
        """Whether it is a tagger."""
        return isinstance(config, (schema.LinearTagger, schema.Neural)) and isinstance(config.data, schema.TaggedWords)

    def fit(self, X: Any, y: Any) -> Self:
        """Train on sentences, each a list of words, and the tags of each."""
        sentences = check_sentences(X)
        tags = check_tags(sentences, y)
        if len(sentences) < 3:
            raise InputError(f"n_samples={len(sentences)}", do="give at least three sentences, of which one validates")
        # tags are predicted as they are given, unless another scheme is asked for
        named = self.configure(**({} if "data__scheme" in self._settings else {"data.scheme": "keep"}))
        folder = self._folder()
        rows = ([*zip(words, own, strict=True)] for words, own in zip(sentences, tags, strict=True))
        name = keep_documents(as_documents(rows), folder)
        self._train(named, TrainingFiles(name, ""), folder, layers=(), columns=(), format="")
        self.classes_ = np.array(sorted({tag for own in tags for tag in own} | {*self._tags}))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The most probable tags of each sentence: an array of lists."""
        return as_objects(self._fitted().tag(check_sentences(X)))

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """The probability of every tag at every word (words, tags) of each sentence, in the order of `classes_`."""
        model, known = self._fitted(), {tag: n for n, tag in enumerate(self._tags)}
        columns = [known.get(tag, -1) for tag in self.classes_.tolist()]
        result = []
        for marginals in model.predict_proba(check_sentences(X)):
            padded = np.concatenate([np.asarray(marginals, np.float64), np.zeros((len(marginals), 1))], 1)
            result.append(padded[:, columns])
        return result

    def score(self, X: Any, y: Any) -> float:
        """F1 of spans where the tags mark some, else the accuracy of words."""
        gold = check_tags(check_sentences(X), y)
        predicted = self.predict(X).tolist()
        if self._fitted().schemes:
            return float(tagging.count_chunks(gold, predicted).scores("micro")["f1"] or 0.0)
        return float(tagging.token_accuracy(gold, predicted).score().value or 0.0)

    @property
    def _tags(self) -> tuple[str, ...]:
        model = self._fitted()
        tags: tuple[str, ...] = model.labels[model.layer]
        return tags

    def _learned(self) -> Mapping[str, Any]:
        return {"classes": self.classes_.tolist()}

    def _restore(self, values: Mapping[str, Any]) -> None:
        self.classes_ = np.array(values.get("classes") or sorted(self._tags))
