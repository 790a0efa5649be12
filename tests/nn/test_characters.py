"""Character-level encoders of words, against loops over windows and against torch's LSTM; padding changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from firth.config import schema
from firth.nn import characters
from firth.nn.characters import CHARACTER_ENCODERS
from firth.tokenizers.characters import PAD, encode_word

WORDS = ["a", "the", "Işıklarında", "日本", "e\u0301", "x" * 120]
CONFIGS = [schema.CharacterCNN(embedding=4, filters=3, filter_widths=(2, 3)), schema.CharacterBiLSTM(4, 5)]


def encoder(config):
    torch.manual_seed(0)
    return CHARACTER_ENCODERS[type(config)](config).eval()


def code(words):
    return torch.from_numpy(np.stack([encode_word(word) for word in words]))


@pytest.mark.parametrize("config", CONFIGS)
def test_padding_and_other_words_change_nothing(config):
    network = encoder(config)
    together = network(code(WORDS))
    assert together.shape == (len(WORDS), config.width)
    for word, vector in zip(WORDS, together, strict=True):
        alone = code([word])
        alone = alone[:, : int((alone != PAD).sum())]
        assert torch.allclose(network(alone)[0], vector, atol=1e-6)


def test_the_convolution_is_the_highest_of_all_windows():
    config = CONFIGS[0]
    network, vectors = encoder(config), network_rows(encoder(config), WORDS[2])
    expected = []
    for layer, width in zip(network.filters, config.filter_widths, strict=True):
        edge = torch.zeros(width - 1, config.embedding)
        padded = torch.cat([edge, vectors, edge])
        windows = [padded[at : at + width] for at in range(len(padded) - width + 1)]
        scores = [(layer.weight * window.T).sum((1, 2)) + layer.bias for window in windows]
        expected.append(torch.stack(scores).amax(0))
    assert torch.allclose(network(code([WORDS[2]]))[0], torch.cat(expected).tanh(), atol=1e-6)


def test_without_gradients_the_convolution_is_compiled_and_the_same(monkeypatch):
    network, given = encoder(CONFIGS[0]), code(WORDS)
    expected = network(given)
    monkeypatch.setattr(characters, "_LEAST", 0)
    with torch.no_grad():
        compiled = network(given)
        assert torch.allclose(compiled, expected, atol=1e-6)
        for row, word in zip(compiled, given, strict=True):
            assert torch.equal(network(word[None, word != PAD])[0], row)
        monkeypatch.setattr(characters, "_highest_windows", characters._highest_windows.py_func)
        assert torch.allclose(network(given), compiled, atol=1e-6)


def test_dropout_stays_without_gradients_too(monkeypatch):
    network = CHARACTER_ENCODERS[schema.CharacterCNN](schema.CharacterCNN(4, 3, dropout=0.5)).train()
    monkeypatch.setattr(characters, "_LEAST", 0)
    with torch.no_grad():
        assert not torch.equal(network(code(WORDS)), network(code(WORDS)))


def network_rows(network, word):
    """The embeddings of a word's bytes and its end."""
    coded = code([word])[0]
    return network.embedding[coded[coded != PAD]]


def test_the_lstm_ends_at_the_last_byte_and_backwards_at_the_first():
    network = encoder(CONFIGS[1])
    theirs = nn.LSTM(4, 5, bidirectional=True, batch_first=True)
    theirs.load_state_dict(dict(network.layers.named_parameters()))
    for word, vector in zip(WORDS, network(code(WORDS)), strict=True):
        states, _ = theirs(network_rows(network, word)[None])
        assert torch.allclose(vector, torch.cat([states[0, -1, :5], states[0, 0, 5:]]), atol=1e-6)
