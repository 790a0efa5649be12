"""Laws of the residual connection: its dropout and the placement of its norms."""

import pytest
import torch
from torch import nn

from firth.nn.transformer_block import ResidualBlock
from transformer_options import transformer


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich"])
def test_dropout_acts_on_what_is_added_not_on_the_residual_stream(placement):
    torch.manual_seed(0)
    config = transformer(width=64, heads=2, dropout=0.5, norm_placement=placement)
    block, x = ResidualBlock(config, nn.Linear(64, 64)), torch.randn(2, 6, 64)
    noisy, exact = block.residual(x), block.eval().residual(x)
    dropped = noisy == 0
    assert 0.4 < dropped.float().mean() < 0.6
    torch.testing.assert_close(noisy, (2 * exact).masked_fill(dropped, 0))  # kept values grow by 1 / (1 - 0.5)
    assert not (exact == 0).any()


def test_norms_are_before_the_sublayer_after_the_addition_or_around_the_sublayer():
    x, sublayer = torch.randn(2, 3, 8), nn.Linear(8, 8)

    def norm(values):
        return nn.functional.layer_norm(values, (8,))

    expected = {
        "pre": x + sublayer(norm(x)),
        "post": norm(x + sublayer(x)),
        "sandwich": x + norm(sublayer(norm(x))),
    }
    for placement, output in expected.items():
        block = ResidualBlock(transformer(width=8, heads=2, norm_placement=placement), sublayer)
        torch.testing.assert_close(block(x), output, msg=placement)
