"""Weight files: safetensors whose header says what is in them, so that one file proves itself."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from firth.errors import FirthError
from firth.runs import files

NOTE = "firth"  # the one metadata key; with several keys their order would differ between processes
_HEADER_LIMIT = 100_000_000
_AGAIN = "restore the file, or continue the run with firth train RUN if its state folder is whole"


def body_digest(data: bytes) -> str:
    """The sha256 of the tensors alone, without the header."""
    (length,) = struct.unpack("<Q", data[:8])
    return files.digest(memoryview(data)[8 + length :])


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
    if note["sha256"] != body_digest(data):
        raise FirthError("the weights are damaged: their checksum does not match", where=path, do=_AGAIN)
    return note
