"""A compiled reader of lines with a word and its numbers; its plain twin is `lines.parse`."""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel

GOOD, SHORT, ODD, BLANK = 0, 1, 2, 3  # of a line: read; too few fields; to be read by the plain twin; nothing on it
_TENS = 10.0 ** np.arange(23)  # exact in float64
_MOST = np.uint64((2**64 - 10) // 10)


@kernel
def _number(text, low, high):
    """The decimal number in text[low:high] and whether it is one of the usual kind, which this reads exactly."""
    place, negative = low, False
    if place < high and (text[place] == 45 or text[place] == 43):
        negative = text[place] == 45
        place += 1
    digits, power, seen, point = np.uint64(0), 0, 0, False
    while place < high:
        byte = text[place]
        if 48 <= byte <= 57:
            if digits > _MOST:
                return 0.0, False
            digits = digits * np.uint64(10) + np.uint64(byte - 48)
            seen += 1
            power -= 1 if point else 0
        elif byte == 46 and not point:
            point = True
        else:
            break
        place += 1
    if seen == 0:
        return 0.0, False
    if place < high:
        if text[place] != 101 and text[place] != 69:  # e
            return 0.0, False
        place += 1
        minus = place < high and text[place] == 45
        if place < high and (text[place] == 45 or text[place] == 43):
            place += 1
        if place >= high or high - place > 3:
            return 0.0, False
        shift = 0
        while place < high:
            if not 48 <= text[place] <= 57:
                return 0.0, False
            shift = shift * 10 + np.int64(text[place] - 48)
            place += 1
        power += -shift if minus else shift
    if power < -22 or power > 22:
        return 0.0, digits == 0
    value = np.float64(digits)
    value = value / _TENS[-power] if power < 0 else value * _TENS[power]
    return (-value if negative else value), True


@kernel
def read_lines(text, ends, out, words, states):
    """For the line before each end: its last numbers into out[i], where its word ends into words[i], and its state."""
    low, width = 0, out.shape[1]
    for line in range(ends.shape[0]):
        high = ends[line]
        while high > low and (text[high - 1] == 32 or text[high - 1] == 9 or text[high - 1] == 13):
            high -= 1
        state, column = GOOD if high > low else BLANK, width
        while column > 0 and state == GOOD:
            start = high
            while start > low and text[start - 1] != 32 and text[start - 1] != 9:
                start -= 1
            if start <= low + 1 or start == high:
                state = SHORT
                break
            value, usual = _number(text, start, high)
            if not usual:
                state = ODD
            column -= 1
            out[line, column] = value
            high = start - 1
            if column > 0:  # several spaces may stand between numbers; before the first one, the rest is the word's
                while high > low and (text[high - 1] == 32 or text[high - 1] == 9):
                    high -= 1
        words[line], states[line] = high, state
        low = ends[line] + 1
