"""Import from Hugging Face: a folder as configuration, tokenizer and tensors of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor

from firth.config import schema
from firth.config.schema.objectives import DecoderStart
from firth.errors import FirthError, unknown
from firth.interop import hf_folder
from firth.interop.config_fields import Fields
from firth.interop.generation_defaults import FILE as GENERATION
from firth.interop.generation_defaults import read_generation
from firth.interop.hf_folder import Folder
from firth.interop.image_preprocessor import FILE as PREPROCESSOR
from firth.interop.image_preprocessor import read_preprocessor
from firth.interop.label_names import read_labels, tag_layer
from firth.interop.model_family import ModelFamily, conversions_of, position_offset
from firth.interop.sentence_encoder import Modules, read_modules, require_same_case, sentence_encoder
from firth.interop.tables import MODEL_FAMILIES
from firth.interop.tensor_steps import Conversion, Conversions, tensors_from_hf, tensors_to_hf
from firth.interop.text_layout import read_layout
from firth.models.build import System, build
from firth.tokenizers import formats as token_files
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Sizes

_LEGACY_SUFFIXES = {".gamma": ".weight", ".beta": ".bias"}  # of norms, in checkpoints of 2018 and 2019
_MAX_NAMES = 4  # tensors that a message names
_MAX_PADDING = 256  # rows by which embedding matrices are often padded
_TOKENIZER_CONFIG = "tokenizer_config.json"
# batches of whole texts, with special tokens around them
_OF_TEXTS = (schema.SentencePairs, schema.TwoTowers, schema.QuestionContext, schema.ChoiceRows, schema.SubwordRows)
_SENTINELS = 100  # that T5's tokenizer adds to its SentencePiece model


@dataclass(frozen=True)
class PretrainedModel:
    """A pretrained model in our terms."""

    family: ModelFamily
    config: schema.Neural
    tokenizer: Tokenizer | None  # none for images
    tensors: Mapping[str, Tensor]
    labels: tuple[str, ...] | Mapping[str, tuple[str, ...]]  # of a classifier, or the tags of a layer
    generation: Mapping[str, Any]  # default options of generation
    notes: tuple[str, ...]
    digest: str  # of the folder's files


def load_pretrained(path: Path) -> PretrainedModel:
    """Read a folder; anything unsupported is refused with one error that names it."""
    modules = read_modules(path)
    folder = hf_folder.read(path / modules.folder if modules else path)
    family = _model_family(folder)
    theirs = _own_tensors(family, folder, modules)
    base = family.read_config(folder.config, frozenset(theirs))
    _require_depth(base, theirs, folder)
    config = sentence_encoder(base, modules, family) if modules else base
    labels = _read_labels(folder.config, config)
    reads_text = not isinstance(config.tokenizer, schema.NoTokenizer)
    vocabulary_size = folder.config.positive_int("vocab_size", 0) if reads_text else 0
    conversions = conversions_of(family, base, position_offset(family, folder.config))
    sizes = replace(Sizes.of({}, labels), vocabulary=vocabulary_size)
    notes = check_tensors(family, conversions, lambda: build(base, sizes), theirs, folder.path)
    ours = tensors_from_hf(conversions, theirs)
    if not reads_text:
        patch_input, more = read_preprocessor(config.inputs["image"], hf_folder.read_optional(path, PREPROCESSOR))
        config = replace(config, inputs=schema.Inputs(image=patch_input))
        return PretrainedModel(family, config, None, ours, labels, {}, (*notes, *more), folder.digest)
    tokenizer, config, generation, more = _read_text_files(folder, config, modules, vocabulary_size)
    vocab_size = tokenizer.vocab_size
    ours, initialised = _complete(ours, lambda size: build(config, replace(sizes, vocabulary=size)), vocab_size)
    tokenizer_config = schema.Tokenizer(model=tokenizer.kind, vocabulary_size=max(16, tokenizer.vocab_size))
    table_size = vocabulary_size if vocabulary_size > tokenizer.vocab_size else 0
    config = replace(config, tokenizer=tokenizer_config, inputs=config.inputs.replace("text", table_size=table_size))
    notes = [*notes, *more, *initialised]
    return PretrainedModel(family, config, tokenizer, ours, labels, generation, tuple(notes), folder.digest)


def _read_labels(fields: Fields, config: schema.Neural) -> tuple[str, ...] | Mapping[str, tuple[str, ...]]:
    """The labels of a classifier, or the tags of a tagger's layer; none of other models."""
    if isinstance(config.head, schema.TaggingHead):
        tags = read_labels(fields)
        return {tag_layer(tags): tags}
    return read_labels(fields) if isinstance(config.head, schema.ClassificationHead) else ()


def _own_tensors(family: ModelFamily, folder: Folder, modules: Modules | None) -> dict[str, Tensor]:
    """The folder's tensors; of a sentence encoder the base model's, as sentence-transformers reads it."""
    theirs = normalise_names(family, folder.tensors, folder.path)
    if modules:
        return {name: tensor for name, tensor in theirs.items() if name.startswith(family.base_model_prefix)}
    _require_architecture(family, folder.config, theirs)
    return theirs


