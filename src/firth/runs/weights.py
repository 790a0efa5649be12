"""Weight files: safetensors whose header says what is in them, so that one file proves itself."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.errors import FirthError
from firth.runs import files

if TYPE_CHECKING:
    import numpy as np

NOTE = "firth"  # the one metadata key; with several keys their order would differ between processes
_TYPES = {"<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64", "<u4": "U32", "<u8": "U64"}
_HEADER_LIMIT = 100_000_000
_AGAIN = "restore the file, or train again with firth train RUN"


def digest(data: bytes) -> str:
    """The sha256 of a weights file without its note: names, shapes and types of the tensors, and their bytes."""
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {name: entry for name, entry in json.loads(data[8 : 8 + length]).items() if name != "__metadata__"}
    body = files.digest(memoryview(data)[8 + length :])
    return files.digest(json.dumps([tensors, body], sort_keys=True).encode())


def pieces(arrays: Mapping[str, np.ndarray]) -> files.Pieces:
    """A safetensors file, made without copying its arrays."""
    head, at = {}, 0
    for name, array in arrays.items():
        head[name] = {"dtype": _TYPES[array.dtype.str], "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)), text, *(array.reshape(-1).view("u1").data for array in arrays.values())]


def read_note(path: Path) -> dict[str, Any]:
    """What the header says of the file; the tensors are checked against it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FirthError(f"cannot read the weights: {error.strerror}", where=path, do=_AGAIN) from None
    try:
        (length,) = struct.unpack("<Q", data[:8])
        if length > min(_HEADER_LIMIT, len(data)):
            raise ValueError
        note = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][NOTE])
    except (struct.error, ValueError, KeyError, TypeError):
        raise FirthError("not a firth weights file, or cut short", where=path, do=_AGAIN) from None
    if note["sha256"] != digest(data):
        raise FirthError("the weights are damaged: their checksum does not match", where=path, do=_AGAIN)
    return note
