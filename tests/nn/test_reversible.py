"""Reversible layers against the same two streams with plain autograd; chunked feed-forward network; axial positions."""

import pytest
import torch

from firth.config import schema
from firth.models.backbones.transformer import TransformerBackbone
from firth.nn.feedforward import FeedForward
from firth.nn.positions.axial import AxialPositions
from firth.types import Tokens
from transformer_options import transformer

TIME, WIDTH = 24, 16
CONFIG = transformer(
    width=WIDTH, heads=2, depth=3, residual="reversible", positions="axial", context=TIME, init_std=0.3,
    layers=("local", "lsh", "full"), local=schema.Local(chunk=8), lsh=schema.LSH(chunk=8, rounds=2, buckets=(4,)),
    dropout=0.2, attention_dropout=0.1, chunk=10,
)  # fmt: skip


def two_streams(backbone, x, tokens):
    """The equations, layer after layer, for autograd to follow."""
    first, context = backbone.prepare(x, tokens)
    one = other = first
    for block in backbone.blocks:
        one = one + block.attention.residual(other, context)
        other = other + block.feedforward.residual(one)
    return backbone.norm(torch.cat([one, other], -1))


def run(work, backbone, x, tokens, precision):
    """Values and gradients of one training pass, always of the same seed."""
    backbone.zero_grad()
    x = x.clone().requires_grad_()
    torch.manual_seed(3)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        actual = work(backbone, x, tokens)
    after = torch.get_rng_state()
    (actual.float() * torch.linspace(-1, 1, 2 * WIDTH)).sum().backward()
    assert torch.equal(after, torch.get_rng_state())  # the backward pass leaves the random state unchanged
    return actual, [x.grad, *(weight.grad for weight in backbone.parameters())]


@pytest.mark.parametrize(("precision", "near"), [("float32", 1e-4), ("bf16", 2e-2)])
@pytest.mark.parametrize("norm_placement", ["pre", "sandwich"])
def test_reversible_equals_plain_autograd_with_dropout(precision, near, norm_placement):
    torch.manual_seed(1)
    backbone = TransformerBackbone(transformer(CONFIG, norm_placement=norm_placement), WIDTH).train()
    x, tokens = torch.randn(2, TIME, WIDTH), Tokens(torch.zeros(2, TIME, dtype=torch.long), torch.ones(2, TIME) > 0)
    tokens.mask[1, 17:] = False
    actual, grads = run(lambda model, x, text: model(x, text).states, backbone, x, tokens, precision)
    expected, others = run(two_streams, backbone, x, tokens, precision)
    assert actual.shape == (2, TIME, backbone.width) and backbone.width == 2 * WIDTH
    assert torch.equal(actual, expected)
    for grad, other in zip(grads, others, strict=True):
        assert other.any()
        torch.testing.assert_close(grad, other, atol=near * float(other.abs().max()), rtol=near)


def test_frozen_weights_and_inputs_are_left_alone():
    torch.manual_seed(2)
    backbone = TransformerBackbone(transformer(CONFIG, positions="none"), WIDTH).train()
    for weight in backbone.blocks[1].attention.parameters():
        weight.requires_grad_(False)
    tokens = Tokens(torch.zeros(2, TIME, dtype=torch.long), torch.ones(2, TIME) > 0)
    backbone(torch.randn(2, TIME, WIDTH), tokens).states.square().sum().backward()
    with_gradient = {name for name, weight in backbone.named_parameters() if weight.grad is not None}
    assert with_gradient == {name for name, weight in backbone.named_parameters() if weight.requires_grad}


def saved(residual, depth, kinds=("local",)):
    """Bytes of the tensors that the graph of a training pass keeps, weights left out, each counted once."""
    config = transformer(CONFIG, residual=residual, depth=depth, layers=kinds)
    backbone = TransformerBackbone(config, WIDTH).train()
    own = {weight.untyped_storage().data_ptr() for weight in (*backbone.parameters(), *backbone.buffers())}
    stored = {}

    def keep(tensor):
        position = tensor.untyped_storage()
        if position.data_ptr() not in own:
            stored[position.data_ptr()] = (
                position.nbytes(),
                tensor,
            )  # the tensor too, lest its memory be reused
        return tensor

    tokens = Tokens(torch.zeros(2, TIME, dtype=torch.long), torch.ones(2, TIME) > 0)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        actual = backbone(torch.randn(2, TIME, WIDTH, requires_grad=True), tokens).states
    assert actual.requires_grad
    return sum(size for size, _ in stored.values())


def test_saved_activations_do_not_grow_with_depth():
    assert saved("reversible", 2) == saved("reversible", 12) > 0
    assert saved("plain", 12) > 4 * saved("plain", 2)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("chunk", [1, 5, 8, 100])
def test_a_feedforward_network_in_chunks_gives_the_same(chunk, gated):
    whole = FeedForward(transformer(CONFIG, chunk=0, gated=gated))
    parts = FeedForward(transformer(CONFIG, chunk=chunk, gated=gated))
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


def test_a_chunked_feedforward_network_saves_less():
    def kept(chunk):
        sizes, made = [], FeedForward(transformer(CONFIG, chunk=chunk))
        x = torch.randn(2, TIME, WIDTH, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
            made(x)
        return sum(sizes)

    assert kept(6) < kept(0) / 2


@pytest.mark.parametrize(("grid", "columns"), [((0, 0), 6), ((3, 8), 8), ((0, 12), 12), ((12, 0), 2)])
def test_axial_positions_are_a_row_and_a_column(grid, columns):
    positions = AxialPositions(transformer(CONFIG, axial=schema.AxialPositions(*grid, width=5)), WIDTH)
    actual = positions.embed(torch.zeros(1, TIME, WIDTH), torch.arange(TIME))[0]
    for position in range(TIME):
        torch.testing.assert_close(actual[position, :5], positions.rows_weight[position // columns])
        torch.testing.assert_close(actual[position, 5:], positions.columns_weight[position % columns])
    short = positions.embed(torch.zeros(1, 7, WIDTH), torch.arange(7))[0]
    assert torch.equal(short, actual[:7])
