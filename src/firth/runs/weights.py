"""Weight files: safetensors with metadata and a checksum in the header, so that one file verifies itself."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, NotRequired, TypedDict

from firth.errors import FirthError
from firth.runs import atomic_files, json_files
from firth.runs.json_files import Natural

if TYPE_CHECKING:
    import numpy as np

METADATA_KEY = "firth"  # the only metadata key; with several keys their order would differ between processes
CHECKSUM = "checksum"  # of files of arrays, in their metadata
_TYPES = {"<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64", "<u4": "U32", "<u8": "U64"}
_HEADER_LIMIT = 100_000_000
_ADVICE = "restore the file, or train again with firth train RUN"


class Metadata(TypedDict):
    """What the header of a network's weights says."""

    sha256: str
    config: str
    tokenizers: dict[str, str]
    step: NotRequired[Natural]


class TensorEntry(TypedDict):
    """What the header says of a tensor."""

    dtype: str
    shape: list[Natural]
    data_offsets: list[Natural]


class Header(NamedTuple):
    """The header of a safetensors file."""

    metadata: dict[str, str]
    tensors: dict[str, TensorEntry]


def digest(data: bytes) -> str:
    """The sha256 of a weights file without its metadata: names, shapes and types of the tensors, and their bytes."""
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {name: entry for name, entry in json.loads(data[8 : 8 + length]).items() if name != "__metadata__"}
    body = atomic_files.digest(memoryview(data)[8 + length :])
    return atomic_files.digest(json.dumps([tensors, body], sort_keys=True).encode())


def checksum(tensors: Mapping[str, Any], metadata: Mapping[str, Any], chunks: Iterable[bytes | memoryview]) -> str:
    """The sha256 of a safetensors file of arrays: what its header says of them, its metadata but for the checksum, and
    their bytes."""
    about = {name: value for name, value in metadata.items() if name != CHECKSUM}
    sha = sha256(json.dumps([tensors, about], sort_keys=True).encode())
    for chunk in chunks:
        sha.update(chunk)
    return sha.hexdigest()


def require_checksum(
    path: Path, tensors: Mapping[str, Any], metadata: Mapping[str, Any], chunks: Iterable[bytes | memoryview]
) -> None:
    """Refuse arrays that are not those which were written; files of earlier versions have no checksum."""
    if CHECKSUM in metadata and metadata[CHECKSUM] != checksum(tensors, metadata, chunks):
        raise FirthError("damaged: its checksum does not match", where=path, do=_ADVICE)


def serialize(arrays: Mapping[str, np.ndarray]) -> atomic_files.Chunks:
    """A safetensors file as chunks, without copying its arrays."""
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": _TYPES[array.dtype.str], "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)), text, *(array.reshape(-1).view("u1").data for array in arrays.values())]


def read_header(file: BinaryIO) -> Header:
    """The header of a safetensors file: its metadata, and what it says of each tensor. ValueError if it is damaged."""
    prefix = file.read(8)
    length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
    if not 0 < length <= _HEADER_LIMIT:
        raise ValueError("the length of its header")
    entries = json_files.decode(file.read(length), dict[str, dict[str, Any]])
    metadata = json_files.convert(dict[str, str], entries.pop("__metadata__", {}))
    return Header(metadata, json_files.convert(dict[str, TensorEntry], entries))


def read(path: Path, kind: Any = Metadata) -> tuple[Any, bytes]:
    """The metadata of a weights file and all its bytes, checked against its checksum."""
    try:
        with atomic_files.open_file(path) as file:
            data = file.read()
        metadata = json_files.decode(read_header(io.BytesIO(data)).metadata[METADATA_KEY].encode(), kind)
    except OSError as error:
        raise FirthError(f"cannot read the weights: {error.strerror}", where=path, do=_ADVICE) from None
    except (ValueError, KeyError):
        raise FirthError("not a firth weights file, or cut short", where=path, do=_ADVICE) from None
    if metadata["sha256"] != digest(data):
        raise FirthError("the weights are damaged: their checksum does not match", where=path, do=_ADVICE)
    return metadata, data


def read_metadata(path: Path) -> Metadata:
    """The metadata of a weights file; the tensors are checked against its checksum."""
    return read(path)[0]


def require_finite(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Refuse weights that are NaN or infinite. A sum is fast and shows them; a sum that overflows is looked into."""
    import numpy as np

    for name, array in arrays.items():
        if array.dtype.kind != "f":
            continue
        with np.errstate(all="ignore"):
            finite = np.isfinite(array.sum())
        if not finite and not np.isfinite(array).all():
            raise not_finite(name, path)


def not_finite(name: str, path: Path) -> FirthError:
    """The error for weights that are NaN or infinite."""
    return FirthError(f"the weights are NaN or infinite, in {name}", where=path, do=_ADVICE)
