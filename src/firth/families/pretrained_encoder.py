"""A pre-trained run as the encoder within the input of words: its configuration, tokenizer and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from firth.config import schema
from firth.datasets.word_dataset import TEXT, WORDS, encoder_of
from firth.errors import FirthError
from firth.families.pass_training import require_trained
from firth.families.run_weights import read_merged
from firth.models.build import System, resolve_backbone
from firth.objectives.requirements import is_causal
from firth.runs.run_folder import Run
from firth.tokenizers.tokenizer import Tokenizer

_NETWORK = {f"inputs.{TEXT}.": f"inputs.{WORDS}.encoder.embedding.", "backbone.": f"inputs.{WORDS}.encoder.backbone."}


def configure_encoder(config: schema.Neural) -> schema.Neural:
    """The configuration with the network of the run that its encoder is."""
    encoder = encoder_of(config)
    if encoder is None or not encoder.init_from:
        return config
    pretrained, backbone = _open(encoder)
    tokens = replace(
        pretrained.input_of(TEXT), pretrained_vectors="", table_size=_tokenizer(encoder).vocab_size, character_width=0
    )
    layout = "cls-last" if is_causal(backbone) else pretrained.batching.layout
    network = replace(encoder, input=tokens, backbone=backbone, layout=layout)
    return replace(config, inputs=config.inputs.replace(WORDS, encoder=network))


def encoder_tokenizers(config: schema.Neural) -> dict[str, Tokenizer]:
    """The tokenizer of the encoder's run, if there is an encoder."""
    encoder = encoder_of(config)
    return {TEXT: _tokenizer(encoder)} if encoder and encoder.init_from else {}


def initialise_encoder(system: System, config: schema.Neural) -> str:
    """Load the weights of the encoder's run. Returns a summary, empty without an encoder."""
    encoder = encoder_of(config)
    if encoder is None or not encoder.init_from:
        return ""
    run = Run.open(encoder.init_from)
    require_trained(run, "trained weights")
    source, target = _renamed(read_merged(run)), system.state_dict()
    loaded = {name: _with_rows(tensor, target[name]) for name, tensor in source.items() if name in target}
    missing = [name for name in target if name.startswith(tuple(_NETWORK.values())) and name not in loaded]
    if missing:
        do = "name the run that this network was configured from"
        raise FirthError(f"its weights do not fit: no {missing[0]}", where=run.path, do=do)
    system.load_state_dict({**target, **loaded})
    return f"{len(loaded):,} tensors of the encoder initialised from {encoder.init_from}"


def _renamed(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of the network by their names within the input of words."""
    return {
        new + name.removeprefix(old): tensor
        for name, tensor in tensors.items()
        for old, new in _NETWORK.items()
        if name.startswith(old)
    }


def _with_rows(tensor: Tensor, target: Tensor) -> Tensor:
    """The tensor; if the target has more rows, of special tokens, these keep their initialisation."""
    if tensor.shape == target.shape or tensor.shape[1:] != target.shape[1:]:
        return tensor
    return torch.cat([tensor, target[len(tensor) :]])


def _tokenizer(encoder: schema.SubwordEncoder) -> Tokenizer:
    return Run.open(encoder.init_from).tokenizer(TEXT).with_special_tokens()


def _open(encoder: schema.SubwordEncoder) -> tuple[schema.Neural, schema.Recurrent | schema.Transformer]:
    """The configuration and the backbone of the run; an error if it reads no text, or has another network."""
    config = Run.open(encoder.init_from).record.config
    backbone = resolve_backbone(config) if isinstance(config, schema.Neural) and TEXT in config.streams else None
    if not isinstance(backbone, schema.Recurrent | schema.Transformer):
        what = "not the run of a recurrent network or a Transformer that reads text"
        raise FirthError(what, where=encoder.init_from, do="name such a run, or an imported encoder")
    return config, backbone
