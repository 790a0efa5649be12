"""A Huffman tree over the words: frequent words have short paths (Morin and Bengio 2005; Mikolov et al. 2013)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.counts.compiled import kernel


class Paths(NamedTuple):
    """For each word the inner nodes from the root, and whether to go left (0) or right (1) at each."""

    nodes: np.ndarray  # int32
    codes: np.ndarray  # int8
    offsets: np.ndarray  # (words + 1,) int64

    @property
    def longest(self) -> int:
        """Nodes of the longest path."""
        return int(np.diff(self.offsets).max(initial=0))


def paths(counts: np.ndarray) -> Paths:
    """Those of words sorted from frequent to rare."""
    words = len(counts)
    parent, bit = np.zeros(2 * words - 1, np.int64), np.zeros(2 * words - 1, np.int8)
    _grow(counts, parent, bit)
    nodes, codes, offsets = [], [], [0]
    for word in range(words):
        path, node = [], word
        while node != 2 * words - 2:  # the root
            path.append((parent[node] - words, bit[node]))
            node = parent[node]
        path.reverse()
        nodes += [inner for inner, _ in path]
        codes += [way for _, way in path]
        offsets.append(len(nodes))
    return Paths(np.array(nodes, np.int32), np.array(codes, np.int8), np.array(offsets, np.int64))


@kernel
def _grow(counts, parent, bit):
    """Parents and bits of a Huffman tree over words sorted from frequent to rare; inner node i is number words + i."""
    words = counts.shape[0]
    weight = np.empty(2 * words - 1, np.int64)
    weight[:words] = counts
    leaf, inner = words - 1, words  # the lightest word and inner node that are left
    for node in range(words, 2 * words - 1):
        total = np.int64(0)
        for which in range(2):
            if leaf >= 0 and (inner >= node or weight[leaf] < weight[inner]):
                lightest = leaf
                leaf -= 1
            else:
                lightest = inner
                inner += 1
            parent[lightest], bit[lightest] = node, which
            total += weight[lightest]
        weight[node] = total
