"""Pooling against its definition, sequence by sequence without padding."""

import pytest
import torch

from firth.nn.pooling import POOLINGS, AttentionPooling

DEFINITIONS = {
    "first": lambda real: real[0],
    "last": lambda real: real[-1],
    "mean": lambda real: real.mean(0),
    "max": lambda real: real.amax(0),
    "last-max-mean": lambda real: torch.cat([real[-1], real.amax(0), real.mean(0)]),
}


def padded():
    states, lengths = torch.randn(4, 7, 6), [7, 1, 4, 2]
    return states, torch.arange(7) < torch.tensor(lengths)[:, None], lengths


@pytest.mark.parametrize("name", DEFINITIONS)
def test_padding_takes_no_part(name):
    states, mask, lengths = padded()
    pooling = POOLINGS[name](6)
    pooled = pooling(states, mask)
    assert pooled.shape == (4, pooling.width)
    for row, length, actual in zip(states, lengths, pooled, strict=True):
        torch.testing.assert_close(actual, DEFINITIONS[name](row[:length]))


def test_the_last_state_of_a_backward_network_is_that_of_the_first_word():
    states, mask, lengths = padded()
    pooled = POOLINGS["last"](6)(states, mask, 2)
    for row, length, actual in zip(states, lengths, pooled, strict=True):
        torch.testing.assert_close(actual, torch.cat([row[length - 1, :3], row[0, 3:]]))


def test_attention_weights_sum_to_one_over_real_positions():
    states, mask, lengths = padded()
    torch.manual_seed(1)
    pooling = AttentionPooling(6)
    weights, pooled = pooling.weights(states, mask), pooling(states, mask)
    torch.testing.assert_close(weights.sum(1), torch.ones(4))
    assert not weights[~mask].any()
    for row, length, actual in zip(states, lengths, pooled, strict=True):
        alone = pooling(row[None, :length], torch.ones(1, length, dtype=torch.bool))[0]
        torch.testing.assert_close(actual, alone)
