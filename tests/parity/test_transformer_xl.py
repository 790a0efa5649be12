"""Transformer-XL and Shortformer against dense references after their papers, one query and key at a time.

There is no public reference class to compare with. The references share the weights, and nothing else, with firth."""

import math

import pytest
import torch
from torch.nn import functional as F

from firth.config import schema
from firth.models.build import build
from firth.types import Batch, Target, Tokens
from transformer_options import transformer

WIDTH, HEADS, VOCABULARY, LENGTH = 16, 2, 40, 5
HEAD = WIDTH // HEADS
XL = {"norm_placement": "post", "positions": "xl", "activation": "relu", "attention_bias": False}
SHORTFORMER = {"norm_placement": "pre", "positions": "infused", "activation": "relu"}


def system(options, memory):
    config = schema.Neural(
        batching=schema.Contiguous(length=LENGTH),
        backbone=transformer(width=WIDTH, depth=2, heads=HEADS, init_std=0.3, memory=memory, **options),
    )
    actual = build(config, VOCABULARY).eval().double()
    with torch.no_grad():
        for parameter in actual.parameters():  # zeros and ones would hide mistakes
            parameter.add_(0.1 * torch.randn_like(parameter))
    return actual


def batch(ids):
    text = Tokens(ids[:, :-1], torch.ones_like(ids[:, :-1], dtype=torch.bool))
    return Batch({"text": text}, {"text": Target(ids[:, 1:], torch.ones_like(ids[:, 1:], dtype=torch.double))})


def halves(distance):
    """R of Dai et al.: sines of a distance, then cosines."""
    angles = [distance / 10_000 ** (2 * i / WIDTH) for i in range(WIDTH // 2)]
    return torch.tensor([math.sin(a) for a in angles] + [math.cos(a) for a in angles], dtype=torch.double)


def in_turns(position):
    """p of Vaswani et al.: sine and cosine in turns."""
    angles = [position / 10_000 ** (2 * i / WIDTH) for i in range(WIDTH // 2)]
    return torch.tensor([wave for a in angles for wave in (math.sin(a), math.cos(a))], dtype=torch.double)


def parts(block):
    """W of queries, keys and values with their biases."""
    inputs = block.attention.sublayer.qkv_proj
    weights = inputs.weight.chunk(3)
    biases = inputs.bias.chunk(3) if inputs.bias is not None else (torch.zeros(WIDTH, dtype=torch.double),) * 3
    return list(zip(weights, biases, strict=True))


def mean(scores, values):
    return torch.stack([torch.softmax(torch.stack(scores), 0)[j] * value for j, value in enumerate(values)]).sum(0)


def xl_attention(block, x, past):
    """A of Dai et al., equation by equation, for one sequence: x (time, width) after past (memory, width)."""
    (wq, _), (wk, _), (wv, _) = parts(block)
    relation, every = block.attention.sublayer.position_encoding, torch.cat([past, x])
    rows = []
    for i in range(len(x)):
        here, heads = len(past) + i, []
        for h in range(HEADS):
            part = slice(h * HEAD, (h + 1) * HEAD)
            u, v, wr = relation.content_bias[h], relation.distance_bias[h], relation.distance.weight[part]
            q = wq[part] @ x[i]
            mask = range(here + 1)
            scores = []
            for j in mask:
                k, r = wk[part] @ every[j], wr @ halves(here - j)
                scores.append((q @ k + q @ r + u @ k + v @ r) / math.sqrt(HEAD))
            heads.append(mean(scores, [wv[part] @ every[j] for j in mask]))
        rows.append(torch.cat(heads))
    return torch.stack(rows) @ block.attention.sublayer.out_proj.weight.T


def infused_attention(block, x, past):
    """Press et al.: positions, counted from the start of the memory, are added to queries and keys only."""
    (wq, bq), (wk, bk), (wv, bv) = parts(block)
    every, rows = torch.cat([past, x]), []
    for i in range(len(x)):
        here, heads = len(past) + i, []
        for h in range(HEADS):
            part = slice(h * HEAD, (h + 1) * HEAD)
            q = wq[part] @ (x[i] + in_turns(here)) + bq[part]
            mask = range(here + 1)
            scores = [q @ (wk[part] @ (every[j] + in_turns(j)) + bk[part]) / math.sqrt(HEAD) for j in mask]
            heads.append(mean(scores, [wv[part] @ every[j] + bv[part] for j in mask]))
        rows.append(torch.cat(heads))
    output = block.attention.sublayer.out_proj
    return torch.stack(rows) @ output.weight.T + output.bias


def feedforward(block, x):
    layer = block.feedforward.sublayer
    hidden = F.relu(x @ layer.up_proj.weight.T + layer.up_proj.bias)
    return hidden @ layer.down_proj.weight.T + layer.down_proj.bias


def normed(norm, x):
    apart = x - x.mean(-1, keepdim=True)
    return apart / (apart.square().mean(-1, keepdim=True) + 1e-5).sqrt() * norm.weight + norm.bias


def xl_layer(block, x, past):
    x = normed(block.attention.post_norm, x + xl_attention(block, x, past))
    return normed(block.feedforward.post_norm, x + feedforward(block, x))


def shortformer_layer(block, x, past):
    before = block.attention.pre_norm
    x = x + infused_attention(block, normed(before, x), normed(before, past))
    return x + feedforward(block, normed(block.feedforward.pre_norm, x))


def reference(model, ids, layer, memory):
    """The loss of the last of several segments of one sequence, of which only the states of those before it are kept:
    detached, and projected by the layers anew."""
    past = [torch.zeros(0, WIDTH, dtype=torch.double)] * 2
    for start in range(0, len(ids) - 1, LENGTH):
        x, now = model.inputs["text"].weight[ids[start : start + LENGTH]], []
        targets = ids[start + 1 : start + LENGTH + 1]
        x = x[: len(targets)]
        for block, before in zip(model.backbone.blocks, past, strict=True):
            now.append(torch.cat([before, x])[-memory:].detach())
            x = layer(block, x, before)
        past = now
    x = x if isinstance(model.backbone.norm, torch.nn.Identity) else normed(model.backbone.norm, x)
    return F.cross_entropy(x @ model.inputs["text"].weight.T + model.head.bias, targets, reduction="sum")


@pytest.mark.parametrize("memory", [3, 7])
@pytest.mark.parametrize(("options", "layer"), [(XL, xl_layer), (SHORTFORMER, shortformer_layer)])
def test_values_and_gradients_are_the_references(options, layer, memory):
    """Gradients reach keys and values of the memory, but not the pass that made it."""
    torch.manual_seed(memory)
    model = system(options, memory)
    ids = torch.randint(VOCABULARY, (2, 3 * LENGTH + 1))
    state = None
    for start in range(0, 3 * LENGTH, LENGTH):
        (term,), state = model(batch(ids[:, start : start + LENGTH + 1]), state and state.detach())
    expected = sum(reference(model, row, layer, memory) for row in ids)
    torch.testing.assert_close(term.sum, expected, atol=1e-5, rtol=1e-6)
    names, parameters = zip(*model.named_parameters(), strict=True)
    actual = torch.autograd.grad(term.sum, parameters)
    for name, mine, other in zip(names, actual, torch.autograd.grad(expected, parameters), strict=True):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5, msg=lambda text, name=name: f"{name}: {text}")
