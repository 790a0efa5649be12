"""Weights of Hugging Face's layers put into ours."""

import torch


@torch.no_grad()
def put(mine, his):
    """A product or a norm."""
    mine.weight.copy_(his.weight)
    if getattr(mine, "bias", None) is not None:
        mine.bias.copy_(his.bias)


@torch.no_grad()
def put_attention(mine, queries, keys, values, output):
    """Theirs has a product each for queries, keys and values, ours has one for all."""
    for name in ("weight", "bias"):
        if getattr(mine.inputs, name) is not None:
            getattr(mine.inputs, name).copy_(torch.cat([getattr(part, name) for part in (queries, keys, values)]))
    put(mine.output, output)


def put_block(block, layer):
    """A layer of BERT or ELECTRA."""
    own = layer.attention.self
    put_attention(block.attention.inner, own.query, own.key, own.value, layer.attention.output.dense)
    put(block.attention.sum, layer.attention.output.LayerNorm)
    put(block.feedforward.inner.input, layer.intermediate.dense)
    put(block.feedforward.inner.output, layer.output.dense)
    put(block.feedforward.sum, layer.output.LayerNorm)
