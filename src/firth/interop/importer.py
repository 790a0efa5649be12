"""Import from Hugging Face: a folder as configuration, tokenizer and tensors of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from firth.config import schema
from firth.errors import FirthError, unknown
from firth.interop import hf_folder
from firth.interop.hf_folder import Folder
from firth.interop.image_preprocessor import FILE as PREPROCESSOR
from firth.interop.image_preprocessor import read_preprocessor
from firth.interop.label_names import read_labels
from firth.interop.model_family import ModelFamily, conversions_of, position_offset
from firth.interop.tables import MODEL_FAMILIES
from firth.interop.tensor_steps import Conversion, Conversions, tensors_from_hf, tensors_to_hf
from firth.models.build import System, build
from firth.tokenizers import formats as token_files
from firth.tokenizers.tokenizer import Tokenizer

_LEGACY_SUFFIXES = {".gamma": ".weight", ".beta": ".bias"}  # of norms, in checkpoints of 2018 and 2019
_MAX_NAMES = 4  # tensors that a message names
_MAX_PADDING = 256  # rows by which embedding matrices are often padded
_SENTINELS = 100  # that T5's tokenizer adds to its SentencePiece model


@dataclass(frozen=True)
class PretrainedModel:
    """A pretrained model in our terms."""

    family: ModelFamily
    config: schema.Neural
    tokenizer: Tokenizer | None  # none for images
    tensors: Mapping[str, Tensor]
    labels: tuple[str, ...]  # of a classifier
    notes: tuple[str, ...]
    digest: str  # of the folder's files


def load_pretrained(path: Path) -> PretrainedModel:
    """Read a folder; anything unsupported is refused with one error that names it."""
    folder = hf_folder.read(path)
    family = _model_family(folder)
    theirs = normalise_names(family, folder.tensors, path)
    config = family.read_config(folder.config, frozenset(theirs))
    labels = read_labels(folder.config) if isinstance(config.head, schema.ClassificationHead) else ()
    reads_text = not isinstance(config.tokenizer, schema.NoTokenizer)
    vocabulary_size = folder.config.positive_int("vocab_size", 0) if reads_text else 0
    classes = len(labels) or 2
    conversions = conversions_of(family, config, position_offset(family, folder.config))
    notes = check_tensors(family, conversions, lambda: build(config, vocabulary_size, classes), theirs, path)
    ours = tensors_from_hf(conversions, theirs)
    if not reads_text:
        patch_input, more = read_preprocessor(config.input, hf_folder.read_optional(path, PREPROCESSOR))
        config = replace(config, input=patch_input)
        return PretrainedModel(family, config, None, ours, labels, (*notes, *more), folder.digest)
    tokenizer, more = _load_tokenizer(path, config, vocabulary_size)
    ours, initialised = _complete(ours, lambda size: build(config, size, classes), tokenizer.vocab_size)
    tokenizer_config = schema.Tokenizer(model=tokenizer.kind, vocabulary_size=max(16, tokenizer.vocab_size))
    table_size = vocabulary_size if vocabulary_size > tokenizer.vocab_size else 0
    config = replace(config, tokenizer=tokenizer_config, input=replace(config.input, table_size=table_size))
    return PretrainedModel(family, config, tokenizer, ours, labels, (*notes, *more, *initialised), folder.digest)


def _model_family(folder: Folder) -> ModelFamily:
    name = folder.config.get("model_type", "")
    if not name:
        do = "give a folder that transformers' save_pretrained wrote"
        raise FirthError("no model_type: not a Hugging Face folder", where=folder.config.where, do=do)
    if not isinstance(name, str) or name not in MODEL_FAMILIES:
        raise unknown("model_type", str(name), MODEL_FAMILIES, where=folder.config.where)
    return MODEL_FAMILIES[name]


# --- tensors ------------------------------------------------------------------------------------------------------


def normalise_names(family: ModelFamily, tensors: Mapping[str, Tensor], where: object) -> dict[str, Tensor]:
    """The tensors under their current names, with the base model's prefix; tied weights only once."""
    prefix, tied = family.base_model_prefix, family.tied_weights
    named = {_current_name(name): tensor for name, tensor in tensors.items()}
    if prefix and not any(name.startswith(prefix) for name in named):
        named = {f"{prefix}{name}": tensor for name, tensor in named.items()}
    for name, original in tied.items():
        if name in named and original not in named:
            named[original] = named.pop(name)
        elif name in named and torch.equal(named[name], named[original]):
            del named[name]
    if family.output_weight in named:  # an untied output matrix also has its own bias
        bias = family.output_weight.replace("weight", "bias")
        return named | ({bias: named[tied[bias]]} if bias in tied and bias not in named else {})
    for name, original in tied.items():
        if name in named:
            what = f"{name} is tied to {original}, but differs from it"
            raise FirthError(what, where=where, do="download the weights again")
    return named


