"""k-means of our own: Lloyd's steps from k-means++ starts, the best of several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.data.randomness import generator
from firth.errors import FirthError


class Clusters(NamedTuple):
    """The cluster of each point, the centres, and the sum of squared distances to them."""

    labels: np.ndarray  # (points,) int64
    centres: np.ndarray  # (clusters, width) float64
    inertia: float


def k_means(points: np.ndarray, count: int, *, starts: int = 10, steps: int = 100, seed: int = 0) -> Clusters:
    """The best of several clusterings into `count` clusters, none of them empty if there are as many points."""
    points = np.asarray(points, np.float64)
    if not 1 <= count <= len(points):
        raise FirthError(f"{len(points)} points cannot make {count} clusters", do="ask for fewer clusters")
    squares = np.einsum("ij,ij->i", points, points)
    found = (_lloyd(points, squares, count, steps, generator(seed, "k-means", start)) for start in range(starts))
    return min(found, key=lambda clusters: clusters.inertia)


def _lloyd(points: np.ndarray, squares: np.ndarray, count: int, steps: int, random: np.random.Generator) -> Clusters:
    centres = _spread(points, squares, count, random)
    labels = np.full(len(points), -1)
    for _ in range(steps):
        distances = _distances(points, squares, centres)  # (points, clusters)
        fresh = distances.argmin(1)
        _fill(fresh, distances, count)
        if (fresh == labels).all():
            break
        labels = fresh
        members = np.zeros((count, len(points)))
        members[labels, np.arange(len(points))] = 1.0
        centres = members @ points / members.sum(1)[:, None]
    return Clusters(labels, centres, float(((points - centres[labels]) ** 2).sum()))


def _distances(points: np.ndarray, squares: np.ndarray, centres: np.ndarray) -> np.ndarray:
    found = squares[:, None] - 2.0 * (points @ centres.T) + np.einsum("ij,ij->i", centres, centres)
    return np.maximum(found, 0.0)


def _fill(labels: np.ndarray, distances: np.ndarray, count: int) -> None:
    """An empty cluster takes, in place, the point that lies farthest from its centre and is not alone there."""
    for empty in np.flatnonzero(np.bincount(labels, minlength=count) == 0):
        away = distances[np.arange(len(labels)), labels].copy()
        away[np.bincount(labels, minlength=count)[labels] < 2] = -1.0
        labels[away.argmax()] = empty


def _spread(points: np.ndarray, squares: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """k-means++ (Arthur and Vassilvitskii, 2007): each start is drawn by its squared distance to those before."""
    chosen = [int(random.integers(len(points)))]
    nearest = _distances(points, squares, points[chosen])[:, 0]
    while len(chosen) < count:
        total = np.cumsum(nearest)
        if total[-1] > 0:
            place = int(np.searchsorted(total, random.random() * total[-1], side="right"))
            place = min(place, len(points) - 1)
        else:  # only doubles are left
            place = int(random.integers(len(points)))
        chosen.append(place)
        nearest = np.minimum(nearest, _distances(points, squares, points[[place]])[:, 0])
    return points[chosen]
