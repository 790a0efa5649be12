"""Laws of sampled softmax. Oracle: torch's cross entropy over the whole vocabulary."""

import pytest
import torch
from torch.nn import functional as F

from firth.nn.sampled_softmax import sampled_cross_entropy, sampling_probabilities

ROWS, WIDTH, VOCABULARY = 11, 4, 60


def example(bias=True):
    generator = torch.Generator().manual_seed(0)
    shapes = [(ROWS, WIDTH), (VOCABULARY, WIDTH), (VOCABULARY,)]
    tensors = [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]
    values = torch.randint(VOCABULARY, (ROWS,), generator=generator)
    weights = torch.rand(ROWS, generator=generator, dtype=torch.float64)
    return [*(tensors if bias else [*tensors[:2], None]), values, weights]


@pytest.mark.parametrize(("vocabulary", "expected"), [(33_000, 4000), (1000, 10), (50, 49), (10, 1)])
def test_as_many_are_sampled_as_expected_and_the_first_always(vocabulary, expected):
    actual = sampling_probabilities(vocabulary, expected)
    assert actual[0] == 1 and actual.min() > 0
    assert (actual.diff() <= 0).all()
    always = int((actual == 1).sum())
    assert abs(actual.sum() - expected) <= max(2, torch.tensor(vocabulary / always).log() + 1)


@pytest.mark.parametrize("bias", [True, False])
def test_with_all_sampled_it_is_cross_entropy(bias):
    *inputs, values, weights = example(bias)
    values[:2] = torch.tensor([0, VOCABULARY - 1])  # the first and the last token are no negatives of themselves either
    learned = [tensor for tensor in inputs if tensor is not None]
    actual = sampled_cross_entropy(*inputs, values, weights, torch.ones(VOCABULARY))
    whole = F.cross_entropy(F.linear(*inputs), values, reduction="none") @ weights
    torch.testing.assert_close(actual, whole)
    torch.testing.assert_close(torch.autograd.grad(actual, learned), torch.autograd.grad(whole, learned))


def test_the_normaliser_is_unbiased():
    torch.manual_seed(0)
    states, weight, bias, _, _ = example()
    few, one = sampling_probabilities(VOCABULARY, 12), torch.ones(1, dtype=torch.float64)
    with torch.no_grad():
        scores = F.linear(states[:1], weight, bias)
        for target in (0, 5, VOCABULARY - 1):  # sampled always, often, seldom
            values = torch.tensor([target])
            losses = [sampled_cross_entropy(states[:1], weight, bias, values, one, few) for _ in range(5000)]
            sums = (torch.stack(losses) + scores[0, target]).exp()
            assert sums.std() / sums.mean() > 0.05  # it does vary
            assert abs(sums.mean() / scores.exp().sum() - 1) < 0.03


def test_bf16_autocast_gives_a_float32_loss_near_the_exact_one():
    inputs = [tensor.detach().float() if tensor.is_floating_point() else tensor for tensor in example()]
    exact = sampled_cross_entropy(*inputs, torch.ones(VOCABULARY))
    with torch.autocast("cpu", torch.bfloat16):
        actual = sampled_cross_entropy(*inputs, torch.ones(VOCABULARY))
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, exact, rtol=0.02, atol=0.02)
