"""The Transformer against Hugging Face's GPT-2 and against torch's own layers, with the same weights."""

import itertools

import pytest
import torch

from firth.config import schema
from firth.errors import FirthError
from firth.models.backbones.transformer import TransformerBackbone
from firth.models.build import build
from firth.pipelines.lm_stepper import NeuralStepper
from firth.types import Batch, Target, Tokens
from transformer_options import transformer

transformers = pytest.importorskip("transformers")


def tokens(batch, time, vocabulary=50):
    ids = torch.randint(vocabulary, (batch, time))
    return Tokens(ids, torch.ones_like(ids, dtype=torch.bool))


def gpt(**change):
    backbone = transformer(**{"width": 32, "depth": 2, "heads": 4, "init_std": 0.2, **change})
    config = schema.Neural(
        batching=schema.Windows(length=24),
        inputs=schema.Inputs(text=schema.TokenInput(init_range=0.5)),
        backbone=backbone,
        head=schema.LMHead(bias=False),
    )
    return build(config, 50).eval()


def test_logits_and_loss_equal_gpt2s():
    config = transformers.GPT2Config(
        vocab_size=50, n_positions=24, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    theirs, ours = transformers.GPT2LMHeadModel(config).eval(), gpt()
    with torch.no_grad():
        copy_gpt2(theirs.transformer, ours)
    for time in (5, 24):
        text = tokens(3, time)
        batch = Batch({"text": text}, {"text": Target(text.ids.roll(-1, 1), torch.ones(3, time))})
        actual = theirs(text.ids)
        mine = ours.log_probabilities(ours.encode(batch).states)
        torch.testing.assert_close(mine, actual.logits.log_softmax(-1), atol=1e-5, rtol=1e-5)
        (term,) = ours(batch)[0]
        expected = torch.nn.functional.cross_entropy(actual.logits.flatten(0, 1), text.ids.roll(-1, 1).flatten())
        torch.testing.assert_close(term.sum / term.count, expected, atol=1e-5, rtol=1e-5)


def copy_gpt2(theirs, ours):
    ours.inputs["text"].weight.copy_(theirs.wte.weight)
    ours.backbone.positions.weight.copy_(theirs.wpe.weight)
    for block, other in zip(ours.backbone.blocks, theirs.h, strict=True):
        pairs = [
            (block.attention.pre_norm, other.ln_1), (block.feedforward.pre_norm, other.ln_2),
            (block.attention.sublayer.qkv_proj, other.attn.c_attn),
            (block.attention.sublayer.out_proj, other.attn.c_proj),
            (block.feedforward.sublayer.up_proj, other.mlp.c_fc),
            (block.feedforward.sublayer.down_proj, other.mlp.c_proj),
        ]  # fmt: skip
        for mine, his in pairs:  # GPT-2 keeps its matrices transposed
            mine.weight.copy_(his.weight.T if his.weight.dim() == 2 else his.weight)
            mine.bias.copy_(his.bias)
    ours.backbone.norm.weight.copy_(theirs.ln_f.weight)
    ours.backbone.norm.bias.copy_(theirs.ln_f.bias)


@pytest.mark.parametrize("norm_placement", ["pre", "post"])
def test_a_block_equals_torchs_encoder_layer(norm_placement):
    config = transformer(
        width=32,
        depth=1,
        heads=4,
        norm_placement=norm_placement,
        positions="none",
        mask="bidirectional",
        activation="gelu",
        context=9,
    )
    ours = TransformerBackbone(config, 32).eval()
    theirs = torch.nn.TransformerEncoderLayer(
        32, 4, 128, 0.0, "gelu", batch_first=True, norm_first=norm_placement == "pre"
    ).eval()
    block = ours.blocks[0]
    with torch.no_grad():
        for mine, his in (
            (block.attention.sublayer.qkv_proj.weight, theirs.self_attn.in_proj_weight),
            (block.attention.sublayer.out_proj.weight, theirs.self_attn.out_proj.weight),
            (block.feedforward.sublayer.up_proj.weight, theirs.linear1.weight),
            (block.feedforward.sublayer.down_proj.weight, theirs.linear2.weight),
        ):
            mine.copy_(his)
        for part in (theirs.self_attn.in_proj_bias, theirs.self_attn.out_proj.bias, theirs.linear1.bias):
            part.zero_()
        theirs.linear2.bias.zero_()
    text = tokens(2, 9)
    text.mask[1, 5:] = False
    x = torch.randn(2, 9, 32)
    expected = theirs(x, src_key_padding_mask=~text.mask)
    expected = ours.norm(expected)
    actual = ours(x, text).states
    torch.testing.assert_close(actual[text.mask], expected[text.mask], atol=1e-5, rtol=1e-5)


OPTIONS = list(
    itertools.product(
        ["pre", "post", "sandwich"], ["learned", "sinusoidal", "rotary", "alibi", "t5", "none"], ["layer", "rms"]
    )
)


@pytest.mark.parametrize(("norm_placement", "positions", "norm"), OPTIONS)
def test_cached_equals_uncached(norm_placement, positions, norm):
    system = gpt(norm_placement=norm_placement, positions=positions, norm=norm)
    text = tokens(3, 20)
    with torch.no_grad():
        whole = system.encode(Batch({"text": text}, {})).states
        state, parts = system.backbone.start(3), []
        for first, last in ((0, 1), (1, 8), (8, 9), (9, 20)):
            piece = Tokens(text.ids[:, first:last], text.mask[:, first:last])
            encoded = system.encode(Batch({"text": piece}, {}), state)
            parts.append(encoded.states)
            state = encoded.state
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-5)


