"""Attention's kernel against softmax written out."""

import math

import pytest
import torch

from firth.config import schema
from firth.nn.attention import plain_weights
from firth.nn.dense import by_products, dense
from firth.nn.patterns import view
from firth.types import Tokens


def rows(documents=False, prefix=False):
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    marks = torch.tensor([[1, 1, 2, 2, 2, 3], [1, 1, 1, 2, 0, 0]]) if documents else None
    first = torch.tensor([[True] * 3 + [False] * 3, [True] + [False] * 5]) if prefix else None
    return Tokens(torch.zeros(2, 6, dtype=torch.long), mask, marks, prefix=first)


@pytest.mark.parametrize("kernel", [dense, by_products])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("documents", [False, True])
@pytest.mark.parametrize(("sees", "window"), [("left", 0), ("all", 0), ("prefix", 0), ("left", 2), ("all", 1)])
def test_a_kernel_gives_the_plain_mean(sees, window, documents, bias, kernel):
    seen = view(schema.Transformer(sees=sees, window=window), rows(documents, sees == "prefix"))
    queries, keys, values = torch.randn(3, 2, 4, 6, 8)
    added = torch.randn(4, 6, 6) if bias else None
    scale = 1 / math.sqrt(8)
    weights = plain_weights(queries * scale, keys, seen, added)
    found = kernel(queries, keys, values, seen, added, 0.0, scale)
    real = seen.queries.mask[:, None, :, None]
    torch.testing.assert_close(found * real, (weights @ values) * real, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kernel", [dense, by_products])
@pytest.mark.parametrize("bias", [False, True])
def test_a_row_that_sees_nothing_gives_zeros_and_no_gradient_is_lost(bias, kernel):
    """Padding alone in a row: neither a uniform mean, which would leak, nor NaN."""
    tokens = Tokens(torch.zeros(2, 5, dtype=torch.long), torch.tensor([[True] * 5, [False] * 5]))
    seen = view(schema.Transformer(sees="all"), tokens)
    parts = [torch.randn(2, 2, 5, 4, requires_grad=True) for _ in range(3)]
    added = torch.randn(2, 5, 5, requires_grad=True) if bias else None
    found = kernel(*parts, seen, added, 0.0, 0.5)
    assert (found[1] == 0).all() and (found[0] != 0).any()
    found.sum().backward()
    assert all(part.grad.isfinite().all() for part in parts)


def test_a_prefix_is_seen_by_all_of_its_row():
    seen = view(schema.Transformer(sees="prefix"), rows(prefix=True))
    assert seen.visible(seen.queries, seen.keys)[0].int().tolist() == [
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1],
    ]


@pytest.mark.parametrize("documents", [False, True])
def test_both_ways_learn_the_same(documents):
    """The fused kernel, and products one by one, which are what is quicker in bf16."""
    seen = view(schema.Transformer(sees="left"), rows(documents))
    start, slope = torch.randn(3, 2, 4, 6, 8, dtype=torch.float64), torch.randn(2, 4, 6, 8, dtype=torch.float64)
    gradients = []
    for kernel in (dense, by_products):
        parts = start.clone().requires_grad_()
        kernel(*parts, seen, None, 0.0, 0.3).backward(slope * seen.queries.mask[:, None, :, None])
        gradients.append(parts.grad)
    torch.testing.assert_close(*gradients)


def test_bf16_goes_by_products_up_to_a_number_of_keys(monkeypatch):
    asked = []
    monkeypatch.setattr("firth.nn.dense.by_products", lambda queries, *_: asked.append(queries.shape) or queries)
    seen = view(schema.Transformer(sees="left"), rows())
    parts = torch.randn(3, 2, 4, 6, 8)
    dense(*parts, seen, None, 0.0, 1.0)
    assert not asked
    with torch.autocast("cpu", torch.bfloat16):
        dense(*parts, seen, None, 0.0, 1.0)
        assert asked == [(2, 4, 6, 8)]
        monkeypatch.setattr("firth.nn.dense.FEW", 5)
        dense(*parts, seen, None, 0.0, 1.0)
    assert len(asked) == 1
