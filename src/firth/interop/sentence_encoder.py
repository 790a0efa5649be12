"""Sentence embedding models in the layout of sentence-transformers: encoder, pooling, normalisation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop import hf_folder
from firth.interop.config_fields import Fields
from firth.interop.model_family import ModelFamily
from firth.interop.tables.bert import NO_HEAD
from firth.runs.gate import Gate
from firth.tokenizers.tokenizer import Tokenizer

_MODULES, _SETTINGS = "modules.json", "config_sentence_transformers.json"
_TYPE = "sentence_transformers.models."
_FOLDERS = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
_WITHOUT_EFFECT = ("Dropout",)  # when a model is used
# our pooling -> the mode of sentence-transformers, and the flag of its older files
_MODES = {"first": "cls", "mean": "mean", "last": "lasttoken", "max": "max"}
_FLAGS = {
    "first": "pooling_mode_cls_token",
    "mean": "pooling_mode_mean_tokens",
    "last": "pooling_mode_lasttoken",
    "max": "pooling_mode_max_tokens",
}
_NO_LIMIT = 1 << 30


@dataclass(frozen=True)
class Modules:
    """What a folder of sentence-transformers adds to its encoder."""

    folder: str  # of the encoder, within the model's
    pooling: str
    normalize: bool
    max_length: int  # tokens of a text, special ones counted
    lowercase: bool
    notes: tuple[str, ...]


def read_modules(path: Path) -> Modules | None:
    """The modules of a sentence encoder, each of those that firth lacks refused by name; None for other folders."""
    if not (path / _MODULES).is_file():
        return None
    listed = _read_list(path / _MODULES)
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in listed]
    if "Pooling" not in kinds:  # a cross-encoder
        return None
    unsupported = [kind for kind in kinds if kind not in (*_FOLDERS, *_WITHOUT_EFFECT)]
    kept = [kind for kind in kinds if kind not in _WITHOUT_EFFECT]
    if unsupported or kept not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        what = f"modules {', '.join(kinds)}: firth supports Transformer, Pooling and Normalize, in this order"
        raise FirthError(what, where=path / _MODULES)
    folders = {kind: str(module.get("path", "")) for kind, module in zip(kinds, listed, strict=True)}
    pooling = hf_folder.read_optional(path / folders["Pooling"], "config.json") or Fields({}, path)
    encoder = path / folders["Transformer"]
    options = next(map(_read_fields, sorted(encoder.glob("sentence_*_config.json"))), Fields({}, encoder))
    return Modules(
        folders["Transformer"],
        _pooling(pooling),
        "Normalize" in kinds,
        _max_length(options, encoder),
        options.boolean("do_lower_case", False),
        _prompt_notes(hf_folder.read_optional(path, _SETTINGS)),
    )


def _read_fields(path: Path) -> Fields:
    return hf_folder.read_optional(path.parent, path.name) or Fields({}, path)


def _read_list(path: Path) -> list[dict[str, Any]]:
    try:
        modules = json.loads(path.read_bytes())
    except ValueError as error:
        raise FirthError(f"cannot be read as JSON ({error})", where=path, do="download the file again") from None
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise FirthError("not a list of modules", where=path, do="download the file again")
    return modules


def _pooling(fields: Fields) -> str:
    """Our pooling; modes that firth lacks, and several at once, are refused."""
    modes: Any = fields.get("pooling_mode", None)
    known = {mode: ours for ours, mode in _MODES.items()} | {flag: ours for ours, flag in _FLAGS.items()}
    if modes is None:
        modes = [name for name, value in fields.values.items() if name.startswith("pooling_mode_") and value is True]
    modes = [modes] if isinstance(modes, str) else modes
    if not isinstance(modes, Sequence) or len(modes) != 1 or modes[0] not in known:
        what = (
            f"pooling_mode = {', '.join(map(str, modes)) or 'none'}: firth supports one of {', '.join(_MODES.values())}"
        )
        raise FirthError(what, where=fields.where)
    return known[modes[0]]


def _max_length(options: Fields, encoder: Path) -> int:
    """max_seq_length; newer versions write it as the tokenizer's model_max_length."""
    if "max_seq_length" in options:
        return options.positive_int("max_seq_length", 1)
    limit = hf_folder.read_optional(encoder, "tokenizer_config.json")
    return int(min(limit.get("model_max_length", _NO_LIMIT), _NO_LIMIT)) if limit else _NO_LIMIT


