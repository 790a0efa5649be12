"""Hugging Face folders on disk: config.json and safetensors, also sharded. Pickled weights are never opened."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from firth.errors import FirthError
from firth.interop.config_fields import Fields
from firth.runs import atomic_files
from firth.runs.gate import Gate

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
_OTHER_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "tf_model.h5", "flax_model.msgpack")
_CONVERT = "if you trust it, load it with transformers and call save_pretrained(FOLDER), which writes safetensors"
_DOWNLOAD_AGAIN = "download the file again"


@dataclass(frozen=True)
class Folder:
    """The contents of a model's folder."""

    path: Path
    config: Fields
    tensors: Mapping[str, Tensor]
    digest: str  # of config.json and the weights


def read(path: Path) -> Folder:
    """Configuration and tensors, checked as far as possible without knowing the model family."""
    if not (path / CONFIG).is_file():
        raise FirthError(f"not a Hugging Face folder: it has no {CONFIG}", where=path, do="give a model's folder")
    config = Fields(_read_json(path / CONFIG), path / CONFIG)
    paths = _weight_files(path)
    tensors: dict[str, Tensor] = {}
    for file in paths:
        tensors |= _read_tensors(file)
    tensors = dict(sorted(tensors.items()))
    digest = atomic_files.digest(b"".join(atomic_files.digest_file(file).encode() for file in (path / CONFIG, *paths)))
    return Folder(path, config, tensors, digest)


def read_optional(path: Path, name: str) -> Fields | None:
    """Another JSON file of the folder, or None if it is not there."""
    return Fields(_read_json(path / name), path / name) if (path / name).is_file() else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError) as error:
        raise FirthError(f"cannot be read as JSON ({error})", where=path, do=_DOWNLOAD_AGAIN) from None
    if not isinstance(values, dict):
        raise FirthError("not a JSON object", where=path, do=_DOWNLOAD_AGAIN)
    return values


def _weight_files(path: Path) -> list[Path]:
    """The file of the weights, or the shards that the index lists."""
    if (path / WEIGHTS).is_file():
        return [path / WEIGHTS]
    if (path / INDEX).is_file():
        return _shard_files(path)
    for name in _OTHER_WEIGHTS:
        if (path / name).is_file():
            _refuse_unsafe(path / name)
            return [path / name]
    raise FirthError(f"no weights: neither {WEIGHTS} nor {INDEX}", where=path, do="download the whole folder")


def _shard_files(path: Path) -> list[Path]:
    where, listed = path / INDEX, _read_json(path / INDEX).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise FirthError("the index lists no files (weight_map)", where=where, do=_DOWNLOAD_AGAIN)
    names = sorted(set(listed.values()))
    for name in names:
        if Path(name).name != name:
            raise FirthError(f"the index names a file outside of the folder: {name!r}", where=where, do=_DOWNLOAD_AGAIN)
        if not (path / name).is_file():
            raise FirthError(f"{name} is missing, one of {len(names)} shards", where=path, do=_DOWNLOAD_AGAIN)
    return [path / name for name in names]


def _refuse_unsafe(path: Path) -> None:
    """Refuse pickles and unknown formats, recognised by content whatever the file's name."""
    with path.open("rb") as file:
        first_bytes = file.read(9)
    if first_bytes[8:] == b"{":  # safetensors: the JSON header follows its length
        return
    if first_bytes[:4] == b"PK\x03\x04" or first_bytes[:1] == b"\x80":
        raise FirthError("pickled weights, which can execute code when they are loaded", where=path, do=_CONVERT)
    if first_bytes[:4] == b"\x89HDF" or path.suffix in (".msgpack", ".json"):
        raise FirthError("weights in a format that firth does not read", where=path, do=_CONVERT)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    _refuse_unsafe(path)
    try:
        tensors = safetensors.torch.load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise FirthError(f"not a safetensors file, or truncated ({error})", where=path, do=_DOWNLOAD_AGAIN) from None
    return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}


def write(path: Path, config: Mapping[str, Any], tensors: Mapping[str, Tensor], others: Mapping[str, bytes]) -> None:
    """Write a folder that transformers loads, whole or not at all."""
    require_unused(path)
    target = Path(os.path.realpath(path))  # a link to an empty folder stays
    contiguous = {name: tensor.detach().to(torch.float32).contiguous() for name, tensor in sorted(tensors.items())}
    with atomic_files.explain_errors(path), atomic_files.building(target) as temporary:
        gate = Gate(temporary)
        gate.replace(WEIGHTS, safetensors.torch.save(contiguous, {"format": "pt"}))
        for name, content in others.items():
            gate.replace(name, content)
        gate.replace(CONFIG, json_bytes(config))
        atomic_files.rename(temporary, target)
        atomic_files.sync_folder(target.parent)


def require_unused(path: Path) -> None:
    """Make the folder; refused if there are files in it."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FirthError("this path is in use", where=path, do="choose a new or an empty folder with --out")
    atomic_files.make_folder(path)


def json_bytes(values: Mapping[str, Any]) -> bytes:
    """JSON in the layout that transformers writes."""
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
