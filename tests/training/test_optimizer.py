"""Laws of the optimizers. Oracle: torch.optim without fused kernels."""

import inspect
from dataclasses import replace

import pytest
import torch
from torch import nn

from firth.config import schema
from firth.training import ema as ema_module
from firth.training import optimizer as optimizer_module
from firth.training.optimizer import Optimizer

SHAPES = {"a.matrix": (5, 3), "a.bias": (5,), "cube": (2, 3, 2)}
PEERS = {
    "sgd": lambda p, c: torch.optim.SGD(p, 0.1, foreach=False),
    "momentum": lambda p, c: torch.optim.SGD(p, 0.1, momentum=0.9, foreach=False),
    "adam": lambda p, c: torch.optim.Adam(p, 0.1, c.betas, c.epsilon, foreach=False),
    "adamw": lambda p, c: torch.optim.AdamW(p, 0.1, c.betas, c.epsilon, weight_decay=0, foreach=False),
    "adagrad": lambda p, c: torch.optim.Adagrad(p, 0.1, eps=c.epsilon, foreach=False),
}
CONFIGS = {name: schema.Optimizer(name=name, gradient_clip=0.0) for name in PEERS if name != "momentum"}
CONFIGS["momentum"] = schema.Optimizer(name="sgd", momentum=0.9, gradient_clip=0.0)
FACTORS = {"a.matrix": 1.0, "a.bias": 0.25, "cube": 0.5}
every = pytest.mark.parametrize("name", PEERS)


def parameters():
    generator = torch.Generator().manual_seed(1)
    return {name: nn.Parameter(torch.randn(shape, generator=generator)) for name, shape in SHAPES.items()}


def fill(parameters, seed, size=1.0):
    generator = torch.Generator().manual_seed(seed)
    for parameter in parameters.values():
        parameter.grad = size * torch.randn(parameter.shape, generator=generator)


def ours(config, steps=20, learning_rate=0.1, weights=None, start=0, saved=None):
    weights = weights or parameters()
    optimizer = Optimizer(config, weights.items())
    if saved:
        optimizer.load_state_dict(saved)
    for seed in range(start, steps):
        fill(weights, seed)
        optimizer.step(learning_rate)
    return weights, optimizer


def close(ours, theirs):
    ours, theirs = ({k: v.detach() for k, v in side.items()} for side in (ours, theirs))
    torch.testing.assert_close(ours, theirs)


@every
@pytest.mark.parametrize("decay", [0.0, 0.2])
@pytest.mark.parametrize("clip", [0.0, 2.5])
def test_twenty_steps_are_torchs_with_decoupled_weight_decay_of_matrices(name, decay, clip):
    weights = parameters()
    peer = PEERS[name](weights.values(), CONFIGS[name])
    for seed in range(20):
        fill(weights, seed)
        if clip:
            nn.utils.clip_grad_norm_(weights.values(), clip)
        for parameter in weights.values():
            parameter.data.mul_(1 - 0.1 * decay if parameter.ndim >= 2 else 1)
        peer.step()
    close(ours(replace(CONFIGS[name], weight_decay=decay, gradient_clip=clip))[0], weights)


def test_adamw_is_torchs_where_all_parameters_are_matrices():
    weights = {"matrix": parameters()["a.matrix"]}
    peer = torch.optim.AdamW(weights.values(), 0.1, weight_decay=0.2)
    for seed in range(20):
        fill(weights, seed)
        peer.step()
    start = {"matrix": parameters()["a.matrix"]}
    close(ours(schema.Optimizer(name="adamw", weight_decay=0.2, gradient_clip=0.0), weights=start)[0], weights)


@every
def test_a_norm_that_is_not_finite_changes_nothing(name):
    for bad in (float("nan"), float("inf")):
        weights, optimizer = ours(replace(CONFIGS[name], weight_decay=0.1), steps=2)
        before = {k: v.clone() for k, v in [*weights.items(), *optimizer.state_dict().items()]}
        weights["cube"].grad[0, 0, 0] = bad
        assert not torch.isfinite(torch.tensor(optimizer.step(0.1)))
        after = weights | optimizer.state_dict()
        assert all(torch.equal(before[k], after[k]) for k in before)


@every
def test_the_norm_is_that_of_all_gradients_and_zero_is_no_trouble(name):
    weights, optimizer = ours(replace(CONFIGS[name], gradient_clip=1.0), steps=1)
    fill(weights, 5, size=3.0)
    expected = torch.cat([p.grad.flatten() for p in weights.values()]).norm().item()
    assert optimizer.step(0.1) == pytest.approx(expected, rel=1e-6)
    fill(weights, 5, size=0.0)
    assert optimizer.step(0.1) == 0.0
    assert all(torch.isfinite(p).all() for p in weights.values())