def test_a_state_is_a_value():
    """Stepping twice from the same state, or from a reordering of it, gives what stepping once gives."""
    stepper = NeuralStepper(gpt(), 50)
    with torch.no_grad():
        start = stepper.start(Batch({"text": tokens(2, 6)}, {}))
        first, after_first = stepper.step(torch.tensor([1, 2]), start)
        other, _ = stepper.step(torch.tensor([3, 4]), start)
        again, _ = stepper.step(torch.tensor([1, 2]), start)
        torch.testing.assert_close(first, again)
        assert not torch.allclose(first, other)
        going_on, _ = stepper.step(torch.tensor([5, 6]), after_first)
        picked = start.reorder(torch.tensor([1, 0, 1]))
        turned, after_turned = stepper.step(torch.tensor([2, 1, 2]), picked)
        torch.testing.assert_close(turned, first[[1, 0, 1]])
        torch.testing.assert_close(stepper.step(torch.tensor([6, 5, 6]), after_turned)[0], going_on[[1, 0, 1]])


def test_no_token_attends_to_later_tokens_or_another_document():
    system = gpt()
    text = tokens(1, 12)
    documents = torch.tensor([[1] * 5 + [2] * 7])
    packed = Tokens(text.ids, text.mask, documents)
    alone = Tokens(text.ids[:, 5:], text.mask[:, 5:])
    with torch.no_grad():
        before = system.encode(Batch({"text": text}, {})).states
        changed = Tokens(torch.cat([text.ids[:, :7], (text.ids[:, 7:] + 1) % 50], 1), text.mask)
        after = system.encode(Batch({"text": changed}, {})).states
        torch.testing.assert_close(before[:, :7], after[:, :7])
        together = system.encode(Batch({"text": packed}, {})).states
        torch.testing.assert_close(
            together[:, 5:], system.encode(Batch({"text": alone}, {})).states, atol=1e-5, rtol=1e-5
        )


def test_generation_goes_on_beyond_the_context():
    """When the context is full, its later half is encoded again."""
    stepper, system = NeuralStepper(gpt(), 50), gpt()
    ids = torch.randint(50, (1, 40))
    with torch.no_grad():
        state = stepper.start(Batch({"text": Tokens(ids[:, :1], ids[:, :1] >= 0)}, {}))
        for position in range(25):
            actual, state = stepper.step(ids[:, position], state)
        context = Tokens(ids[:, 12:25], ids[:, 12:25] >= 0)
        expected = system.log_probabilities(system.encode(Batch({"text": context}, {})).states[:, -1])
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    assert state.live["context"].shape == (1, 13)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 30}, "is not divisible by 4 heads"),
        ({"width": 12, "positions": "rotary"}, "need an even head width"),
        ({"context": 8}, "shorter than batching.length"),
        ({"mask": "bidirectional"}, "cannot be trained to predict the next token"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, message):
    with pytest.raises(FirthError, match=message):
        gpt(**change)
