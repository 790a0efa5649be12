"""The linear-chain CRF against pytorch-crf, plain PyTorch and numerical gradients."""

import pytest
import torch

from firth.nn.crf import UNKNOWN, LinearChainCRF, log_normaliser

TAGS, LENGTHS = 5, [7, 1, 4, 6]


def example(dtype=torch.float64, scale=1.0, tags=TAGS, lengths=LENGTHS):
    generator = torch.Generator().manual_seed(0)
    shape = len(lengths), max(lengths)
    mask = torch.arange(shape[1]) < torch.tensor(lengths)[:, None]
    crf = LinearChainCRF(tags).to(dtype)
    for parameter in crf.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator).to(dtype) * scale
    emissions = (torch.randn(*shape, tags, generator=generator) * scale).to(dtype).requires_grad_()
    return crf, emissions, torch.randint(tags, shape, generator=generator), mask


def scores(crf):
    return crf.transitions, crf.start, crf.end


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_likelihood_gradients_and_decoding_are_those_of_pytorch_crf(dtype):
    peer = pytest.importorskip("torchcrf").CRF(TAGS, batch_first=True).to(dtype)
    crf, emissions, tags, mask = example(dtype)
    theirs = peer.transitions, peer.start_transitions, peer.end_transitions
    for ours, other in zip(scores(crf), theirs, strict=True):
        other.data = ours.data.clone()
    weights = torch.tensor([1.0, 0.2, -3.0, 0.7], dtype=dtype)
    found = crf.log_likelihood(emissions, tags, mask)
    expected = peer(emissions, tags, mask, reduction="none")
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad(found @ weights, [emissions, *scores(crf)]),
        torch.autograd.grad(expected @ weights, [emissions, *theirs]),
    )
    assert crf.decode(emissions, mask) == peer.decode(emissions, mask)


def test_gradients_are_the_slopes():
    crf, emissions, tags, mask = example(lengths=[3, 2])
    tags[0, 1] = UNKNOWN

    def likelihood(emissions, *given):
        for name, value in zip(("transitions", "start", "end"), given, strict=True):
            delattr(crf, name)
            setattr(crf, name, value)
        return crf.log_likelihood(emissions, tags, mask)

    assert torch.autograd.gradcheck(likelihood, (emissions, *(each.detach().requires_grad_() for each in scores(crf))))


def test_marginals_are_the_gradient_of_the_normaliser():
    crf, emissions, _, mask = example()
    (slopes,) = torch.autograd.grad(log_normaliser(emissions, mask, *scores(crf)).sum(), emissions)
    torch.testing.assert_close(crf.marginals(emissions, mask), slopes)


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e4])
def test_float32_is_as_exact_as_float32_can_be(scale):
    """Against plain PyTorch in float64, over 200 words."""
    crf, emissions, _, mask = example(torch.float32, scale, 9, [200, 150])
    exact = [tensor.detach().double().requires_grad_() for tensor in (emissions, *scores(crf))]
    expected = log_normaliser(exact[0], mask, *exact[1:])
    found = crf.log_normaliser(emissions, mask)
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=0.0)
    slopes = torch.autograd.grad(found.sum(), [emissions, *scores(crf)])
    for ours, right in zip(slopes, torch.autograd.grad(expected.sum(), exact), strict=True):
        torch.testing.assert_close(ours.double(), right, rtol=1e-6, atol=1e-6)


def test_likelihoods_of_all_taggings_sum_to_one():
    crf, emissions, _, mask = example(tags=3, lengths=[3])
    every = torch.cartesian_prod(*[torch.arange(3)] * 3)
    likelihoods = crf.log_likelihood(emissions.expand(27, -1, -1), every, mask.expand(27, -1))
    assert likelihoods.exp().sum().item() == pytest.approx(1.0)


def test_an_unknown_tag_sums_over_all_tags():
    crf, emissions, tags, mask = example()
    tags[2, 1] = tags[0, 3] = UNKNOWN
    expected = []
    for tag in range(TAGS):
        for other in range(TAGS):
            filled = tags.clone()
            filled[2, 1], filled[0, 3] = tag, other
            expected.append(crf.log_likelihood(emissions, filled, mask))
    each = torch.stack(expected).view(TAGS, TAGS, -1)
    right = torch.stack([each[0, :, 0].logsumexp(0), each[0, 0, 1], each[:, 0, 2].logsumexp(0), each[0, 0, 3]])
    torch.testing.assert_close(crf.log_likelihood(emissions, tags, mask), right)
    nothing = crf.log_likelihood(emissions, torch.full_like(tags, UNKNOWN), mask)
    torch.testing.assert_close(nothing, torch.zeros(4).double())


def test_padding_and_batch_mates_change_no_bit():
    crf, emissions, tags, mask = example(torch.float32)
    hostile = emissions.detach().masked_fill(~mask.unsqueeze(-1), torch.nan).requires_grad_()
    tags = tags.masked_fill(~mask, UNKNOWN)
    found = crf.log_likelihood(hostile, tags, mask)
    (slopes,) = torch.autograd.grad(found.sum(), hostile)
    marginals, best = crf.marginals(hostile, mask), crf.decode(hostile, mask)
    for row, length in enumerate(LENGTHS):
        alone = emissions[row : row + 1, :length].detach().requires_grad_()
        given = alone, mask[row : row + 1, :length]
        likelihood = crf.log_likelihood(alone, tags[row : row + 1, :length], given[1])
        assert likelihood.item() == found[row].item()
        assert torch.equal(torch.autograd.grad(likelihood, alone)[0][0], slopes[row, :length])
        assert torch.equal(crf.marginals(*given)[0], marginals[row, :length])
        assert crf.decode(*given) == [best[row]] and len(best[row]) == length
    assert not slopes[~mask].any() and not marginals[~mask].any()


def test_no_words():
    crf, emissions, tags, mask = example(lengths=[2, 0])
    assert crf.log_likelihood(emissions, tags, mask)[1].item() == 0.0
    assert log_normaliser(emissions, mask, *scores(crf))[1].item() == 0.0
    assert crf.decode(emissions, mask)[1] == []
    nothing = emissions[:, :0], tags[:, :0], mask[:, :0]
    assert crf.log_normaliser(nothing[0], nothing[2]).tolist() == [0.0, 0.0]
    assert log_normaliser(nothing[0], nothing[2], *scores(crf)).tolist() == [0.0, 0.0]
    assert crf.log_likelihood(*nothing).tolist() == [0.0, 0.0]


def test_half_precision_emissions_are_summed_in_float32():
    crf, emissions, tags, mask = example(torch.float32)
    half = emissions.detach().bfloat16().requires_grad_()
    found = crf.log_likelihood(half, tags, mask)
    found.sum().backward()
    assert half.grad.dtype == torch.bfloat16
    torch.testing.assert_close(found, crf.log_likelihood(half.detach().float(), tags, mask))
    assert crf.marginals(half, mask).dtype == torch.float32
