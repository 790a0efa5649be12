"""L-BFGS: the minimum of a smooth function from its values and gradients (Liu and Nocedal 1989).

The inverse Hessian is kept in its compact form (Byrd et al. 1994), so that a direction needs two passes over the stored
steps, each one product of matrices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.9  # the constants of the Wolfe conditions
PERIOD = 10  # iterations over which the decrease of the value is measured
MAX_TRIALS = 20  # steps tried in a line search
SMALL_CHANGE = 64 * np.finfo(np.float64).eps  # relative change of the value that ends the search


class Minimum(NamedTuple):
    """Where the search ended."""

    x: np.ndarray
    value: float
    gradient: float  # its largest component
    iterations: int
    evaluations: int
    converged: bool


class Point(NamedTuple):
    """A step along a direction: the value there, its slope, and the gradient."""

    step: float
    value: float
    slope: float
    gradient: np.ndarray


@dataclass
class Search:
    """Counts evaluations of the function."""

    function: Function
    evaluations: int = 0

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        self.evaluations += 1
        return self.function(x)


def largest(gradient: np.ndarray) -> float:
    """The largest component."""
    return float(np.abs(gradient).max(initial=0.0))


def minimise(
    function: Function,
    start: np.ndarray,
    *,
    tolerance: float = 1e-4,
    max_iterations: int = 1000,
    memory: int = 10,
    delta: float = 0.0,
    measure: Callable[[np.ndarray], float] = largest,
    report: Callable[[int, float], None] = lambda iteration, value: None,
) -> Minimum:
    """Search until the gradient's largest component (or another measure of it) is at most the tolerance, or the value
    falls by less than `delta` (relatively) in PERIOD iterations."""
    search, history = Search(function), History(len(start), memory)
    x = np.array(start, np.float64)
    value, gradient = search(x)
    iteration, size, values = 0, measure(gradient), deque([value], PERIOD + 1)
    while size > tolerance and iteration < max_iterations and not _has_settled(values, delta):
        direction = history.direction(gradient)
        slope = float(direction @ gradient)
        if slope >= 0:  # rounding: the stored steps no longer describe the function
            history = History(len(start), memory)
            direction, slope = -gradient, -float(gradient @ gradient)
        step = 1.0 if history.count else min(1.0, 1.0 / np.sqrt(-slope))
        point = _line_search(search, x, direction, Point(0.0, value, slope, gradient), step)
        if point.step == 0.0:
            break
        iteration += 1
        history.add(point.step * direction, point.gradient - gradient)
        x += point.step * direction
        small = value - point.value <= SMALL_CHANGE * max(abs(value), abs(point.value), 1.0)
        value, gradient = point.value, point.gradient
        size = measure(gradient)
        values.append(value)
        report(iteration, value)
        if small:
            break
    return Minimum(x, value, size, iteration, search.evaluations, size <= tolerance or iteration < max_iterations)


def _has_settled(values: Sequence[float], delta: float) -> bool:
    """Whether the value has fallen by so little over the whole period."""
    return len(values) > PERIOD and values[0] - values[-1] < delta * abs(values[-1])


def preconditioned(function: Function, scale: np.ndarray) -> Function:
    """The function of x / scale, whose minimum is found in fewer steps if the scale is about the inverse square root
    of the second derivatives; `scale` times the argument is x."""

    def scaled(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(scale * u)
        return value, gradient * scale

    return scaled


class History:
    """The last steps and the changes of the gradient along them, the oldest first."""

    def __init__(self, size: int, memory: int) -> None:
        self.pairs = np.empty((2, memory, size))  # steps s, changes y
        self.products = np.zeros((2, memory, memory))  # s·y and y·y
        self.order: list[int] = []

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.order)

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Add the newest, and forget the oldest; a step without positive curvature is left out."""
        curvature = float(step @ change)
        if curvature <= np.finfo(np.float64).eps * float(change @ change):
            return
        memory = self.pairs.shape[1]
        place = self.order.pop(0) if self.count == memory else self.count
        self.order.append(place)
        self.pairs[0, place], self.pairs[1, place] = step, change
        used = slice(0, self.count)
        self.products[0, used, place] = self.pairs[0, used] @ change
        self.products[1, used, place] = self.products[1, place, used] = self.pairs[1, used] @ change

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Minus the approximate inverse Hessian times the gradient."""
        if not self.count:
            return -gradient
        order, count = np.array(self.order), self.count
        steps, changes = self.pairs[:, :count]
        sy, yy = (products[np.ix_(order, order)] for products in self.products)
        upper = np.triu(sy)
        scale = sy[-1, -1] / yy[-1, -1]
        along_steps, along_changes = (steps @ gradient)[order], scale * (changes @ gradient)[order]
        inner = solve_triangular(upper, along_steps)
        outer = solve_triangular(upper, (np.diag(sy.diagonal()) + scale * yy) @ inner - along_changes, trans="T")
        of_steps, of_changes = np.empty(count), np.empty(count)
        of_steps[order], of_changes[order] = outer, scale * inner
        direction = of_changes @ changes
        direction -= of_steps @ steps
        direction -= scale * gradient
        return direction


def _line_search(search: Search, x: np.ndarray, direction: np.ndarray, start: Point, step: float) -> Point:
    """A step that meets the strong Wolfe conditions, or the best one tried (Nocedal and Wright 2006, chapter 3)."""
    low, high = start, None
    for _ in range(MAX_TRIALS):
        value, gradient = search(x + step * direction)
        point = Point(step, value, float(gradient @ direction), gradient)
        if not value <= start.value + SUFFICIENT_DECREASE * step * start.slope or (low.step and value >= low.value):
            high = point
        elif abs(point.slope) <= -CURVATURE * start.slope:
            return point
        else:
            if point.slope * ((np.inf if high is None else high.step) - low.step) >= 0:
                high = low
            low = point
        step = 4 * low.step if high is None else _between(low, high)
    return low


def _between(low: Point, high: Point) -> float:
    """The minimum of the cubic through two points, not too near to either."""
    width = high.step - low.step
    step = low.step + width / 2
    if np.isfinite(high.value):
        curve = low.slope + high.slope - 3 * (low.value - high.value) / (low.step - high.step)
        under = curve * curve - low.slope * high.slope
        if under >= 0:
            root = np.copysign(np.sqrt(under), width)
            below = high.slope - low.slope + 2 * root
            step = high.step - width * (high.slope + root - curve) / below if below else step
    near, far = sorted((low.step + 0.1 * width, low.step + 0.9 * width))
    return float(np.clip(step, near, far))
