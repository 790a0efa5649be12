"""The loops that count runs of tokens: packed into whole numbers, sorted, and grown into a trie."""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel, part

_BYTE = np.uint64(255)


@kernel
def tally(ids, starts, end, tokens):
    """Count every token; how many documents there are (an end in the middle closes one too), or −1 for a bad token."""
    documents = 0
    for document in range(len(starts) - 1):
        fresh = True
        for at in range(starts[document], starts[document + 1]):
            if ids[at] < 0 or ids[at] >= len(tokens):
                return -1
            documents += fresh
            tokens[ids[at]] += 1
            fresh = ids[at] == end
    return documents


@kernel
def tally_seconds(ids, starts, start, end, first, seconds):
    """How many runs that begin with one token go on with each token, plus one; 0: with none."""
    for document in range(len(starts) - 1):
        low, high = starts[document], starts[document + 1]
        for at in range(low, high):
            if first == start and (at == low or ids[at - 1] == end):
                seconds[np.int64(ids[at]) + 1] += 1
            if ids[at] == first:
                alone = ids[at] == end or at + 1 == high
                seconds[0 if alone else np.int64(ids[at + 1]) + 1] += 1


@part
def _pack(head, ids, at, high, end, order, bits, per, keys, row):
    """A run as whole numbers, its first token in the highest bits."""
    token, shift, open_ = np.uint64(head + 1), np.uint64(bits), True
    for place in range(order):
        column = place // per
        keys[row, column] = (keys[row, column] << shift) | token
        open_ = open_ and at < high
        token = np.uint64(np.int64(ids[at]) + 1) if open_ else np.uint64(0)
        if open_ and ids[at] == end:
            open_ = False
        at += 1


@kernel
def gather(ids, starts, start, end, order, bits, per, low, high, second_low, second_high, keys):
    """The keys of all runs of a stretch."""
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
def sort(keys, other, order, bits, per):
    """Sort by the last byte first; bytes in which all keys agree cost one reading."""
    rows, columns = keys.shape
    tally = np.empty(257, np.int64)
    for column in range(columns - 1, -1, -1):
        used = bits * min(per, order - column * per)
        for shift in range(0, used, 8):
            move, most = np.uint64(shift), 0
            for value in range(257):
                tally[value] = 0
            for row in range(rows):
                tally[np.int64((keys[row, column] >> move) & _BYTE) + 1] += 1
            for value in range(256):
                most = max(most, tally[value + 1])
                tally[value + 1] += tally[value]
            if most == rows:
                continue
            for row in range(rows):
                value = np.int64((keys[row, column] >> move) & _BYTE)
                for place in range(columns):
                    other[tally[value], place] = keys[row, place]
                tally[value] += 1
            keys, other = other, keys
    return keys


@part
def _unpack(keys, row, order, bits, per, tokens):
    """The tokens of a run, plus one, 0 behind its end."""
    columns, mask = keys.shape[1], (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for column in range(columns):
        value, low = keys[row, column], column * per
        for place in range(min(order, low + per) - 1, low - 1, -1):
            tokens[place] = np.int64(value & mask)
            value >>= np.uint64(bits)


@kernel
def measure(keys, order, bits, per, sizes):
    """How many different n-grams there are of each order."""
    last, tokens = np.zeros(order, np.int64), np.zeros(order, np.int64)
    for row in range(len(keys)):
        _unpack(keys, row, order, bits, per, tokens)
        fresh = False
        for place in range(order):
            if tokens[place] == 0:
                break
            fresh = fresh or tokens[place] != last[place]
            sizes[place] += fresh
        last, tokens = tokens, last


@kernel
def grow(keys, order, bits, per, sizes, words, counts, children):
    """The n-grams of each order, how often they occur, and how many go on with each."""
    last, tokens = np.zeros(order, np.int64), np.zeros(order, np.int64)
    nodes = np.full(order, -1, np.int64)  # the latest node of each order
    for place in range(1, order):
        nodes[place] = nodes[place - 1] + sizes[place - 1]
    for row in range(len(keys)):
        _unpack(keys, row, order, bits, per, tokens)
        fresh = False
        for place in range(order):
            if tokens[place] == 0:
                break
            fresh = fresh or tokens[place] != last[place]
            if fresh:
                nodes[place] += 1
                words[nodes[place]] = tokens[place] - 1
                if place:
                    children[nodes[place - 1]] += 1
            counts[nodes[place]] += 1
        last, tokens = tokens, last
