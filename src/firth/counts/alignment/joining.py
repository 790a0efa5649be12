"""Links of both directions joined into one alignment (Koehn, Och and Marcu 2003). The kernel's twin is in the tests."""

from __future__ import annotations

from typing import NamedTuple, get_args, get_type_hints

import numpy as np

from firth.config.schema import Aligner
from firth.counts.compiled import kernel
from firth.errors import unknown

JOINS: tuple[str, ...] = get_args(get_type_hints(Aligner)["join"])


class Links(NamedTuple):
    """The links of several pairs: of pair n those from starts[n] to starts[n + 1], sorted."""

    ends: np.ndarray  # (links, 2) int32: left and right word
    starts: np.ndarray  # (pairs + 1,) int64

    def lists(self) -> list[list[tuple[int, int]]]:
        """A list for each pair."""
        found = list(map(tuple, self.ends.tolist()))
        return [found[low:high] for low, high in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)]


def check_join(how: str) -> None:
    """Refuse a name that is none of JOINS."""
    if how not in JOINS:
        raise unknown("way to join links", how, JOINS)


def join(forward: np.ndarray, backward: np.ndarray, lefts: np.ndarray, rights: np.ndarray, how: str) -> Links:
    """For each right word the left word it comes from (−1: none), and the other way round; lefts, rights: lengths."""
    check_join(how)
    starts, ends = np.zeros(len(lefts) + 1, np.int64), np.empty((len(forward) + len(backward), 2), np.int32)
    links = np.asarray(forward, np.int32), np.asarray(backward, np.int32)
    _join(*links, np.asarray(lefts, np.int64), np.asarray(rights, np.int64), JOINS.index(how), ends, starts)
    return Links(ends[: starts[-1]].copy(), starts)


INTERSECTION, UNION, GROW, FINAL, FINAL_AND, FORWARD, BACKWARD = range(7)  # the order of JOINS
HERE, THERE, TAKEN = 1, 2, 4  # what is said of a pair of words: linked forward, backward, in the end


@kernel
def _join(forward, backward, lefts, rights, how, ends, starts):
    """All pairs of texts, one after the other; `starts` is filled in."""
    left_at, right_at, count = 0, 0, 0
    for pair in range(len(lefts)):
        height, width = lefts[pair], rights[pair]
        said = np.zeros((height, width), np.int8)
        for j in range(width):
            if forward[right_at + j] >= 0:
                said[forward[right_at + j], j] |= HERE
        for i in range(height):
            if backward[left_at + i] >= 0:
                said[i, backward[left_at + i]] |= THERE
        _take(said, how)
        for i in range(height):
            for j in range(width):
                if said[i, j] & TAKEN:
                    ends[count, 0], ends[count, 1] = i, j
                    count += 1
        starts[pair + 1] = count
        left_at, right_at = left_at + height, right_at + width


@kernel
def _take(said, how):
    """One pair of texts: from the links that both directions have to more of those that one has."""
    rows, columns = np.zeros(said.shape[0], np.int8), np.zeros(said.shape[1], np.int8)  # 1: has a link
    for i in range(said.shape[0]):
        for j in range(said.shape[1]):
            here, there = said[i, j] & HERE, said[i, j] & THERE
            if (here and (there or how in (UNION, FORWARD))) or (there and how in (UNION, BACKWARD)):
                said[i, j] |= TAKEN
                rows[i] = columns[j] = 1
    if how in (GROW, FINAL, FINAL_AND):
        while _grow(said, rows, columns):
            pass
    if how in (FINAL, FINAL_AND):
        _finish(said, HERE, rows, columns, how == FINAL_AND)
        _finish(said, THERE, rows, columns, how == FINAL_AND)


@kernel
def _grow(said, rows, columns):
    """Take neighbours of links, also across, that one direction has and of which a word is bare; whether there were."""
    grown = False
    for i in range(said.shape[0]):
        for j in range(said.shape[1]):
            if not said[i, j] & TAKEN:
                continue
            for step in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                a, b = i + step[0], j + step[1]
                if not (0 <= a < said.shape[0] and 0 <= b < said.shape[1]) or (rows[a] and columns[b]):
                    continue
                if said[a, b] and not said[a, b] & TAKEN:
                    said[a, b] |= TAKEN
                    rows[a] = columns[b] = 1
                    grown = True
    return grown


@kernel
def _finish(said, direction, rows, columns, both):
    """Take links of one direction of which a word is bare, or both are."""
    for i in range(said.shape[0]):
        for j in range(said.shape[1]):
            bare = 2 - rows[i] - columns[j]
            if said[i, j] & direction and (bare == 2 or (bare and not both)):
                said[i, j] |= TAKEN
                rows[i] = columns[j] = 1
