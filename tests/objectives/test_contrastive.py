"""Which texts of a batch are no negatives of each other, and the dropout that SimCSE needs."""

from dataclasses import replace

import pytest
import torch

from firth.config import schema
from firth.errors import FirthError
from firth.models.build import build
from firth.types import Batch, Tokens
from transformer_options import transformer

CONFIG = schema.Neural(
    data=schema.TaskExamples(),
    batching=schema.TwoTowers(length=16),
    backbone=transformer(width=16, depth=1, heads=2, mask="bidirectional"),
    head=schema.PoolingHead(),
    objective=schema.Contrastive(),
)


def test_plain_text_needs_dropout_of_any_kind():
    config = replace(CONFIG, data=schema.Text())
    with pytest.raises(FirthError, match="SimCSE needs dropout"):
        build(config, 30)
    attention = replace(config.backbone.attention, dropout=0.1)
    for change in ({"dropout": 0.1}, {"attention": attention}):
        build(replace(config, backbone=replace(config.backbone, **change)), 30)


@torch.no_grad()
def test_a_text_that_is_in_two_pairs_has_neither_others_match_as_a_negative():
    """Of the pairs a-c and a-d both c and d match a: nothing is left to tell apart, and the loss is 0."""
    torch.manual_seed(0)
    system = build(CONFIG, 30).eval()
    same, different = torch.tensor([[5, 8, 6], [5, 8, 6]]), torch.tensor([[5, 9, 6], [5, 10, 6]])
    for left, right in ((same, different), (different, same)):
        batch = Batch({"left": Tokens(left, left > 0), "right": Tokens(right, right > 0)}, {})
        assert abs(float(system(batch)[0][0].sum)) < 1e-5
