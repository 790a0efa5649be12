"""Laws of the loss with drawn rivals. Oracle: torch's cross entropy over the whole vocabulary."""

import pytest
import torch
from torch.nn import functional as F

from firth.nn.sampled import chances, sampled_cross_entropy

ROWS, WIDTH, VOCABULARY = 11, 4, 60


def example(bias=True):
    draw = torch.Generator().manual_seed(0)
    shapes = [(ROWS, WIDTH), (VOCABULARY, WIDTH), (VOCABULARY,)]
    tensors = [torch.randn(s, generator=draw, dtype=torch.float64).requires_grad_() for s in shapes]
    values = torch.randint(VOCABULARY, (ROWS,), generator=draw)
    weights = torch.rand(ROWS, generator=draw, dtype=torch.float64)
    return [*(tensors if bias else [*tensors[:2], None]), values, weights]


@pytest.mark.parametrize(("vocabulary", "wanted"), [(33_000, 4000), (1000, 10), (50, 49), (10, 1)])
def test_as_many_are_drawn_as_are_wanted_and_the_first_always(vocabulary, wanted):
    found = chances(vocabulary, wanted)
    assert found[0] == 1 and found.min() > 0
    assert (found.diff() <= 0).all()
    always = int((found == 1).sum())
    assert abs(found.sum() - wanted) <= max(2, torch.tensor(vocabulary / always).log() + 1)


@pytest.mark.parametrize("bias", [True, False])
def test_with_all_drawn_it_is_cross_entropy(bias):
    *inputs, values, weights = example(bias)
    learned = [tensor for tensor in inputs if tensor is not None]
    found = sampled_cross_entropy(*inputs, values, weights, torch.ones(VOCABULARY))
    whole = F.cross_entropy(F.linear(*inputs), values, reduction="none") @ weights
    torch.testing.assert_close(found, whole)
    torch.testing.assert_close(torch.autograd.grad(found, learned), torch.autograd.grad(whole, learned))


def test_the_sum_under_the_softmax_is_right_on_average():
    torch.manual_seed(0)
    states, weight, bias, _, _ = example()
    few, one = chances(VOCABULARY, 12), torch.ones(1, dtype=torch.float64)
    with torch.no_grad():
        scores = F.linear(states[:1], weight, bias)
        for right in (0, 5, VOCABULARY - 1):  # drawn always, often, seldom
            values = torch.tensor([right])
            losses = [sampled_cross_entropy(states[:1], weight, bias, values, one, few) for _ in range(5000)]
            sums = (torch.stack(losses) + scores[0, right]).exp()
            assert sums.std() / sums.mean() > 0.05  # it does vary
            assert abs(sums.mean() / scores.exp().sum() - 1) < 0.03


def test_bf16_autocast_gives_a_float32_loss_near_the_exact_one():
    inputs = [tensor.detach().float() if tensor.is_floating_point() else tensor for tensor in example()]
    exact = sampled_cross_entropy(*inputs, torch.ones(VOCABULARY))
    with torch.autocast("cpu", torch.bfloat16):
        found = sampled_cross_entropy(*inputs, torch.ones(VOCABULARY))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, exact, rtol=0.02, atol=0.02)
