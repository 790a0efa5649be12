"""Hugging Face folders on disk: config.json, and weights in one file or several. Nothing that could run is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from firth.errors import FirthError
from firth.interop.fields import Fields
from firth.runs import files

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
_OTHERS = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "tf_model.h5", "flax_model.msgpack")
_CONVERT = "load it with transformers where you trust it; its save_pretrained(FOLDER) writes safetensors"
_AGAIN = "fetch the file again"


@dataclass(frozen=True)
class Folder:
    """What a folder holds of a model."""

    path: Path
    config: Fields
    tensors: Mapping[str, Tensor]
    asked: str  # digest of all of it


def is_folder(path: Path) -> bool:
    """Whether it looks like one, and not like a run."""
    return path.is_dir() and "model_type" in (_values(path / CONFIG) if (path / CONFIG).is_file() else {})


def read(path: Path) -> Folder:
    """Config and tensors, checked as far as can be without knowing the family."""
    if not (path / CONFIG).is_file():
        raise FirthError(f"not a Hugging Face folder: it has no {CONFIG}", where=path, do="name the folder of a model")
    config = Fields(_values(path / CONFIG), path / CONFIG)
    paths = _weights(path)
    tensors: dict[str, Tensor] = {}
    for file in paths:
        tensors |= _tensors(file)
    tensors = dict(sorted(tensors.items()))
    asked = files.digest(b"".join(files.digest_file(file).encode() for file in (path / CONFIG, *paths)))
    return Folder(path, config, tensors, asked)


def beside(path: Path, name: str) -> Fields | None:
    """Another file of values in the folder, if it is there."""
    return Fields(_values(path / name), path / name) if (path / name).is_file() else None


def _values(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, OSError) as error:
        raise FirthError(f"cannot be read as JSON ({error})", where=path, do=_AGAIN) from None
    if not isinstance(found, dict):
        raise FirthError("not a JSON object", where=path, do=_AGAIN)
    return found


def _weights(path: Path) -> list[Path]:
    """The files of the weights: one, or those that the index lists."""
    if (path / WEIGHTS).is_file():
        return [path / WEIGHTS]
    if (path / INDEX).is_file():
        return _shards(path)
    for name in _OTHERS:
        if (path / name).is_file():
            _refuse_foreign(path / name)
            return [path / name]
    raise FirthError(f"no weights: neither {WEIGHTS} nor {INDEX}", where=path, do="fetch the whole folder")


def _shards(path: Path) -> list[Path]:
    where, listed = path / INDEX, _values(path / INDEX).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise FirthError("lists no files (weight_map)", where=where, do=_AGAIN)
    names = sorted(set(listed.values()))
    for name in names:
        if Path(name).name != name:
            raise FirthError(f"names a file elsewhere: {name!r}", where=where, do=_AGAIN)
        if not (path / name).is_file():
            raise FirthError(f"{name} is missing, one of {len(names)} files of the weights", where=path, do=_AGAIN)
    return [path / name for name in names]


def _refuse_foreign(path: Path) -> None:
    """Told by content, whatever the name says."""
    with path.open("rb") as file:
        start = file.read(9)
    if start[8:] == b"{":  # after the length of its header: safetensors
        return
    if start[:4] == b"PK\x03\x04" or start[:1] == b"\x80":
        raise FirthError("pickled weights, which could run anything when they are opened", where=path, do=_CONVERT)
    if start[:4] == b"\x89HDF" or path.suffix in (".msgpack", ".json"):
        raise FirthError("weights in a format that firth does not read", where=path, do=_CONVERT)


def _tensors(path: Path) -> dict[str, Tensor]:
    _refuse_foreign(path)
    try:
        found = safetensors.torch.load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise FirthError(f"not a safetensors file, or cut short ({error})", where=path, do=_AGAIN) from None
    return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in found.items()}


def write(path: Path, config: Mapping[str, Any], tensors: Mapping[str, Tensor], others: Mapping[str, bytes]) -> None:
    """A folder that transformers loads; config.json comes last, so that half a folder is none."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FirthError("something is there already", where=path, do="choose a new or an empty folder with --out")
    files.make_folder(path)
    plain = {name: tensor.detach().to(torch.float32).contiguous() for name, tensor in sorted(tensors.items())}
    files.replace_file(path / WEIGHTS, safetensors.torch.save(plain, {"format": "pt"}))
    for name, content in others.items():
        files.replace_file(path / name, content)
    files.replace_file(path / CONFIG, json_bytes(config))


def json_bytes(values: Mapping[str, Any]) -> bytes:
    """As these folders have it."""
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
