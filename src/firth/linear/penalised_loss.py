"""Losses of linear models with an L2 penalty, with their gradients: the functions that L-BFGS minimises.

A loss is the mean over the texts, weighted, plus the penalty over the sum of the weights; the intercept has no penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from firth.linear import lbfgs
from firth.linear.dense_matrix import DenseMatrix
from firth.linear.design_matrix import DesignMatrix

CURVATURE = 0.004  # of the loss at its minimum, where most texts are classified with certainty
# scores (rows,) or (rows, labels), changed in place into the derivatives of the losses by them; returns the losses
Loss = Callable[[np.ndarray], np.ndarray]


class Solution(NamedTuple):
    """The weights of all columns (columns,) or (columns, labels), the intercept, and how the search ended."""

    weights: np.ndarray
    intercept: np.ndarray
    parameters: np.ndarray  # of the merged columns, where the next search may start
    minimum: lbfgs.Minimum


@dataclass(frozen=True, eq=False)
class Problem:
    """A loss of linear scores, and how the texts weigh."""

    design: DesignMatrix | DenseMatrix
    loss: Loss
    text_weights: np.ndarray  # (rows,)
    width: int = 1  # scores of a text; 1: they have no dimension of their own
    scale: np.ndarray | None = None  # of each merged column (and score): what its entries are multiplied by

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the weights."""
        return (self.design.size,) if self.width == 1 else (self.design.size, self.width)

    def scores(self, parameters: np.ndarray) -> np.ndarray:
        """The scores of all texts."""
        weights, intercept = self._split(parameters)
        scores = self.design.by_rows(weights if self.scale is None else self.scale * weights)
        scores += intercept
        return scores

    def value(self, parameters: np.ndarray, l2: float) -> tuple[float, np.ndarray]:
        """The penalised mean loss and its gradient."""
        total, weights = self.text_weights.sum(), self._split(parameters)[0]
        residuals = self.scores(parameters)
        value = float(self.loss(residuals) @ self.text_weights) / total
        residuals *= (self.text_weights / total).reshape(-1, *(1 for _ in residuals.shape[1:]))
        gradient = np.empty_like(parameters)
        of_weights, of_intercept = self._split(gradient)
        product = self.design.by_columns(residuals)
        of_weights[...] = product if self.scale is None else self.scale * product
        of_weights += (l2 / total) * weights
        of_intercept[...] = residuals.sum(0)
        return value + 0.5 * l2 / total * float(np.vdot(weights, weights)), gradient

    def solve(self, l2: float, tolerance: float, max_iterations: int, start: np.ndarray | None = None) -> Solution:
        """The minimum, searched from zero or another start."""
        if start is None:
            start = np.zeros(self.design.size * self.width + self.width)
        steps = self._step_sizes(l2)
        minimum = lbfgs.minimise(
            lbfgs.preconditioned(lambda parameters: self.value(parameters, l2), steps),
            start / steps,
            tolerance=tolerance,
            max_iterations=max_iterations,
            measure=lambda gradient: self._largest_derivative(gradient / steps),
        )
        parameters = steps * minimum.x
        weights, intercept = self._split(parameters)
        weights = self.design.expand(weights if self.scale is None else self.scale * weights)
        return Solution(weights, intercept.copy(), parameters, minimum)

    def _step_sizes(self, l2: float) -> np.ndarray:
        """The inverse square roots of the second derivatives, roughly: those of the penalty, and CURVATURE times those
        of a squared loss. Frequent features have small steps, rare ones large steps."""
        steps = np.empty(self.design.size * self.width + self.width)
        of_weights, of_intercept = self._split(steps)
        squares = self.design.squares(self.text_weights)
        squares = squares.reshape(-1, *(1 for _ in of_weights.shape[1:]))
        of_weights[...] = 1 / np.sqrt(l2 + CURVATURE * (squares if self.scale is None else self.scale**2 * squares))
        of_intercept[...] = 1 / np.sqrt(l2 + CURVATURE * self.text_weights.sum())
        return steps / steps.max()

    def _split(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights and intercept."""
        return parameters[: -self.width].reshape(self.shape), parameters[-self.width :]

    def _largest_derivative(self, gradient: np.ndarray) -> float:
        """The largest derivative by a weight of a column as it was before merging."""
        weights, intercept = self._split(gradient)
        roots = self.design.roots.reshape(-1, *(1 for _ in weights.shape[1:]))
        return max(lbfgs.largest(weights / roots), lbfgs.largest(intercept))


# --- losses ---------------------------------------------------------------------------------------------------------


def logistic_loss(positive: np.ndarray) -> Loss:
    """Minus the log-likelihood of two labels: `positive` (rows,) says whether a text has the second."""
    signs = np.where(positive, -1.0, 1.0)

    def loss(scores: np.ndarray) -> np.ndarray:
        margins = signs * scores
        losses = np.logaddexp(0.0, margins)
        np.multiply(signs, np.exp(margins - losses), out=scores)  # exp(m)/(1 + exp(m)), without overflow
        return losses

    return loss


def softmax_loss(labels: np.ndarray) -> Loss:
    """Minus the log-likelihood of one label for each text: `labels` (rows,) are numbers of columns."""
    rows = np.arange(len(labels))

    def loss(scores: np.ndarray) -> np.ndarray:
        scores -= scores.max(1, keepdims=True)
        gold = scores[rows, labels]
        np.exp(scores, out=scores)
        sums = scores.sum(1)
        scores /= sums[:, None]
        scores[rows, labels] -= 1.0
        return np.log(sums) - gold

    return loss


def squared_loss(values: np.ndarray) -> Loss:
    """Half the squared error of values (rows,)."""

    def loss(scores: np.ndarray) -> np.ndarray:
        scores -= values
        return 0.5 * scores * scores

    return loss
