"""The contents of a checkpoint as bytes: tensors in safetensors, the rest in JSON; nothing that could execute."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from firth.config import migrations
from firth.errors import FirthError
from firth.runs import atomic_files
from firth.runs.weights import METADATA_KEY, digest, read_metadata
from firth.types import Cursor, State

_EDITED = "the folder was edited; restore config.json, or train again"


@dataclass
class TrainerState:
    """The state of a training run, apart from its tensors."""

    step: int = 0
    cursor: Cursor = field(default_factory=Cursor)  # of the next batch
    best_loss: float | None = None  # lowest on validation data, or lowest selection score
    best_step: int = 0
    bad_evaluations: int = 0  # since the best (early stopping)
    plateau_bad_evaluations: int = 0  # since the best or the last reduction (plateau schedule)
    plateau_factor: float = 1.0  # of the learning rate, by the plateau schedule
    guard_factor: float = 1.0  # of the learning rate, by the guard against NaN
    finished: bool = False

    def to_json(self, config: str) -> bytes:
        """The state as a checkpoint holds it, with the digest of its configuration."""
        return (json.dumps({**asdict(self), "config": config}, indent=2) + "\n").encode()

    @classmethod
    def from_json(cls, data: bytes, config: str, where: Path) -> TrainerState:
        """Read from a checkpoint; one of another configuration is refused."""
        values = json.loads(data)
        if values.pop("config") != config:
            raise FirthError("the checkpoint belongs to another configuration", where=where, do=_EDITED)
        values = migrations.rename(values, migrations.CHECKPOINT)
        return cls(**{**values, "cursor": Cursor(**values["cursor"])})


def pack_state(state: State | None) -> dict[str, Tensor]:
    """A carried state (truncated BPTT, memory) as flat tensors."""
    if state is None:
        return {}
    parts = {"source": state.source, "live": state.live}
    return {f"carried.{part}.{name}": tensor for part, tensors in parts.items() for name, tensor in tensors.items()}


def unpack_state(tensors: Mapping[str, Tensor]) -> State | None:
    """The inverse of `pack_state`; None where nothing was carried."""
    parts: dict[str, dict[str, Tensor]] = {"source": {}, "live": {}}
    for key, tensor in tensors.items():
        if key.startswith("carried."):
            _, part, name = key.split(".", 2)
            parts[part][name] = tensor
    return State(**parts) if any(parts.values()) else None


def tensor_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, Any] | None = None) -> bytes:
    """A safetensors file; with metadata in its header, which then also holds the checksum of the tensors."""
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    data = safetensors.torch.save(plain)
    if metadata is None:
        return data
    return safetensors.torch.save(
        plain, {METADATA_KEY: json.dumps({**metadata, "sha256": digest(data)}, sort_keys=True)}
    )


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    return migrations.rename_tensors(safetensors.torch.load(path.read_bytes()))


def save_model(path: Path, system: nn.Module, metadata: Mapping[str, Any]) -> None:
    """Write the weights that `load` reads."""
    atomic_files.replace_file(path, tensor_bytes(system.state_dict(), metadata))


def load_model(path: Path, system: nn.Module, config_digest: str) -> dict[str, Any]:
    """Read weights into a system; refuse those of another configuration. Returns the file's metadata."""
    metadata = read_metadata(path)
    if metadata["config"] != config_digest:
        raise FirthError(
            "config.json is not the one these weights were trained with",
            where=path.parent,
            do=_EDITED,
        )
    system.load_state_dict(read_tensors(path))
    return metadata
