"""Logistic regression with an L2 penalty, by L-BFGS; on features scaled by log-count ratios it is NBSVM (Wang and
Manning 2012)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from firth.config.schema import NBSVM, LogisticRegression
from firth.jit import default_threads
from firth.linear.design_matrix import DesignMatrix
from firth.linear.linear_model import LinearFit
from firth.linear.naive_bayes import label_counts
from firth.linear.penalised_loss import Problem, Solution, logistic_loss, softmax_loss


class LogisticTrainer:
    """Trains on one matrix with one penalty after the other, each from where the last ended."""

    def __init__(self, matrix: csr_array, labels: np.ndarray, count: int, method: LogisticRegression) -> None:
        """`labels` (rows,) are numbers below `count`."""
        self.method, self.count = method, count
        design = DesignMatrix(matrix, method.threads or default_threads())
        binary = count == 2
        scale = None
        if isinstance(method, NBSVM):
            ratios = log_count_ratios(matrix, labels, count, method.alpha)
            scale = design.merge(ratios[:, 1] if binary else ratios)
        loss = logistic_loss(labels == 1) if binary else softmax_loss(labels)
        weights = class_weights(labels, count, method.class_weights)[labels]
        self.problem = Problem(design, loss, weights, 1 if binary else count, scale)
        self._start: np.ndarray | None = None

    def fit(self, l2: float) -> LinearFit:
        """The model with this penalty."""
        method = self.method
        solution = self.problem.solve(l2, method.tolerance, method.max_iterations, self._start)
        self._start = solution.parameters
        weights, intercept = self._interpolate(solution), solution.intercept
        if self.count == 2:  # one score decides: half of it for one label, half against the other
            weights, intercept = np.outer(weights, [-0.5, 0.5]), intercept * np.array([-0.5, 0.5])
        return LinearFit(weights, intercept, solution.minimum.iterations, solution.minimum.converged)

    def _interpolate(self, solution: Solution) -> np.ndarray:
        """The weights interpolated with their mean magnitude (NBSVM)."""
        problem, method = self.problem, self.method
        if not isinstance(method, NBSVM):
            return solution.weights
        design = problem.design
        scaled = design.expand(solution.parameters[: -problem.width].reshape(problem.shape))
        mean = np.abs(scaled).mean(0)
        ratios = np.concatenate([problem.scale, np.zeros((1, *problem.scale.shape[1:]))])[design.group]
        return ratios * ((1.0 - method.interpolation) * mean + method.interpolation * scaled)


def class_weights(labels: np.ndarray, count: int, weighting: str) -> np.ndarray:
    """The weight of a text of each label (count,): 1, or such that all labels weigh the same."""
    if weighting == "none":
        return np.ones(count)
    return len(labels) / (count * np.maximum(np.bincount(labels, minlength=count), 1))


def log_count_ratios(matrix: csr_array, labels: np.ndarray, count: int, alpha: float) -> np.ndarray:
    """For each feature and label the logarithm of its share of the features of the label's texts over that of all
    other texts (columns, labels)."""
    counts = label_counts(matrix, labels, count) + alpha
    others = counts.sum(1, keepdims=True) - counts - (count - 2) * alpha
    return np.log(counts / counts.sum(0)) - np.log(others / others.sum(0))
