"""The states of words in each layer, of every kind of network: those of hooks, whatever the batch."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from firth.config import schema
from firth.datasets.text_dataset import make_tokenizer
from firth.errors import FirthError
from firth.inspect.layer_states import layer_states
from firth.models.build import build
from firth.presets import preset
from firth.types import Sizes

SENTENCES = [["The", "river", "runs"], ["Ann", "unbelievably", "sees", "a", "very", "old", "house", "."], ["No"]]
PRESETS = (
    "bert", "modern-encoder", "electra", "distilbert", "gpt-1", "gpt-2", "transformer-lm", "transformer-xl",
    "shortformer", "xlnet", "longformer", "longformer-lm", "reformer", "prefix-lm", "lstm-lm", "gru-lm", "rnn-lm",
    "window-lm", "t5", "bart", "transformer-mt", "seq2seq-lstm", "bahdanau", "sentence-encoder", "bert-classifier",
    "bilstm-classifier", "averaged-vectors", "bert-tagger", "lstm-crf",
)  # fmt: skip


def network(name, seed=1):
    """A tiny network of a preset with random weights, and its tokenizers."""
    config = replace(preset(f"{name}:tiny"), seed=seed)
    kind = schema.Tokenizer(model="bpe", vocabulary_size=260)
    tokenizer = make_tokenizer(kind, [" ".join(words) for words in SENTENCES] * 5)
    names = ("words",) if "words" in config.streams else ("text",)
    tokenizers = dict.fromkeys(names, tokenizer)
    labels = {"upos": ("A", "B")} if config.head.predicts == "tags" else ()
    return build(config, Sizes.of(tokenizers, labels)).eval(), config, tokenizers


@pytest.mark.parametrize("name", PRESETS)
def test_every_word_has_a_state_in_each_layer_whatever_the_batch(name):
    system, config, tokenizers = network(name)
    together = layer_states(system, config, tokenizers, SENTENCES)
    assert all(len(layer) == 12 and np.isfinite(layer).all() for layer in together)
    encoder = getattr(system.backbone, "encoder", system.backbone)
    assert len(together) == encoder.depth + 1
    alone = [layer_states(system, config, tokenizers, [words]) for words in SENTENCES]
    for number, layer in enumerate(together):
        assert layer.std() > 0
        single = np.concatenate([parts[number] for parts in alone])
        np.testing.assert_allclose(layer, single, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", ["bert", "gpt-2", "xlnet", "longformer", "t5", "bart", "transformer-xl"])
def test_layers_are_what_hooks_see(name):
    """The output of each block, taken by a hook of torch's, and the final norm of the last."""
    system, config, tokenizers = network(name)
    encoder, seen = getattr(system.backbone, "encoder", system.backbone), {}

    def keep(number):
        return lambda module, inputs, output: seen.__setitem__(number, output)

    for number, block in enumerate(encoder.blocks, 1):
        block.register_forward_hook(keep(number))
    encoder.norm.register_forward_hook(keep(encoder.depth))
    words = SENTENCES[1]
    layers = layer_states(system, config, tokenizers, [words], "first")
    row = tokenizers["text"].encode_words([words])[0]
    firsts = [row.word_of.index(number) for number in range(len(words))]
    for number in range(1, encoder.depth + 1):
        states = seen[number].reshape(-1, seen[number].shape[-1])
        before = (len(states) - len(row.ids) + 1) // 2  # special tokens are around the words, or before them
        shifts = [states[[first + shift for first in firsts]] for shift in range(min(before, 2) + 1)]
        assert any(torch.allclose(torch.tensor(layers[number]), each, atol=1e-5) for each in shifts)


@pytest.mark.parametrize("bidirectional", ["no", "concatenate"])
def test_layers_of_an_lstm_are_those_of_torch(bidirectional):
    torch.manual_seed(1)
    config = schema.Recurrent(width=5, depth=3, bidirectional=bidirectional)
    from firth.models.backbones.recurrent import RecurrentBackbone
    from firth.types import Tokens

    backbone = RecurrentBackbone(config, 4).eval()
    vectors = torch.randn(1, 7, 4)
    tokens = Tokens(torch.zeros(1, 7, dtype=torch.long), torch.ones(1, 7, dtype=torch.bool))
    kept, x = backbone(vectors, tokens, keep_layers=True).layers, vectors
    for layer in range(3):
        own = torch.nn.LSTM(x.shape[-1], 5, batch_first=True, bidirectional=bidirectional != "no")
        weights = dict(backbone.layers.named_parameters())
        own.load_state_dict({name: weights[name.replace("_l0", f"_l{layer}")] for name, _ in own.named_parameters()})
        x = own(x)[0]
        torch.testing.assert_close(kept[layer + 1], x)
    torch.testing.assert_close(kept[0], vectors)


def test_what_has_no_states_of_words_is_refused():
    system, config, tokenizers = network("text-cnn")
    with pytest.raises(FirthError, match="a convolutional network has states of windows"):
        layer_states(system, config, tokenizers, SENTENCES)
    config = preset("vit:tiny")
    with pytest.raises(FirthError, match="this network reads no text"):
        layer_states(build(config, Sizes(0)), config, {}, SENTENCES)


def test_long_sentences_are_cut_and_no_word_is_lost():
    system, config, tokenizers = network("gpt-2")
    words = ["house", "river"] * 300
    layers = layer_states(system, config, tokenizers, [words, ["Ann"]])
    assert all(len(layer) == 601 and (np.abs(layer).sum(1) > 0).all() for layer in layers)


def test_poolings_of_subwords():
    system, config, tokenizers = network("bert")
    given = system, config, tokenizers, SENTENCES
    first, last, mean = (layer_states(*given, pooling) for pooling in ("first", "last", "mean"))
    words = [[word] for sentence in SENTENCES for word in sentence]
    pieces = [len(word.ids) for word in tokenizers["text"].encode_words(words)]
    one, two = pieces.index(1), pieces.index(2)
    assert np.allclose(first[1][one], mean[1][one], atol=1e-6) and np.allclose(last[1][one], mean[1][one], atol=1e-6)
    assert np.allclose((first[1][two] + last[1][two]) / 2, mean[1][two], atol=1e-6)
