"""Import and export of networks as Hugging Face folders."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from firth.config import schema
from firth.datasets.training_data import source_vocab_size, vocab_size
from firth.errors import FirthError, unknown
from firth.families import neural
from firth.families.pass_training import require_trained
from firth.interop import exporter
from firth.interop.importer import PretrainedModel, load_pretrained
from firth.interop.sentence_encoder import add_pooling, encoder_only
from firth.models.build import System, build
from firth.models.heads.pooling import ClassificationHead
from firth.objectives.replaced_token import generator_config
from firth.runs.run_folder import Record, Run
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.checkpoint import load_model, tensor_bytes
from firth.types import Batch, Pixels, Tokens

if TYPE_CHECKING:
    from firth.families.neural import Model

FORMAT, GENERATOR = "huggingface", "electra-generator"
_TOLERANCE = 1e-4  # of the log-probabilities of an exported model
_PROBE = (3, 12)  # sequences and tokens that an exported model is compared on


# --- import -------------------------------------------------------------------------------------------------------


def import_run(path: Path, run: Run) -> tuple[Model, tuple[str, ...]]:
    """Import a folder as a run; returns its model and notes about the import."""
    pretrained = load_pretrained(path)
    lock = run.lock()
    try:
        _begin(path, pretrained, run)
        metadata = {"config": run.config_digest(), "tokenizers": dict(run.record.tokenizers), "step": 0}
        run.gate.replace(run.weights.name, tensor_bytes(pretrained.tensors, metadata))
    finally:
        lock.close()
    missing = run.record.data.get("lacks")
    notes = [f"it has no {missing}, so it cannot predict masked tokens"] if missing else []
    return neural.load(run), (*pretrained.notes, *notes)


def _begin(path: Path, pretrained: PretrainedModel, run: Run) -> None:
    """Write the tokenizer and the record, unless an interrupted import of the same folder has written them."""
    if run.exists:
        if run.is_trained or run.record.request_digest != pretrained.digest:
            raise FirthError("a run is in this folder", where=run.path, do="choose another --out")
        return
    if pretrained.tokenizer:
        run.write_tokenizer("text", pretrained.tokenizer)
    data = {
        "splits": {},
        "byte_counts": [0] * 256,
        "training": f"imported from {path.name} ({pretrained.family.title})",
        "family": pretrained.family.model_type,
    }
    if missing := _missing_part(pretrained.config):
        data["lacks"] = missing
    if pretrained.labels:
        data |= {"labels": list(pretrained.labels), "parts": 0}  # config.json does not say whether of texts or pairs
    hashes = {"text": pretrained.tokenizer.hash} if pretrained.tokenizer else {}
    model_type, digest = pretrained.family.model_type, pretrained.digest
    run.write_record(Record(model_type, digest, pretrained.config, hashes, data, {}))


def _missing_part(config: schema.Neural) -> str:
    """The part that predicts masked tokens, if the folder of a bidirectional model does not have it."""
    if isinstance(config.objective, schema.ReplacedTokenDetection):
        return "generator"
    headless = isinstance(config.objective, schema.MaskedLM) and not config.head.transform
    return "output layer" if headless else ""


# --- export -------------------------------------------------------------------------------------------------------


def export(run: Run, to: str, out: Path, *, verify: bool = False) -> str:
    """Write a run as a folder, as `huggingface` or `huggingface:FAMILY` (of ELECTRA the discriminator, or with
    `huggingface:electra-generator` the generator). Returns a summary."""
    kind, _, name = to.partition(":")
    if kind != FORMAT:
        raise unknown("kind of export", to, [FORMAT])
    require_trained(run, "trained weights")
    record, tokenizer = run.record, run.text_tokenizer()
    labels = record.data.get("labels", ()) if isinstance(record.config.objective, schema.Supervised) else ()
    config, is_encoder = record.config, isinstance(record.config.objective, schema.Contrastive)
    if name == GENERATOR:
        config, name = _generator(config), "electra"
    elif is_encoder:
        config = encoder_only(config)
    family = exporter.select_family(config, name or record.data.get("family", ""))
    sizes = vocab_size(tokenizers := run.tokenizers()), len(labels) or 2, source_vocab_size(tokenizers)
    whole = build(record.config, *sizes).eval()
    load_model(run.weights, whole, run.config_digest())
    system = whole if config is record.config else _extract(whole, config)
    exporter.save_pretrained(out, family, config, tokenizer, system.state_dict(), labels)
    if is_encoder:
        add_pooling(out, record.config)
    summary = f"{out}: {family.title}, {sum(file.stat().st_size for file in out.rglob('*')):,} bytes"
    return f"{summary}; {_verify(system, config, tokenizer, out)}" if verify else summary


def _generator(config: schema.Neural) -> schema.Neural:
    """The generator of ELECTRA as a masked language model of its own."""
    if not isinstance(config.objective, schema.ReplacedTokenDetection):
        raise FirthError(f"a run with the objective {config.objective.kind} has no generator", do="leave it out")
    return replace(generator_config(config), objective=schema.MaskedLM())


def _extract(system: System, config: schema.Neural) -> System:
    """A part of a system as a system of its own, with the tensors of its companion network where it has them."""
    part, prefix = build(config, len(system.input.weight)).eval(), "objective.companion."
    own = system.state_dict()
    tensors = own | {name.removeprefix(prefix): own[name] for name in own if name.startswith(prefix)}
    part.load_state_dict({name: tensors[name] for name in part.state_dict()})
    return part


def _verify(system: System, config: schema.Neural, tokenizer: Tokenizer | None, out: Path) -> str:
    """Load the folder again and compare its outputs with the run's."""
    pretrained = load_pretrained(out)
    size = tokenizer.vocab_size if tokenizer else 0
    if tokenizer and pretrained.tokenizer.vocabulary() != tokenizer.vocabulary():
        raise FirthError("the written tokenizer came back as another", where=out, do="do not use this folder")
    reloaded = build(_with_global_attention(pretrained.config, config), size, len(pretrained.labels) or 2).eval()
    reloaded.load_state_dict(dict(pretrained.tensors))
    probe = _PROBES[type(pretrained.config.input)]
    outputs = _outputs(system, probe(system, size)), _outputs(reloaded, probe(reloaded, size))
    difference = float((outputs[0] - outputs[1]).abs().max())
    if not difference <= _TOLERANCE:
        raise FirthError(f"the written model differs from the run by {difference:.2g}", where=out, do="do not use it")
    return f"read back: the same logits (largest difference {difference:.1g})"


