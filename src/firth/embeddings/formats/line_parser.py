"""A compiled parser of lines with a word and its vector; its reference implementation is `vector_lines.parse_line`."""

from __future__ import annotations

import numpy as np

from firth.jit import kernel

PARSED, TOO_FEW, UNUSUAL, BLANK = 0, 1, 2, 3  # a line's state: parsed; too few fields; left to `parse_line`; blank
_TENS = 10.0 ** np.arange(23)  # exact in float64
_MAX_DIGITS = np.uint64((2**64 - 10) // 10)


@kernel
def _parse_number(text, low, high):
    """The decimal number in text[low:high], and whether it is of the usual kind, which is parsed exactly."""
    position, negative = low, False
    if position < high and (text[position] == 45 or text[position] == 43):
        negative = text[position] == 45
        position += 1
    digits, power, seen, point = np.uint64(0), 0, 0, False
    while position < high:
        byte = text[position]
        if 48 <= byte <= 57:
            if digits > _MAX_DIGITS:
                return 0.0, False
            digits = digits * np.uint64(10) + np.uint64(byte - 48)
            seen += 1
            power -= 1 if point else 0
        elif byte == 46 and not point:
            point = True
        else:
            break
        position += 1
    if seen == 0:
        return 0.0, False
    if position < high:
        if text[position] != 101 and text[position] != 69:  # e
            return 0.0, False
        position += 1
        minus = position < high and text[position] == 45
        if position < high and (text[position] == 45 or text[position] == 43):
            position += 1
        if position >= high or high - position > 3:
            return 0.0, False
        shift = 0
        while position < high:
            if not 48 <= text[position] <= 57:
                return 0.0, False
            shift = shift * 10 + np.int64(text[position] - 48)
            position += 1
        power += -shift if minus else shift
    if power < -22 or power > 22:
        return 0.0, digits == 0
    value = np.float64(digits)
    value = value / _TENS[-power] if power < 0 else value * _TENS[power]
    return (-value if negative else value), True


@kernel
def parse_lines(text, ends, out, word_ends, states):
    """Parse the line before each end: its vector into out[i], the end of its word into word_ends[i], its state."""
    low, width = 0, out.shape[1]
    for line in range(ends.shape[0]):
        high = ends[line]
        while high > low and (text[high - 1] == 32 or text[high - 1] == 9 or text[high - 1] == 13):
            high -= 1
        state, column = PARSED if high > low else BLANK, width
        while column > 0 and state == PARSED:
            start = high
            while start > low and text[start - 1] != 32 and text[start - 1] != 9:
                start -= 1
            if start <= low + 1 or start == high:
                state = TOO_FEW
                break
            value, usual = _parse_number(text, start, high)
            if not usual:
                state = UNUSUAL
            column -= 1
            out[line, column] = value
            high = start - 1
            if column > 0:  # several spaces may separate numbers; those before the first belong to the word
                while high > low and (text[high - 1] == 32 or text[high - 1] == 9):
                    high -= 1
        word_ends[line], states[line] = high, state
        low = ends[line] + 1
