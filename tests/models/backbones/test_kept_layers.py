"""Hidden states of each layer, on request: the last are the states, and asking changes nothing."""

from dataclasses import replace

import pytest
import torch

from firth.config import schema
from firth.models.build import BACKBONES
from firth.types import Tokens

TRANSFORMER = schema.Transformer(width=8, depth=3, heads=2, context=16)
CONFIGS = {
    "pre-norm": TRANSFORMER,
    "bidirectional": replace(TRANSFORMER, mask="bidirectional", norm=schema.LayerNorm(placement="post")),
    "reversible": replace(TRANSFORMER, residual="reversible"),
    "LSTM": schema.Recurrent(width=8, depth=3),
    "both directions": schema.Recurrent(width=8, depth=3, bidirectional="concatenate"),
    "window": schema.Window(width=8, context_size=3),
    "cnn": schema.Convolutional(filters=2),
    "none": schema.NoBackbone(width=8),
}
DEPTHS = {"window": 2, "cnn": 1, "none": 1}


@pytest.mark.parametrize("name", CONFIGS)
def test_layers(name):
    torch.manual_seed(1)
    backbone = BACKBONES[type(CONFIGS[name])](CONFIGS[name], 8).eval()
    vectors, mask = torch.randn(3, 6, 8), torch.arange(6) < torch.tensor([6, 2, 3])[:, None]
    tokens = Tokens(torch.zeros_like(mask, dtype=torch.long), mask)
    plain, kept = backbone(vectors, tokens), backbone(vectors, tokens, keep_layers=True)
    assert plain.layers == () and len(kept.layers) == DEPTHS.get(name, 4)
    torch.testing.assert_close(plain.states[plain.mask], kept.states[kept.mask])
    assert torch.equal(kept.layers[-1], kept.states)
    different = [not torch.equal(one, two) for one, two in zip(kept.layers[1:], kept.layers[2:], strict=False)]
    assert all(different)
