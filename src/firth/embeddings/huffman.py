"""The Huffman tree of hierarchical softmax: frequent words have short codes (Morin and Bengio 2005; Mikolov 2013)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.jit import kernel


class HuffmanPaths(NamedTuple):
    """The path of each word from the root: its inner nodes (points), and its Huffman code, 0 left and 1 right."""

    nodes: np.ndarray  # int32
    codes: np.ndarray  # int8
    offsets: np.ndarray  # (words + 1,) int64

    @property
    def max_length(self) -> int:
        """The length of the longest code."""
        return int(np.diff(self.offsets).max(initial=0))


def huffman_paths(counts: np.ndarray) -> HuffmanPaths:
    """The paths of words sorted by descending frequency."""
    words = len(counts)
    parent, bit = np.zeros(2 * words - 1, np.int64), np.zeros(2 * words - 1, np.int8)
    _build_tree(counts, parent, bit)
    nodes, codes, offsets = [], [], [0]
    for word in range(words):
        path, node = [], word
        while node != 2 * words - 2:  # the root
            path.append((parent[node] - words, bit[node]))
            node = parent[node]
        path.reverse()
        nodes += [inner for inner, _ in path]
        codes += [code for _, code in path]
        offsets.append(len(nodes))
    return HuffmanPaths(np.array(nodes, np.int32), np.array(codes, np.int8), np.array(offsets, np.int64))


@kernel
def _build_tree(counts, parent, bit):
    """Parents and code bits of a Huffman tree over words by descending frequency; inner node i has number words + i."""
    words = counts.shape[0]
    weight = np.empty(2 * words - 1, np.int64)
    weight[:words] = counts
    leaf, inner = words - 1, words  # the lightest remaining word and inner node
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