def _read_text_files(
    folder: Folder, config: schema.Neural, modules: Modules | None, rows: int
) -> tuple[Tokenizer, schema.Neural, dict[str, Any], list[str]]:
    """The tokenizer, the configuration with what its files say, the defaults of generation, and notes."""
    tokenizer, config, notes = _load_tokenizer(folder.path, config, rows)
    own = hf_folder.read_optional(folder.path, GENERATION)
    decoder_start = own if own and "decoder_start_token_id" in own else folder.config
    config = _with_decoder_start(config, decoder_start, tokenizer)
    if modules:
        require_same_case(modules, tokenizer)
        notes += modules.notes
    generation, more = read_generation(own, folder.config, config, tokenizer)
    return tokenizer, config, generation, [*notes, *more]


def _model_family(folder: Folder) -> ModelFamily:
    name = folder.config.get("model_type", "")
    if not name:
        do = "give a folder that transformers' save_pretrained wrote"
        raise FirthError("no model_type: not a Hugging Face folder", where=folder.config.where, do=do)
    if not isinstance(name, str) or name not in MODEL_FAMILIES:
        raise unknown("model_type", str(name), MODEL_FAMILIES, where=folder.config.where)
    return MODEL_FAMILIES[name]


def _require_architecture(family: ModelFamily, fields: Fields, names: Iterable[str]) -> None:
    """Refuse the heads that firth does not have, by the name of their class."""
    name = fields.architecture
    if name and name not in family.architectures:
        what = f"firth does not support {name}; it reads {', '.join(family.architectures)}"
        raise FirthError(what, where=fields.where, do=f"without its head: save it as {family.title}'s base model")
    is_base = name.endswith("Model") and family.output_weight not in names
    if is_base and family.generates and not fields.boolean("tie_word_embeddings", True):
        what = f"{name} without an output layer, and tie_word_embeddings = false"
        raise FirthError(what, where=fields.where, do=f"save it as {family.architectures[0]}")


_FEW_LAYERS = 100  # are quickly described, and found missing one by one


def _require_depth(config: schema.Neural, tensors: Mapping[str, Tensor], folder: Folder) -> None:
    """Refuse more layers than there are tensors, before so many are described."""
    stacks = [getattr(config.backbone, side, config.backbone) for side in ("encoder", "decoder")]
    depth = max(getattr(stack, "depth", 0) for stack in stacks)
    if depth > max(_FEW_LAYERS, len(tensors)):
        what = f"config.json has {depth:,} layers, and the weights {len(tensors):,} tensors"
        raise FirthError(what, where=folder.path, do="download the folder again")


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
    initial = make(max(size, len(ours["inputs.text.weight"]))).state_dict()
    note = f"{len(missing)} tensors are newly initialised: {_abbreviate(missing)}"
    return tensors | {name: initial[name] for name in missing}, [note]


def _abbreviate(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


# --- the tokenizer ------------------------------------------------------------------------------------------------


def _load_tokenizer(path: Path, config: schema.Neural, rows: int) -> tuple[Tokenizer, schema.Neural, list[str]]:
    """The folder's tokenizer, with the special tokens that the objective needs, and the configuration with its layout;
    `rows` is the embedding matrix's."""
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
    config = _with_layout(config, tokenizer, path)
    missing = [role for role in _required_special_tokens(config) if getattr(tokenizer.special, role) is None]
    if not missing:
        return tokenizer, config, notes
    extended = tokenizer.with_special_tokens()
    added = extended.vocab_size - tokenizer.vocab_size
    return extended, config, [*notes, f"the tokenizer has no token for {', '.join(missing)}: {added} tokens were added"]


def _with_layout(config: schema.Neural, tokenizer: Tokenizer, path: Path) -> schema.Neural:
    """Whole texts get the special tokens that the tokenizer adds, and at most its maximum length."""
    batching = config.batching
    if not isinstance(batching, _OF_TEXTS):
        return config
    limit = hf_folder.read_optional(path, _TOKENIZER_CONFIG)
    limit = limit.get("model_max_length", batching.length) if limit else batching.length  # 1e30: none
    layout = read_layout(tokenizer, batching.layout, path)
    return replace(config, batching=replace(batching, layout=layout, length=int(min(batching.length, limit))))


def _with_decoder_start(config: schema.Neural, fields: Fields, tokenizer: Tokenizer) -> schema.Neural:
    """The decoder starts with the token that the folder names; refused if it is none of those firth starts with."""
    token, objective = fields.get("decoder_start_token_id", None), config.objective
    if not isinstance(objective, schema.Seq2Seq) or token is None:
        return config
    for role in (objective.decoder_start, *get_args(DecoderStart)):
        if getattr(tokenizer.special, role) == token:
            return replace(config, objective=replace(objective, decoder_start=role))
    what = f"decoder_start_token_id = {token}: firth supports the tokens of start, end and padding"
    raise FirthError(what, where=fields.where)


def _required_special_tokens(config: schema.Neural) -> tuple[str, ...]:
    """The roles of the special tokens that an objective needs."""
    objective = config.objective
    if config.batching.layout == "plain":
        return ()
    if isinstance(objective, schema.Denoising):
        return (objective.decoder_start, "end", *(("start",) if objective.add_start_token else ()))
    return objective.special_tokens
