"""Pooling against its definition, sequence by sequence without padding."""

import pytest
import torch

from firth.nn.pooling import POOLINGS


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
def test_padding_takes_no_part(pooling):
    states, lengths = torch.randn(3, 5, 4), [5, 2, 1]
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]
    for row, length in enumerate(lengths):
        real = states[row, :length]
        expected = {"first": real[0], "last": real[-1], "mean": real.mean(0)}[pooling]
        torch.testing.assert_close(POOLINGS[pooling](4)(states, mask)[row], expected)
