"""Permutation language modelling: no token helps to predict itself, nor a token before it in the order."""

import torch

from firth.config import schema
from firth.models.build import build
from firth.types import Batch, Target, Tokens
from transformer_options import transformer


@torch.no_grad()
def test_the_loss_depends_on_tokens_earlier_in_the_order_alone():
    torch.manual_seed(0)
    backbone = transformer(width=16, depth=2, heads=2, mask="permutation", positions="xl", init_std=0.5)
    config = schema.Neural(
        batching=schema.Windows(length=8),
        inputs=schema.Inputs(text=schema.TokenInput(init_range=1.0)),
        backbone=backbone,
        objective=schema.PermutationLM(),
    )
    system, ids = build(config, 20).eval(), torch.tensor([[7, 8, 9, 10, 11]])
    rank, predicted = torch.tensor([[3, 0, 4, 1, 2]]), torch.tensor([[1.0, 0, 0, 0, 0]])

    def loss(changed=None):
        other = ids.clone()
        if changed is not None:
            other[0, changed] = 15
        tokens = Tokens(other, ids > 0, rank=rank)
        return float(system(Batch({"text": tokens}, {"text": Target(ids, predicted)}))[0][0].sum)

    moved = [position for position in range(5) if abs(loss(position) - loss()) > 1e-5]
    assert moved == [1, 3, 4]
