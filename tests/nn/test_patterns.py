"""A pattern is one function: everything else follows from what it says is visible."""

import torch

from firth.build import build
from firth.config import schema
from firth.nn import patterns
from firth.types import Batch, Tokens


def strided(q, k):
    """The example of CONTRIBUTING.md."""
    distance = patterns.apart(q, k)
    return (distance >= 0) & ((distance < 8) | (distance % 8 == 0))


def made(**change):
    backbone = schema.Transformer(width=16, depth=1, heads=2, positions="rotary", spread=0.5, **change)
    config = schema.Neural(
        batching=schema.Windows(length=32),
        input=schema.TokenInput(spread=1.0),
        backbone=backbone,
        objective=schema.Masked(),
    )
    return build(config, 20).eval()


def test_a_new_pattern_is_one_function(monkeypatch):
    monkeypatch.setitem(patterns.PATTERNS, "strided", strided)
    system = made(sees="strided")
    ids = torch.randint(20, (1, 30))
    text = Tokens(ids, torch.ones_like(ids, dtype=torch.bool))
    with torch.no_grad():
        whole = system.encode(Batch({"text": text}, {})).states
        for place in range(30):
            other = ids.clone()
            other[0, place] = (other[0, place] + 1) % 20
            changed = system.encode(Batch({"text": Tokens(other, text.mask)}, {})).states
            moved = [n for n in range(30) if not torch.allclose(whole[0, n], changed[0, n], atol=1e-6)]
            assert moved == [n for n in range(place, 30) if n - place < 8 or (n - place) % 8 == 0]
        state, parts = system.backbone.start(1), []
        for first, last in ((0, 1), (1, 20), (20, 30)):  # cached = uncached
            piece = Batch({"text": Tokens(ids[:, first:last], text.mask[:, first:last])}, {})
            encoded = system.encode(piece, state)
            parts.append(encoded.states)
            state = encoded.state
        torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-5)
        shares = system.backbone.attention(system.input(text), text, 0)
        assert (shares.sum(-1) - 1).abs().max() < 1e-5 and (shares[0, 0, 29] > 0).sum() == 8 + 3
