"""The scalar mix of layers: the plain mean at first, then the weighted mean of Peters et al. 2018."""

import torch

from firth.nn.scalar_mix import ScalarMix


def test_the_mix_is_a_weighted_mean():
    layers = [torch.randn(2, 3, 4) for _ in range(3)]
    mix = ScalarMix(3)
    assert torch.allclose(mix(layers), torch.stack(layers).mean(0), atol=1e-6)
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, 1.0, 2.0]).log() + 5)
        mix.scale.fill_(3.0)
    assert torch.allclose(mix(layers), layers[1] + 2 * layers[2], atol=1e-5)
