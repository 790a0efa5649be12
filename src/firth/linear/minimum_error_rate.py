"""Minimum error rate training of log-linear models (Och 2003): the weights of the features that score the candidates
of n-best lists, chosen so that the best candidates have the fewest errors.

Along a line of weights each candidate's score is a linear function. So the best candidate of a list changes at finitely
many points, the corners of the upper envelope of these functions, and the errors of all lists along the whole line are
known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.types import generator

RESTARTS = 10  # from random weights, where more than one is searched
DIRECTIONS = 4  # random ones in each round, beside the axes
MAX_ROUNDS = 20


class CandidateList(NamedTuple):
    """The candidates of one list: their features and their errors."""

    features: np.ndarray  # (candidates, features)
    errors: np.ndarray  # (candidates,) integers


class LineMinimum(NamedTuple):
    """The step along a line with the fewest errors: in the middle of the widest interval of such steps."""

    step: float
    errors: int
    interval: tuple[float, float]


def best_candidates(lists: Sequence[CandidateList], weights: np.ndarray) -> list[int]:
    """The candidate with the highest score in each list; of equal ones the first."""
    return [int((each.features @ weights).argmax()) for each in lists]


def count_errors(lists: Sequence[CandidateList], weights: np.ndarray) -> int:
    """The errors of the best candidates of all lists."""
    chosen = zip(lists, best_candidates(lists, weights), strict=True)
    return sum(int(each.errors[best]) for each, best in chosen)


def upper_envelope(intercepts: np.ndarray, slopes: np.ndarray) -> tuple[list[int], list[float]]:
    """The lines that are the highest somewhere, from left to right, and where each begins (the first at −∞)."""
    lines: list[int] = []
    starts: list[float] = []
    last_slope = None
    for line in np.lexsort((np.arange(len(slopes)), -intercepts, slopes)).tolist():
        if slopes[line] == last_slope:
            continue  # parallel, and not above the one before
        last_slope, start = slopes[line], -np.inf
        while lines:
            top = lines[-1]
            start = (intercepts[top] - intercepts[line]) / (slopes[line] - slopes[top])
            if start > starts[-1]:
                break
            lines.pop()
            starts.pop()
            start = -np.inf
        lines.append(line)
        starts.append(float(start))
    return lines, starts


def search_line(lists: Sequence[CandidateList], weights: np.ndarray, direction: np.ndarray) -> LineMinimum:
    """The step from the weights along a direction with the fewest errors, exactly."""
    total, places, changes, spreads = 0, [], [], np.zeros(2)
    for each in lists:
        fixed, moving = each.features @ weights, each.features @ direction
        lines, starts = upper_envelope(fixed, moving)
        errors = each.errors[lines]
        total += int(errors[0])
        places += starts[1:]
        changes += np.diff(errors).tolist()
        spreads += fixed.std(), moving.std()
    if not places:
        return LineMinimum(0.0, total, (-np.inf, np.inf))
    scale = spreads[1] / spreads[0] if spreads.all() else 1.0
    return _widest_minimum(total, np.array(places), np.array(changes), float(scale))


def _widest_minimum(first: int, places: np.ndarray, changes: np.ndarray, scale: float) -> LineMinimum:
    """The minimum of a step function: its first value, where it changes and by how much.

    Intervals are compared and halved as angles, steps multiplied by `scale` being their tangents: so neither the unit
    of a score nor which score has the weight 1 matters, and the outermost intervals are finite too."""
    borders, inverse = np.unique(places, return_inverse=True)
    values = first + np.concatenate([[0], np.cumsum(np.bincount(inverse, changes))]).round().astype(np.int64)
    angles = np.concatenate([[-np.pi / 2], np.arctan(borders * scale), [np.pi / 2]])
    runs = np.flatnonzero(np.concatenate([[True], np.diff(values) != 0]))  # equal neighbours are one interval
    ends = np.append(runs[1:], len(values))
    widest = max(
        np.flatnonzero(values[runs] == values.min()).tolist(), key=lambda run: angles[ends[run]] - angles[runs[run]]
    )
    left, right = int(runs[widest]), int(ends[widest])
    limits = np.concatenate([[-np.inf], borders, [np.inf]])
    step = float(np.tan((angles[left] + angles[right]) / 2) / scale)
    return LineMinimum(step, int(values.min()), (float(limits[left]), float(limits[right])))


def train_weights(
    lists: Sequence[CandidateList], start: np.ndarray, free: Sequence[int], seed: int = 0
) -> tuple[np.ndarray, int]:
    """The weights with the fewest errors that are found, and these errors; only the `free` ones are changed.

    One free weight is searched exactly. Several are searched in turn and in random directions (Powell's method), from
    the start and from random weights; each line is searched exactly."""
    weights = np.array(start, np.float64)
    scales = _scales(lists, len(weights))
    if len(free) == 1:
        direction = _axis(free[0], len(weights))
        minimum = search_line(lists, weights, direction)
        return weights + minimum.step * direction, minimum.errors
    best = _descend(lists, weights, free, scales, seed)
    rng = generator(seed, "minimum error rate training")
    for number in range(RESTARTS if free else 0):
        random = weights.copy()
        random[list(free)] = rng.normal(size=len(free)) / scales[list(free)]
        best = min(best, _descend(lists, random, free, scales, seed + number + 1), key=lambda each: each[1])
    return _centre(lists, best[0], free), best[1]


def _descend(
    lists: Sequence[CandidateList], weights: np.ndarray, free: Sequence[int], scales: np.ndarray, seed: int
) -> tuple[np.ndarray, int]:
    """Line searches until none finds fewer errors."""
    rng, errors = generator(seed, "directions"), count_errors(lists, weights)
    for _ in range(MAX_ROUNDS):
        before = errors
        directions = [_axis(feature, len(weights)) for feature in free]
        for _ in range(DIRECTIONS if free else 0):
            direction = np.zeros(len(weights))
            direction[list(free)] = rng.normal(size=len(free)) / scales[list(free)]
            directions.append(direction)
        for direction in directions:
            minimum = search_line(lists, weights, direction)
            if minimum.errors < errors:
                weights, errors = weights + minimum.step * direction, minimum.errors
        if errors == before:
            break
    return weights, errors


def _centre(lists: Sequence[CandidateList], weights: np.ndarray, free: Sequence[int]) -> np.ndarray:
    """Weights with as few errors in the middle of their intervals, where a little more data changes least."""
    for feature in free:
        direction = _axis(feature, len(weights))
        moved = weights + search_line(lists, weights, direction).step * direction
        if count_errors(lists, moved) <= count_errors(lists, weights):
            weights = moved
    return weights


def _axis(feature: int, count: int) -> np.ndarray:
    return np.eye(count)[feature]


def _scales(lists: Sequence[CandidateList], count: int) -> np.ndarray:
    """How far each feature's values are apart within a list, on average; 1 of a feature that never differs."""
    deviations = np.array([each.features.std(0) for each in lists]).reshape(-1, count).mean(0)
    return np.where(deviations > 0, deviations, 1.0)
