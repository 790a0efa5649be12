"""Vocabulary surgery: a run with an edited tokenizer becomes a new run, embedding rows moved to the new token ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from firth.config import schema
from firth.errors import FirthError
from firth.families.pass_training import require_trained
from firth.families.run_weights import load_weights, without_adapter
from firth.models.build import System, build
from firth.runs import atomic_files, checkpoints
from firth.runs.run_folder import Record, Run
from firth.tokenizers.surgery import EditedTokenizer, edit_vocabulary
from firth.training.checkpoint import TrainerState, save_model, tensor_bytes
from firth.training.optimizer import Optimizer
from firth.training.parameter_groups import freeze

STREAM = "text"


def edit_run(path: Path | str, out: Path | str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> EditedTokenizer:
    """Write a new run with the edited tokenizer; it can be used at once, and its training continues from step 0."""
    old, new = Run.open(path), Run(out)
    require_trained(old, "trained weights")
    if new.path.exists() and (not new.path.is_dir() or any(new.path.iterdir())):
        raise FirthError("this folder has other files in it", where=out, do="choose an empty or a new one with --out")
    tokenizer = old.text_tokenizer()
    if tokenizer is None:
        raise FirthError("this run has no text input, so it has no tokenizer", where=path, do="name another run")
    edited = edit_vocabulary(tokenizer, add, remove)
    config = old.record.config
    before = build(config, tokenizer.vocab_size)
    metadata = load_weights(old, before)
    after = build(without_padding_rows(config), edited.tokenizer.vocab_size)
    after.load_state_dict(remap_rows(before.state_dict(), edited.source_ids, vocabulary_axes(config)))
    _write(new, _record(old, edited, int(metadata["step"])), edited, after)
    return edited


def vocabulary_axes(config: schema.Neural) -> dict[str, int]:
    """The tensors with a row for every token, and their axis: determined by building for two vocabulary sizes."""
    config = without_padding_rows(config)
    with torch.device("meta"):
        one, two = (build(config, size).state_dict() for size in (16, 17))
    axes = {}
    for name, tensor in one.items():
        differing = [n for n, size in enumerate(tensor.shape) if size != two[name].shape[n]]
        if differing:
            (axes[name],) = differing
    return axes


def without_padding_rows(config: schema.Neural) -> schema.Neural:
    """The configuration without padding rows in the embedding table."""
    padded = [stream for stream, part in config.inputs.items() if part.table_size]
    for stream in padded:
        config = replace(config, inputs=config.inputs.replace(stream, table_size=0))
    return config


def remap_rows(
    state: Mapping[str, Tensor], source_ids: Sequence[Sequence[int]], axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """The tensors for the new vocabulary: a row is the mean of the rows of its source tokens."""
    return {
        name: _mean_rows(tensor, source_ids, axes[name]) if name in axes else tensor for name, tensor in state.items()
    }


def _mean_rows(tensor: Tensor, source_ids: Sequence[Sequence[int]], axis: int) -> Tensor:
    remapped = tensor.index_select(axis, torch.tensor([ids[0] for ids in source_ids]))
    for token, ids in enumerate(source_ids):
        if len(ids) > 1:
            mean = tensor.index_select(axis, torch.tensor(ids)).double().mean(axis)
            remapped.select(axis, token).copy_(mean)
    return remapped


def _record(old: Run, edited: EditedTokenizer, step: int) -> Record:
    """The old record with the new tokenizer and its origin. No train command has its request digest."""
    record = old.record
    origin = {
        "run": str(old.path),
        "step": step,
        "tokenizer": record.tokenizers[STREAM],
        "added": len(edited.added),
        "removed": len(edited.removed),
    }
    digest = atomic_files.digest(f"{record.request_digest} {edited.tokenizer.hash}".encode())
    data: dict[str, Any] = {**record.data, "origin": origin}
    data.pop("base", None)  # of an adapter, which is merged into the weights
    config, hashes = without_adapter(without_padding_rows(record.config)), {STREAM: edited.tokenizer.hash}
    return replace(record, request_digest=digest, config=config, tokenizers=hashes, data=data)


def _write(run: Run, record: Record, edited: EditedTokenizer, system: System) -> None:
    """Write tokenizer, weights and a checkpoint at step 0 to continue training from; with the record the run exists."""
    run.write_tokenizer(STREAM, edited.tokenizer)
    digest = atomic_files.digest(record.to_json().encode())
    metadata = {"config": digest, "tokenizers": dict(record.tokenizers), "step": 0}
    save_model(run.weights, system.state_dict(), metadata)
    freeze(system, record.config.train)
    optimizer = Optimizer(record.config.train.optimizer, system.named_parameters())
    contents = {
        "weights.safetensors": tensor_bytes(system.state_dict()),
        "training.safetensors": tensor_bytes(optimizer.state_dict()),
        "training.json": TrainerState().to_json(digest),
    }
    checkpoints.save(run.path, 0, contents)
    run.write_record(record)
