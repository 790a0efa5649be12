"""Regression of texts and text pairs as a scikit-learn regressor."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from firth.config import schema
from firth.sklearn.input_checks import InputError, check_lengths, check_texts
from firth.sklearn.run_estimator import RunEstimator
from firth.sklearn.text_classifier import predicts_labels
from firth.sklearn.training_files import validation_rows, write_parts, write_rows


class TextRegressor(RegressorMixin, RunEstimator):
    """A regressor of texts or text pairs: a network of labelled texts, or ridge regression of pairs."""

    takes = "texts with values"

    def __init__(
        self,
        preset: str = "bilstm-regressor",
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
        """Whether it is a network that predicts labels or values, or ridge regression."""
        if isinstance(config, schema.LinearClassifier):
            return isinstance(config.method, schema.RidgeRegression)
        return predicts_labels(config)

    def fit(self, X: Any, y: Any) -> Self:
        """Train on texts (or pairs of texts) and their values."""
        texts, values = check_texts(X), _values(y)
        check_lengths(texts, values)
        named = self.configure(**{"head.problem_type": "regression"})
        pairs = not isinstance(texts[0], str)
        if not pairs and isinstance(named.config, schema.LinearClassifier):
            raise InputError("ridge regression takes text pairs", do="choose bilstm-regressor for single texts")
        folder = self._folder()
        valid = validation_rows(np.zeros(len(texts)), named.config.data.valid_fraction, named.config.seed)
        files = write_parts(texts, values.tolist(), valid, folder, partial(write_rows, role="score"))
        tasks = ("similarity",) if pairs else ("regression",)
        self._train(named, files, folder, tasks=tasks, format="", columns=())
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The value of each text or pair."""
        return np.asarray(self._fitted().predict(check_texts(X)), np.float64)


def _values(y: Any) -> np.ndarray:
    if y is None:
        raise InputError("requires y to be passed, but the target y is None", do="give a value for each text")
    try:
        values = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise InputError("y: values that are no numbers", do="give a number for each text") from None
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError("y: not one finite number for each text", do="leave out texts without a value")
    return values
