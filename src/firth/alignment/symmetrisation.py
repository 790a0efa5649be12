"""Symmetrisation of the alignments of both directions: intersection, union, grow-diag-final-and (Koehn et al. 2003).

A reference implementation of the kernel is in the tests.
"""

from __future__ import annotations

from typing import NamedTuple, get_args, get_type_hints

import numpy as np

from firth.config.schema import Aligner
from firth.errors import unknown
from firth.jit import kernel

HEURISTICS: tuple[str, ...] = get_args(get_type_hints(Aligner)["symmetrisation"])


class Links(NamedTuple):
    """Alignment links of several sentence pairs: those of pair n are starts[n] to starts[n + 1], sorted."""

    positions: np.ndarray  # (links, 2) int32: source and target position
    starts: np.ndarray  # (pairs + 1,) int64

    def lists(self) -> list[list[tuple[int, int]]]:
        """The links of each pair as a list of (source, target) positions."""
        links = list(map(tuple, self.positions.tolist()))
        return [links[low:high] for low, high in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)]


def check_heuristic(heuristic: str) -> None:
    """Raise an error unless the name is one of HEURISTICS."""
    if heuristic not in HEURISTICS:
        raise unknown("symmetrisation heuristic", heuristic, HEURISTICS)


def symmetrise(
    forward: np.ndarray, backward: np.ndarray, source_lengths: np.ndarray, target_lengths: np.ndarray, heuristic: str
) -> Links:
    """Combine two alignments: `forward` has the source position of each target word (−1: none), `backward` reversed."""
    check_heuristic(heuristic)
    starts = np.zeros(len(source_lengths) + 1, np.int64)
    positions = np.empty((len(forward) + len(backward), 2), np.int32)
    links = np.asarray(forward, np.int32), np.asarray(backward, np.int32)
    lengths = np.asarray(source_lengths, np.int64), np.asarray(target_lengths, np.int64)
    _symmetrise_pairs(*links, *lengths, HEURISTICS.index(heuristic), positions, starts)
    return Links(positions[: starts[-1]].copy(), starts)


INTERSECTION, UNION, GROW, FINAL, FINAL_AND, FORWARD, BACKWARD = range(7)  # in the order of HEURISTICS
IN_FORWARD, IN_BACKWARD, SELECTED = 1, 2, 4  # flags of a cell: linked forward, linked backward, selected


@kernel
def _symmetrise_pairs(forward, backward, source_lengths, target_lengths, heuristic, positions, starts):
    """Symmetrise all sentence pairs, one after the other; fills in `positions` and `starts`."""
    source_start, target_start, count = 0, 0, 0
    for pair in range(len(source_lengths)):
        height, width = source_lengths[pair], target_lengths[pair]
        cells = np.zeros((height, width), np.int8)
        for j in range(width):
            if forward[target_start + j] >= 0:
                cells[forward[target_start + j], j] |= IN_FORWARD
        for i in range(height):
            if backward[source_start + i] >= 0:
                cells[i, backward[source_start + i]] |= IN_BACKWARD
        _symmetrise(cells, heuristic)
        for i in range(height):
            for j in range(width):
                if cells[i, j] & SELECTED:
                    positions[count, 0], positions[count, 1] = i, j
                    count += 1
        starts[pair + 1] = count
        source_start, target_start = source_start + height, target_start + width


@kernel
def _symmetrise(cells, heuristic):
    """Select links of one sentence pair: start from the intersection (or union), then grow towards the union."""
    source_linked, target_linked = np.zeros(cells.shape[0], np.int8), np.zeros(cells.shape[1], np.int8)
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            in_forward, in_backward = cells[i, j] & IN_FORWARD, cells[i, j] & IN_BACKWARD
            if (in_forward and (in_backward or heuristic in (UNION, FORWARD))) or (
                in_backward and heuristic in (UNION, BACKWARD)
            ):
                cells[i, j] |= SELECTED
                source_linked[i] = target_linked[j] = 1
    if heuristic in (GROW, FINAL, FINAL_AND):
        while _grow(cells, source_linked, target_linked):
            pass
    if heuristic in (FINAL, FINAL_AND):
        _final(cells, IN_FORWARD, source_linked, target_linked, heuristic == FINAL_AND)
        _final(cells, IN_BACKWARD, source_linked, target_linked, heuristic == FINAL_AND)


@kernel
def _grow(cells, source_linked, target_linked):
    """grow-diag: add links of the union beside (or diagonal to) a selected one if a word is unaligned; True if any."""
    grown = False
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            if not cells[i, j] & SELECTED:
                continue
            for step in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                a, b = i + step[0], j + step[1]
                if not (0 <= a < cells.shape[0] and 0 <= b < cells.shape[1]) or (source_linked[a] and target_linked[b]):
                    continue
                if cells[a, b] and not cells[a, b] & SELECTED:
                    cells[a, b] |= SELECTED
                    source_linked[a] = target_linked[b] = 1
                    grown = True
    return grown


@kernel
def _final(cells, direction, source_linked, target_linked, require_both):
    """final(-and): add links of one direction with an unaligned word (with `require_both`: both words unaligned)."""
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            unaligned = 2 - source_linked[i] - target_linked[j]
            if cells[i, j] & direction and (unaligned == 2 or (unaligned and not require_both)):
                cells[i, j] |= SELECTED
                source_linked[i] = target_linked[j] = 1