@every
def test_a_restored_optimizer_continues_with_the_same_bits(name):
    config = replace(CONFIGS[name], weight_decay=0.01, gradient_clip=1.0)
    whole, optimizer = ours(config)
    half, stopped = ours(config, steps=10)
    state = {k: v.clone() for k, v in stopped.state_dict().items()}
    copies = {k: nn.Parameter(v.detach().clone()) for k, v in half.items()}
    resumed, again = ours(config, weights=copies, start=10, saved=state)
    assert all(torch.equal(whole[k], resumed[k]) for k in whole)
    first, second = optimizer.state_dict(), again.state_dict()
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
    _, optimizer = ours(CONFIGS[name], steps=3)
    state = optimizer.state_dict()
    assert set(state) == {"steps", *(f"{slot}.{parameter}" for slot in slots for parameter in SHAPES)}
    assert state["steps"].dtype == torch.int64
    assert state["steps"] == 3


def test_state_of_another_model_is_refused():
    _, optimizer = ours(CONFIGS["adamw"], steps=1)
    with pytest.raises(ValueError, match=r"mean\.other"):
        optimizer.load_state_dict({**optimizer.state_dict(), "mean.other": torch.zeros(1)})


def test_frozen_parameters_are_left_alone():
    weights = parameters()
    weights["cube"].requires_grad_(False)
    assert "cube" not in Optimizer(CONFIGS["adamw"], weights.items()).parameters


@every
@pytest.mark.parametrize("unfrozen_at", [0, 7])
def test_groups_are_torchs_parameter_groups(name, unfrozen_at):
    """A learning rate for each parameter; one of them is frozen for the first steps."""
    theirs, ours = parameters(), parameters()
    peer = PEERS[name]([{"params": [p], "lr": 0.1 * FACTORS[key]} for key, p in theirs.items()], CONFIGS[name])
    optimizer = Optimizer(replace(CONFIGS[name], weight_decay=0.2), ours.items(), FACTORS)
    for seed in range(20):
        for weights in (theirs, ours):
            fill(weights, seed)
            weights["cube"].requires_grad_(seed >= unfrozen_at)
            weights["cube"].grad = weights["cube"].grad if seed >= unfrozen_at else None
        for key, p in theirs.items():
            p.data.mul_(1 - 0.1 * FACTORS[key] * 0.2 if p.ndim >= 2 and p.grad is not None else 1)
        peer.step()
        optimizer.step(0.1)
    torch.testing.assert_close({k: p.detach() for k, p in ours.items()}, {k: p.detach() for k, p in theirs.items()})


def test_an_optimizer_restored_between_stages_continues_with_the_same_bits():
    def run(weights, optimizer, seeds):
        for seed in seeds:
            fill(weights, seed)
            weights["cube"].requires_grad_(seed >= 4)
            weights["cube"].grad = weights["cube"].grad if seed >= 4 else None
            optimizer.step(0.1)
        return {key: weight.detach().clone() for key, weight in weights.items()}

    config, whole = schema.Optimizer(), parameters()
    expected = run(whole, Optimizer(config, whole.items(), FACTORS), range(9))
    for stop in (2, 4, 6):
        weights = parameters()
        first = Optimizer(config, weights.items(), FACTORS)
        run(weights, first, range(stop))
        for weight in weights.values():
            weight.requires_grad_(True)  # as in a new process
        second = Optimizer(config, weights.items(), FACTORS)
        second.load_state_dict({key: tensor.clone() for key, tensor in first.state_dict().items()})
        actual = run(weights, second, range(stop, 9))
        assert all(torch.equal(actual[key], expected[key]) for key in expected)


@pytest.mark.parametrize("module", [optimizer_module, ema_module])
def test_only_public_functions_of_torch_are_used(module):
    assert "torch._" not in inspect.getsource(module)


@every
def test_a_step_is_seen_by_the_version_counters(name):
    """By them `nn.linear` knows that a packed weight is stale; fused kernels do not count their changes."""
    weights = parameters()
    optimizer = Optimizer(CONFIGS[name], weights.items())
    before = {key: weight._version for key, weight in weights.items()}
    fill(weights, 1)
    optimizer.step(0.1)
    assert all(weight._version > before[key] for key, weight in weights.items())
