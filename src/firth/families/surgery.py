"""A run whose tokenizer is edited becomes a new run: every weight kept, rows moved to the tokens' new numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from firth.build import System, build
from firth.config import schema
from firth.errors import FirthError
from firth.families.passes import require_trained
from firth.runs import checkpoints, files
from firth.runs.folder import Record, Run
from firth.text.surgery import Edited, edit
from firth.training.checkpoint import Position, load_model, save_model, tensor_bytes
from firth.training.optim import Optim

STREAM = "text"


def edit_run(path: Path | str, out: Path | str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Edited:
    """Write a new run with the edited tokenizer; it can be used at once, and trained on from its first step."""
    old, new = Run.open(path), Run(out)
    require_trained(old, "trained weights")
    if new.path.exists() and (not new.path.is_dir() or any(new.path.iterdir())):
        raise FirthError("this folder has other things in it", where=out, do="choose an empty or a new one with --out")
    tokenizer = old.vocabulary()
    if tokenizer is None:
        raise FirthError("this run reads no text, so it has no tokenizer", where=path, do="name another run")
    edited = edit(tokenizer, add, remove)
    config = old.record.config
    before = build(config, tokenizer.size)
    note = load_model(old.weights, before, old.config_digest())
    after = build(unpadded(config), edited.tokenizer.size)
    after.load_state_dict(moved(before.state_dict(), edited.rows, vocabulary_axes(config)))
    _write(new, _record(old, edited, int(note["step"])), edited, after)
    return edited


def vocabulary_axes(config: schema.Neural) -> dict[str, int]:
    """The tensors with a row for every token, and along which axis: found by building for two vocabularies."""
    config = unpadded(config)
    with torch.device("meta"):
        one, two = (build(config, size).state_dict() for size in (16, 17))
    found = {}
    for name, tensor in one.items():
        differing = [n for n, size in enumerate(tensor.shape) if size != two[name].shape[n]]
        if differing:
            (found[name],) = differing
    return found


def unpadded(config: schema.Neural) -> schema.Neural:
    """The configuration with a row for each token and no more."""
    return replace(config, input=replace(config.input, rows=0)) if config.input.rows else config


def moved(state: Mapping[str, Tensor], rows: Sequence[Sequence[int]], axes: Mapping[str, int]) -> dict[str, Tensor]:
    """The tensors for the new vocabulary: a row is the mean of the old rows it comes from."""
    return {name: _mean(tensor, rows, axes[name]) if name in axes else tensor for name, tensor in state.items()}


def _mean(tensor: Tensor, rows: Sequence[Sequence[int]], axis: int) -> Tensor:
    first = torch.tensor([row[0] for row in rows])
    found = tensor.index_select(axis, first)
    for place, row in enumerate(rows):
        if len(row) > 1:
            mean = tensor.index_select(axis, torch.tensor(row)).double().mean(axis)
            found.select(axis, place).copy_(mean)
    return found


def _record(old: Run, edited: Edited, step: int) -> Record:
    """The old record with the new tokenizer, and where it comes from. No command asks for it by itself."""
    record = old.record
    origin = {
        "run": str(old.path),
        "step": step,
        "tokenizer": record.tokenizers[STREAM],
        "added": len(edited.added),
        "removed": len(edited.removed),
    }
    asked = files.digest(f"{record.asked} {edited.tokenizer.hash}".encode())
    data: dict[str, Any] = {**record.data, "origin": origin}
    config, hashes = unpadded(record.config), {STREAM: edited.tokenizer.hash}
    return replace(record, asked=asked, config=config, tokenizers=hashes, data=data)


def _write(run: Run, record: Record, edited: Edited, system: System) -> None:
    """Tokenizer, weights, and a checkpoint at step 0 from which training goes on; with the record the run exists."""
    run.write_tokenizer(STREAM, edited.tokenizer)
    digest = files.digest(record.to_json().encode())
    note = {"config": digest, "tokenizers": dict(record.tokenizers), "step": 0}
    save_model(run.weights, system, note)
    fresh = Optim(record.config.train.optimizer, system.named_parameters())
    contents = {
        "weights.safetensors": tensor_bytes(system.state_dict()),
        "training.safetensors": tensor_bytes(fresh.state_dict()),
        "training.json": Position().to_json(digest),
    }
    checkpoints.save(run.path, 0, contents)
    run.write_record(record)
