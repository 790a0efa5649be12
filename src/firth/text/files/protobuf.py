"""Protocol Buffers on the wire, as much as tokenizer files need: fields read as views, fields written as bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from firth.errors import FirthError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types; groups (3, 4) are long out of use
_LONGEST_VARINT = 10  # bytes


class Field(NamedTuple):
    """One field of a message."""

    number: int
    value: int | memoryview  # fixed-size numbers are left as their bytes


def fields(data: bytes | memoryview, where: object) -> Iterator[Field]:
    """The fields of a message in their order. Nothing is copied, so that no length in a file can cost memory."""
    view, place = memoryview(data), 0
    while place < len(view):
        key, place = _varint(view, place, where)
        wire, number = key & 7, key >> 3
        if wire == _VARINT:
            value, place = _varint(view, place, where)
            yield Field(number, value)
            continue
        if wire == _BYTES:
            size, place = _varint(view, place, where)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise malformed(where, place)
        if number == 0 or size > len(view) - place:
            raise malformed(where, place)
        yield Field(number, view[place : place + size])
        place += size


def _varint(view: memoryview, place: int, where: object) -> tuple[int, int]:
    value = 0
    for n, byte in enumerate(view[place : place + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:
            return value & (1 << 64) - 1, place + n + 1
    raise malformed(where, place)


def malformed(where: object, place: int) -> FirthError:
    """The error for bytes that are no message, or not the whole of one."""
    return FirthError(f"not a SentencePiece model, or cut short (at byte {place})", where=where, do="fetch it again")


def number(value: int | memoryview, where: object) -> int:
    """A field that must be a signed whole number."""
    if not isinstance(value, int):
        raise malformed(where, 0)
    return value - (1 << 64) if value >> 63 else value


def single(value: int | memoryview, where: object) -> float:
    """A field that must be a 32-bit float."""
    if isinstance(value, int) or len(value) != 4:
        raise malformed(where, 0)
    return struct.unpack("<f", value)[0]


def content(value: int | memoryview, where: object) -> memoryview:
    """A field that must be bytes or a message."""
    if isinstance(value, int):
        raise malformed(where, 0)
    return value


def text(value: int | memoryview, where: object) -> str:
    """A field that must be text."""
    try:
        return str(content(value, where), "utf-8")
    except UnicodeDecodeError:
        raise FirthError("a piece is not valid UTF-8", where=where, do="fetch the file again") from None


def write(number: int, value: int | bool | float | str | bytes) -> bytes:
    """One field: whole numbers as varints, floats in 32 bits, text and bytes with their length."""
    if isinstance(value, float):
        return _spelled(number << 3 | _FIXED32) + struct.pack("<f", value)
    if isinstance(value, int):
        return _spelled(number << 3 | _VARINT) + _spelled(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else value
    return _spelled(number << 3 | _BYTES) + _spelled(len(data)) + data


def _spelled(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
