"""ELECTRA against Hugging Face's two classes with the same weights and inputs; and what each network learns from."""

import copy
from dataclasses import replace

import pytest
import torch
from copying import put, put_block
from torch.nn import functional as F

from firth.build import build
from firth.config import schema
from firth.errors import FirthError
from firth.types import Batch, Target, Tokens

transformers = pytest.importorskip("transformers")


def electra(share=0.5, **change):
    config = schema.Neural(
        batching=schema.Framed(length=24),
        input=schema.TokenInput(segments=2, width=16),
        backbone=schema.Transformer(
            width=32, depth=2, heads=4, activation="gelu", norm_at="post", norm_input=True, epsilon=1e-12, sees="all"
        ),
        head=schema.DetectionHead(),
        objective=schema.Replaced(generator=share),
    )
    return build(replace(config, **change), 50).eval()


def sizes(width):
    return transformers.ElectraConfig(
        vocab_size=50, embedding_size=16, hidden_size=width, num_hidden_layers=2, num_attention_heads=width // 8,
        intermediate_size=4 * width, max_position_embeddings=24, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
    )  # fmt: skip


def random_weights(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model.eval()


@torch.no_grad()
def copy_body(backbone, his):
    put(backbone.widen, his.electra.embeddings_project)
    for block, layer in zip(backbone.blocks, his.electra.encoder.layer, strict=True):
        put_block(block, layer)


@pytest.fixture(scope="module")
def pair():
    torch.manual_seed(0)
    small = random_weights(transformers.ElectraForMaskedLM(sizes(16)))
    large = random_weights(transformers.ElectraForPreTraining(sizes(32)))
    mine = electra()
    companion = mine.objective.companion
    with torch.no_grad():
        # the first vectors are shared: theirs are made equal, as when they are trained together
        large.electra.embeddings.load_state_dict(small.electra.embeddings.state_dict())
        shared = small.electra.embeddings
        mine.input.weight.copy_(shared.word_embeddings.weight)
        mine.input.segments.copy_(shared.token_type_embeddings.weight)
        mine.backbone.positions.weight.copy_(shared.position_embeddings.weight)
        put(mine.backbone.input_norm, shared.LayerNorm)
        copy_body(mine.backbone, large)
        put(mine.head.dense, large.discriminator_predictions.dense)
        put(mine.head.classify, large.discriminator_predictions.dense_prediction)
        for block, layer in zip(companion.backbone.blocks, small.electra.encoder.layer, strict=True):
            put_block(block, layer)
        put(companion.head.project.dense, small.generator_predictions.dense)
        put(companion.head.project.norm, small.generator_predictions.LayerNorm)
        companion.head.bias.copy_(small.generator_lm_head.bias)
        small.generator_lm_head.weight.copy_(shared.word_embeddings.weight)
    return small, large, mine


def example(time=24):
    torch.manual_seed(time)
    values = torch.randint(7, 50, (3, time))
    mask = torch.arange(time) < torch.tensor([time, time - 3, time - 1])[:, None]
    told = (torch.rand(3, time) < 0.3) & mask
    told[0, 1] = True
    return Batch({"text": Tokens(values.masked_fill(told, 4), mask)}, {"text": Target(values, told.float())})


@pytest.mark.parametrize("time", [9, 24])
def test_both_losses_equal_theirs_given_the_same_guesses(pair, time):
    small, large, mine = pair
    batch = example(time)
    text, target = batch.streams["text"], batch.targets["text"]
    told = target.weight > 0
    filling, telling = mine(batch)[0]
    labels = target.values.masked_fill(~told, -100)
    theirs = small(text.ids, text.mask, labels=labels)
    torch.testing.assert_close(filling.sum / filling.count, theirs.loss, atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        states = mine.objective.companion(mine.input(text), text)
        guessed = mine.objective.guess(mine, states, batch)
    assert (guessed.tokens.ids[~told] == text.ids[~told]).all()
    assert (guessed.wrong == (guessed.tokens.ids != target.values)).all()  # a right guess counts as the original
    theirs = large(guessed.tokens.ids, text.mask, labels=guessed.wrong.long())
    torch.testing.assert_close(telling.sum / telling.count, theirs.loss, atol=1e-5, rtol=1e-5)
    assert telling.weight == 50.0
    scores = mine.objective.detect(mine, guessed.tokens)[text.mask]
    torch.testing.assert_close(scores, theirs.logits[text.mask], atol=1e-5, rtol=1e-5)


def test_telling_teaches_the_small_network_nothing_but_the_shared_vectors():
    torch.manual_seed(1)
    system = electra().train()
    own = list(system.objective.companion.parameters())
    assert own
    filling, telling = system(example())[0]
    found = torch.autograd.grad(telling.sum, own, retain_graph=True, allow_unused=True)
    assert all(gradient is None for gradient in found)
    shared = [system.input.weight, system.backbone.positions.weight]
    for term in (filling, telling):  # both networks train the vectors that they share
        found = torch.autograd.grad(term.sum, shared, retain_graph=True)
        assert all(gradient.abs().sum() > 0 for gradient in found)
    large = [*system.backbone.blocks.parameters(), *system.head.parameters()]
    assert all(g is None for g in torch.autograd.grad(filling.sum, large, allow_unused=True))


def test_guesses_follow_the_small_networks_distribution_and_torchs_stream():
    system, count = electra().train(), 4000
    ids, told = torch.full((1, count), 9), torch.ones(1, count)
    batch = Batch({"text": Tokens(ids, ids > 0)}, {"text": Target(ids, told)})
    states = torch.randn(1, 1, 16).expand(1, count, 16) * 3  # the same gap again and again

    def guess():
        with torch.no_grad():
            return system.objective.guess(system, states, batch).tokens.ids[0]

    torch.manual_seed(7)
    drawn, other = guess(), guess()
    torch.manual_seed(7)
    assert (guess() == drawn).all()
    assert (drawn != other).any()
    with torch.no_grad():
        chances = system.objective.companion.head.log_probabilities(states[0, 0], system.table).exp()
    shares = torch.bincount(drawn, minlength=50) / count
    assert ((shares - chances).abs() < 5 * (chances * (1 - chances) / count).sqrt() + 1e-3).all()
    system.eval()  # where it is only asked, the same guesses each time, whatever torch's stream
    assert (guess() == guess()).all()


def test_shared_vectors_are_kept_once_and_the_small_network_is_a_share_as_wide():
    system = electra(share=0.25)
    names = system.state_dict()
    assert names["objective.companion.backbone.widen.weight"].shape == (8, 16)
    assert not any("companion.backbone.positions" in name or "companion.backbone.input_norm" in name for name in names)
    assert system.objective.companion.backbone.positions is system.backbone.positions
    assert len(system.objective.companion.backbone.blocks) == 2
    twin = copy.deepcopy(system)  # as where a step is timed
    assert twin.objective.companion.backbone.positions is twin.backbone.positions
    assert twin.backbone.positions is not system.backbone.positions


def test_places_that_depend_on_heads_are_each_networks_own():
    backbone = schema.Transformer(width=32, depth=1, heads=4, positions="t5", sees="all")
    system = electra(backbone=backbone)
    assert system.objective.companion.backbone.positions.weight.shape == (32, 2)
    assert system.backbone.positions.weight.shape == (32, 4)
    with torch.no_grad():
        assert all(torch.isfinite(term.sum) for term in system(example())[0])


def test_a_head_that_writes_tokens_cannot_tell_wrong_ones():
    with pytest.raises(FirthError, match="head of kind detection"):
        electra(head=schema.LanguageHead())


def test_telling_is_the_surprise_at_each_real_token():
    system = electra()
    batch = example()
    with torch.no_grad():
        _, telling = system(batch)[0]
        text = batch.streams["text"]
        states = system.objective.companion(system.input(text), text)
        guessed = system.objective.guess(system, states, batch)
        scores = system.objective.detect(system, guessed.tokens)
        wanted = -torch.where(guessed.wrong, F.logsigmoid(scores), F.logsigmoid(-scores))[text.mask].sum()
    torch.testing.assert_close(telling.sum, wanted)
    assert telling.count == float(text.mask.sum())
