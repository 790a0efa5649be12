"""The Transformer against Hugging Face's GPT-2 and against torch's own layers, with the same weights."""

import itertools

import pytest
import torch

from firth.backbones.transformer import TransformerBackbone
from firth.build import build
from firth.config import schema
from firth.errors import FirthError
from firth.families.stepper import NeuralStepper
from firth.types import Batch, Target, Tokens

transformers = pytest.importorskip("transformers")


def tokens(batch, time, vocabulary=50):
    ids = torch.randint(vocabulary, (batch, time))
    return Tokens(ids, torch.ones_like(ids, dtype=torch.bool))


def gpt(**change):
    backbone = schema.Transformer(**{"width": 32, "depth": 2, "heads": 4, "spread": 0.2, **change})
    config = schema.Neural(
        batching=schema.Windows(length=24),
        input=schema.TokenInput(spread=0.5),
        backbone=backbone,
        head=schema.LanguageHead(bias=False),
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
        found = theirs(text.ids)
        mine = ours.log_probabilities(ours.encode(batch).states)
        torch.testing.assert_close(mine, found.logits.log_softmax(-1), atol=1e-5, rtol=1e-5)
        (term,) = ours(batch)[0]
        wanted = torch.nn.functional.cross_entropy(found.logits.flatten(0, 1), text.ids.roll(-1, 1).flatten())
        torch.testing.assert_close(term.sum / term.count, wanted, atol=1e-5, rtol=1e-5)


def copy_gpt2(theirs, ours):
    ours.input.weight.copy_(theirs.wte.weight)
    ours.backbone.positions.weight.copy_(theirs.wpe.weight)
    for block, other in zip(ours.backbone.blocks, theirs.h, strict=True):
        pairs = [
            (block.attention.before, other.ln_1), (block.feedforward.before, other.ln_2),
            (block.attention.inner.inputs, other.attn.c_attn), (block.attention.inner.output, other.attn.c_proj),
            (block.feedforward.inner.input, other.mlp.c_fc), (block.feedforward.inner.output, other.mlp.c_proj),
        ]  # fmt: skip
        for mine, his in pairs:  # GPT-2 keeps its matrices transposed
            mine.weight.copy_(his.weight.T if his.weight.dim() == 2 else his.weight)
            mine.bias.copy_(his.bias)
    ours.backbone.norm.weight.copy_(theirs.ln_f.weight)
    ours.backbone.norm.bias.copy_(theirs.ln_f.bias)


@pytest.mark.parametrize("norm_at", ["pre", "post"])
def test_a_block_equals_torchs_encoder_layer(norm_at):
    config = schema.Transformer(
        width=32, depth=1, heads=4, norm_at=norm_at, positions="none", sees="all", activation="gelu", context=9
    )
    ours = TransformerBackbone(config, 32).eval()
    theirs = torch.nn.TransformerEncoderLayer(
        32, 4, 128, 0.0, "gelu", batch_first=True, norm_first=norm_at == "pre"
    ).eval()
    block = ours.blocks[0]
    with torch.no_grad():
        for mine, his in (
            (block.attention.inner.inputs.weight, theirs.self_attn.in_proj_weight),
            (block.attention.inner.output.weight, theirs.self_attn.out_proj.weight),
            (block.feedforward.inner.input.weight, theirs.linear1.weight),
            (block.feedforward.inner.output.weight, theirs.linear2.weight),
        ):
            mine.copy_(his)
        for part in (theirs.self_attn.in_proj_bias, theirs.self_attn.out_proj.bias, theirs.linear1.bias):
            part.zero_()
        theirs.linear2.bias.zero_()
    text = tokens(2, 9)
    text.mask[1, 5:] = False
    x = torch.randn(2, 9, 32)
    wanted = theirs(x, src_key_padding_mask=~text.mask)
    wanted = ours.norm(wanted)
    found = ours(x, text).states
    torch.testing.assert_close(found[text.mask], wanted[text.mask], atol=1e-5, rtol=1e-5)


OPTIONS = list(
    itertools.product(
        ["pre", "post", "sandwich"], ["learned", "sinusoidal", "rotary", "alibi", "t5", "none"], ["layer", "rms"]
    )
)


@pytest.mark.parametrize(("norm_at", "positions", "norm"), OPTIONS)
def test_cached_equals_uncached(norm_at, positions, norm):
    system = gpt(norm_at=norm_at, positions=positions, norm=norm)
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
    """Stepping twice from the same state, or from picked rows of it, gives what stepping once gives."""
    stepper = NeuralStepper(gpt(), 50)
    with torch.no_grad():
        start = stepper.start(Batch({"text": tokens(2, 6)}, {}))
        first, after_first = stepper.step(torch.tensor([1, 2]), start)
        other, _ = stepper.step(torch.tensor([3, 4]), start)
        again, _ = stepper.step(torch.tensor([1, 2]), start)
        torch.testing.assert_close(first, again)
        assert not torch.allclose(first, other)
        going_on, _ = stepper.step(torch.tensor([5, 6]), after_first)
        picked = start.pick(torch.tensor([1, 0, 1]))
        turned, after_turned = stepper.step(torch.tensor([2, 1, 2]), picked)
        torch.testing.assert_close(turned, first[[1, 0, 1]])
        torch.testing.assert_close(stepper.step(torch.tensor([6, 5, 6]), after_turned)[0], going_on[[1, 0, 1]])


def test_no_token_sees_what_comes_after_it_or_another_document():
    system = gpt()
    text = tokens(1, 12)
    marks = torch.tensor([[1] * 5 + [2] * 7])
    packed = Tokens(text.ids, text.mask, marks)
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
    """When the context is full, its later half is read anew."""
    stepper, system = NeuralStepper(gpt(), 50), gpt()
    ids = torch.randint(50, (1, 40))
    with torch.no_grad():
        state = stepper.start(Batch({"text": Tokens(ids[:, :1], ids[:, :1] >= 0)}, {}))
        for place in range(25):
            found, state = stepper.step(ids[:, place], state)
        kept = Tokens(ids[:, 12:25], ids[:, 12:25] >= 0)
        wanted = system.log_probabilities(system.encode(Batch({"text": kept}, {})).states[:, -1])
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    assert state.live["read"].shape == (1, 13)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 30}, "cannot be shared by 4 heads"),
        ({"width": 12, "positions": "rotary"}, "turn pairs"),
        ({"context": 8}, "shorter than batching.length"),
        ({"sees": "all"}, "cannot predict the next token"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, message):
    with pytest.raises(FirthError, match=message):
        gpt(**change)
