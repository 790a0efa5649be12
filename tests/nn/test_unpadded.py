"""Unpadding: padded batches and the same batches without padding have the same hidden states and gradients."""

import pytest
import torch

from firth.models.backbones.transformer import TransformerBackbone
from firth.nn.attention import mask as mask_module
from firth.types import Tokens
from transformer_options import transformer

SIZES = (9, 3, 1, 6)


@pytest.mark.parametrize("positions", ["learned", "rotary", "t5", "alibi"])
@pytest.mark.parametrize(
    ("pattern", "norm_placement"), [("bidirectional", "post"), ("causal", "pre"), ("bidirectional", "sandwich")]
)
def test_unpadded_equals_padded(pattern, norm_placement, positions, monkeypatch):
    config = transformer(
        width=16,
        depth=2,
        heads=2,
        mask=pattern,
        norm_placement=norm_placement,
        positions=positions,
        context=9,
        init_std=0.3,
    )
    model = TransformerBackbone(config, 16)
    mask = torch.arange(9) < torch.tensor(SIZES)[:, None]
    tokens, vectors = Tokens(mask.long(), mask), torch.randn(4, 9, 16)
    actual = {}
    for worth in (mask_module.MIN_PADDING, 1.0):  # of 1: never
        monkeypatch.setattr(mask_module, "MIN_PADDING", worth)
        assert (mask_module.Unpadded.from_mask(mask) is None) == (worth == 1.0)
        model.zero_grad()
        given = vectors.clone().requires_grad_()
        states = model(given, tokens).states * mask[..., None]
        (states * torch.arange(16)).sum().backward()
        actual[worth] = [states, given.grad, *(p.grad for p in model.parameters())]
    torch.testing.assert_close(*actual.values(), atol=2e-5, rtol=1e-4)


def test_pad_is_the_inverse_of_unpad():
    mask = torch.rand(5, 7) < 0.5
    layout = mask_module.Unpadded.from_mask(mask)
    x = torch.randn(5, 7, 3)
    torch.testing.assert_close(layout.pad(layout.unpad(x)), x * mask[..., None])
    assert layout.unpad(x).shape == (1, int(mask.sum()), 3)
