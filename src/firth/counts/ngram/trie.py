"""n-grams of all orders in one trie of flat arrays: each stands under its context, sorted by its last token."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.counts.compiled import run_in_order
from firth.counts.ngram import kernels
from firth.errors import FirthError

MOST = (1 << 31) - 1  # nodes; numbers of nodes take four bytes
_STRETCH = 1 << 16  # contexts that a thread links at once


class Trie(NamedTuple):
    """Order 1 is all tokens; the children of a node are the n-grams that go on with it."""

    levels: np.ndarray  # (order + 1,) int64: where the nodes of each order begin, and where they end
    words: np.ndarray  # (nodes,) int32: the last token
    first: np.ndarray  # (nodes below the highest order + 1,) int32: the first child; the next node's first is the end
    links: np.ndarray  # (nodes,) int32: the longest other n-gram that ends as this one does; −1: none

    @property
    def order(self) -> int:
        """Tokens of the longest n-grams."""
        return len(self.levels) - 1

    @property
    def inner(self) -> int:
        """Nodes below the highest order: those that can be contexts."""
        return int(self.levels[-2])

    def level(self, order: int) -> slice:
        """The nodes of one order, from 1 on."""
        return slice(int(self.levels[order - 1]), int(self.levels[order]))

    def parents(self, order: int) -> np.ndarray:
        """The context of each n-gram of one order, from 2 on."""
        above = self.level(order - 1)
        numbers = np.arange(above.start, above.stop, dtype=np.int32)
        return np.repeat(numbers, np.diff(self.first[above.start : above.stop + 1]))

    def tokens(self, order: int, low: int, high: int) -> np.ndarray:
        """The tokens of nodes low..high of one order, (nodes, order)."""
        found, nodes = np.empty((high - low, order), np.int32), np.arange(low, high)
        for column in range(order - 1, -1, -1):
            found[:, column] = self.words[nodes]
            if column:
                above = self.level(column)
                nodes = above.start + np.searchsorted(self.first[above.start + 1 : above.stop + 1], nodes, "right")
        return found


def grown(sizes: list[int], words: np.ndarray, children: np.ndarray, threads: int = 1) -> Trie:
    """The trie of n-grams listed by order, then by context, then by token; `children` of each that can be a context."""
    if len(words) > MOST:
        raise FirthError(f"{len(words):,} n-grams are too many", do="lower the order, or prune")
    levels = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    first = np.empty(len(children) + 1, np.int32)
    first[0] = levels[1]
    np.cumsum(children, out=first[1:])
    first[1:] += first[0]
    return linked(Trie(levels, words, first, np.full(len(words), -1, np.int32)), threads)


def linked(trie: Trie, threads: int = 1) -> Trie:
    """The same trie with its links found, order by order."""
    for order in range(1, trie.order):
        level = trie.level(order)
        tasks = [(low, min(low + _STRETCH, level.stop)) for low in range(level.start, level.stop, _STRETCH)]
        for _ in run_in_order(lambda task: kernels.link(trie.words, trie.first, trie.links, *task), tasks, threads):
            pass
    return trie


def trimmed(sizes: list[int]) -> list[int]:
    """The sizes without orders that have no n-grams; order 1 stays."""
    while len(sizes) > 1 and not sizes[-1]:
        sizes = sizes[:-1]
    return sizes


def thinned(trie: Trie, kept: np.ndarray) -> tuple[Trie, np.ndarray]:
    """The trie of the nodes that are kept, with their contexts, and which of the old inner nodes are inner still."""
    before = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
    sizes = trimmed(list(np.diff(before[trie.levels])))
    inner = trie.levels[len(sizes) - 1]
    children = np.diff(before[trie.first[: inner + 1]])[kept[:inner]]
    return grown(sizes, trie.words[kept], children), kept[:inner]
