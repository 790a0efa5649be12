"""Recurrent layers over sequences of different lengths, in segments: the same as each sequence by itself, or packed."""

from itertools import combinations

import numpy as np
import pytest
import torch

from firth.config.schema import Recurrent
from firth.nn import ragged_recurrent
from firth.nn.ragged_recurrent import plan_segments
from firth.nn.recurrent import RecurrentLayers

LENGTHS = [3, 9, 0, 1, 9, 4]


def layers(**options):
    torch.manual_seed(0)
    return RecurrentLayers(Recurrent(width=6, dropout=0.0, **options), 5).double()


def run(made, x, lengths, final_state=False):
    start = {name: value.double() for name, value in made.start(len(x), "cpu").items()}
    return made(x, start, torch.tensor(lengths), final_state=final_state)[0]


@pytest.mark.parametrize("bidirectional", ["no", "concatenate", "average"])
@pytest.mark.parametrize("call", [0, 10**3, ragged_recurrent.CALL])
def test_segments_are_packed_sequences(bidirectional, call, monkeypatch):
    monkeypatch.setattr(ragged_recurrent, "CALL", call)
    made = layers(depth=1 if bidirectional == "average" else 2, bidirectional=bidirectional, learned_initial_state=True)
    lengths = [length or 1 for length in LENGTHS]  # packed sequences cannot be empty
    x = torch.randn(len(lengths), 11, 5, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(1, 11, made.width, dtype=torch.float64)
    ours, theirs = (run(made, x, lengths, final_state) for final_state in (False, True))
    torch.testing.assert_close(ours, theirs)
    inputs = [x, *made.parameters()]
    gradients = [torch.autograd.grad((states * weights).sum(), inputs) for states in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_each_sequence_is_as_by_itself_whatever_the_padding_holds():
    made = layers(depth=1, bidirectional="concatenate")
    x = torch.randn(len(LENGTHS), 10, 5, dtype=torch.float64)
    for row, length in enumerate(LENGTHS):
        x[row, length:] = torch.nan
    x.requires_grad_()
    together = run(made, x, LENGTHS)
    assert not together[2].any() and torch.isfinite(together).all()
    for row, length in enumerate(LENGTHS):
        assert not together[row, length:].any()
        if length:
            alone = run(made, x[row : row + 1, :length].detach(), [length])
            torch.testing.assert_close(together[row, :length], alone[0])
    (gradient, *others) = torch.autograd.grad(together.sum(), [x, *made.parameters()])
    assert torch.isfinite(gradient).all() and all(torch.isfinite(other).all() for other in others)
    assert not gradient[0, 3:].any() and gradient[0, :3].any()


def test_nothing_but_padding():
    assert not run(layers(depth=1, bidirectional="concatenate"), torch.ones(2, 3, 5).double(), [0, 0]).any()


@pytest.mark.parametrize("seed", range(6))
def test_no_plan_costs_less(seed):
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.integers(0, 60, rng.integers(1, 9)))[::-1]

    def cost(ends):
        starts = [0, *ends[:-1]]
        return sum((end - start) * (sizes > start).sum() + 24 for start, end in zip(starts, ends, strict=True))

    plan, ends = plan_segments(sizes, 24), sorted({int(size) for size in sizes if size})
    assert plan == sorted(set(plan)) and plan[-1:] == ends[-1:]
    plans = [[*some, ends[-1]] for count in range(len(ends)) for some in combinations(ends[:-1], count)]
    assert cost(plan) == min(map(cost, plans), default=0)
