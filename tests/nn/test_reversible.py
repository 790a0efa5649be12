"""Reversible layers against the same two streams with plain autograd; chunks of the feed-forward network; places."""

from dataclasses import replace

import pytest
import torch

from firth.backbones.transformer import TransformerBackbone
from firth.config import schema
from firth.nn.axial import AxialPlaces
from firth.nn.feedforward import FeedForward
from firth.types import Tokens

TIME, WIDTH = 24, 16
CONFIG = schema.Transformer(
    width=WIDTH, heads=2, depth=3, residual="reversible", positions="axial", context=TIME, spread=0.3,
    attends=("local", "lsh", "full"), local=schema.Local(chunk=8), lsh=schema.LSH(chunk=8, rounds=2, buckets=(4,)),
    dropout=0.2, attention_dropout=0.1, chunk=10,
)  # fmt: skip


def two_streams(backbone, x, tokens):
    """The equations, layer after layer, for autograd to follow."""
    first, scene = backbone.enter(x, tokens)
    one = other = first
    for block in backbone.blocks:
        one = one + block.attention.change(other, scene)
        other = other + block.feedforward.change(one)
    return backbone.norm(torch.cat([one, other], -1))


def run(work, backbone, x, tokens, precision):
    """Values and gradients of one training pass, always of the same seed."""
    backbone.zero_grad()
    x = x.clone().requires_grad_()
    torch.manual_seed(3)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        found = work(backbone, x, tokens)
    after = torch.get_rng_state()
    (found.float() * torch.linspace(-1, 1, 2 * WIDTH)).sum().backward()
    assert torch.equal(after, torch.get_rng_state())  # the way back leaves no trace in the randomness
    return found, [x.grad, *(weight.grad for weight in backbone.parameters())]


@pytest.mark.parametrize(("precision", "near"), [("float32", 1e-4), ("bf16", 2e-2)])
@pytest.mark.parametrize("norm_at", ["pre", "sandwich"])
def test_reversible_equals_plain_autograd_with_dropout(precision, near, norm_at):
    torch.manual_seed(1)
    backbone = TransformerBackbone(replace(CONFIG, norm_at=norm_at), WIDTH).train()
    x, tokens = torch.randn(2, TIME, WIDTH), Tokens(torch.zeros(2, TIME, dtype=torch.long), torch.ones(2, TIME) > 0)
    tokens.mask[1, 17:] = False
    found, grads = run(lambda model, x, text: model(x, text).states, backbone, x, tokens, precision)
    wanted, others = run(two_streams, backbone, x, tokens, precision)
    assert found.shape == (2, TIME, backbone.width) and backbone.width == 2 * WIDTH
    assert torch.equal(found, wanted)
    for grad, other in zip(grads, others, strict=True):
        assert other.any()
        torch.testing.assert_close(grad, other, atol=near * float(other.abs().max()), rtol=near)


def test_frozen_weights_and_inputs_are_left_alone():
    torch.manual_seed(2)
    backbone = TransformerBackbone(replace(CONFIG, positions="none"), WIDTH).train()
    for weight in backbone.blocks[1].attention.parameters():
        weight.requires_grad_(False)
    tokens = Tokens(torch.zeros(2, TIME, dtype=torch.long), torch.ones(2, TIME) > 0)
    backbone(torch.randn(2, TIME, WIDTH), tokens).states.square().sum().backward()
    got = {name for name, weight in backbone.named_parameters() if weight.grad is not None}
    assert got == {name for name, weight in backbone.named_parameters() if weight.requires_grad}


def saved(residual, depth, kinds=("local",)):
    """Bytes of the tensors that the graph of a training pass keeps, weights left out, each counted once."""
    config = replace(CONFIG, residual=residual, depth=depth, attends=kinds)
    backbone = TransformerBackbone(config, WIDTH).train()
    own = {weight.untyped_storage().data_ptr() for weight in (*backbone.parameters(), *backbone.buffers())}
    kept = {}

    def keep(tensor):
        place = tensor.untyped_storage()
        if place.data_ptr() not in own:
            kept[place.data_ptr()] = (place.nbytes(), tensor)  # the tensor too, lest its place be given away again
        return tensor

    tokens = Tokens(torch.zeros(2, TIME, dtype=torch.long), torch.ones(2, TIME) > 0)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        found = backbone(torch.randn(2, TIME, WIDTH, requires_grad=True), tokens).states
    assert found.requires_grad
    return sum(size for size, _ in kept.values())


def test_what_is_kept_does_not_grow_with_depth():
    assert saved("reversible", 2) == saved("reversible", 12) > 0
    assert saved("plain", 12) > 4 * saved("plain", 2)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("chunk", [1, 5, 8, 100])
def test_a_feedforward_network_in_chunks_gives_the_same(chunk, gated):
    whole = FeedForward(replace(CONFIG, chunk=0, gated=gated))
    parts = FeedForward(replace(CONFIG, chunk=chunk, gated=gated))
    parts.load_state_dict(whole.state_dict())
    x = torch.randn(2, TIME, WIDTH)
    with torch.no_grad():
        torch.testing.assert_close(parts(x), whole(x))
    grads = []
    for made in (whole, parts):
        mine = x.clone().requires_grad_()
        made(mine).square().sum().backward()
        grads.append([mine.grad, *(weight.grad for weight in made.parameters())])
    for one, two in zip(*grads, strict=True):
        torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-5)


def test_chunks_of_a_feedforward_network_keep_less():
    def kept(chunk):
        sizes, made = [], FeedForward(replace(CONFIG, chunk=chunk))
        x = torch.randn(2, TIME, WIDTH, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
            made(x)
        return sum(sizes)

    assert kept(6) < kept(0) / 2


@pytest.mark.parametrize(("grid", "columns"), [((0, 0), 6), ((3, 8), 8), ((0, 12), 12), ((12, 0), 2)])
def test_axial_places_are_a_row_and_a_column(grid, columns):
    places = AxialPlaces(replace(CONFIG, axial=schema.Axial(*grid, width=5)), WIDTH)
    found = places.embed(torch.zeros(1, TIME, WIDTH), torch.arange(TIME))[0]
    for place in range(TIME):
        torch.testing.assert_close(found[place, :5], places.rows_weight[place // columns])
        torch.testing.assert_close(found[place, 5:], places.columns_weight[place % columns])
    short = places.embed(torch.zeros(1, 7, WIDTH), torch.arange(7))[0]
    assert torch.equal(short, found[:7])
