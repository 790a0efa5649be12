"""Linear probes: multinomial logistic regression on frozen hidden states, of one layer or of a mix of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from firth.linear import lbfgs
from firth.linear.dense_matrix import DenseMatrix
from firth.linear.penalised_loss import Problem, softmax_loss


@dataclass(frozen=True)
class ProbeTraining:
    """How a probe is trained."""

    l2: float = 1.0  # penalty λ/2·‖w‖² of the loss summed over the words, of standardised states
    tolerance: float = 1e-4  # largest partial derivative of the mean loss at the end
    max_iterations: int = 300  # of L-BFGS


def fit_probe(
    train: np.ndarray, labels: np.ndarray, test: np.ndarray, count: int, training: ProbeTraining
) -> np.ndarray:
    """The predicted labels of the test states (words, width), by a probe trained on states and `labels` (words,), which
    are numbers below `count`."""
    problem = Problem(DenseMatrix(train), softmax_loss(labels), np.ones(len(train)), count)
    solution = problem.solve(training.l2, training.tolerance, training.max_iterations)
    predicted: np.ndarray = (test @ solution.weights + solution.intercept).argmax(1)
    return predicted


def fit_scalar_mix(
    train: Sequence[np.ndarray],
    labels: np.ndarray,
    test: Sequence[np.ndarray],
    count: int,
    training: ProbeTraining,
) -> tuple[np.ndarray, np.ndarray]:
    """The predicted labels of the test states, by a probe on Σ softmax(w)ₗ hₗ of the layers, w learned with it (Peters
    et al. 2018; Tenney et al. 2019); and the weights of the layers, softmax(w)."""
    problem = _MixProblem([DenseMatrix(layer) for layer in train], labels, count, training.l2)
    minimum = lbfgs.minimise(
        problem.value,
        np.zeros(problem.size),
        tolerance=training.tolerance,
        max_iterations=training.max_iterations,
        delta=1e-5,
    )
    weights, intercept, shares = problem.split(minimum.x)
    mixed = sum(share * (layer @ weights) for share, layer in zip(shares, test, strict=True)) + intercept
    predicted: np.ndarray = np.asarray(mixed).argmax(1)
    return predicted, shares


class _MixProblem:
    """The loss of a probe on a mix of layers of equal widths, with its gradient."""

    def __init__(self, layers: Sequence[DenseMatrix], labels: np.ndarray, count: int, l2: float) -> None:
        self.layers, self.count, self.l2 = layers, count, l2
        self.loss, self.rows, self.width = softmax_loss(labels), layers[0].rows, layers[0].columns
        self.size = self.width * count + count + len(layers)

    def split(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights (width, labels), intercept (labels,) and the weights of the layers, which sum to 1."""
        first, last = self.width * self.count, self.width * self.count + self.count
        weights = parameters[:first].reshape(self.width, self.count)
        return weights, parameters[first:last], softmax(parameters[last:])

    def value(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """The penalised mean loss and its gradient."""
        weights, intercept, shares = self.split(parameters)
        scores = [layer.by_rows(weights) for layer in self.layers]
        residuals = np.tensordot(shares, np.stack(scores), 1) + intercept
        value = float(self.loss(residuals).sum()) / self.rows + 0.5 * self.l2 / self.rows * float((weights**2).sum())
        residuals /= self.rows
        of_layers = np.array([np.vdot(own, residuals) for own in scores])
        of_weights = sum(share * layer.by_columns(residuals) for share, layer in zip(shares, self.layers, strict=True))
        of_weights = np.asarray(of_weights) + self.l2 / self.rows * weights
        parts = of_weights.ravel(), residuals.sum(0), shares * (of_layers - shares @ of_layers)
        return value, np.concatenate(parts)
