"""Dropout of attention weights: on in training, off otherwise, in self-attention and in cross-attention."""

import pytest
import torch

from firth.nn.attention.mask import attention_mask, cross_attention_mask
from firth.nn.attention.multi_head import AttentionContext, CrossAttention, CrossAttentionInput, MultiHeadAttention
from firth.types import Tokens
from transformer_options import transformer


@pytest.mark.parametrize("kind", [MultiHeadAttention, CrossAttention])
def test_attention_dropout_acts_in_training_alone(kind):
    torch.manual_seed(0)
    config = transformer(width=16, heads=2, attention_dropout=0.5, positions="none")
    attention, x, ids = kind(config, 0), torch.randn(2, 6, 16), torch.zeros(2, 6, dtype=torch.long)
    tokens = Tokens(ids, ids == 0)
    source = CrossAttentionInput(cross_attention_mask(tokens, tokens.mask), states=torch.randn(2, 6, 16))
    context = AttentionContext(attention_mask(config, tokens), None, source=source)
    assert not torch.equal(attention(x, context), attention(x, context))
    attention.eval()
    values = attention.split_heads(attention.project(x if kind is MultiHeadAttention else source.states, 2, 3), 1)[0]
    expected = attention.merge_heads(attention.weights(x, context) @ values)
    torch.testing.assert_close(attention(x, context), expected)
