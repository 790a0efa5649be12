"""Import and export of networks as Hugging Face folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from firth.config import schema
from firth.errors import FirthError, unknown
from firth.families import neural
from firth.families.pass_training import require_trained
from firth.families.run_weights import base_run, load_weights, read_merged, run_sizes
from firth.interop import exporter, verification
from firth.interop.importer import PretrainedModel, load_pretrained
from firth.interop.label_names import tag_scheme
from firth.interop.model_family import is_headless
from firth.interop.peft_adapter import save_adapter
from firth.interop.sentence_encoder import add_pooling, encoder_only
from firth.models.build import System, build
from firth.nn.lora import is_adapter
from firth.objectives.replaced_token import generator_config
from firth.runs.run_folder import Record, Run
from firth.training.checkpoint import tensor_bytes
from firth.training.parameter_groups import freeze
from firth.training.partial_weights import SharedWeights
from firth.types import Sizes

if TYPE_CHECKING:
    from firth.families.neural import Model

FORMAT, PEFT, GENERATOR = "huggingface", "peft", "electra-generator"


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
    if pretrained.generation:
        data["generation"] = dict(pretrained.generation)
    if isinstance(pretrained.labels, Mapping):
        schemes = {layer: scheme for layer, tags in pretrained.labels.items() if (scheme := tag_scheme(tags))}
        data |= {"labels": {layer: list(tags) for layer, tags in pretrained.labels.items()}, "schemes": schemes}
    elif pretrained.labels:
        data |= {"labels": list(pretrained.labels), "parts": 0}  # config.json does not say whether of texts or pairs
    hashes = {"text": pretrained.tokenizer.hash} if pretrained.tokenizer else {}
    model_type, digest = pretrained.family.model_type, pretrained.digest
    run.write_record(Record(model_type, digest, pretrained.config, hashes, data, {}))


def _missing_part(config: schema.Neural) -> str:
    """The part that predicts masked tokens, if the folder of a bidirectional model does not have it."""
    if isinstance(config.objective, schema.ReplacedTokenDetection):
        return "generator"
    return "output layer" if is_headless(config) else ""


# --- export -------------------------------------------------------------------------------------------------------


def export(run: Run, to: str, out: Path, *, verify: bool = False) -> str:
    """Write a run as a folder, as `huggingface` or `huggingface:FAMILY` (of ELECTRA the discriminator, or with
    `huggingface:electra-generator` the generator). Returns a summary."""
    kind, _, name = to.partition(":")
    if kind == PEFT:
        if verify:
            do = "leave --verify out, or export the network with it: --to huggingface"
            raise FirthError("an adapter cannot be read back to compare", where=out, do=do)
        return _export_adapter(run, name, out)
    if kind != FORMAT:
        raise unknown("kind of export", to, [FORMAT, PEFT])
    require_trained(run, "trained weights")
    record, tokenizer = run.record, run.text_tokenizer()
    labels = record.data.get("labels", ()) if isinstance(record.config.objective, schema.Supervised) else ()
    generation = record.data.get("generation", {}).get("huggingface", {})
    config, is_encoder = record.config, isinstance(record.config.objective, schema.Contrastive)
    if name == GENERATOR:
        config, name = _generator(config), "electra"
    elif is_encoder:
        config = encoder_only(config)
    family = exporter.select_family(config, name or record.data.get("family", ""))
    whole = build(record.config, Sizes.of(run.tokenizers(), labels)).eval()
    load_weights(run, whole)
    system = whole if config is record.config else _extract(whole, config)
    exporter.save_pretrained(out, family, config, tokenizer, system.state_dict(), labels, generation)
    if is_encoder:
        add_pooling(out, record.config)
    summary = f"{out}: {family.title}, {sum(file.stat().st_size for file in out.rglob('*')):,} bytes"
    return f"{summary}; {verification.verify(system, config, tokenizer, out)}" if verify else summary


def _export_adapter(run: Run, name: str, out: Path) -> str:
    """Write the adapter of a run as a folder that peft loads on top of its exported base. Returns a summary."""
    require_trained(run, "trained weights")
    config, data = run.record.config, run.record.data
    if not config.train.adapter.saved_alone:
        do = "train one with --lora 8, or export the network: --to huggingface"
        raise FirthError("this run is not an adapter that is saved alone", where=run.path, do=do)
    base = base_run(run)
    family = exporter.select_family(config, name or base.record.data.get("family", ""))
    system = build(config, run_sizes(run)).eval()
    load_weights(run, system, merge=False)
    freeze(system, config.train)
    shared = SharedWeights.of(system, read_merged(base))
    new = [name for name in shared.remove(system.state_dict()) if not is_adapter(name)]
    grown = [name for name in new if name.startswith(("inputs.", "backbone."))]
    if grown:
        what = f"the base has no {grown[0]} of this size, so peft cannot put the adapter on it"
        raise FirthError(what, where=run.path, do="export the whole network: --to huggingface")
    labels = data.get("labels", ()) if isinstance(config.objective, schema.Supervised) else ()
    save_adapter(out, family, config, run.text_tokenizer(), system, new, labels)
    size = sum(file.stat().st_size for file in out.rglob("*"))
    return f"{out}: an adapter of {family.title}, {size:,} bytes; its base: firth export {base.path} --to huggingface"


def _generator(config: schema.Neural) -> schema.Neural:
    """The generator of ELECTRA as a masked language model of its own."""
    if not isinstance(config.objective, schema.ReplacedTokenDetection):
        raise FirthError(f"a run with the objective {config.objective.kind} has no generator", do="leave it out")
    return replace(generator_config(config), objective=schema.MaskedLM())


def _extract(system: System, config: schema.Neural) -> System:
    """A part of a system as a system of its own, with the tensors of its companion network where it has them."""
    part, prefix = build(config, len(system.embedding_weight)).eval(), "objective.companion."
    own = system.state_dict()
    tensors = own | {name.removeprefix(prefix): own[name] for name in own if name.startswith(prefix)}
    part.load_state_dict({name: tensors[name] for name in part.state_dict()})
    return part
