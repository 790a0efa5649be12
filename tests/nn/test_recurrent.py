"""Laws of the recurrent layers."""

from dataclasses import replace

import pytest
import torch

from firth.config.schema import Recurrent
from firth.nn.recurrent import RecurrentLayers

CONFIG = Recurrent(width=6, depth=2)


def zeros(batch_size, config=CONFIG):
    return {name: torch.zeros(batch_size, config.depth, config.width) for name in ("hidden", "cell")}


def test_two_segments_are_one():
    layers, x = RecurrentLayers(CONFIG, 5), torch.randn(3, 8, 5)
    whole, end = layers(x, zeros(3))
    first, live = layers(x[:, :3], zeros(3))
    second, live = layers(x[:, 3:], live)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    torch.testing.assert_close(live, end)


def test_sequences_are_independent_and_follow_their_own_state():
    layers, x = RecurrentLayers(CONFIG, 5), torch.randn(4, 3, 5)
    _, live = layers(x, zeros(4))
    order = torch.tensor([2, 0, 3])
    states, after = layers(x, live)
    picked, picked_after = layers(x[order], {name: tensor[order] for name, tensor in live.items()})
    torch.testing.assert_close(picked, states[order])
    torch.testing.assert_close(picked_after, {name: tensor[order] for name, tensor in after.items()})


@pytest.mark.parametrize("depth", [1, 3])
def test_hidden_is_the_last_state_of_each_layer(depth):
    config = replace(CONFIG, depth=depth)
    states, live = RecurrentLayers(config, 5)(torch.randn(2, 4, 5), zeros(2, config))
    assert live["hidden"].shape == live["cell"].shape == (2, depth, 6)
    torch.testing.assert_close(live["hidden"][:, -1], states[:, -1])


@pytest.mark.parametrize("depth", [1, 2])
def test_dropout_follows_the_last_layer_too_with_a_new_mask_at_each_position(depth):
    config = Recurrent(width=64, depth=depth, dropout=0.5)
    layers, x = RecurrentLayers(config, 5), torch.randn(2, 6, 5)
    dropped = layers(x, zeros(2, config))[0] == 0
    assert 0.4 < dropped.float().mean() < 0.6
    assert not any(torch.equal(dropped[0, i], dropped[0, i + 1]) for i in range(5))
    layers.eval()
    assert not (layers(x, zeros(2, config))[0] == 0).any()


def test_dropout_between_layers_leaves_the_state_of_the_first_layer_alone():
    config = Recurrent(width=8, depth=2, dropout=0.5)
    layers, x = RecurrentLayers(config, 5), torch.randn(2, 6, 5)
    first, second = (layers(x, zeros(2, config))[1]["hidden"] for _ in range(2))
    torch.testing.assert_close(first[:, 0], second[:, 0])
    assert not torch.allclose(first[:, 1], second[:, 1])


def test_initial_weights_are_uniform_within_the_range():
    config = Recurrent(width=40, init_range=0.05)
    values = torch.cat([p.detach().flatten() for p in RecurrentLayers(config, 5).parameters()])
    assert values.abs().max() <= 0.05
    assert abs(values.std() - 0.05 / 3**0.5) < 1e-3


def test_bf16_autocast_takes_and_gives_float32_state():
    layers, x = RecurrentLayers(CONFIG, 5), torch.randn(3, 4, 5)
    _, live = layers(x, zeros(3))
    expected, end = layers(x, live)
    with torch.autocast("cpu", torch.bfloat16):
        states, after = layers(x, live)
        states.float().sum().backward()
    assert after["hidden"].dtype == after["cell"].dtype == torch.float32
    torch.testing.assert_close(states.float(), expected, atol=0.01, rtol=0.02)
    torch.testing.assert_close(after, end, atol=0.01, rtol=0.02)
    assert layers.weight_hh_l0.grad.dtype == torch.float32


def test_variational_dropout_has_one_mask_for_all_positions_of_a_sequence():
    config = Recurrent(width=64, depth=1, dropout=0.5, variational_dropout=True)
    layers, x = RecurrentLayers(config, 5), torch.randn(2, 6, 5)
    dropped = layers(x, zeros(2, config))[0] == 0
    assert 0.3 < dropped.float().mean() < 0.7
    assert all(torch.equal(dropped[:, 0], dropped[:, i]) for i in range(1, 6))
    assert not torch.equal(dropped[0, 0], dropped[1, 0])
    layers.eval()
    assert not (layers(x, zeros(2, config))[0] == 0).any()


def test_weight_dropout_is_for_training_alone():
    config = Recurrent(width=16, depth=1, weight_dropout=0.5)
    layers, x = RecurrentLayers(config, 5), torch.randn(2, 6, 5)
    assert not torch.equal(layers(x, zeros(2, config))[0], layers(x, zeros(2, config))[0])
    layers.eval()
    torch.testing.assert_close(layers(x, zeros(2, config))[0], layers(x, zeros(2, config))[0])


@pytest.mark.parametrize("bidirectional", ["no", "concatenate"])
def test_final_states_of_padded_sequences_are_those_of_each_alone(bidirectional):
    """The lengths are such that sorting them and its inverse are different permutations."""
    config = Recurrent(width=6, depth=2, bidirectional=bidirectional)
    layers, x, lengths = RecurrentLayers(config, 5), torch.randn(3, 4, 5), [2, 4, 3]
    states, live = layers(x, layers.start(3, "cpu"), torch.tensor(lengths))
    for row, length in enumerate(lengths):
        alone, end = layers(x[row : row + 1, :length], layers.start(1, "cpu"))
        torch.testing.assert_close(states[row, :length], alone[0])
        torch.testing.assert_close(
            {name: tensor[row] for name, tensor in live.items()}, {k: v[0] for k, v in end.items()}
        )
