"""The contents of a checkpoint as bytes: tensors in safetensors, the rest in JSON; nothing that could execute."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor, nn

from firth.config import migrations
from firth.errors import FirthError
from firth.runs import atomic_files, json_files, weights
from firth.runs.gate import Gate
from firth.runs.json_files import Natural
from firth.runs.weights import METADATA_KEY, Metadata, digest
from firth.types import Cursor, State

_EDITED = "the folder was edited; restore config.json, or train again"
RESTORE = "restore the file, or train again"


@dataclass
class TrainerState:
    """The state of a training run, apart from its tensors."""

    step: Natural = 0
    cursor: Cursor = field(default_factory=Cursor)  # of the next batch
    best_loss: float | None = None  # lowest on validation data, or lowest selection score
    best_step: Natural = 0
    bad_evaluations: Natural = 0  # since the best (early stopping)
    plateau_bad_evaluations: Natural = 0  # since the best or the last reduction (plateau schedule)
    plateau_factor: float = 1.0  # of the learning rate, by the plateau schedule
    guard_factor: float = 1.0  # of the learning rate, by the guard against NaN
    finished: bool = False

    def to_json(self, config: str) -> bytes:
        """The state as a checkpoint holds it, with the digest of its configuration."""
        return (json.dumps({**asdict(self), "config": config}, indent=2) + "\n").encode()

    @classmethod
    def from_json(cls, data: bytes, config: str, where: Path) -> TrainerState:
        """Read from a checkpoint; one of another configuration is refused."""
        values = migrations.rename(json_files.parse(data, dict[str, Any], where, RESTORE), migrations.CHECKPOINT)
        if values.pop("config", None) != config:
            raise FirthError("the checkpoint belongs to another configuration", where=where, do=_EDITED)
        try:
            state: TrainerState = json_files.convert(cls, values)
        except ValueError as error:
            raise FirthError(f"damaged ({error})", where=where, do=RESTORE) from None
        if min(state.cursor.epoch, state.cursor.index) < 0:
            raise FirthError("damaged (cursor: expected numbers from 0)", where=where, do=RESTORE)
        return state


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


def unpack_tensors(data: bytes, where: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    try:
        return migrations.rename_tensors(safetensors.torch.load(data))
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError):
        raise FirthError("damaged: not safetensors", where=where, do=RESTORE) from None


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The same of a file."""
    with atomic_files.open_file(path) as file:
        return unpack_tensors(file.read(), path)


def read_weights(path: Path) -> tuple[Metadata, dict[str, Tensor]]:
    """The metadata and the tensors of a run's weights; damaged ones, NaN and infinity are refused."""
    metadata, data = weights.read(path)
    tensors = unpack_tensors(data, path)
    for name, tensor in tensors.items():
        # a sum is fast and shows them; one that overflows is looked into
        if tensor.is_floating_point() and not tensor.sum().isfinite() and not tensor.isfinite().all():
            raise weights.not_finite(name, path)
    return metadata, tensors


def load_tensors(system: nn.Module, tensors: Mapping[str, Tensor], where: Path) -> None:
    """Load tensors into a network; the first that does not fit it is named."""
    try:
        system.load_state_dict(tensors)
    except RuntimeError:
        own = system.state_dict()
        differing = (name for name in own if name not in tensors or tensors[name].shape != own[name].shape)
        name = next(differing, next((name for name in tensors if name not in own), ""))
        raise FirthError(f"the weights do not fit config.json, in {name}", where=where, do=RESTORE) from None


def save_model(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> None:
    """Write the weights that `load` reads."""
    Gate(path.parent).replace(path.name, tensor_bytes(tensors, metadata))


def load_model(path: Path, system: nn.Module, config_digest: str) -> Metadata:
    """Read weights into a system; refuse those of another configuration. Returns the file's metadata."""
    metadata, tensors = read_model(path, config_digest)
    load_tensors(system, tensors, path)
    return metadata


def read_model(path: Path, config_digest: str) -> tuple[Metadata, dict[str, Tensor]]:
    """The metadata and the weights of a run; those of another configuration are refused."""
    metadata, tensors = read_weights(path)
    if metadata["config"] != config_digest:
        raise FirthError(
            "config.json is not the one these weights were trained with",
            where=path.parent,
            do=_EDITED,
        )
    return metadata, tensors
