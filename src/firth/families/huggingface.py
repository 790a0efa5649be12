"""Networks of other programs as runs, and runs for other programs: Hugging Face folders."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from firth.build import System, build
from firth.config import schema
from firth.data.material import source_size, text_size
from firth.errors import FirthError, unknown
from firth.families import neural
from firth.families.passes import require_trained
from firth.heads.pooling import ClassHead
from firth.interop import writing
from firth.interop.reading import Foreign, fetch
from firth.interop.sentences import add_pooling, bare
from firth.objectives.replaced import generator
from firth.runs import files
from firth.runs.folder import Record, Run
from firth.text.tokenizer import Tokenizer
from firth.training.checkpoint import load_model, tensor_bytes
from firth.types import Batch, Pixels, Tokens

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
    if found.tokenizer:
        run.write_tokenizer("text", found.tokenizer)
    data = {
        "splits": {},
        "byte_counts": [0] * 256,
        "training": f"imported from {path.name} ({found.table.title})",
        "family": found.table.model,
    }
    if lacks := _lacking(found.config):
        data["lacks"] = lacks
    if found.labels:
        data |= {"labels": list(found.labels), "parts": 0}  # config.json does not say whether of texts or of pairs
    hashes = {"text": found.tokenizer.hash} if found.tokenizer else {}
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
    record, tokenizer = run.record, run.vocabulary()
    labels = record.data.get("labels", ()) if isinstance(record.config.objective, schema.Supervised) else ()
    config, encodes = record.config, isinstance(record.config.objective, schema.Contrastive)
    if name == GENERATOR:
        config, name = _small(config), "electra"
    elif encodes:
        config = bare(config)
    table = writing.choose(config, name or record.data.get("family", ""))
    sizes = text_size(tokenizers := run.own_tokenizers()), len(labels) or 2, source_size(tokenizers)
    whole = build(record.config, *sizes).eval()
    load_model(run.weights, whole, run.config_digest())
    system = whole if config is record.config else _part(whole, config)
    writing.write(out, table, config, tokenizer, system.state_dict(), labels)
    if encodes:
        add_pooling(out, record.config)
    told = f"{out}: {table.title}, {sum(file.stat().st_size for file in out.rglob('*')):,} bytes"
    return f"{told}; {_verified(system, config, tokenizer, out)}" if verify else told


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


def _verified(system: System, config: schema.Neural, tokenizer: Tokenizer | None, out: Path) -> str:
    """Read the folder back and compare what it says with what the run says."""
    found = fetch(out)
    size = tokenizer.size if tokenizer else 0
    if tokenizer and found.tokenizer.vocabulary() != tokenizer.vocabulary():
        raise FirthError("the written tokenizer came back as another", where=out, do="do not use this folder")
    again = build(_alike(found.config, config), size, len(found.labels) or 2).eval()
    again.load_state_dict(dict(found.tensors))
    probe = _PROBES[type(found.config.input)]
    apart = float((_said(system, probe(system, size)) - _said(again, probe(again, size))).abs().max())
    if not apart <= _CLOSE:
        raise FirthError(f"the written model differs from the run by {apart:.2g}", where=out, do="do not use it")
    return f"read back: the same logits (largest difference {apart:.1g})"


def _alike(found: schema.Neural, config: schema.Neural) -> schema.Neural:
    """What was read back, its tokens seeing as the run's do: which of them see all is told there with each text."""
    if not isinstance(config.backbone, schema.Transformer):
        return found
    return replace(found, backbone=replace(found.backbone, central=config.backbone.central))


def _tokens(system: System, size: int) -> Batch:
    """Some tokens, padded rows among them."""
    rows, time = _PROBE
    time = min(time, system.backbone.limit or time)
    ids = torch.arange(rows * time).view(rows, time) * 7919 % size
    mask = torch.arange(time) < torch.tensor([time, time // 2, 1])[:, None]
    return Batch({name: Tokens(ids, mask) for name in system.backbone.streams}, {})


def _pixels(system: System, size: int) -> Batch:
    """Some pictures."""
    shape = (_PROBE[0], system.input.config.channels, system.input.config.size, system.input.config.size)
    values = torch.arange(math.prod(shape)).view(shape) * 7919 % 256 / 255
    return Batch({"image": Pixels(values)}, {})


_PROBES = {schema.TokenInput: _tokens, schema.PatchInput: _pixels}


@torch.no_grad()
def _said(system: System, batch: Batch) -> torch.Tensor:
    """What a system says of a batch."""
    encoded = system.encode(batch)
    if isinstance(system.head, ClassHead):
        return system.head(encoded.states, encoded.mask)
    states = encoded.states
    said = system.log_probabilities(states) if hasattr(system.head, "log_probabilities") else states
    return said[encoded.mask]
