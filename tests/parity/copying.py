"""Weights of Hugging Face's layers put into ours."""

import torch


@torch.no_grad()
def put(mine, his):
    """A linear layer or a norm."""
    mine.weight.copy_(his.weight)
    if getattr(mine, "bias", None) is not None:
        mine.bias.copy_(his.bias)


@torch.no_grad()
def put_attention(mine, queries, keys, values, output):
    """Theirs has a projection each for queries, keys and values, ours has one for all."""
    for name in ("weight", "bias"):
        if getattr(mine.qkv_proj, name) is not None:
            getattr(mine.qkv_proj, name).copy_(torch.cat([getattr(part, name) for part in (queries, keys, values)]))
    put(mine.out_proj, output)


def put_block(block, layer):
    """A layer of BERT or ELECTRA."""
    own = layer.attention.self
    put_attention(block.attention.sublayer, own.query, own.key, own.value, layer.attention.output.dense)
    put(block.attention.post_norm, layer.attention.output.LayerNorm)
    put(block.feedforward.sublayer.up_proj, layer.intermediate.dense)
    put(block.feedforward.sublayer.down_proj, layer.output.dense)
    put(block.feedforward.post_norm, layer.output.LayerNorm)