def _prompt_notes(settings: Fields | None) -> tuple[str, ...]:
    """A note on prompts, which the caller puts before a text; a default one is refused."""
    if settings is None:
        return ()
    prompts = settings.get("prompts", {})
    prompts = {name: text for name, text in prompts.items() if text} if isinstance(prompts, dict) else {}
    name = settings.get("default_prompt_name", None)
    if name in prompts:
        what = f"default_prompt_name = {name}: firth does not put {prompts[name]!r} before every text"
        raise FirthError(what, where=settings.where, do="set it to null, and write it before each text")
    notes = [f"its prompts are not added, write them before a text: {', '.join(map(repr, prompts.values()))}"]
    similarity = settings.get("similarity_fn_name", "cosine")
    others = [f"its similarity is {similarity}; firth compares embeddings by their cosine"]
    return (*(notes if prompts else []), *(others if similarity != "cosine" else []))


def sentence_encoder(config: schema.Neural, modules: Modules, family: ModelFamily) -> schema.Neural:
    """The configuration of a sentence encoder over an imported base model."""
    if not isinstance(config.backbone, schema.Transformer) or isinstance(config.batching, schema.Contiguous):
        raise FirthError(f"{family.title} as a sentence encoder: firth supports encoders and decoders alone")
    length = min(modules.max_length, config.backbone.context or modules.max_length)
    return replace(
        config,
        data=schema.TaskExamples(text=(), tasks=("similarity", "pairs", "translation")),
        batching=schema.TwoTowers(length=length, layout="plain" if family.generates else "cls-first"),
        head=schema.PoolingHead(pooling=modules.pooling, normalize=modules.normalize),
        objective=schema.Contrastive(),
    )


def require_same_case(modules: Modules, tokenizer: Tokenizer) -> None:
    """Refuse do_lower_case with a tokenizer that tells cases apart."""
    if modules.lowercase and tokenizer.encode("ABC Ab") != tokenizer.encode("abc ab"):
        what = "do_lower_case = true, and the tokenizer tells upper from lower case"
        raise FirthError(what, where=modules.folder, do="set it to false, and lower the case of each text")


# --- export -------------------------------------------------------------------------------------------------------


def encoder_only(config: schema.Neural) -> schema.Neural:
    """The configuration of the bidirectional encoder alone, without a language-modelling head."""
    batching = schema.SegmentPairs(length=config.batching.length)
    return replace(config, data=schema.Text(), batching=batching, head=NO_HEAD, objective=schema.MaskedLM())


def add_pooling(path: Path, config: schema.Neural) -> None:
    """Add the files that describe pooling of token states to one vector, and its L2 normalisation."""
    folders = {kind: folder for kind, folder in _FOLDERS.items() if config.head.normalize or kind != "Normalize"}
    modules = [
        {"idx": number, "name": str(number), "path": folder, "type": _TYPE + name}
        for number, (name, folder) in enumerate(folders.items())
    ]
    pooling: dict[str, Any] = {"word_embedding_dimension": config.backbone.width}
    pooling |= {flag: config.head.pooling == pool for pool, flag in _FLAGS.items()}
    files = {
        _MODULES: modules,
        "1_Pooling/config.json": pooling,
        "sentence_bert_config.json": {"max_seq_length": config.batching.length, "do_lower_case": False},
        _SETTINGS: {"similarity_fn_name": "cosine"},
    }
    gate = Gate(path)
    for folder in filter(None, folders.values()):
        gate.make_folder(folder)
    for name, values in files.items():
        gate.replace(name, hf_folder.json_bytes(values))
