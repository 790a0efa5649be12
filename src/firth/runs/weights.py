"""Weight files: safetensors with metadata and a checksum in the header, so that one file verifies itself."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.errors import FirthError
from firth.runs import atomic_files

if TYPE_CHECKING:
    import numpy as np

METADATA_KEY = "firth"  # the only metadata key; with several keys their order would differ between processes
_TYPES = {"<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64", "<u4": "U32", "<u8": "U64"}
_HEADER_LIMIT = 100_000_000
_ADVICE = "restore the file, or train again with firth train RUN"


def digest(data: bytes) -> str:
    """The sha256 of a weights file without its metadata: names, shapes and types of the tensors, and their bytes."""
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {name: entry for name, entry in json.loads(data[8 : 8 + length]).items() if name != "__metadata__"}
    body = atomic_files.digest(memoryview(data)[8 + length :])
    return atomic_files.digest(json.dumps([tensors, body], sort_keys=True).encode())


def serialize(arrays: Mapping[str, np.ndarray]) -> atomic_files.Chunks:
    """A safetensors file as chunks, without copying its arrays."""
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": _TYPES[array.dtype.str], "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)), text, *(array.reshape(-1).view("u1").data for array in arrays.values())]


def read_metadata(path: Path) -> dict[str, Any]:
    """The metadata of a weights file; the tensors are checked against its checksum."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FirthError(f"cannot read the weights: {error.strerror}", where=path, do=_ADVICE) from None
    try:
        (length,) = struct.unpack("<Q", data[:8])
        if length > min(_HEADER_LIMIT, len(data)):
            raise ValueError
        metadata = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][METADATA_KEY])
    except (struct.error, ValueError, KeyError, TypeError):
        raise FirthError("not a firth weights file, or cut short", where=path, do=_ADVICE) from None
    if metadata["sha256"] != digest(data):
        raise FirthError("the weights are damaged: their checksum does not match", where=path, do=_ADVICE)
    return metadata
