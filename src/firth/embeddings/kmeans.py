"""k-means clustering: Lloyd's algorithm with k-means++ initialisation, the best of several runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.types import generator


class Clusters(NamedTuple):
    """The cluster of each point, the cluster centres, and the inertia (sum of squared distances to the centres)."""

    labels: np.ndarray  # (points,) int64
    centres: np.ndarray  # (clusters, width) float64
    inertia: float


def k_means(points: np.ndarray, n_clusters: int, *, n_init: int = 10, max_iter: int = 100, seed: int = 0) -> Clusters:
    """The clustering of lowest inertia out of `n_init` runs; no cluster is empty."""
    points = np.asarray(points, np.float64)
    if not 1 <= n_clusters <= len(points):
        raise FirthError(f"{len(points)} points cannot make {n_clusters} clusters", do="choose fewer clusters")
    squares = np.einsum("ij,ij->i", points, points)
    runs = (_lloyd(points, squares, n_clusters, max_iter, generator(seed, "k-means", run)) for run in range(n_init))
    return min(runs, key=lambda clusters: clusters.inertia)


def _lloyd(
    points: np.ndarray, squares: np.ndarray, n_clusters: int, max_iter: int, random: np.random.Generator
) -> Clusters:
    centres = _k_means_plus_plus(points, squares, n_clusters, random)
    labels = np.full(len(points), -1)
    for _ in range(max_iter):
        distances = _squared_distances(points, squares, centres)  # (points, clusters)
        new_labels = distances.argmin(1)
        _fill_empty_clusters(new_labels, distances, n_clusters)
        if (new_labels == labels).all():
            break
        labels = new_labels
        members = np.zeros((n_clusters, len(points)))
        members[labels, np.arange(len(points))] = 1.0
        centres = members @ points / members.sum(1)[:, None]
    return Clusters(labels, centres, float(((points - centres[labels]) ** 2).sum()))


def _squared_distances(points: np.ndarray, squares: np.ndarray, centres: np.ndarray) -> np.ndarray:
    distances = squares[:, None] - 2.0 * (points @ centres.T) + np.einsum("ij,ij->i", centres, centres)
    return np.maximum(distances, 0.0)


def _fill_empty_clusters(labels: np.ndarray, distances: np.ndarray, n_clusters: int) -> None:
    """Move to each empty cluster, in place, the point farthest from its centre that is not alone in its cluster."""
    for empty in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        distance = distances[np.arange(len(labels)), labels].copy()
        distance[np.bincount(labels, minlength=n_clusters)[labels] < 2] = -1.0
        labels[distance.argmax()] = empty


def _k_means_plus_plus(
    points: np.ndarray, squares: np.ndarray, n_clusters: int, random: np.random.Generator
) -> np.ndarray:
    """k-means++ (Arthur and Vassilvitskii 2007): each centre is sampled by its squared distance to those before."""
    chosen = [int(random.integers(len(points)))]
    nearest = _squared_distances(points, squares, points[chosen])[:, 0]
    while len(chosen) < n_clusters:
        total = np.cumsum(nearest)
        if total[-1] > 0:
            index = int(np.searchsorted(total, random.random() * total[-1], side="right"))
            index = min(index, len(points) - 1)
        else:  # only duplicates are left
            index = int(random.integers(len(points)))
        chosen.append(index)
        nearest = np.minimum(nearest, _squared_distances(points, squares, points[[index]])[:, 0])
    return points[chosen]
