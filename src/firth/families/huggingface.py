"""Networks of other programs as runs, and runs for other programs: Hugging Face folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from firth.build import System, build
from firth.config import schema
from firth.errors import FirthError, unknown
from firth.families import neural
from firth.families.passes import require_trained
from firth.interop import writing
from firth.interop.reading import Foreign, fetch
from firth.interop.sentences import add_pooling, bare
from firth.objectives.replaced import generator
from firth.runs import files
from firth.runs.folder import Record, Run
from firth.text.tokenizer import Tokenizer
from firth.training.checkpoint import load_model, tensor_bytes
from firth.types import Batch, Tokens

if TYPE_CHECKING:
    from firth.families.neural import Model

FORMAT, GENERATOR = "huggingface", "electra-generator"
_CLOSE = 1e-4  # what a written model may differ by from the run, in logarithms of probabilities
_PROBE = (3, 12)  # rows and tokens that a written model is tried with


# --- import -------------------------------------------------------------------------------------------------------


def bring_in(path: Path, run: Run) -> tuple[Model, tuple[str, ...]]:
    """The run of a folder, and what there is to say of it."""
    found = fetch(path)
    kept = run.lock()
    try:
        _begin(path, found, run)
        note = {"config": run.config_digest(), "tokenizers": dict(run.record.tokenizers), "step": 0}
        files.replace_file(run.weights, tensor_bytes(found.tensors, note))
    finally:
        kept.close()
    lacks = run.record.data.get("lacks")
    return neural.load(run), (*found.notes, *([f"it has no {lacks}, so it cannot fill gaps"] if lacks else []))


def _begin(path: Path, found: Foreign, run: Run) -> None:
    """The tokenizer and the record, if they are not those of a stopped import of the same folder."""
    if run.exists:
        if run.is_trained or run.record.asked != found.asked:
            raise FirthError("a run is in this folder", where=run.path, do="choose another --out")
        return
    run.write_tokenizer("text", found.tokenizer)
    data = {
        "splits": {},
        "byte_counts": [0] * 256,
        "training": f"imported from {path.name} ({found.table.title})",
        "family": found.table.model,
    }
    if lacks := _lacking(found.config):
        data["lacks"] = lacks
    hashes = {"text": found.tokenizer.hash}
    run.write_record(Record(found.table.model, found.asked, found.config, hashes, data, {}))


def _lacking(config: schema.Neural) -> str:
    """What fills gaps, if a folder of a model that reads both ways does not have it."""
    if isinstance(config.objective, schema.Replaced):
        return "generator"
    bare = isinstance(config.objective, schema.Masked) and not config.head.transform
    return "output layer" if bare else ""


# --- export -------------------------------------------------------------------------------------------------------


def export(run: Run, to: str, out: Path, *, verify: bool = False) -> str:
    """Write a run as a folder, as `huggingface` or `huggingface:FAMILY` (of ELECTRA's two networks the one that tells
    wrong tokens, or `huggingface:electra-generator`); says what was written."""
    kind, _, name = to.partition(":")
    if kind != FORMAT:
        raise unknown("kind of export", to, [FORMAT])
    require_trained(run, "trained weights")
    record, tokenizer = run.record, run.tokenizer("text")
    config, encodes = record.config, isinstance(record.config.objective, schema.Contrastive)
    if name == GENERATOR:
        config, name = _small(config), "electra"
    elif encodes:
        config = bare(config)
    table = writing.choose(config, name or record.data.get("family", ""))
    whole = build(record.config, tokenizer.size).eval()
    load_model(run.weights, whole, run.config_digest())
    system = whole if config is record.config else _part(whole, config)
    writing.write(out, table, config, tokenizer, system.state_dict())
    if encodes:
        add_pooling(out, record.config)
    told = f"{out}: {table.title}, {sum(file.stat().st_size for file in out.rglob('*')):,} bytes"
    return f"{told}; {_verified(system, tokenizer, out)}" if verify else told


def _small(config: schema.Neural) -> schema.Neural:
    """The network of ELECTRA that fills gaps, by itself."""
    if not isinstance(config.objective, schema.Replaced):
        raise FirthError(f"a run with the objective {config.objective.kind} has no generator", do="leave it out")
    return replace(generator(config), objective=schema.Masked())


def _part(system: System, config: schema.Neural) -> System:
    """A part of a system as one of its own: what belongs to its companion, if there is one, else what it shares."""
    found, prefix = build(config, len(system.input.weight)).eval(), "objective.companion."
    own = system.state_dict()
    held = own | {name.removeprefix(prefix): own[name] for name in own if name.startswith(prefix)}
    found.load_state_dict({name: held[name] for name in found.state_dict()})
    return found


def _verified(system: System, tokenizer: Tokenizer, out: Path) -> str:
    """Read the folder back and compare what it says with what the run says."""
    found = fetch(out)
    if found.tokenizer.vocabulary() != tokenizer.vocabulary():
        raise FirthError("the written tokenizer came back as another", where=out, do="do not use this folder")
    again = build(found.config, found.tokenizer.size).eval()
    again.load_state_dict(dict(found.tensors))
    apart = float((_said(system, tokenizer.size) - _said(again, tokenizer.size)).abs().max())
    if not apart <= _CLOSE:
        raise FirthError(f"the written model differs from the run by {apart:.2g}", where=out, do="do not use it")
    return f"read back: the same logits (largest difference {apart:.1g})"


@torch.no_grad()
def _said(system: System, size: int) -> torch.Tensor:
    """What a system says of some tokens, padded rows among them."""
    rows, time = _PROBE
    time = min(time, system.backbone.limit or time)
    ids = torch.arange(rows * time).view(rows, time) * 7919 % size
    mask = torch.arange(time) < torch.tensor([time, time // 2, 1])[:, None]
    batch = Batch({name: Tokens(ids, mask) for name in system.backbone.streams}, {})
    states = system.encode(batch).states
    said = system.log_probabilities(states) if hasattr(system.head, "log_probabilities") else states
    return said[mask]
