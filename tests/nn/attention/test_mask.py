"""An attention mask is one function: everything else follows from what it says is visible."""

from dataclasses import replace

import torch

from firth.config import schema
from firth.models.build import build
from firth.nn.attention import mask
from firth.types import Batch, Tokens
from transformer_options import transformer


def strided(q, k):
    """The example of CONTRIBUTING.md."""
    distance = mask.distance(q, k)
    return (distance >= 0) & ((distance < 8) | (distance % 8 == 0))


def made(**change):
    backbone = replace(transformer(width=16, depth=1, heads=2, positions="rotary", init_std=0.5), **change)
    config = schema.Neural(
        batching=schema.Windows(length=32),
        inputs=schema.Inputs(text=schema.TokenInput(init_range=1.0)),
        backbone=backbone,
        objective=schema.MaskedLM(),
    )
    return build(config, 20).eval()


def test_a_new_mask_is_one_function(monkeypatch):
    monkeypatch.setitem(mask.MASKS, "strided", mask.MaskPattern(strided, causal=True))
    system = made(mask="strided")
    ids = torch.randint(20, (1, 30))
    text = Tokens(ids, torch.ones_like(ids, dtype=torch.bool))
    with torch.no_grad():
        whole = system.encode(Batch({"text": text}, {})).states
        for position in range(30):
            other = ids.clone()
            other[0, position] = (other[0, position] + 1) % 20
            changed = system.encode(Batch({"text": Tokens(other, text.mask)}, {})).states
            moved = [n for n in range(30) if not torch.allclose(whole[0, n], changed[0, n], atol=1e-6)]
            assert moved == [n for n in range(position, 30) if n - position < 8 or (n - position) % 8 == 0]
        state, parts = system.backbone.start(1), []
        for first, last in ((0, 1), (1, 20), (20, 30)):  # cached = uncached
            piece = Batch({"text": Tokens(ids[:, first:last], text.mask[:, first:last])}, {})
            encoded = system.encode(piece, state)
            parts.append(encoded.states)
            state = encoded.state
        torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-5)
        weights = system.backbone.attention_weights(system.embed("text", text), text, 0)
        assert (weights.sum(-1) - 1).abs().max() < 1e-5 and (weights[0, 0, 29] > 0).sum() == 8 + 3


def test_the_memory_comes_first_in_the_factorisation_order():
    """A query of the first token in the order attends to the memory alone, its rank being one below that token's."""
    config = transformer(width=16, heads=2, mask="permutation", positions="xl")
    ids, rank = torch.zeros(1, 3, dtype=torch.long), torch.tensor([[1, 0, 2]])
    context = mask.attention_mask(config, Tokens(ids, ids == 0, rank=rank), past=2)
    queries = context.queries._replace(rank=rank - 1)
    expected = [[True, True, False, True, False], [True, True, False, False, False], [True, True, True, True, False]]
    assert context.visible(queries, context.keys)[0].tolist() == expected