def _current_name(name: str) -> str:
    for old, new in _LEGACY_SUFFIXES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def check_tensors(
    family: ModelFamily, conversions: Conversions, make: Callable[[], System], theirs: dict[str, Tensor], where: object
) -> list[str]:
    """Refuse missing, unexpected, misshapen, integer and non-finite tensors; notes on those that are ignored."""
    with torch.device("meta"):
        ours = make().state_dict()
    expected = {name: tuple(tensor.shape) for name, tensor in tensors_to_hf(conversions, ours).items()}
    required = {name for each in conversions if isinstance(each, Conversion) for name in each.theirs}
    missing = [f"{name} {shape} is missing" for name, shape in expected.items() if name in required - theirs.keys()]
    misshapen = [
        f"{name} is {tuple(tensor.shape)}, not {expected[name]}"
        for name, tensor in theirs.items()
        if name in expected and tuple(tensor.shape) != expected[name]
    ]
    others = [name for name in theirs if name not in expected]
    ignored = [name for name in others if any(re.fullmatch(pattern, name) for pattern in family.ignored_keys)]
    unexpected = [f"{name} {tuple(theirs[name].shape)} is unexpected" for name in others if name not in ignored]
    problems = [*missing, *misshapen, *unexpected]
    if problems:
        do = "check that config.json belongs to these weights; heads for other tasks are not supported"
        raise FirthError(f"the weights do not match this {family.title}: {_abbreviate(problems)}", where=where, do=do)
    invalid = [what for name in expected if name in theirs and (what := _invalid_values(name, theirs[name]))]
    if invalid:
        do = "download the weights again, or save them again as floating-point numbers"
        raise FirthError(f"invalid weights: {_abbreviate(invalid)}", where=where, do=do)
    return [f"ignored, since firth does not use it: {_abbreviate(ignored)}"] if ignored else []


def _invalid_values(name: str, tensor: Tensor) -> str:
    """What is wrong with the values of a tensor; empty if nothing is."""
    if not tensor.is_floating_point():
        return f"{name} has dtype {str(tensor.dtype).removeprefix('torch.')}"
    count = int((~tensor.isfinite()).sum())
    return f"{name} has {count:,} of {tensor.numel():,} values that are NaN or infinite" if count else ""


def _resize_embeddings(ours: dict[str, Tensor], make: Callable[[int], System], size: int) -> dict[str, Tensor]:
    """Embedding matrices with a row for each token; added tokens get the mean of the others."""
    with torch.device("meta"):
        expected = make(size).state_dict()
    resized = dict(ours)
    for name, tensor in ours.items():
        more = expected[name].shape[0] - tensor.shape[0] if tensor.shape[1:] == expected[name].shape[1:] else 0
        if more > 0:
            mean = tensor.double().mean(0, keepdim=True).to(tensor.dtype)
            resized[name] = torch.cat([tensor, mean.expand(more, *tensor.shape[1:])])
    return resized


def _complete(ours: dict[str, Tensor], make: Callable[[int], System], size: int) -> tuple[dict[str, Tensor], list[str]]:
    """All tensors of the system; those of the objective that the folder lacks are newly initialised."""
    tensors = _resize_embeddings(ours, make, size)
    with torch.device("meta"):
        missing = sorted(make(size).state_dict().keys() - tensors.keys())
    if not missing:
        return tensors, []
    initial = make(max(size, len(ours["input.weight"]))).state_dict()
    note = f"{len(missing)} tensors are newly initialised: {_abbreviate(missing)}"
    return tensors | {name: initial[name] for name in missing}, [note]


def _abbreviate(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


# --- the tokenizer ------------------------------------------------------------------------------------------------


def _load_tokenizer(path: Path, config: schema.Neural, rows: int) -> tuple[Tokenizer, list[str]]:
    """The folder's tokenizer, with the special tokens that the objective needs; `rows` is the embedding matrix's."""
    tokenizer = token_files.read(path)
    if tokenizer.vocab_size > rows:
        what = f"the tokenizer has {tokenizer.vocab_size:,} tokens, but the embedding matrix {rows:,} rows"
        raise FirthError(what, where=path, do="put this model's own tokenizer into the folder")
    notes = []
    if rows - tokenizer.vocab_size > max(_MAX_PADDING, rows // 10):
        sizes = f"the tokenizer has {tokenizer.vocab_size:,} tokens, but the embedding matrix {rows:,} rows"
        notes.append(f"{sizes}: check that it is this model's tokenizer")
    objective = config.objective
    spans = "span-corruption" in objective.noise
    if spans and not tokenizer.sentinels and tokenizer.vocab_size + _SENTINELS <= rows:
        tokenizer = tokenizer.with_sentinels(_SENTINELS)
    notes += ["the tokenizer has no sentinel tokens (<extra_id_0>, …)"] if spans and not tokenizer.sentinels else []
    missing = [role for role in _required_special_tokens(objective) if getattr(tokenizer.special, role) is None]
    if not missing:
        return tokenizer, notes
    extended = tokenizer.with_special_tokens()
    added = extended.vocab_size - tokenizer.vocab_size
    return extended, [*notes, f"the tokenizer has no token for {', '.join(missing)}: {added} tokens were added"]


def _required_special_tokens(objective: schema.Objective) -> tuple[str, ...]:
    """The roles of the special tokens that an objective needs."""
    if isinstance(objective, schema.Denoising):
        return (objective.decoder_start, "end", *(("start",) if objective.add_start_token else ()))
    return objective.special_tokens
