"""SentencePiece's `ModelProto`, the content of a `.model` file: the fields that firth reads and writes.

The library's own protobuf classes need the package protobuf, which nothing else here needs. Field numbers are those
of `sentencepiece_model.proto`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from firth.errors import FirthError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # types of pieces
WHITESPACE = "▁"  # stands for a space in pieces
MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}

_PIECES, _TRAINER_SPEC, _NORMALIZER_SPEC = 1, 2, 3
_MODEL_TYPE, _VOCAB_SIZE = 3, 4  # of TrainerSpec
_TRAINER_FLAGS = {24: "treat_whitespace_as_suffix", 35: "byte_fallback"}
_SPECIAL = {"unknown": (40, 45), "start": (41, 46), "end": (42, 47), "pad": (43, 48)}  # id and piece
_NAME, _CHARSMAP = 1, 2  # of NormalizerSpec
_NORMALIZER_FLAGS = {3: "add_dummy_prefix", 4: "remove_extra_whitespaces", 5: "escape_whitespaces"}


class Piece(NamedTuple):
    """A vocabulary entry; its id is its position."""

    text: str
    score: float
    type: int = NORMAL


@dataclass(frozen=True)
class ModelProto:
    """The fields of a SentencePiece model that decide how text is encoded."""

    model_type: str  # unigram, bpe, char or word
    pieces: tuple[Piece, ...]
    precompiled_charsmap: bytes = b""  # the normalisation rules
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    treat_whitespace_as_suffix: bool = False
    byte_fallback: bool = False

    @classmethod
    def parse(cls, data: bytes, where: object) -> ModelProto:
        """The model of a `.model` file's content, checked."""
        try:
            values, vocab_size = _parse_model(memoryview(data))
        except (IndexError, KeyError, TypeError, ValueError, struct.error):
            raise FirthError("not a SentencePiece model, or damaged", where=where, do="fetch it again") from None
        if vocab_size is None:
            raise FirthError("an incomplete SentencePiece model: it has no specs", where=where, do="fetch it again")
        proto = cls(**values)
        _check_pieces(proto.pieces, vocab_size, where)
        return proto

    def serialize(self, special: Mapping[str, int] | None = None) -> bytes:
        """The content of a `.model` file; `special`: the ids of unknown, start, end and pad."""
        model_type = next(number for number, name in MODEL_TYPES.items() if name == self.model_type)
        trainer = [_field(_MODEL_TYPE, model_type), _field(_VOCAB_SIZE, len(self.pieces))]
        trainer += [_field(number, getattr(self, name)) for number, name in _TRAINER_FLAGS.items()]
        for role, (id_field, piece_field) in _SPECIAL.items() if special is not None else ():
            i = special.get(role, -1)
            trainer += [_field(id_field, i), *([_field(piece_field, self.pieces[i].text)] if i >= 0 else [])]
        normalizer = [_field(_NAME, "firth"), _field(_CHARSMAP, self.precompiled_charsmap)]
        normalizer += [_field(number, getattr(self, name)) for number, name in _NORMALIZER_FLAGS.items()]
        parts = [
            _field(_PIECES, _field(1, p.text) + _field(2, float(p.score)) + _field(3, p.type)) for p in self.pieces
        ]
        specs = [_field(_TRAINER_SPEC, b"".join(trainer)), _field(_NORMALIZER_SPEC, b"".join(normalizer))]
        return b"".join([*parts, *specs])


def _parse_model(data: memoryview) -> tuple[dict[str, Any], int | None]:
    """The values of a ModelProto, and the vocabulary size it declares; None if a part is missing."""
    pieces: list[Piece] = []
    values: dict[str, Any] = {"model_type": "unigram"}
    parts: set[int] = set()
    vocab_size = 0
    for number, value in _fields(data):
        parts.add(number)
        if number == _PIECES:
            pieces.append(_parse_piece(value))
        elif number == _TRAINER_SPEC:
            for key, entry in _fields(value):
                if key == _MODEL_TYPE:
                    values["model_type"] = MODEL_TYPES[entry]
                elif key == _VOCAB_SIZE:
                    vocab_size = int(entry)
                elif key in _TRAINER_FLAGS:
                    values[_TRAINER_FLAGS[key]] = bool(entry)
        elif number == _NORMALIZER_SPEC:
            values |= parse_normalizer_spec(value)
    complete = {_TRAINER_SPEC, _NORMALIZER_SPEC} <= parts
    return {**values, "pieces": tuple(pieces)}, vocab_size if complete else None


def parse_normalizer_spec(data: bytes | memoryview) -> dict[str, Any]:
    """The values of a NormalizerSpec."""
    values: dict[str, Any] = {}
    for number, value in _fields(memoryview(data)):
        if number == _CHARSMAP:
            charsmap = values["precompiled_charsmap"] = bytes(value)
            # size of a trie, trie, replacements; SentencePiece checks the trie, the Rust library needs valid UTF-8
            charsmap[4 + int.from_bytes(charsmap[:4], "little") :].decode()
        elif number in _NORMALIZER_FLAGS:
            values[_NORMALIZER_FLAGS[number]] = bool(value)
    return values


def _parse_piece(data: memoryview) -> Piece:
    text, score, kind = "", 0.0, NORMAL
    for number, value in _fields(data):
        if number == 1:
            text = str(value, "utf-8")
        elif number == 2:
            (score,) = struct.unpack("<f", value)
        elif number == 3:
            kind = int(value)
    if not math.isfinite(score) or not NORMAL <= kind <= BYTE:
        raise ValueError
    return Piece(text, score, kind)


def _check_pieces(pieces: tuple[Piece, ...], vocab_size: int, where: object) -> None:
    if len(pieces) < vocab_size:  # more are allowed: programs that add pieces often leave the old size
        raise FirthError(f"{len(pieces):,} pieces, but it says {vocab_size:,}", where=where, do="fetch it again")
    first: dict[str, int] = {}
    for i, piece in enumerate(pieces):
        if first.setdefault(piece.text, i) != i:
            what = f"pieces {first[piece.text]} and {i} are the same: {piece.text!r}"
            raise FirthError(what, where=where, do="fetch it again")


# --- the protobuf wire format -----------------------------------------------------------------------------

_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number, and an integer or the bytes of any other value."""
    position = 0
    while position < len(data):
        key, position = _read_varint(data, position)
        wire_type = key & 7
        if wire_type == _VARINT:
            value, position = _read_varint(data, position)
            yield key >> 3, value
            continue
        if wire_type == _LENGTH_DELIMITED:
            size, position = _read_varint(data, position)
        else:
            size = {_FIXED32: 4, _FIXED64: 8}[wire_type]
        if size > len(data) - position:
            raise ValueError
        yield key >> 3, data[position : position + size]
        position += size


def _read_varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        shift, position = shift + 7, position + 1
        if byte < 0x80:
            return value, position


def _field(number: int, value: int | float | str | bytes) -> bytes:
    """One field: integers as varints, floats in 32 bits, text and bytes with their length."""
    if isinstance(value, float):
        return _varint(number << 3 | _FIXED32) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
