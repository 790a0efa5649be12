"""A linear model: the scores of the labels are linear in the features, and what becomes of them depends on the link."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from firth.embeddings import array_bundle
from firth.errors import FirthError
from firth.runs.weights import require_finite

KIND = "a linear model"
Link = Literal["softmax", "sigmoid", "identity"]


class LinearFit(NamedTuple):
    """Weights (columns, labels) and intercept (labels,), the iterations they took, and whether the search ended."""

    weights: np.ndarray
    intercept: np.ndarray
    iterations: int = 0
    converged: bool = True


def softmax(scores: np.ndarray) -> np.ndarray:
    """The probabilities of labels of which each text has one (texts, labels)."""
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def sigmoid(scores: np.ndarray) -> np.ndarray:
    """The probability of each label by itself (texts, labels)."""
    return np.exp(-np.logaddexp(0.0, -scores))


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Weights of features for labels; a value instead of labels with the identity as its link."""

    labels: tuple[str, ...]
    weights: np.ndarray  # float32 (columns, labels)
    intercept: np.ndarray  # float64 (labels,)
    link: Link = "softmax"
    temperature: float = 1.0  # scores are divided by it before they become probabilities

    def scores(self, matrix: csr_array) -> np.ndarray:
        """The scores of texts (texts, labels), float64."""
        return csr_array(matrix, dtype=np.float64) @ self.weights.astype(np.float64) + self.intercept

    def probabilities(self, matrix: csr_array) -> np.ndarray:
        """The probabilities of the labels (texts, labels), or with the identity the values (texts, 1)."""
        scores = self.scores(matrix) / self.temperature
        return scores if self.link == "identity" else {"softmax": softmax, "sigmoid": sigmoid}[self.link](scores)

    @property
    def preferences(self) -> np.ndarray:
        """The weights without what they have in common for all labels, which a softmax does not see."""
        return self.weights - self.weights.mean(1, keepdims=True) if self.link == "softmax" else self.weights

    # --- files ----------------------------------------------------------------------------------------------------

    def write(
        self, path: Path, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any], note: Mapping[str, Any]
    ) -> None:
        """Write it with the arrays and the description of its features, and metadata of the caller's."""
        values = {"labels": self.labels, "link": self.link, "temperature": self.temperature, "features": dict(about)}
        own = {"weights": self.weights, "intercept": self.intercept}
        array_bundle.write(path, KIND, {**values, "note": dict(note)}, {**own, **arrays})

    @classmethod
    def read(cls, path: Path) -> tuple[LinearModel, dict[str, np.ndarray], dict[str, Any]]:
        """The model, all arrays of its file, and its metadata (`features`, `note`)."""
        about, arrays = array_bundle.read(path, KIND)
        try:
            require_finite(arrays, path)
            shape = (len(arrays["documents"]), len(about["labels"]))
            model = cls(
                tuple(map(str, about["labels"])),
                arrays["weights"],
                arrays["intercept"],
                about["link"],
                float(about["temperature"]),
            )
            valid = (
                model.weights.shape == shape and model.intercept.shape == shape[1:] and 0 < model.temperature < math.inf
            )
            if not valid or model.link not in ("softmax", "sigmoid", "identity"):
                raise ValueError
            return model, arrays, {"features": dict(about["features"]), "note": dict(about["note"])}
        except (KeyError, ValueError, TypeError, AttributeError):
            raise damaged(path) from None


def damaged(path: Path) -> FirthError:
    """The error for a file whose arrays do not belong together."""
    return FirthError("damaged: its arrays do not fit", where=path, do="restore it, or train again")
