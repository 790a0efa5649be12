"""Laws of the fused output projection and cross-entropy. Oracle: torch's cross entropy on the whole logits."""

import pytest
import torch
from torch.nn import functional as F

from firth.nn import fused_loss as module
from firth.nn.fused_loss import linear_cross_entropy

ROWS, WIDTH, VOCABULARY = 11, 4, 7


def example(dtype=torch.float64, bias=True, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(ROWS, WIDTH), (VOCABULARY, WIDTH), (VOCABULARY,)]
    tensors = [torch.randn(s, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() for s in shapes]
    values = torch.randint(VOCABULARY, (ROWS,), generator=generator)
    weights = torch.rand(ROWS, generator=generator, dtype=torch.float64).to(dtype)
    return [*(tensors if bias else [*tensors[:2], None]), values, weights]


def plain(states, weight, bias, values, weights):
    return F.cross_entropy(F.linear(states, weight, bias), values, reduction="none") @ weights


def with_gradients(function, inputs, scale=0.3):
    total = function(*inputs)
    learned = [tensor for tensor in inputs[:3] if tensor is not None and tensor.requires_grad]
    return [total, *torch.autograd.grad(total * scale, learned)]


class Often(torch.autograd.Function):
    """Gives gradients as often as gradcheck asks, each time by a forward pass of its own."""

    @staticmethod
    def forward(ctx, *inputs):
        ctx.save_for_backward(*inputs)
        return linear_cross_entropy(*inputs)

    @staticmethod
    def backward(ctx, scale):
        *learned, values, weights = ctx.saved_tensors
        learned = [tensor.detach().requires_grad_() for tensor in learned]
        with torch.enable_grad():
            total = linear_cross_entropy(*learned, values, weights)
        return *torch.autograd.grad(total, learned, scale), None, None


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_loss_and_gradients_are_those_of_cross_entropy(dtype, bias):
    inputs = example(dtype, bias)
    torch.testing.assert_close(with_gradients(linear_cross_entropy, inputs), with_gradients(plain, inputs))


def test_gradients_are_the_slopes_of_the_loss():
    *learned, values, weights = example()
    assert torch.autograd.gradcheck(lambda *tensors: Often.apply(*tensors, values, weights), learned)


@pytest.mark.parametrize(("logits", "block"), [(7, 2), (21, 7), (35, 3), (1, 1)])
def test_chunks_and_blocks_change_nothing(monkeypatch, logits, block):
    inputs = example()
    whole = with_gradients(linear_cross_entropy, inputs)
    monkeypatch.setattr(module, "MAX_LOGITS", logits)
    monkeypatch.setattr(module, "BLOCK_SIZE", block)
    torch.testing.assert_close(with_gradients(linear_cross_entropy, inputs), whole)


def test_chunks_are_even_fit_and_cover_the_tokens(monkeypatch):
    monkeypatch.setattr(module, "MAX_LOGITS", 100)
    for rows in range(40):
        chunks = module._chunks(rows, 10)
        assert [i for start, stop in chunks for i in range(start, stop)] == list(range(rows))
        assert all(stop - start <= 10 for start, stop in chunks)


@pytest.mark.parametrize("filler", [0.0, float("nan"), float("inf")])
def test_targets_of_weight_zero_do_not_count(filler):
    states, weight, bias, values, weights = example()
    alive = torch.arange(ROWS) % 3 != 0
    short = [states.detach()[alive].requires_grad_(), weight, bias, values[alive], weights[alive]]
    expected = with_gradients(linear_cross_entropy, short)
    filled = states.detach().where(alive[:, None], torch.tensor(filler, dtype=states.dtype)).requires_grad_()
    actual = with_gradients(linear_cross_entropy, [filled, weight, bias, values, weights * alive])
    assert not actual[1][~alive].any()
    actual[1] = actual[1][alive]
    torch.testing.assert_close(actual, expected)


def test_nothing_to_predict_is_a_loss_of_zero_with_gradients_of_zero():
    inputs = example()
    inputs[4] = torch.zeros(ROWS)
    assert not any(tensor.any() for tensor in with_gradients(linear_cross_entropy, inputs))


def test_only_required_gradients_are_computed():
    inputs = example()
    expected = with_gradients(linear_cross_entropy, inputs)
    frozen = [inputs[0], inputs[1].detach(), inputs[2].detach(), *inputs[3:]]
    torch.testing.assert_close(with_gradients(linear_cross_entropy, frozen), expected[:2])
    with torch.no_grad():
        silent = linear_cross_entropy(*inputs)
    assert not silent.requires_grad
    assert silent == expected[0]


def test_a_token_that_seems_impossible_has_a_finite_exact_loss():
    inputs = example(torch.float32)
    inputs[0] = (inputs[0] * 500).detach().requires_grad_()
    actual, expected = (with_gradients(function, inputs) for function in (linear_cross_entropy, plain))
    assert expected[0] > 500
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("states_type", [torch.float32, torch.bfloat16])
def test_bf16_autocast_gives_nearly_the_same_in_the_types_of_the_inputs(states_type):
    inputs = example(torch.float32)
    expected = with_gradients(plain, inputs)
    inputs[0] = inputs[0].detach().to(states_type).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        actual = with_gradients(linear_cross_entropy, inputs)
    assert [tensor.dtype for tensor in actual] == [torch.float32, states_type, torch.float32, torch.float32]
    for ours, theirs in zip(actual, expected, strict=True):
        assert (ours.float() - theirs).norm() < 0.02 * theirs.norm()


def test_the_same_bits_every_time():
    inputs = example(torch.float32)
    first, again = (with_gradients(linear_cross_entropy, inputs) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_gradients_are_given_once():
    inputs = example()
    total = linear_cross_entropy(*inputs)
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="once"):
        total.backward()
