"""Comparison of an exported folder with the run: by transformers where it is installed, and read back by firth."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from firth.config import schema
from firth.errors import FirthError
from firth.interop.hf_folder import CONFIG
from firth.interop.importer import load_pretrained
from firth.interop.model_family import is_headless
from firth.models.backbones.encoder_decoder import EncoderDecoderBackbone
from firth.models.build import System, build
from firth.models.heads.choice import ChoiceHead
from firth.models.heads.sequence_classification import ClassificationHead
from firth.models.heads.span import SpanHead
from firth.models.heads.tagging import TaggingHead
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import TEXT, Batch, Pixels, Sizes, Tokens

_TOLERANCE = 1e-4  # of logits, log-probabilities and hidden states
_SEQUENCES, _LENGTHS = 3, (12, 5)  # two batches of token sequences; all but the first of a batch are padded
_HASH_SEED, _SELF_SCORE = 7, -100.0


def verify(system: System, config: schema.Neural, tokenizer: Tokenizer | None, out: Path) -> str:
    """Compare the outputs of a written folder with the run's; a summary, or an error if they differ."""
    batches = [_make_batch(system, tokenizer, length) for length in _LENGTHS]
    reloaded = _read_back(config, tokenizer, out)
    difference = _compare(lambda batch: _outputs(reloaded, config, batch), system, config, batches, out)
    transformers = _import_transformers()
    if transformers is None:
        summary = f"read back by firth only: the same logits (largest difference {difference:.1g})"
        return f"{summary}; install transformers, and --verify runs the folder there"
    difference = _compare(_their_outputs(transformers, system, config, out), system, config, batches, out)
    return f"transformers {transformers.__version__} gives the same logits (largest difference {difference:.1g})"


def _compare(
    outputs: Callable[[Batch], Tensor], system: System, config: schema.Neural, batches: list[Batch], out: Path
) -> float:
    """The largest difference to the run's outputs; refused if it is too large."""
    differences = []
    for batch in batches:
        theirs, ours = outputs(batch), _outputs(system, config, batch)
        differences.append(float((theirs - ours).abs().max()) if theirs.shape == ours.shape else math.inf)
    if not max(differences) <= _TOLERANCE:
        what = f"the written model differs from the run by {max(differences):.2g}"
        raise FirthError(what, where=out, do="do not use it")
    return max(differences)


@torch.no_grad()
def _outputs(system: System, config: schema.Neural, batch: Batch) -> Tensor:
    """What the heads of a system say to a batch: logits, log-probabilities or hidden states, in one row."""
    encoded = system.encode(batch)
    if isinstance(system.head, ClassificationHead):
        return system.head(encoded).flatten()
    if isinstance(system.head, ChoiceHead):
        return system.head(encoded._replace(sequences=_one_question(batch))).flatten()
    if isinstance(system.head, TaggingHead):
        (tags,) = system.head.emissions(encoded)[0].values()
        return tags[encoded.mask].flatten()
    if isinstance(system.head, SpanHead):
        return system.head(encoded)[:, encoded.mask].flatten()
    states, next_sentence = encoded.states[encoded.mask], config.objective.next_sentence
    if isinstance(config.head, schema.DiscriminatorHead):
        states = system.head(states)
    elif not is_headless(config):
        states = system.log_probabilities(states)
    parts = [] if is_headless(config) and next_sentence else [states.flatten()]
    if next_sentence:
        parts.append(system.objective.next_sentence(encoded.states[:, 0]).flip(-1).flatten())
    return torch.cat(parts)


def _one_question(batch: Batch) -> Tensor:
    """The sequences of a batch as the choices of one question (1, choices)."""
    return torch.ones(1, batch.size, dtype=torch.bool)


# --- read back by firth -------------------------------------------------------------------------------------------


def _read_back(config: schema.Neural, tokenizer: Tokenizer | None, out: Path) -> System:
    """The system that importing the folder gives, with the run's head or without one."""
    pretrained = load_pretrained(out)
    if tokenizer and pretrained.tokenizer.vocabulary() != tokenizer.vocabulary():
        raise FirthError("the written tokenizer came back as another", where=out, do="do not use this folder")
    sizes = Sizes.of({TEXT: tokenizer} if tokenizer else {}, pretrained.labels)
    reloaded = build(_with_global_attention(pretrained.config, config), sizes).eval()
    reloaded.load_state_dict(dict(pretrained.tensors))
    return reloaded


def _with_global_attention(reloaded: schema.Neural, config: schema.Neural) -> schema.Neural:
    """The configuration that was read back with the run's global attention, which Hugging Face passes with a text."""
    attention = getattr(config.backbone, "attention", None)
    if not isinstance(attention, schema.WindowAttention):
        return reloaded
    same = replace(reloaded.backbone.attention, global_tokens=attention.global_tokens)
    return replace(reloaded, backbone=replace(reloaded.backbone, attention=same))


# --- batches ------------------------------------------------------------------------------------------------------


