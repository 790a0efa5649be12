"""Vectors of words: which parts they have, once for each spelling, and unknown words in training."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from firth.config import schema
from firth.datasets.collators.batches import make_batches
from firth.errors import FirthError
from firth.models.inputs.word_embedding import WordEmbedding
from word_samples import SPECIAL, config, split

SENTENCES = [["The", "river", "runs", "past", "The", "river"], ["日本", "runs"], ["The"]]
VECTORS, CNN, CASING = schema.WordVectors(width=6), schema.CharacterCNN(4, 3), schema.CasingEmbedding(5)
NONE = schema.NoPart()


def words():
    system = config()
    (batch,) = make_batches(system.batching, split(SENTENCES, system), SPECIAL, 1).evaluation_batches()
    return batch.to().words("words")


def embedding(**parts):
    torch.manual_seed(0)
    settings = {"vectors": NONE, "characters": NONE, "shape": NONE, **parts}
    return WordEmbedding(schema.WordInput(**settings), 20, 0).eval()


@pytest.mark.parametrize(
    ("parts", "width"),
    [
        ({"vectors": VECTORS}, 6),
        ({"characters": CNN}, 3),
        ({"shape": CASING}, 5),
        ({"vectors": VECTORS, "characters": schema.CharacterBiLSTM(4, 7), "shape": CASING}, 25),
        ({"vectors": replace(VECTORS, width=3), "characters": CNN, "combine": "add"}, 3),
    ],
)
def test_the_parts_stand_side_by_side_or_are_added(parts, width):
    stream, module = words(), embedding(**parts)
    vectors = module(stream)
    assert vectors.shape == (*stream.mask.shape, width) and module.config.width == width
    alone = [embedding(**{name: part})(stream) for name, part in parts.items() if name != "combine"]
    if parts.get("combine") != "add":
        assert [each.shape[-1] for each in alone] == [part.width for part in parts.values()]
    tokens = module.backbone_inputs(stream)[1]
    assert tokens.mask is stream.mask and tokens.word_of is None


def test_characters_are_computed_once_for_each_spelling_of_the_batch():
    stream, module = words(), embedding(characters=CNN, vectors=VECTORS)
    calls = []
    module.characters.register_forward_hook(lambda _, inputs, __: calls.append(len(inputs[0])))
    once = module(stream)
    each = module(replace(stream, spelling=None))
    assert calls == [5, 9] and torch.allclose(once, each, atol=1e-6)
    part = replace(stream, **{name: getattr(stream, name)[1:] for name in ("ids", "mask", "characters", "spelling")})
    assert torch.allclose(module(part), once[1:], atol=1e-6)  # the numbers of a part have gaps


def test_word_dropout_trains_the_unknown_word():
    stream, module = words(), embedding(vectors=replace(VECTORS, word_dropout=0.5))
    assert module(stream).equal(module.weight[stream.ids])
    torch.manual_seed(0)
    trained = module.train()(stream)
    unknown = (trained == module.weight[SPECIAL.unknown]).all(-1)
    assert 0 < unknown[stream.mask].float().mean() < 1


def test_frozen_embeddings_have_no_gradient():
    module = embedding(vectors=replace(VECTORS, frozen=True), characters=CNN)
    module(words()).sum().backward()
    assert module.weight.grad is None and module.characters.embedding.grad is not None


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({}, "an input without parts"),
        ({"vectors": VECTORS, "characters": CNN, "combine": "add"}, "cannot be added: vectors 6, characters 3"),
        ({"characters": CNN, "pretrained_vectors": "glove.txt"}, "word embeddings, which are left out"),
    ],
)
def test_what_makes_no_vector_is_refused(parts, error):
    with pytest.raises(FirthError, match=error):
        embedding(**parts)
