"""The hidden states of words in each layer of a network: of its embeddings, then of layer 1, 2, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firth.config import schema
from firth.datasets.collators.batches import make_batches
from firth.datasets.word_dataset import WORDS, encode_sentences
from firth.errors import FirthError
from firth.models.build import System
from firth.nn.words import SUBWORD_POOLINGS
from firth.objectives.requirements import is_causal
from firth.tokenizers.special_tokens import SpecialTokens, special_tokens_around
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Words

POOLINGS = tuple(SUBWORD_POOLINGS)
_TARGET = "word"  # the target that says where the words of a batch stand
_MAX_LENGTH = 512  # subwords of a row, of networks that read any number


@torch.no_grad()
def layer_states(
    system: System,
    config: schema.Neural,
    tokenizers: Mapping[str, Tokenizer],
    sentences: Sequence[Sequence[str]],
    pooling: str = "mean",
) -> list[np.ndarray]:
    """The states of all words (words, width) in each layer, float32; `pooling` makes a word's state from those of its
    subwords. Of an encoder–decoder, the layers of its encoder."""
    special = next(iter(tokenizers.values())).special if tokenizers else None
    own = _word_config(config, special)
    if isinstance(config.backbone, schema.Convolutional):
        what = "a convolutional network has states of windows, not of words"
        raise FirthError(what, where="backbone.kind", do="inspect a recurrent network or a Transformer")
    labels = {_TARGET: ("",)}
    split = encode_sentences(sentences, labels, _streams(own, tokenizers), own)
    states: list[np.ndarray] = []
    system.eval()
    for batch in make_batches(own.batching, split, special, 0).evaluation_batches():
        with autocast(config.train):
            layers = _encode(system, batch.to(), pooling)
        states = states or [np.zeros((len(split.ids), layer.shape[-1]), np.float32) for layer in layers]
        _place(states, layers, batch)
    return states


def _word_config(config: schema.Neural, special: SpecialTokens | None) -> schema.Neural:
    """The configuration with batches of sentences as words, which the network reads as it was trained to."""
    if WORDS in config.streams:
        return config
    if not all(holds == "tokens" for holds in config.streams.values()):
        raise FirthError("this network reads no text", where="inputs", do="inspect a network of text")
    is_pair = isinstance(config.backbone, schema.EncoderDecoder)
    backbone = config.backbone.encoder if is_pair else config.backbone
    layout: Any = "plain" if is_pair else "cls-last" if is_causal(backbone) else config.batching.layout
    if special is None or None in chain(*special_tokens_around(layout, special)):  # an imported tokenizer has fewer
        layout = "plain"
    limit = (backbone.context or config.batching.length) if isinstance(backbone, schema.Transformer) else _MAX_LENGTH
    rows = schema.SubwordRows(length=max(8, min(limit, _MAX_LENGTH)), layout=layout)
    return replace(config, batching=rows, objective=schema.Supervised(), data=schema.TaggedWords())


def _streams(config: schema.Neural, tokenizers: Mapping[str, Tokenizer]) -> Mapping[str, Tokenizer]:
    """The tokenizers; that of the source, where it has its own, reads the text."""
    return {**tokenizers, "text": tokenizers["source"]} if "source" in tokenizers else tokenizers


def _encode(system: System, batch: Batch, pooling: str) -> list[Tensor]:
    """The states of words in each layer (batch, words, width)."""
    (stream,) = batch.streams.values()
    if isinstance(stream, Words):
        return list(system.encode(batch, keep_layers=True).layers)
    backbone: Any = system.backbone
    if backbone.streams:  # an encoder–decoder
        encoded = backbone.encode(system.embed(backbone.streams[0], stream), stream, keep_layers=True)
    else:
        encoded = backbone(*system.input_of("text").backbone_inputs(stream), keep_layers=True)
    assert stream.word_of is not None
    count = int(stream.word_of.max()) + 1
    return [SUBWORD_POOLINGS[pooling](layer.float(), stream.word_of, count) for layer in encoded.layers]


def _place(states: Sequence[np.ndarray], layers: Sequence[Tensor], batch: Batch[np.ndarray]) -> None:
    """Put a batch's states where its words stand."""
    target = batch.targets[_TARGET]
    real, positions = target.weight > 0, target.positions
    assert positions is not None
    for whole, layer in zip(states, layers, strict=True):
        # words at the end of a batch's longest row may have lost their subwords
        values, width = layer.float().numpy(), layer.shape[1]
        whole[positions[:, :width][real[:, :width]]] = values[real[:, :width]]


