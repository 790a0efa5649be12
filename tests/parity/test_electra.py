"""ELECTRA against Hugging Face's two classes with the same weights and inputs; and the gradients of each network."""

import copy
from dataclasses import replace

import pytest
import torch
from copying import put, put_block
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.models.build import build
from firth.types import Batch, Target, Tokens
from transformer_options import transformer

transformers = pytest.importorskip("transformers")


def electra(generator_size=0.5, **change):
    config = schema.Neural(
        batching=schema.SegmentPairs(length=24),
        inputs=schema.Inputs(text=schema.TokenInput(segments=2, width=16)),
        backbone=transformer(
            width=32,
            depth=2,
            heads=4,
            activation="gelu",
            norm_placement="post",
            norm_embeddings=True,
            epsilon=1e-12,
            mask="bidirectional",
        ),
        head=schema.DiscriminatorHead(),
        objective=schema.ReplacedTokenDetection(generator_size=generator_size),
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
    put(backbone.embedding_proj, his.electra.embeddings_project)
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
        # embeddings are shared: theirs are made equal, as when they are trained together
        large.electra.embeddings.load_state_dict(small.electra.embeddings.state_dict())
        shared = small.electra.embeddings
        mine.inputs["text"].weight.copy_(shared.word_embeddings.weight)
        mine.inputs["text"].segments.copy_(shared.token_type_embeddings.weight)
        mine.backbone.positions.weight.copy_(shared.position_embeddings.weight)
        put(mine.backbone.input_norm, shared.LayerNorm)
        copy_body(mine.backbone, large)
        put(mine.head.dense, large.discriminator_predictions.dense)
        put(mine.head.classifier, large.discriminator_predictions.dense_prediction)
        for block, layer in zip(companion.backbone.blocks, small.electra.encoder.layer, strict=True):
            put_block(block, layer)
        put(companion.head.projection.dense, small.generator_predictions.dense)
        put(companion.head.projection.norm, small.generator_predictions.LayerNorm)
        companion.head.bias.copy_(small.generator_lm_head.bias)
        small.generator_lm_head.weight.copy_(shared.word_embeddings.weight)
    return small, large, mine


def example(time=24):
    torch.manual_seed(time)
    values = torch.randint(7, 50, (3, time))
    mask = torch.arange(time) < torch.tensor([time, time - 3, time - 1])[:, None]
    masked = (torch.rand(3, time) < 0.3) & mask
    masked[0, 1] = True
    return Batch({"text": Tokens(values.masked_fill(masked, 4), mask)}, {"text": Target(values, masked.float())})


@pytest.mark.parametrize("time", [9, 24])
def test_both_losses_equal_theirs_given_the_same_samples(pair, time):
    small, large, mine = pair
    batch = example(time)
    text, target = batch.streams["text"], batch.targets["text"]
    masked = target.weight > 0
    generator_term, discriminator_term = mine(batch)[0]
    labels = target.values.masked_fill(~masked, -100)
    theirs = small(text.ids, text.mask, labels=labels)
    torch.testing.assert_close(generator_term.sum / generator_term.count, theirs.loss, atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        states = mine.objective.companion(mine.embed("text", text), text)
        corrupted = mine.objective.sample_replacements(mine, states, batch)
    assert (corrupted.tokens.ids[~masked] == text.ids[~masked]).all()
    assert (corrupted.replaced == (corrupted.tokens.ids != target.values)).all()  # a correct sample counts as original
    theirs = large(corrupted.tokens.ids, text.mask, labels=corrupted.replaced.long())
    torch.testing.assert_close(discriminator_term.sum / discriminator_term.count, theirs.loss, atol=1e-5, rtol=1e-5)
    assert discriminator_term.weight == 50.0
    scores = mine.objective.detect(mine, corrupted.tokens)[text.mask]
    torch.testing.assert_close(scores, theirs.logits[text.mask], atol=1e-5, rtol=1e-5)


def test_the_discriminator_loss_has_no_gradient_in_the_generator_but_the_shared_embeddings():
    torch.manual_seed(1)
    system = electra().train()
    own = list(system.objective.companion.parameters())
    assert own
    generator_term, discriminator_term = system(example())[0]
    actual = torch.autograd.grad(discriminator_term.sum, own, retain_graph=True, allow_unused=True)
    assert all(gradient is None for gradient in actual)
    shared = [system.inputs["text"].weight, system.backbone.positions.weight]
    for term in (generator_term, discriminator_term):  # both networks train the embeddings that they share
        actual = torch.autograd.grad(term.sum, shared, retain_graph=True)
        assert all(gradient.abs().sum() > 0 for gradient in actual)
    large = [*system.backbone.blocks.parameters(), *system.head.parameters()]
    assert all(g is None for g in torch.autograd.grad(generator_term.sum, large, allow_unused=True))


def test_samples_follow_the_generators_distribution_and_torchs_global_generator():
    system, count = electra().train(), 4000
    ids, predicted = torch.full((1, count), 9), torch.ones(1, count)
    batch = Batch({"text": Tokens(ids, ids > 0)}, {"text": Target(ids, predicted)})
    states = torch.randn(1, 1, 16).expand(1, count, 16) * 3  # the same masked token again and again

    def sample():
        with torch.no_grad():
            return system.objective.sample_replacements(system, states, batch).tokens.ids[0]

    torch.manual_seed(7)
    sampled, other = sample(), sample()
    torch.manual_seed(7)
    assert (sample() == sampled).all()
    assert (sampled != other).any()
    with torch.no_grad():
        probabilities = system.objective.companion.head.log_probabilities(states[0, 0], system.embedding_weight).exp()
    weights = torch.bincount(sampled, minlength=50) / count
    assert ((weights - probabilities).abs() < 5 * (probabilities * (1 - probabilities) / count).sqrt() + 1e-3).all()
    system.eval()  # in evaluation the same samples each time, whatever the global generator
    assert (sample() == sample()).all()


def test_shared_embeddings_are_stored_once_and_the_generator_is_a_fraction_as_wide():
    system = electra(generator_size=0.25)
    names = system.state_dict()
    assert names["objective.companion.backbone.embedding_proj.weight"].shape == (8, 16)
    assert not any("companion.backbone.positions" in name or "companion.backbone.input_norm" in name for name in names)
    assert system.objective.companion.backbone.positions is system.backbone.positions
    assert len(system.objective.companion.backbone.blocks) == 2
    copied = copy.deepcopy(system)  # as when a step is timed
    assert copied.objective.companion.backbone.positions is copied.backbone.positions
    assert copied.backbone.positions is not system.backbone.positions


def test_positions_that_depend_on_heads_are_each_networks_own():
    backbone = transformer(width=32, depth=1, heads=4, positions="t5", mask="bidirectional")
    system = electra(backbone=backbone)
    assert system.objective.companion.backbone.positions.weight.shape == (32, 2)
    assert system.backbone.positions.weight.shape == (32, 4)
    with torch.no_grad():
        assert all(torch.isfinite(term.sum) for term in system(example())[0])


def test_an_lm_head_is_no_discriminator():
    with pytest.raises(FirthError, match="a discriminator head"):
        electra(head=schema.LMHead())


def test_the_discriminator_loss_is_the_binary_cross_entropy_of_each_real_token():
    system = electra()
    batch = example()
    with torch.no_grad():
        _, discriminator_term = system(batch)[0]
        text = batch.streams["text"]
        states = system.objective.companion(system.embed("text", text), text)
        corrupted = system.objective.sample_replacements(system, states, batch)
        scores = system.objective.detect(system, corrupted.tokens)
        expected = -torch.where(corrupted.replaced, F.logsigmoid(scores), F.logsigmoid(-scores))[text.mask].sum()
    torch.testing.assert_close(discriminator_term.sum, expected)
    assert discriminator_term.count == float(text.mask.sum())
