"""A pre-trained network within the input of words: its layers, mixed; frozen, it stays as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from firth.config import schema
from firth.config.streams import Streams
from firth.errors import FirthError
from firth.models.build import BACKBONES, build
from firth.models.inputs.subword_encoder import PretrainedEncoder
from firth.types import Tokens
from word_samples import config

TOKENS = schema.TokenInput(table_size=20, width=6, dropout=0.3)
TRANSFORMER = schema.Transformer(width=6, depth=2, heads=2, mask="bidirectional", dropout=0.5, context=9)
LSTM = schema.Recurrent(width=4, depth=2, bidirectional="concatenate")
STREAM = Tokens(
    torch.tensor([[5, 7, 8, 9, 6], [5, 10, 6, 0, 0]]),
    torch.tensor([[True] * 5, [True] * 3 + [False] * 2]),
    word_of=torch.tensor([[-1, 0, 0, 1, -1], [-1, 0, -1, -1, -1]]),
)


def encoder(backbone=TRANSFORMER, **settings):
    torch.manual_seed(0)
    options = schema.SubwordEncoder(input=TOKENS, backbone=backbone, **settings)
    return PretrainedEncoder(options, BACKBONES[type(backbone)](backbone, options.input_width))


@pytest.mark.parametrize(("backbone", "layers"), [(TRANSFORMER, 3), (LSTM, 2), (replace(LSTM, width=3), 3)])
def test_a_word_has_the_mixed_state_of_its_tokens(backbone, layers):
    """The embeddings take part if they are as wide as the states."""
    network = encoder(backbone, subwords="mean").eval()
    encoded = network.backbone(network.embedding(STREAM), STREAM, keep_layers=True)
    mixed = torch.stack([each for each in encoded.layers if each.shape[-1] == network.backbone.width]).mean(0)
    words = network(STREAM, 2)
    assert len(network.mix.weights) == layers and words.shape == (2, 2, network.config.width)
    assert torch.allclose(words[0, 0], mixed[0, 1:3].mean(0), atol=1e-6)
    assert torch.allclose(words[0, 1], mixed[0, 3], atol=1e-6) and torch.allclose(words[1, 0], mixed[1, 1], atol=1e-6)
    last = encoder(backbone, layers="last").eval()
    assert torch.allclose(last(STREAM, 3)[0, 0], encoded.states[0, 1], atol=1e-6)


def test_a_frozen_network_has_neither_gradients_nor_dropout():
    network = encoder()
    network.mix.weights.data[0] = 1.0
    first = network(STREAM, 2)  # before any call of train or eval: a resumed run begins like this
    assert torch.equal(first, network.train()(STREAM, 2)) and torch.equal(first, network.eval()(STREAM, 2))
    first.square().sum().backward()
    assert {name for name, each in network.named_parameters() if each.grad is not None} == {"mix.weights", "mix.scale"}


def test_a_network_that_is_not_frozen_learns():
    network = encoder(frozen=False)
    assert not torch.equal(network.train()(STREAM, 2), network(STREAM, 2))
    network(STREAM, 2).square().sum().backward()
    assert network.embedding.weight.grad is not None


def test_a_run_must_be_named():
    words = schema.WordInput(encoder=schema.SubwordEncoder())
    with pytest.raises(FirthError, match="no pre-trained run is named"):
        build(config(inputs=Streams(words=words)), 20)
