"""What a checkpoint holds, as bytes: tensors in safetensors, the rest in JSON: nothing that could run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from firth.errors import FirthError
from firth.runs import files
from firth.runs.weights import NOTE, digest, read_note
from firth.types import Cursor, State

_EDITED = "the folder was edited; restore config.json, or train again"


@dataclass
class Position:
    """Where a training run stands, apart from its tensors."""

    step: int = 0
    at: Cursor = field(default_factory=Cursor)  # of the next batch
    best: float | None = None  # lowest validation loss
    best_step: int = 0
    stale: int = 0  # evaluations since the best (early stopping)
    plateau_stale: int = 0  # evaluations since the best or the last cut (schedule)
    plateau: float = 1.0  # the schedule's factor
    guard: float = 1.0  # the guard's factor
    finished: bool = False

    def to_json(self, config: str) -> bytes:
        """As it stands in a checkpoint, with the digest of the configuration it belongs to."""
        return (json.dumps({**asdict(self), "config": config}, indent=2) + "\n").encode()

    @classmethod
    def from_json(cls, data: bytes, config: str, where: Path) -> Position:
        """Read from a checkpoint; one of another configuration is refused."""
        values = json.loads(data)
        if values.pop("config") != config:
            raise FirthError("the checkpoint belongs to another configuration", where=where, do=_EDITED)
        return cls(**{**values, "at": Cursor(**values["at"])})


def pack_state(state: State | None) -> dict[str, Tensor]:
    """A carried state as flat tensors."""
    if state is None:
        return {}
    parts = {"source": state.source, "live": state.live}
    return {f"carried.{part}.{name}": tensor for part, held in parts.items() for name, tensor in held.items()}


def unpack_state(tensors: Mapping[str, Tensor]) -> State | None:
    """The inverse of `pack_state`; None where nothing was carried."""
    parts: dict[str, dict[str, Tensor]] = {"source": {}, "live": {}}
    for key, tensor in tensors.items():
        if key.startswith("carried."):
            _, part, name = key.split(".", 2)
            parts[part][name] = tensor
    return State(**parts) if any(parts.values()) else None


def tensor_bytes(tensors: Mapping[str, Tensor], note: Mapping[str, Any] | None = None) -> bytes:
    """A safetensors file; with a note in its header that also holds the checksum of the tensors."""
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    data = safetensors.torch.save(plain)
    if note is None:
        return data
    return safetensors.torch.save(plain, {NOTE: json.dumps({**note, "sha256": digest(data)}, sort_keys=True)})


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    return safetensors.torch.load(path.read_bytes())


def save_model(path: Path, system: nn.Module, note: Mapping[str, Any]) -> None:
    """Write the weights that `load` gives."""
    files.replace_file(path, tensor_bytes(system.state_dict(), note))


def load_model(path: Path, system: nn.Module, config_digest: str) -> dict[str, Any]:
    """Read weights into a system; refuse those of another configuration. Returns the file's note."""
    note = read_note(path)
    if note["config"] != config_digest:
        raise FirthError(
            "config.json is not the one these weights were trained with",
            where=path.parent,
            do=_EDITED,
        )
    system.load_state_dict(read_tensors(path))
    return note