def _make_batch(system: System, tokenizer: Tokenizer | None, length: int) -> Batch:
    """Some images, or some token sequences with padding, that have no special tokens."""
    if tokenizer is None:
        config = system.input_of("image").config
        shape = (_SEQUENCES, config.channels, *[config.image_size] * 2)
        return Batch({"image": Pixels((torch.arange(math.prod(shape)).view(shape) * 7919 + length) % 256 / 255)}, {})
    special = {*tokenizer.special.ids, tokenizer.special.pad_id}
    ordinary = [token for token in range(tokenizer.vocab_size) if token not in special] or [0]
    length = min(length, system.backbone.max_length or length)
    ids = torch.tensor(ordinary)[torch.arange(_SEQUENCES * length).view(_SEQUENCES, length) * 7919 % len(ordinary)]
    mask = torch.arange(length) < torch.tensor([length, length // 2 or 1, 1])[:, None]
    ids = ids.masked_fill(~mask, tokenizer.special.pad_id)
    if isinstance(system.backbone, EncoderDecoderBackbone) and system.streams == (TEXT,):
        ends = mask.sum(1, keepdim=True) - 1  # transformers takes the state of [END]
        ids = ids.scatter(1, ends, tokenizer.special.end or 0)
    return Batch({name: Tokens(ids, mask) for name in system.streams}, {})


# --- transformers -------------------------------------------------------------------------------------------------


def _import_transformers() -> ModuleType | None:
    """The package, if it is installed: firth does not need it for anything else."""
    try:
        import transformers
    except ImportError:
        return None
    return transformers


def _their_outputs(
    transformers: ModuleType, system: System, config: schema.Neural, out: Path
) -> Callable[[Batch], Tensor]:
    """The folder as a function from a batch to the outputs of the class that it names."""
    name = json.loads((out / CONFIG).read_bytes())["architectures"][0]
    try:
        with _quiet(transformers.utils.logging):
            model, loading = getattr(transformers, name).from_pretrained(out, output_loading_info=True)
    except Exception as error:  # whatever it raises, the folder is of no use there
        raise _unusable(transformers, name, error, out) from error
    lacks = sorted(key for key in loading["missing_keys"] if not (is_headless(config) and "pooler." in key))
    if lacks:
        raise FirthError(f"{name} of transformers finds no {', '.join(lacks[:3])}", where=out, do="do not use it")
    _share_hashing(model.eval(), system)

    def outputs(batch: Batch) -> Tensor:
        try:
            with torch.no_grad():
                return _select(model(**_inputs(system, config, batch)), config, batch)
        except Exception as error:
            raise _unusable(transformers, name, error, out) from error

    return outputs


@contextmanager
def _quiet(logging: ModuleType) -> Iterator[None]:
    """No progress bars, and no report on a pooler that nothing uses."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _unusable(transformers: ModuleType, name: str, error: Exception, out: Path) -> FirthError:
    reason = " ".join(str(error).split())[:160]
    what = f"{name} of transformers {transformers.__version__} fails ({type(error).__name__}: {reason})"
    return FirthError(what, where=out, do="do not use this folder there")


def _inputs(system: System, config: schema.Neural, batch: Batch) -> dict[str, Tensor]:
    """A batch as the arguments of a model of transformers."""
    if "image" in batch.streams:
        patches = config.inputs["image"]
        mean, std = (torch.tensor(each).view(-1, 1, 1) for each in (patches.mean, patches.std))
        return {"pixel_values": (batch.streams["image"].values - mean) / std}
    first, *decoder = (batch.streams[name] for name in system.streams)
    inputs = {"input_ids": first.ids, "attention_mask": first.mask.long()}
    if isinstance(config.head, schema.ChoiceHead):
        inputs = {name: tensor[None] for name, tensor in inputs.items()}  # one question, a choice in each row
    for text in decoder:
        inputs |= {"decoder_input_ids": text.ids, "decoder_attention_mask": text.mask.long()}
    if getattr(getattr(config.backbone, "attention", None), "global_tokens", "none") == "first":
        inputs["global_attention_mask"] = (torch.arange(first.ids.shape[1]) == 0).long().expand_as(first.ids)
    return inputs


def _select(result: Any, config: schema.Neural, batch: Batch) -> Tensor:
    """Their outputs, in the order of ours."""
    if isinstance(config.head, schema.ClassificationHead | schema.ChoiceHead):
        return result.logits.flatten()
    if isinstance(config.head, schema.TaggingHead):
        return result.logits[batch.tokens("text").mask].flatten()
    if isinstance(config.head, schema.SpanHead):
        mask = batch.tokens("text").mask
        return torch.cat([result.start_logits[mask], result.end_logits[mask]])
    mask = list(batch.streams.values())[-1].mask
    if is_headless(config):
        parts = [] if config.objective.next_sentence else [result.last_hidden_state[mask]]
    else:
        logits = result.prediction_logits if "prediction_logits" in result else result.logits
        is_binary = isinstance(config.head, schema.DiscriminatorHead)
        parts = [logits[mask] if is_binary else logits[mask].log_softmax(-1)]
    if config.objective.next_sentence:
        parts.append(result.get("seq_relationship_logits", result.get("logits")))
    return torch.cat([part.flatten() for part in parts])


def _share_hashing(model: torch.nn.Module, system: System) -> None:
    """The same random rotations of LSH attention in both. Their score of a token for itself, -1e5, is so low that sums
    of exponents near it are inexact in float32."""
    for module in model.modules():
        if hasattr(module, "hash_seed"):
            module.hash_seed = _HASH_SEED
        if isinstance(score := getattr(module, "self_mask_value_float32", None), Tensor):
            score.fill_(_SELF_SCORE)
    for module in system.modules():
        if isinstance(rotations := getattr(module, "rotations", None), Tensor):
            with torch.random.fork_rng():
                torch.manual_seed(_HASH_SEED)
                rotations.copy_(torch.randn(rotations.shape))
