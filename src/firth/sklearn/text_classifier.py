"""Text classification as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from firth.config import schema
from firth.sklearn.input_checks import InputError, check_lengths, check_texts
from firth.sklearn.run_estimator import RunEstimator
from firth.sklearn.training_files import validation_rows, write_label_sets, write_parts, write_rows

THRESHOLD = 0.5  # probability from which a label of a multi-label text is predicted
NO_LABEL = "none"
MULTI_LABEL = {"problem_type": "multi-label", "head.problem_type": "multi-label", "method.loss": "one-vs-all"}


class TextClassifier(ClassifierMixin, RunEstimator):
    """A classifier of texts or text pairs: any preset that is trained on labelled texts. With a matrix of zeros and
    ones as `y` it is multi-label."""

    takes = "labelled texts"
    classes_: np.ndarray

    def __init__(
        self,
        preset: str = "logistic-regression",
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
        """Whether it is a classifier of texts."""
        if isinstance(config, schema.LinearClassifier):
            return not isinstance(config.method, schema.RidgeRegression)
        return isinstance(config, schema.FastTextClassifier) or predicts_labels(config, "regression")

    def fit(self, X: Any, y: Any) -> Self:
        """Train on texts (or pairs of texts) and their labels; a part of each label's texts validates."""
        texts = check_texts(X)
        if any(value is None for value in check_lengths(texts, y)):
            raise InputError("y: a missing label", do="leave its text out")
        check_classification_targets(y)
        several = type_of_target(y) == "multilabel-indicator"
        if several and not isinstance(texts[0], str):
            raise InputError("y: several labels for each text pair", do="give one label, or single texts")
        named = self.configure(**(MULTI_LABEL if several else {}))
        self.classes_, labels = _indicators(y) if several else _single_labels(y)
        folder, data = self._folder(), named.config.data
        valid = validation_rows([str(own) for own in labels], data.valid_fraction, named.config.seed)
        write = write_label_sets if several else partial(write_rows, role="label")
        files = write_parts(texts, labels, valid, folder, write)
        tasks = ("classification",) if isinstance(texts[0], str) else ("pairs",)
        self._train(named, files, folder, tasks=tasks, format="", columns=())
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each text; of a multi-label model zeros and ones (texts, classes)."""
        probabilities = self.predict_proba(X)
        if self._fitted().independent_labels:
            return (probabilities >= THRESHOLD).astype(int)
        best: np.ndarray = self.classes_[probabilities.argmax(1)]
        return best

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every class (texts, classes), in the order of `classes_`."""
        model = self._fitted()
        known = {label: n for n, label in enumerate(model.labels)}
        probabilities = np.asarray(model.predict_proba(check_texts(X)), np.float64)
        result = np.zeros((len(probabilities), len(self.classes_)))
        for column, name in enumerate(_names(self.classes_)):
            if name in known:  # not a class of which no text was trained on
                result[:, column] = probabilities[:, known[name]]
        return result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _learned(self) -> Mapping[str, Any]:
        return {"classes": self.classes_.tolist()}

    def _restore(self, values: Mapping[str, Any]) -> None:
        self.classes_ = np.asarray(values.get("classes") or sorted(self.model_.labels))


def predicts_labels(config: schema.System, other_than: str = "") -> bool:
    """Whether it is a network that predicts labels or values of texts."""
    if not isinstance(config, schema.Neural) or not isinstance(config.data, schema.TaskExamples):
        return False
    return config.head.predicts == "labels" and config.head.problem_type != other_than


def _single_labels(y: Any) -> tuple[np.ndarray, list[str]]:
    """The classes, and the name of each text's class."""
    values = np.asarray(y)
    if values.ndim != 1:
        raise InputError(f"y: an array of shape {values.shape}", do="give one label each, or zeros and ones")
    classes = np.unique(values)
    names = _names(classes)
    if len(classes) < 2:
        raise InputError(f"y has one class: {names[0]!r}", do="give texts of at least two classes")
    if not all(map(str.strip, names)):
        raise InputError("y: an empty label", do="give it a name")
    own = dict(zip(classes.tolist(), names, strict=True))
    return classes, [own[value] for value in values.tolist()]


def _names(classes: np.ndarray) -> list[str]:
    return [str(value) for value in classes.tolist()]


def _indicators(y: Any) -> tuple[np.ndarray, list[Sequence[str]]]:
    """The numbers of the columns, and those of each text's labels; a file of texts needs a label for each, so that
    texts of no class have one of their own, which is never predicted."""
    matrix = np.asarray(y.toarray() if hasattr(y, "toarray") else y).astype(bool)
    classes = np.arange(matrix.shape[1])
    return classes, [[str(column) for column in np.flatnonzero(row)] or [NO_LABEL] for row in matrix]
