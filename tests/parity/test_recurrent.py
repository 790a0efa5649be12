"""Every recurrent cell against torch's own module; the fixed window against a plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from firth.config import schema
from firth.errors import FirthError
from firth.models.backbones.recurrent import RecurrentBackbone
from firth.models.backbones.window import WindowBackbone
from firth.models.build import build
from firth.nn.recurrent import RecurrentLayers
from firth.types import Tokens

MODULES = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN, "relu": nn.RNN}
ROWS, TIME, INPUT, WIDTH = 3, 5, 4, 6


def peer(config):
    extra = {"nonlinearity": config.cell} if config.cell in ("tanh", "relu") else {}
    extra |= {"proj_size": config.projection} if config.projection else {}
    both = config.bidirectional != "no"
    module = MODULES[config.cell]
    return module(INPUT, config.width, config.depth, batch_first=True, bidirectional=both, **extra)


def tokens(rows=ROWS, time=TIME):
    return Tokens(torch.zeros(rows, time, dtype=torch.long), torch.ones(rows, time, dtype=torch.bool))


CONFIGS = [
    *(schema.Recurrent(cell=cell, width=WIDTH, depth=depth) for cell in MODULES for depth in (1, 3)),
    *(schema.Recurrent(cell=cell, width=WIDTH, depth=2, bidirectional="concatenate") for cell in MODULES),
    schema.Recurrent(cell="lstm", width=WIDTH, depth=2, projection=3),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_cell_has_the_parameters_states_and_gradients_of_torchs_module(config):
    layers, theirs = RecurrentLayers(config, INPUT), peer(config)
    theirs.load_state_dict(layers.state_dict())
    x = torch.randn(ROWS, TIME, INPUT)
    live = {name: torch.randn_like(tensor) for name, tensor in layers.start(ROWS, "cpu").items()}
    states, after = layers(x, live)
    begin = tuple(live[name].transpose(0, 1).contiguous() for name in layers.cell.state_names)
    expected, end = theirs(x, begin if len(begin) > 1 else begin[0])
    torch.testing.assert_close(states, expected)
    for name, tensor in zip(layers.cell.state_names, end if isinstance(end, tuple) else (end,), strict=True):
        torch.testing.assert_close(after[name], tensor.transpose(0, 1))
    states.square().sum().backward()
    expected.square().sum().backward()
    ours, plain = ({n: p.grad for n, p in module.named_parameters()} for module in (layers, theirs))
    torch.testing.assert_close(ours, plain)
    RecurrentLayers(config, INPUT).load_state_dict(theirs.state_dict())


def test_averaged_directions_are_the_mean_of_both():
    config = schema.Recurrent(cell="gru", width=WIDTH, depth=1, bidirectional="average")
    layers, theirs = RecurrentLayers(config, INPUT), peer(config)
    theirs.load_state_dict(layers.state_dict())
    x = torch.randn(ROWS, TIME, INPUT)
    states, _ = layers(x, layers.start(ROWS, "cpu"))
    torch.testing.assert_close(states, torch.stack(theirs(x)[0].chunk(2, -1)).mean(0))
    assert layers.width == WIDTH


def test_a_language_model_must_not_be_bidirectional():
    for directions in ("concatenate", "average"):
        with pytest.raises(FirthError, match="bidirectional network cannot be trained to predict the next token"):
            build(schema.Neural(backbone=schema.Recurrent(bidirectional=directions)), 20)


def test_residual_links_add_each_layers_input():
    config = schema.Recurrent(width=INPUT, depth=2, residual=True)
    layers, x = RecurrentLayers(config, INPUT), torch.randn(ROWS, TIME, INPUT)
    one, expected = nn.LSTM(INPUT, INPUT, batch_first=True), x
    for layer in range(2):
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        one.load_state_dict({f"{name}_l0": getattr(layers, f"{name}_l{layer}") for name in names})
        expected = expected + one(expected)[0]
    torch.testing.assert_close(layers(x, layers.start(ROWS, "cpu"))[0], expected)


def test_a_variational_dropout_mask_is_the_same_at_all_positions_and_differs_between_rows():
    config = schema.Recurrent(width=200, depth=1, dropout=0.5, variational_dropout=True)
    layers = RecurrentLayers(config, INPUT)
    dropped = layers(torch.randn(ROWS, TIME, INPUT), layers.start(ROWS, "cpu"))[0] == 0
    assert 0.3 < dropped.float().mean() < 0.7
    assert (dropped == dropped[:, :1]).all() and not torch.equal(dropped[0], dropped[1])


def test_weight_dropout_is_of_the_recurrent_matrix_and_for_training_only():
    config = schema.Recurrent(cell="tanh", width=50, depth=1, weight_dropout=0.5)
    layers, x = RecurrentLayers(config, INPUT), torch.randn(ROWS, TIME, INPUT)
    first, second = (layers(x, layers.start(ROWS, "cpu"))[0] for _ in range(2))
    torch.testing.assert_close(first[:, 0], second[:, 0])  # no recurrent step yet
    assert not torch.allclose(first[:, 2], second[:, 2])
    layers.eval()
    calm = [layers(x, layers.start(ROWS, "cpu"))[0] for _ in range(2)]
    torch.testing.assert_close(calm[0], calm[1])


def test_a_learned_initial_state_is_learned_and_orthogonal_matrices_are_orthogonal():
    config = schema.Recurrent(width=WIDTH, depth=2, learned_initial_state=True, orthogonal_init=True)
    backbone = RecurrentBackbone(config, INPUT)
    with torch.no_grad():
        backbone.layers.initial_hidden.normal_()
    backbone(torch.randn(ROWS, TIME, INPUT), tokens()).states.sum().backward()
    assert backbone.layers.initial_hidden.grad.abs().sum() > 0
    assert torch.equal(backbone.start(2).live["hidden"][1], backbone.layers.initial_hidden)
    for gate in backbone.layers.weight_hh_l1.detach().split(WIDTH):
        torch.testing.assert_close(gate @ gate.T, torch.eye(WIDTH), atol=1e-5, rtol=0)


def test_a_projection_is_for_an_lstm_and_narrower():
    for wrong in ({"cell": "gru", "projection": 3}, {"projection": WIDTH}):
        with pytest.raises(FirthError, match="narrower than its width"):
            RecurrentLayers(schema.Recurrent(width=WIDTH, **wrong), INPUT)


# --- the fixed window ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("words", [1, 3, 8])
def test_a_window_depends_on_the_last_tokens_only(words, direct):
    backbone = WindowBackbone(schema.Window(context_size=words, width=WIDTH, direct_connections=direct), INPUT)
    vectors = torch.randn(ROWS, TIME, INPUT)
    actual = backbone(vectors, tokens()).states
    for time in range(TIME):
        before = [vectors[:, t] if t >= 0 else torch.zeros(ROWS, INPUT) for t in range(time - words + 1, time + 1)]
        around = torch.cat(before, -1)
        expected = torch.tanh(around @ backbone.hidden.weight.T + backbone.hidden.bias)
        expected = torch.cat([expected, around], -1) if direct else expected
        torch.testing.assert_close(actual[:, time], expected)
    assert actual.shape[-1] == backbone.width


def test_two_segments_of_a_window_are_one():
    backbone = WindowBackbone(schema.Window(context_size=4, width=WIDTH), INPUT)
    vectors = torch.randn(ROWS, 9, INPUT)
    whole = backbone(vectors, tokens(time=9))
    first = backbone(vectors[:, :2], tokens(time=2))
    second = backbone(vectors[:, 2:], tokens(time=7), first.state)
    torch.testing.assert_close(torch.cat([first.states, second.states], 1), whole.states)
    torch.testing.assert_close(second.state.live["window"], whole.state.live["window"])
