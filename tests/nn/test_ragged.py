"""Rows with padding and the same rows without it have the same states and gradients."""

import pytest
import torch

from firth.backbones.transformer import TransformerBackbone
from firth.config import schema
from firth.nn import ragged
from firth.types import Tokens

SIZES = (9, 3, 1, 6)


@pytest.mark.parametrize("positions", ["learned", "rotary", "t5", "alibi"])
@pytest.mark.parametrize(("sees", "norm_at"), [("all", "post"), ("left", "pre"), ("all", "sandwich")])
def test_padding_is_left_out(sees, norm_at, positions, monkeypatch):
    config = schema.Transformer(
        width=16, depth=2, heads=2, sees=sees, norm_at=norm_at, positions=positions, context=9, spread=0.3
    )
    model = TransformerBackbone(config, 16)
    mask = torch.arange(9) < torch.tensor(SIZES)[:, None]
    tokens, vectors = Tokens(mask.long(), mask), torch.randn(4, 9, 16)
    found = {}
    for worth in (ragged.WORTH, 1.0):  # of 1: never
        monkeypatch.setattr(ragged, "WORTH", worth)
        assert (ragged.Ragged.of(mask) is None) == (worth == 1.0)
        model.zero_grad()
        given = vectors.clone().requires_grad_()
        states = model(given, tokens).states * mask[..., None]
        (states * torch.arange(16)).sum().backward()
        found[worth] = [states, given.grad, *(p.grad for p in model.parameters())]
    torch.testing.assert_close(*found.values(), atol=2e-5, rtol=1e-4)


def test_real_tokens_come_back_to_their_places():
    mask = torch.rand(5, 7) < 0.5
    layout = ragged.Ragged.of(mask)
    x = torch.randn(5, 7, 3)
    torch.testing.assert_close(layout.spread(layout.packed(x)), x * mask[..., None])
    assert layout.packed(x).shape == (1, int(mask.sum()), 3)
