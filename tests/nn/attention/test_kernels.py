"""Attention kernels against an explicit softmax."""

import math

import pytest
import torch

from firth.config import schema
from firth.nn.attention.dense import dense_attention, eager_attention
from firth.nn.attention.mask import attention_mask
from firth.nn.attention.multi_head import attention_weights
from firth.types import Tokens
from transformer_options import transformer


def texts(documents=False, prefix=False):
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    document = torch.tensor([[1, 1, 2, 2, 2, 3], [1, 1, 1, 2, 0, 0]]) if documents else None
    first = torch.tensor([[True] * 3 + [False] * 3, [True] + [False] * 5]) if prefix else None
    return Tokens(torch.zeros(2, 6, dtype=torch.long), mask, document, prefix=first)


@pytest.mark.parametrize("kernel", [dense_attention, eager_attention])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("documents", [False, True])
@pytest.mark.parametrize(
    ("pattern", "window"), [("causal", 0), ("bidirectional", 0), ("prefix", 0), ("causal", 2), ("bidirectional", 1)]
)
def test_a_kernel_equals_explicit_softmax_attention(pattern, window, documents, bias, kernel):
    mask = attention_mask(transformer(mask=pattern, window=window), texts(documents, pattern == "prefix"))
    queries, keys, values = torch.randn(3, 2, 4, 6, 8)
    added = torch.randn(4, 6, 6) if bias else None
    scale = 1 / math.sqrt(8)
    weights = attention_weights(queries * scale, keys, mask, added)
    actual = kernel(queries, keys, values, mask, added, 0.0, scale)
    real = mask.queries.mask[:, None, :, None]
    torch.testing.assert_close(actual * real, (weights @ values) * real, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kernel", [dense_attention, eager_attention])
@pytest.mark.parametrize("bias", [False, True])
def test_a_query_that_attends_to_nothing_gives_zeros_and_no_gradient_is_lost(bias, kernel):
    """A sequence of padding alone: neither a uniform mean, which would leak, nor NaN."""
    tokens = Tokens(torch.zeros(2, 5, dtype=torch.long), torch.tensor([[True] * 5, [False] * 5]))
    mask = attention_mask(schema.Transformer(mask="bidirectional"), tokens)
    parts = [torch.randn(2, 2, 5, 4, requires_grad=True) for _ in range(3)]
    added = torch.randn(2, 5, 5, requires_grad=True) if bias else None
    actual = kernel(*parts, mask, added, 0.0, 0.5)
    assert (actual[1] == 0).all() and (actual[0] != 0).any()
    actual.sum().backward()
    assert all(part.grad.isfinite().all() for part in parts)


def test_a_prefix_is_visible_to_all_positions():
    mask = attention_mask(schema.Transformer(mask="prefix"), texts(prefix=True))
    assert mask.visible(mask.queries, mask.keys)[0].int().tolist() == [
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1],
    ]


@pytest.mark.parametrize("documents", [False, True])
def test_both_kernels_have_the_same_gradients(documents):
    """The fused kernel, and the eager one, which is faster in bf16."""
    mask = attention_mask(schema.Transformer(mask="causal"), texts(documents))
    start, gradient = torch.randn(3, 2, 4, 6, 8, dtype=torch.float64), torch.randn(2, 4, 6, 8, dtype=torch.float64)
    gradients = []
    for kernel in (dense_attention, eager_attention):
        parts = start.clone().requires_grad_()
        kernel(*parts, mask, None, 0.0, 0.3).backward(gradient * mask.queries.mask[:, None, :, None])
        gradients.append(parts.grad)
    torch.testing.assert_close(*gradients)


def test_bf16_is_eager_up_to_a_number_of_keys(monkeypatch):
    shapes = []
    monkeypatch.setattr(
        "firth.nn.attention.dense.eager_attention", lambda queries, *_: shapes.append(queries.shape) or queries
    )
    mask = attention_mask(schema.Transformer(mask="causal"), texts())
    parts = torch.randn(3, 2, 4, 6, 8)
    dense_attention(*parts, mask, None, 0.0, 1.0)
    assert not shapes
    with torch.autocast("cpu", torch.bfloat16):
        dense_attention(*parts, mask, None, 0.0, 1.0)
        assert shapes == [(2, 4, 6, 8)]
        monkeypatch.setattr("firth.nn.attention.dense.MAX_EAGER_KEYS", 5)
        dense_attention(*parts, mask, None, 0.0, 1.0)
    assert len(shapes) == 1
