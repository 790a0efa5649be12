"""Ridge regression of scores: linear regression with an L2 penalty (Hoerl and Kennard 1970), by L-BFGS."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from firth.config.schema import RidgeRegression
from firth.jit import default_threads
from firth.linear.design_matrix import DesignMatrix
from firth.linear.linear_model import LinearFit
from firth.linear.penalised_loss import Problem, squared_loss


class RidgeTrainer:
    """Trains on one matrix with one penalty after the other, each from where the last ended."""

    def __init__(self, matrix: csr_array, values: np.ndarray, method: RidgeRegression) -> None:
        """`values` (rows,) are what is predicted."""
        self.method = method
        design = DesignMatrix(matrix, method.threads or default_threads())
        self.problem = Problem(design, squared_loss(values), np.ones(len(values)))
        self._start = np.zeros(design.size + 1)
        self._start[-1] = values.mean()

    def fit(self, l2: float) -> LinearFit:
        """The model with this penalty."""
        solution = self.problem.solve(l2, self.method.tolerance, self.method.max_iterations, self._start)
        self._start, minimum = solution.parameters, solution.minimum
        return LinearFit(solution.weights[:, None], solution.intercept, minimum.iterations, minimum.converged)
