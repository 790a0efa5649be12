"""A trie of the n-grams of all orders in flat arrays: children of a context are sorted by their last token."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.jit import run_in_order
from firth.ngram import trie_kernels

MAX_NODES = (1 << 31) - 1  # node indices are int32
_CONTEXTS_PER_TASK = 1 << 16  # for suffix links


class Trie(NamedTuple):
    """Order 1 holds the whole vocabulary; the children of a node extend its n-gram by one token."""

    levels: np.ndarray  # (order + 1,) int64: where the nodes of each order begin, and where they end
    words: np.ndarray  # (nodes,) int32: the last token of each n-gram
    first: np.ndarray  # (nodes below the highest order + 1,) int32: the first child; the next node's first is the end
    links: np.ndarray  # (nodes,) int32: the suffix link: the node of the longest proper suffix; −1: none

    @property
    def order(self) -> int:
        """The order n: the number of tokens in the longest n-grams."""
        return len(self.levels) - 1

    @property
    def inner(self) -> int:
        """The number of inner nodes, those below the highest order, which can be contexts."""
        return int(self.levels[-2])

    def level(self, order: int) -> slice:
        """The slice of nodes of one order (from 1)."""
        return slice(int(self.levels[order - 1]), int(self.levels[order]))

    def parents(self, order: int) -> np.ndarray:
        """The parent (context) of each n-gram of one order (from 2)."""
        contexts = self.level(order - 1)
        numbers = np.arange(contexts.start, contexts.stop, dtype=np.int32)
        return np.repeat(numbers, np.diff(self.first[contexts.start : contexts.stop + 1]))

    def tokens(self, order: int, low: int, high: int) -> np.ndarray:
        """The tokens of the n-grams of nodes low..high of one order, (nodes, order)."""
        tokens, nodes = np.empty((high - low, order), np.int32), np.arange(low, high)
        for column in range(order - 1, -1, -1):
            tokens[:, column] = self.words[nodes]
            if column:
                contexts = self.level(column)
                nodes = contexts.start + np.searchsorted(
                    self.first[contexts.start + 1 : contexts.stop + 1], nodes, "right"
                )
        return tokens


def build_trie(sizes: list[int], words: np.ndarray, children: np.ndarray, threads: int = 1) -> Trie:
    """Build a trie of n-grams sorted by order, context and token; `children`: the number of children of inner nodes."""
    if len(words) > MAX_NODES:
        raise FirthError(f"{len(words):,} n-grams are too many (at most {MAX_NODES:,})", do="lower the order, or prune")
    levels = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    first = np.empty(len(children) + 1, np.int32)
    first[0] = levels[1]
    np.cumsum(children, out=first[1:])
    first[1:] += first[0]
    return add_suffix_links(Trie(levels, words, first, np.full(len(words), -1, np.int32)), threads)


def add_suffix_links(trie: Trie, threads: int = 1) -> Trie:
    """Fill in the suffix links of the trie (Aho and Corasick 1975), order by order."""
    for order in range(1, trie.order):
        level = trie.level(order)
        tasks = [
            (low, min(low + _CONTEXTS_PER_TASK, level.stop))
            for low in range(level.start, level.stop, _CONTEXTS_PER_TASK)
        ]
        for _ in run_in_order(
            lambda task: trie_kernels.link(trie.words, trie.first, trie.links, *task), tasks, threads
        ):
            pass
    return trie


def drop_empty_orders(sizes: list[int]) -> list[int]:
    """Return the sizes without trailing orders that have no n-grams; order 1 stays."""
    while len(sizes) > 1 and not sizes[-1]:
        sizes = sizes[:-1]
    return sizes


def select_nodes(trie: Trie, keep: np.ndarray) -> tuple[Trie, np.ndarray]:
    """Return the trie of the kept nodes (contexts included) and a mask of the old inner nodes that remain inner."""
    offsets = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
    sizes = drop_empty_orders(list(np.diff(offsets[trie.levels])))
    inner = trie.levels[len(sizes) - 1]
    children = np.diff(offsets[trie.first[: inner + 1]])[keep[:inner]]
    return build_trie(sizes, trie.words[keep], children), keep[:inner]
