"""Compiled kernels of subword hashing and composition; their reference implementations are in `subwords`."""

from __future__ import annotations

import numpy as np

from firth.jit import kernel

_BASIS, _PRIME = np.uint32(2166136261), np.uint32(16777619)


@kernel
def _is_eos(text, low, high):
    """Whether the text from low to high is `<</s>>`."""
    if high - low != 6:
        return False
    return text[low + 1] == 60 and text[low + 2] == 47 and text[low + 3] == 115 and text[low + 4] == 62


@kernel
def hash_char_ngrams(text, ends, min_n, max_n, buckets, first, out):
    """The bucket ids of the character n-grams of each `<word>`; if `out` is too short, only their counts, in
    `first`."""
    position, low = 0, 0
    for word in range(ends.shape[0]):
        high = ends[word]
        if not _is_eos(text, low, high):
            for start in range(low, high):
                if text[start] & 0xC0 == 0x80:  # within a UTF-8 character
                    continue
                stop, length, value = start, 0, _BASIS
                while stop < high and length < max_n:
                    while True:  # one character: its bytes are sign-extended
                        byte = np.uint32(text[stop])
                        value = np.uint32((value ^ (byte | np.uint32(0xFFFFFF00) if byte > 127 else byte)) * _PRIME)
                        stop += 1
                        if stop >= high or text[stop] & 0xC0 != 0x80:
                            break
                    length += 1
                    if length >= min_n and (length > 1 or (start > low and stop < high)):
                        if position < out.shape[0]:
                            out[position] = np.int64(value) % buckets
                        position += 1
        first[word + 1] = position
        low = high + 1


@kernel
def compose(word_rows, buckets, first, rows, out):
    """out[i] = the mean of word_rows[i] and its buckets, summed sequentially in float32; row −1 is a zero vector."""
    for word in range(word_rows.shape[0]):
        for column in range(word_rows.shape[1]):
            out[word, column] = word_rows[word, column]
        for position in range(first[word], first[word + 1]):
            row = rows[position]
            for column in range(word_rows.shape[1] if row >= 0 else 0):
                out[word, column] += buckets[row, column]
        scale = np.float32(1.0 / (first[word + 1] - first[word] + 1))
        for column in range(word_rows.shape[1]):
            out[word, column] *= scale
