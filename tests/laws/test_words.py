"""Predictions for words: gold words in, as many predictions out, whatever the batch, padding and the other words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.config.streams import Streams
from firth.datasets.collators.batches import make_batches
from firth.datasets.labelled_dataset import make_split as sentence_split
from firth.datasets.word_dataset import encode_sentences, make_split, make_tokenizers
from firth.models.build import build
from firth.types import Sizes
from word_samples import SPECIAL, TAGS, config, sentences, split, tagged

LABELS = {"upos": TAGS}
VOCABULARY = [["the", "river", "runs", "日本", "don't", "Işık", "a b", "é", "abc", "abcabc"]]
WORDS = schema.WordInput(schema.WordVectors(width=8), schema.CharacterCNN(4, 4), schema.CasingEmbedding(4))
SYSTEMS = {
    "bilstm": config(
        inputs=Streams(words=WORDS), backbone=schema.Recurrent(width=6, depth=2, bidirectional="concatenate")
    ),
    "characters": config(
        inputs=Streams(words=replace(WORDS, characters=schema.CharacterBiLSTM(4, 4))),
        backbone=schema.NoBackbone(),
        head=schema.TaggingHead(decoder="crf"),
    ),
    "encoder": config(
        inputs=Streams(
            words=replace(
                WORDS,
                characters=schema.NoPart(),
                encoder=schema.SubwordEncoder(
                    input=schema.TokenInput(table_size=300),
                    backbone=schema.Transformer(width=8, depth=1, heads=2, mask="bidirectional", context=90),
                ),
            )
        ),
        backbone=schema.NoBackbone(),
    ),
    "words-transformer": config(
        inputs=Streams(words=replace(WORDS, vectors=schema.NoPart(), combine="add")),
        backbone=schema.Transformer(width=8, depth=1, heads=2, mask="bidirectional"),
        batching=schema.WordRows(length=40),
    ),
    "transformer": config(
        "subwords",
        batching=schema.SubwordRows(length=90),
        backbone=schema.Transformer(width=8, depth=1, heads=2, mask="bidirectional"),
        head=schema.TaggingHead(decoder="softmax", subwords="mean"),
    ),
    "no-context": config("subwords", head=schema.TaggingHead(decoder="softmax", subwords="last")),
    "bpe-words": config("subwords", tokenizer=schema.Tokenizer(model="byte-bpe", vocabulary_size=280)),
}
some = settings(max_examples=12)


def network(name, made={}):  # noqa: B006
    """A system and its tokenizers, made once."""
    if name not in made:
        system = SYSTEMS[name]
        tokenizers = make_tokenizers(system, VOCABULARY, {})
        made[name] = build(system, Sizes.of(tokenizers, LABELS)).eval(), tokenizers
    return made[name]


@torch.no_grad()
def predict(name, given_sentences, **batching):
    """The probabilities of the tags of each word, by sentence."""
    module, tokenizers = network(name)
    system = SYSTEMS[name]
    part = encode_sentences(given_sentences, LABELS, tokenizers, system)
    scores = np.full((len(part.ids), len(TAGS)), np.nan, np.float32)
    for batch in make_batches(replace(system.batching, **batching), part, SPECIAL, 1).evaluation_batches():
        encoded = module.encode(batch.to())
        marginals = module.head.scores(encoded)["upos"].numpy()
        row_sizes = module.head.emissions(encoded)[1].sum(1).tolist()
        for row, at, size in zip(marginals, batch.targets["upos"].positions, row_sizes, strict=True):
            scores[at[:size]] = row[:size]
    return np.split(scores, part.starts[1:-1])


@pytest.mark.parametrize("name", SYSTEMS)
@given(each=sentences())
@some
def test_every_word_has_a_prediction_that_its_batch_does_not_change(name, each):
    together = predict(name, each)
    assert list(map(len, together)) == list(map(len, each)) and not np.isnan(np.concatenate(together)).any()
    one_by_one = [predict(name, [sentence])[0] for sentence in each]
    few = predict(name, each, tokens_per_batch=30, batch_size=2)
    for one, other, alone in zip(together, few, one_by_one, strict=True):
        assert np.allclose(one, other, atol=1e-5) and np.allclose(one, alone, atol=1e-5)


@pytest.mark.parametrize("name", ["no-context", "characters"])
@given(word=st.sampled_from(["river", "日本", "abc"]), mates=st.lists(st.sampled_from(["a", "don't", "abcabc", "ééé"])))
@some
def test_the_tokens_of_other_words_change_no_prediction(name, word, mates):
    """Without a context, a word's prediction is its own, however many tokens the words before it have."""
    if name == "characters":  # a CRF of which the transitions are zero at the start: each word by itself
        decoder = network(name)[0].head.decoder["upos"]
        for parameter in decoder.parameters():
            torch.nn.init.zeros_(parameter)
    sentence = [*mates, word, *mates[:1]]
    assert np.allclose(predict(name, [sentence])[0][len(mates)], predict(name, [[word]])[0][0], atol=1e-5)


def test_a_limited_network_predicts_every_word_of_a_long_sentence():
    sentence = ["river", "runs"] * 60
    for name in ("words-transformer", "transformer"):
        (scores,) = predict(name, [sentence])
        assert scores.shape == (120, len(TAGS)) and np.allclose(scores.sum(1), 1, atol=1e-5)


def test_training_needs_no_tag_of_every_word():
    """A word of weight 0 has no share in the loss."""
    name = "bilstm"
    module, system = network(name)[0], SYSTEMS[name]
    part = split(VOCABULARY, system, labels=TAGS)
    (batch,) = make_batches(system.batching, part, None, 1).evaluation_batches()
    target = batch.targets["upos"]
    half = replace(target, weight=target.weight * (np.arange(target.weight.shape[1]) < 3))
    changed = replace(half, values=np.where(half.weight > 0, half.values, (half.values + 1) % 3))
    losses = [module(replace(batch, targets={"upos": each}).to())[0] for each in (half, changed)]
    assert torch.equal(losses[0][0].sum, losses[1][0].sum) and losses[0][0].count == 3


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_parts_of_a_batch_have_its_loss_together(name):
    """As processes share it: the longest sentence may be in another part."""
    module, tokenizers = network(name)
    examples = sentence_split("train", tagged([*VOCABULARY, ["a"], ["river", "runs"]]))
    part = make_split(examples, LABELS, tokenizers, SYSTEMS[name])
    (batch,) = make_batches(SYSTEMS[name].batching, part, SPECIAL, 1).evaluation_batches()
    whole, parts = module(batch.to())[0], [module(batch.slice_batch(n, n + 1).to())[0] for n in range(batch.size)]
    assert whole[0].sum.item() == pytest.approx(sum(terms[0].sum.item() for terms in parts), rel=1e-4)
