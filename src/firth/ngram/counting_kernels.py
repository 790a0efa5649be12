"""Compiled loops of n-gram counting: pack n-grams into integer keys, radix-sort them, build trie nodes."""

from __future__ import annotations

import numpy as np

from firth.jit import inline_kernel, kernel

_BYTE = np.uint64(255)


@kernel
def count_unigrams(ids, starts, end, counts):
    """Count every token; return the number of documents (an end token closes one too), or −1 for an invalid token."""
    documents = 0
    for document in range(len(starts) - 1):
        is_first = True
        for at in range(starts[document], starts[document + 1]):
            if ids[at] < 0 or ids[at] >= len(counts):
                return -1
            documents += is_first
            counts[ids[at]] += 1
            is_first = ids[at] == end
    return documents


@kernel
def count_second_tokens(ids, starts, start, end, first, seconds):
    """Count the second tokens of n-grams that begin with `first`, indexed by token plus one (0: no second token)."""
    for document in range(len(starts) - 1):
        low, high = starts[document], starts[document + 1]
        for at in range(low, high):
            if first == start and (at == low or ids[at - 1] == end):
                seconds[np.int64(ids[at]) + 1] += 1
            if ids[at] == first:
                alone = ids[at] == end or at + 1 == high
                seconds[0 if alone else np.int64(ids[at + 1]) + 1] += 1


@inline_kernel
def _pack(head, ids, at, high, end, order, bits, per, keys, row):
    """Pack an n-gram into integers, its first token in the highest bits."""
    token, shift, open_ = np.uint64(head + 1), np.uint64(bits), True
    for position in range(order):
        column = position // per
        keys[row, column] = (keys[row, column] << shift) | token
        open_ = open_ and at < high
        token = np.uint64(np.int64(ids[at]) + 1) if open_ else np.uint64(0)
        if open_ and ids[at] == end:
            open_ = False
        at += 1


@kernel
def pack_keys(ids, starts, start, end, order, bits, per, low, high, second_low, second_high, keys):
    """Write the keys of all n-grams of a partition."""
    row = 0
    for document in range(len(starts) - 1):
        first, last = starts[document], starts[document + 1]
        for at in range(first, last):
            word = np.int64(ids[at])
            if low <= start < high and (at == first or ids[at - 1] == end) and second_low <= word + 1 < second_high:
                _pack(start, ids, at, last, end, order, bits, per, keys, row)
                row += 1
            if low <= word < high:
                alone = word == end or at + 1 == last
                second = 0 if alone else np.int64(ids[at + 1]) + 1
                if second_low <= second < second_high:
                    _pack(word, ids, last if alone else at + 1, last, end, order, bits, per, keys, row)
                    row += 1


@kernel
def radix_sort(keys, buffer, order, bits, per):
    """Sort by least-significant-digit radix sort, a byte at a time; a byte in which all keys agree costs one pass."""
    rows, columns = keys.shape
    histogram = np.empty(257, np.int64)
    for column in range(columns - 1, -1, -1):
        used = bits * min(per, order - column * per)
        for shift in range(0, used, 8):
            move, largest = np.uint64(shift), 0
            for value in range(257):
                histogram[value] = 0
            for row in range(rows):
                histogram[np.int64((keys[row, column] >> move) & _BYTE) + 1] += 1
            for value in range(256):
                largest = max(largest, histogram[value + 1])
                histogram[value + 1] += histogram[value]
            if largest == rows:
                continue
            for row in range(rows):
                value = np.int64((keys[row, column] >> move) & _BYTE)
                for other_column in range(columns):
                    buffer[histogram[value], other_column] = keys[row, other_column]
                histogram[value] += 1
            keys, buffer = buffer, keys
    return keys


@inline_kernel
def _unpack(keys, row, order, bits, per, tokens):
    """Unpack the tokens of an n-gram, plus one; 0 after its end."""
    columns, mask = keys.shape[1], (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for column in range(columns):
        value, low = keys[row, column], column * per
        for position in range(min(order, low + per) - 1, low - 1, -1):
            tokens[position] = np.int64(value & mask)
            value >>= np.uint64(bits)


@kernel
def count_nodes(keys, order, bits, per, sizes):
    """Count the distinct n-grams of each order."""
    last, tokens = np.zeros(order, np.int64), np.zeros(order, np.int64)
    for row in range(len(keys)):
        _unpack(keys, row, order, bits, per, tokens)
        is_new = False
        for position in range(order):
            if tokens[position] == 0:
                break
            is_new = is_new or tokens[position] != last[position]
            sizes[position] += is_new
        last, tokens = tokens, last


@kernel
def build_nodes(keys, order, bits, per, sizes, words, counts, children):
    """Write the distinct n-grams of each order with their counts and their numbers of children."""
    last, tokens = np.zeros(order, np.int64), np.zeros(order, np.int64)
    nodes = np.full(order, -1, np.int64)  # the latest node of each order
    for position in range(1, order):
        nodes[position] = nodes[position - 1] + sizes[position - 1]
    for row in range(len(keys)):
        _unpack(keys, row, order, bits, per, tokens)
        is_new = False
        for position in range(order):
            if tokens[position] == 0:
                break
            is_new = is_new or tokens[position] != last[position]
            if is_new:
                nodes[position] += 1
                words[nodes[position]] = tokens[position] - 1
                if position:
                    children[nodes[position - 1]] += 1
            counts[nodes[position]] += 1
        last, tokens = tokens, last
