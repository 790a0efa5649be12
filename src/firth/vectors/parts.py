"""Compiled loops over word parts; their plain twins are in `subwords`."""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel

_BASIS, _PRIME = np.uint32(2166136261), np.uint32(16777619)


@kernel
def _is_end_of_line(text, low, high):
    """Whether this is `<</s>>`."""
    if high - low != 6:
        return False
    return text[low + 1] == 60 and text[low + 2] == 47 and text[low + 3] == 115 and text[low + 4] == 62


@kernel
def hash_words(text, ends, least, most, count, first, out):
    """The buckets of each `<word>` before each end; where `out` is too short they are only counted, into `first`."""
    place, low = 0, 0
    for word in range(ends.shape[0]):
        high = ends[word]
        if not _is_end_of_line(text, low, high):
            for start in range(low, high):
                if text[start] & 0xC0 == 0x80:  # within a character
                    continue
                stop, length, found = start, 0, _BASIS
                while stop < high and length < most:
                    while True:  # one character: its bytes enter with their sign
                        byte = np.uint32(text[stop])
                        found = np.uint32((found ^ (byte | np.uint32(0xFFFFFF00) if byte > 127 else byte)) * _PRIME)
                        stop += 1
                        if stop >= high or text[stop] & 0xC0 != 0x80:
                            break
                    length += 1
                    if length >= least and (length > 1 or (start > low and stop < high)):
                        if place < out.shape[0]:
                            out[place] = np.int64(found) % count
                        place += 1
        first[word + 1] = place
        low = high + 1


@kernel
def compose(own, buckets, first, places, out):
    """out[i] = the mean of own[i] and its buckets, added in turn in float32; place −1 is a vector of zeros."""
    for word in range(own.shape[0]):
        for column in range(own.shape[1]):
            out[word, column] = own[word, column]
        for place in range(first[word], first[word + 1]):
            row = places[place]
            for column in range(own.shape[1] if row >= 0 else 0):
                out[word, column] += buckets[row, column]
        share = np.float32(1.0 / (first[word + 1] - first[word] + 1))
        for column in range(own.shape[1]):
            out[word, column] *= share
