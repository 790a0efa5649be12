"""SentencePiece's normaliser table (`precompiled_charsmap`): a double array of strings and what is put for them.

The layout: the size of the array in bytes (32 bits), the array's units (32 bits each), then the new strings, each
closed by a zero byte. A unit has the byte that leads to it, whether a string ends here, and how its place must be
changed (by exclusive or) to come to its children. All numbers are little-endian.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping

from firth.errors import FirthError

_LEAF = 1 << 31  # a unit that holds a value; also its sign that no byte leads to it
_ENDS = 1 << 8  # a string ends here: child 0 holds its value
_FAR = 1 << 9  # the offset counts in steps of 256
_BLOCK = 256  # units; all children of a unit lie in one block


class Charsmap:
    """A table, opened. Characters are looked up one by one and remembered."""

    def __init__(self, data: bytes, where: object = "charsmap") -> None:
        size = struct.unpack("<I", data[:4])[0] if len(data) >= 4 else -1
        if size < 4 or size % 4 or size + 4 >= len(data) or data[-1]:
            raise _damaged(where)
        self._units = array("I", data[4 : 4 + size])
        self._strings = data[4 + size :]
        if any(unit >> 31 and (unit ^ _LEAF) >= len(self._strings) for unit in self._units if unit != _LEAF):
            raise _damaged(where)
        try:
            self._strings.decode()
        except UnicodeDecodeError:
            raise _damaged(where) from None
        self._steps: dict[tuple[int, str], tuple[int, str | None] | None] = {}
        self._root = _children(0, self._units[0])

    def longest(self, text: str, start: int) -> tuple[str, int] | None:
        """What is put for the longest string of the table that stands here, and where the text goes on; or None."""
        node, found, steps = self._root, None, self._steps
        for place in range(start, len(text)):
            key = (node, text[place])
            step = steps[key] if key in steps else self._step(key)
            if step is None:
                break
            node, new = step
            if new is not None:
                found = new, place + 1
        return found

    def _step(self, key: tuple[int, str]) -> tuple[int, str | None] | None:
        """One character on from a node: the next node, and what is put if a string of the table ends there."""
        node, character = key
        unit = 0
        for byte in character.encode():
            place = node ^ byte
            unit = self._units[place] if place < len(self._units) else _LEAF
            if unit & (_LEAF | 0xFF) != byte:
                return self._steps.setdefault(key, None)
            node = _children(place, unit)
        return self._steps.setdefault(key, (node, self._new(node) if unit & _ENDS else None))

    def _new(self, node: int) -> str | None:
        if node >= len(self._units):
            return None
        start = self._units[node] & ~_LEAF
        return self._strings[start : self._strings.index(b"\0", start)].decode("utf-8", "ignore")


def _children(place: int, unit: int) -> int:
    return place ^ (unit >> 10 << ((unit & _FAR) >> 6))


def _damaged(where: object) -> FirthError:
    return FirthError("its table of characters is damaged", where=where, do="fetch the file again")


# --- making one -----------------------------------------------------------------------------------------


def make_charsmap(rules: Mapping[str, str]) -> bytes:
    """The table that puts a string for another; no rules make no table."""
    if not rules:
        return b""
    strings, values = bytearray(), {}
    for old, new in sorted(rules.items()):
        values[old.encode()] = len(strings)
        strings += new.encode() + b"\0"
    units = array("I", _lay_out(_tree(values)))
    return struct.pack("<I", 4 * len(units)) + units.tobytes() + bytes(strings)


def _tree(values: Mapping[bytes, int]) -> dict:
    """Nested by byte; the value of a string that ends stands under -1."""
    root: dict = {}
    for key, value in values.items():
        node = root
        for byte in key:
            node = node.setdefault(byte, {})
        node[-1] = value
    return root


def _lay_out(root: dict) -> list[int]:
    """The units: every node gets a base of its own at whose distance its children find free places."""
    units: list[int | None] = [0, *[None] * (_BLOCK - 1)]
    bases, open_ = {0}, [(0, root)]
    for place, node in open_:  # grows as it goes
        labels = [max(label, 0) for label in node]
        base = max(1, len(units) - 2 * _BLOCK)  # what is left free further back is not worth the search
        while base in bases or any(units[base ^ n] is not None for n in labels if base ^ n < len(units)):
            base += 1
        units += [None] * ((base | (_BLOCK - 1)) + 1 - len(units))
        bases.add(base)
        units[place] |= (place ^ base) << 10 | (_ENDS if -1 in node else 0)
        for label, child in node.items():
            units[base ^ max(label, 0)] = _LEAF | child if label < 0 else label
            if label >= 0:
                open_.append((base ^ label, child))
    return [_LEAF if unit is None else unit for unit in units]
