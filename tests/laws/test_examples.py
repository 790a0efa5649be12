"""Worked examples of the textbook, with values that can be checked by hand."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from firth.config import schema
from firth.config.schema import Bucketed, Contiguous, Inputs, Neural, Recurrent, TokenInput
from firth.datasets.collators.batches import make_batches
from firth.datasets.token_cache import Split, Tally
from firth.models.build import build
from firth.nn.recurrent import RecurrentLayers
from firth.tokenizers.special_tokens import SpecialTokens
from firth.training.optimizer import Optimizer


def test_padding_comes_after_the_end_and_is_not_predicted():
    """Two sentences of 7 and 8 words, [START] 0, [END] 1, [PAD] 2: seventeen tokens are predicted."""
    first, second = [167, 137, 5141, 78, 77, 4561, 13], [55, 744, 21, 44, 324, 879, 13596, 7]
    ids = np.array([*first, 1, *second, 1])
    split = Split("train", "", ids, np.array([0, 8, 17]), Tally(2, 17, 0, ()))
    (batch,) = make_batches(
        Bucketed(tokens_per_batch=100, length=20), split, SpecialTokens(pad=2, start=0, end=1), 1
    ).evaluation_batches()
    inputs, target = batch.streams["text"].ids, batch.targets["text"]
    assert [0, *first, 1, 2] == [*inputs[0][:8], *target.values[0][7:]]  # S1 as printed: inputs, then the target's tail
    assert inputs[1].tolist() == [0, *second]
    assert target.weight.sum() == 17


@pytest.mark.parametrize(
    ("width", "inputs", "depth", "count"), [(128, 1, 1, 67_072), (128, 64, 4, 495_616), (64, 64, 1, 33_280)]
)
def test_parameters_of_lstm_layers(width, inputs, depth, count):
    layers = RecurrentLayers(Recurrent(width=width, depth=depth), inputs)
    assert sum(p.numel() for p in layers.parameters()) == count


def test_shapes_of_a_stacked_lstm():
    layers = RecurrentLayers(Recurrent(width=20, depth=2), 10)
    zeros = {name: torch.zeros(3, 2, 20) for name in ("hidden", "cell")}
    states, live = layers(torch.randn(3, 5, 10), zeros)
    assert states.shape == (3, 5, 20)
    assert live["hidden"].shape == live["cell"].shape == (3, 2, 20)


@pytest.mark.parametrize(("limit", "expected"), [(1.0, (0.6, 0.8)), (10.0, (3.0, 4.0))])
def test_clipping_shrinks_a_long_gradient_and_leaves_a_short_one(limit, expected):
    weight = nn.Parameter(torch.zeros(2))
    weight.grad = torch.tensor([3.0, 4.0])
    norm = Optimizer(schema.Optimizer(name="sgd", learning_rate=1.0, gradient_clip=limit), [("weight", weight)]).step(
        1.0
    )
    assert norm == pytest.approx(5.0)
    assert (-weight.detach()).tolist() == pytest.approx(expected)


def test_hello_is_learned_beyond_what_the_last_character_predicts():
    """h e l l → e l l o: the best bigram model pays log 2 / 2 nats per character, a recurrent model approaches 0."""
    ids = np.array([7, 8, 9, 9, 10, 3])  # h e l l o [END]
    special = SpecialTokens(pad=0, start=2, end=3)
    split = Split("train", "", ids, np.array([0, 6]), Tally(1, 6, 0, ()))
    config = Neural(
        batching=Contiguous(batch_size=1, length=6),
        inputs=Inputs(text=TokenInput()),
        backbone=Recurrent(width=16, depth=1),
    )
    system = build(config, 11)
    optimizer = Optimizer(schema.Optimizer(learning_rate=0.03), system.named_parameters())
    (batch,) = make_batches(Bucketed(tokens_per_batch=8, length=8), split, special, 1).evaluation_batches()
    for _ in range(200):
        optimizer.zero_grad()
        (term,), _ = system(batch.to("cpu"))
        (term.sum / term.count).backward()
        optimizer.step(0.03)
    with torch.no_grad():
        encoded = system.encode(batch.to("cpu"))
        scores = system.log_probabilities(encoded.states)[0].gather(-1, torch.tensor(ids)[:, None])
    characters = -float(scores[1:5].sum()) / 4  # e l l o, given what came before
    assert math.log(2) / 2 == pytest.approx(0.346574, abs=1e-6)
    assert characters < 0.05
