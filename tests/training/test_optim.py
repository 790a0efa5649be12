"""Laws of the optimizers. Oracle: torch.optim without fused kernels."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from firth.config.schema import Optimizer
from firth.training.optim import Optim

SHAPES = {"a.matrix": (5, 3), "a.bias": (5,), "cube": (2, 3, 2)}
PEERS = {
    "sgd": lambda p, c: torch.optim.SGD(p, 0.1, foreach=False),
    "momentum": lambda p, c: torch.optim.SGD(p, 0.1, momentum=0.9, foreach=False),
    "adam": lambda p, c: torch.optim.Adam(p, 0.1, c.betas, c.epsilon, foreach=False),
    "adamw": lambda p, c: torch.optim.AdamW(p, 0.1, c.betas, c.epsilon, weight_decay=0, foreach=False),
    "adagrad": lambda p, c: torch.optim.Adagrad(p, 0.1, eps=c.epsilon, foreach=False),
}
CONFIGS = {name: Optimizer(name=name, clip=0.0) for name in PEERS if name != "momentum"}
CONFIGS["momentum"] = Optimizer(name="sgd", momentum=0.9, clip=0.0)
every = pytest.mark.parametrize("name", PEERS)


def parameters():
    draw = torch.Generator().manual_seed(1)
    return {name: nn.Parameter(torch.randn(shape, generator=draw)) for name, shape in SHAPES.items()}


def fill(parameters, seed, size=1.0):
    draw = torch.Generator().manual_seed(seed)
    for parameter in parameters.values():
        parameter.grad = size * torch.randn(parameter.shape, generator=draw)


def ours(config, steps=20, rate=0.1, held=None, start=0, kept=None):
    held = held or parameters()
    optim = Optim(config, held.items())
    if kept:
        optim.load_state_dict(kept)
    for seed in range(start, steps):
        fill(held, seed)
        optim.step(rate)
    return held, optim


def close(ours, theirs):
    ours, theirs = ({k: v.detach() for k, v in side.items()} for side in (ours, theirs))
    torch.testing.assert_close(ours, theirs)


@every
@pytest.mark.parametrize("decay", [0.0, 0.2])
@pytest.mark.parametrize("clip", [0.0, 2.5])
def test_twenty_steps_are_torchs_with_decay_of_matrices_apart(name, decay, clip):
    held = parameters()
    peer = PEERS[name](held.values(), CONFIGS[name])
    for seed in range(20):
        fill(held, seed)
        if clip:
            nn.utils.clip_grad_norm_(held.values(), clip)
        for parameter in held.values():
            parameter.data.mul_(1 - 0.1 * decay if parameter.ndim >= 2 else 1)
        peer.step()
    close(ours(replace(CONFIGS[name], decay=decay, clip=clip))[0], held)


def test_adamw_is_torchs_where_all_parameters_are_matrices():
    held = {"matrix": parameters()["a.matrix"]}
    peer = torch.optim.AdamW(held.values(), 0.1, weight_decay=0.2)
    for seed in range(20):
        fill(held, seed)
        peer.step()
    start = {"matrix": parameters()["a.matrix"]}
    close(ours(Optimizer(name="adamw", decay=0.2, clip=0.0), held=start)[0], held)


@every
def test_a_norm_that_is_not_finite_changes_nothing(name):
    for bad in (float("nan"), float("inf")):
        held, optim = ours(replace(CONFIGS[name], decay=0.1), steps=2)
        before = {k: v.clone() for k, v in [*held.items(), *optim.state_dict().items()]}
        held["cube"].grad[0, 0, 0] = bad
        assert not torch.isfinite(torch.tensor(optim.step(0.1)))
        after = held | optim.state_dict()
        assert all(torch.equal(before[k], after[k]) for k in before)


@every
def test_the_norm_is_that_of_all_gradients_and_zero_is_no_trouble(name):
    held, optim = ours(replace(CONFIGS[name], clip=1.0), steps=1)
    fill(held, 5, size=3.0)
    expected = torch.cat([p.grad.flatten() for p in held.values()]).norm().item()
    assert optim.step(0.1) == pytest.approx(expected, rel=1e-6)
    fill(held, 5, size=0.0)
    assert optim.step(0.1) == 0.0
    assert all(torch.isfinite(p).all() for p in held.values())


@every
def test_save_and_load_go_on_with_the_same_bits(name):
    config = replace(CONFIGS[name], decay=0.01, clip=1.0)
    whole, optim = ours(config)
    half, saved = ours(config, steps=10)
    kept = {k: v.clone() for k, v in saved.state_dict().items()}
    copies = {k: nn.Parameter(v.detach().clone()) for k, v in half.items()}
    resumed, again = ours(config, held=copies, start=10, kept=kept)
    assert all(torch.equal(whole[k], resumed[k]) for k in whole)
    first, second = optim.state_dict(), again.state_dict()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[k], second[k]) for k in first)


@pytest.mark.parametrize(
    ("name", "slots"),
    [
        ("sgd", []),
        ("momentum", ["momentum"]),
        ("adamw", ["mean", "square"]),
        ("adagrad", ["square"]),
    ],
)
def test_state_has_a_tensor_per_slot_and_parameter(name, slots):
    _, optim = ours(CONFIGS[name], steps=3)
    state = optim.state_dict()
    assert set(state) == {"steps", *(f"{slot}.{parameter}" for slot in slots for parameter in SHAPES)}
    assert state["steps"].dtype == torch.int64
    assert state["steps"] == 3


def test_state_of_another_model_is_refused():
    _, optim = ours(CONFIGS["adamw"], steps=1)
    with pytest.raises(ValueError, match=r"mean\.other"):
        optim.load_state_dict({**optim.state_dict(), "mean.other": torch.zeros(1)})


def test_frozen_parameters_are_left_alone():
    held = parameters()
    held["cube"].requires_grad_(False)
    assert "cube" not in Optim(CONFIGS["adamw"], held.items()).parameters