def _with_global_attention(reloaded: schema.Neural, config: schema.Neural) -> schema.Neural:
    """The configuration that was read back with the run's global attention, which Hugging Face passes with a text."""
    attention = getattr(config.backbone, "attention", None)
    if not isinstance(attention, schema.WindowAttention):
        return reloaded
    same = replace(reloaded.backbone.attention, global_tokens=attention.global_tokens)
    return replace(reloaded, backbone=replace(reloaded.backbone, attention=same))


def _tokens(system: System, size: int) -> Batch:
    """Some token sequences, padded ones among them."""
    count, time = _PROBE
    time = min(time, system.backbone.max_length or time)
    ids = torch.arange(count * time).view(count, time) * 7919 % size
    mask = torch.arange(time) < torch.tensor([time, time // 2, 1])[:, None]
    return Batch({name: Tokens(ids, mask) for name in system.backbone.streams}, {})


def _pixels(system: System, size: int) -> Batch:
    """Some images."""
    shape = (_PROBE[0], system.input.config.channels, *[system.input.config.image_size] * 2)
    values = torch.arange(math.prod(shape)).view(shape) * 7919 % 256 / 255
    return Batch({"image": Pixels(values)}, {})


_PROBES = {schema.TokenInput: _tokens, schema.PatchInput: _pixels}


@torch.no_grad()
def _outputs(system: System, batch: Batch) -> torch.Tensor:
    """The outputs of a system for a batch: logits, log-probabilities or hidden states."""
    encoded = system.encode(batch)
    if isinstance(system.head, ClassificationHead):
        return system.head(encoded.states, encoded.mask)
    states = encoded.states
    outputs = system.log_probabilities(states) if hasattr(system.head, "log_probabilities") else states
    return outputs[encoded.mask]
