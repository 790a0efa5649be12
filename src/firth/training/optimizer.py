"""Optimizers: SGD with momentum, Adam, AdamW and Adagrad, with gradient clipping, decoupled weight decay and
layer-wise learning rates.

The functional API of torch.optim (`torch.optim.adam.adam`, …) with fused kernels. Its optimizer classes would import
the compiler (a second), keep their state by number instead of name, and need a pass of its own for clipping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import torch
from torch import Tensor, nn

from firth.config import schema
from firth.config.schema import Schedule
from firth.types import expect

# The state of each parameter, by optimizer; in torch.optim: momentum_buffer, exp_avg, exp_avg_sq, sum.
SLOTS = {"sgd": ("momentum",), "adam": ("mean", "square"), "adamw": ("mean", "square"), "adagrad": ("square",)}


class Optimizer:
    """Clips the gradient norm, decays the matrices (decoupled from the gradient, for every optimizer), and steps."""

    def __init__(
        self,
        config: schema.Optimizer,
        parameters: Iterable[tuple[str, nn.Parameter]],
        factors: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """`parameters` are named, each tensor once, as `module.named_parameters()` gives them; `factors`, by name,
        multiply the learning rate. Those that are frozen now are never trained."""
        self.config, self.factors = config, factors
        self.parameters = {name: parameter for name, parameter in parameters if parameter.requires_grad}
        self.slots = () if config.name == "sgd" and not config.momentum else SLOTS[config.name]
        self.state = {slot: {name: torch.zeros_like(p) for name, p in self.parameters.items()} for slot in self.slots}
        self.steps = 0
        # how many steps each was frozen for (gradual unfreezing): they do not count in Adam's bias correction
        self.frozen_steps = dict.fromkeys(self.parameters, 0)
        self._step_counts = torch.zeros(len(self.parameters))
        self._step_tensors = list(self._step_counts.unbind())  # views, a scalar for each parameter

    def zero_grad(self) -> None:
        """Set the gradients to None."""
        for parameter in self.parameters.values():
            parameter.grad = None

    @torch.no_grad()
    def step(self, learning_rate: float) -> float:
        """Take one step and return the gradient norm before clipping; change nothing if that is not finite."""
        norm = _gradient_norm([p.grad for p in self.parameters.values() if p.grad is not None])
        if not math.isfinite(norm):
            return norm
        clip = min(1.0, self.config.gradient_clip / norm) if self.config.gradient_clip and norm else 1.0
        for (factor, frozen_steps), names in self._groups().items():
            self._step_counts.fill_(self.steps - frozen_steps)
            self._update(names, learning_rate * factor, clip)
        for name, parameter in self.parameters.items():
            self.frozen_steps[name] += not parameter.requires_grad
        self.steps += 1
        return norm

    def _groups(self) -> dict[tuple[float, int], list[str]]:
        """The parameters with a gradient, by the factor of their learning rate and the steps that they were frozen."""
        groups: dict[tuple[float, int], list[str]] = {}
        for name, parameter in self.parameters.items():
            if parameter.grad is not None:
                groups.setdefault((self.factors.get(name, 1.0), self.frozen_steps[name]), []).append(name)
        return groups

    def _update(self, names: list[str], learning_rate: float, clip: float) -> None:
        weights: list[Tensor] = [self.parameters[name] for name in names]
        gradients = [expect(self.parameters[name].grad, Tensor) for name in names]
        if self.config.weight_decay:
            for weight in weights:
                if weight.ndim >= 2:
                    weight.mul_(1 - learning_rate * self.config.weight_decay)
        state = [[self.state[slot][name] for name in names] for slot in self.slots]
        _UPDATES[self.config.name](self, weights, gradients, state, learning_rate, clip)
        # fused kernels leave the version counters as they are, by which `nn.linear` knows that a matrix has changed
        torch.autograd.graph.increment_version(weights)

    def steps_before(self, count: int) -> list[Tensor]:
        """The number of steps before this one, a scalar for each of `count` weights; torch.optim adds 1 in place."""
        return self._step_tensors[:count]

    def state_dict(self) -> dict[str, Tensor]:
        """The state: "slot.parameter" -> tensor, the number of steps and, after unfreezing, those of being frozen."""
        tensors = {f"{slot}.{name}": tensor for slot, held in self.state.items() for name, tensor in held.items()}
        if any(self.frozen_steps.values()):
            tensors["frozen_steps"] = torch.tensor(list(self.frozen_steps.values()))
        return {**tensors, "steps": torch.tensor(self.steps)}

    def load_state_dict(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `state_dict` returned; other names are an error."""
        differing = (set(tensors) ^ set(self.state_dict())) - {"frozen_steps"}
        if differing:
            raise ValueError(f"not the state of this optimizer: {', '.join(sorted(differing))}")
        self.steps = int(tensors["steps"])
        frozen_steps = tensors["frozen_steps"].tolist() if "frozen_steps" in tensors else [0] * len(self.parameters)
        self.frozen_steps = dict(zip(self.parameters, frozen_steps, strict=True))
        for slot, held in self.state.items():
            for name, tensor in held.items():
                tensor.copy_(tensors[f"{slot}.{name}"])


def _gradient_norm(gradients: list[Tensor]) -> float:
    """The norm of all gradients together. A dot product is faster than torch's norm, and nearer to the true value."""
    if not gradients:
        return 0.0
    flat = [gradient.flatten() for gradient in gradients]
    return math.sqrt(sum(torch.stack(list(map(torch.dot, flat, flat))).tolist()))


# --- updates: fused kernels divide the gradients by `grad_scale` as they read them, which saves a pass for clipping ---


def _grad_scale(clip: float) -> Tensor | None:
    return torch.tensor(1.0 / clip) if clip < 1.0 else None


def _sgd(
    optimizer: Optimizer,
    weights: list[Tensor],
    gradients: list[Tensor],
    state: list[list[Tensor]],
    learning_rate: float,
    clip: float,
) -> None:
    """Stochastic gradient descent, with momentum if it is configured."""
    from torch.optim.sgd import sgd

    if not state:
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.add_(gradient, alpha=-learning_rate * clip)
        return
    momentum: list[Tensor | None] = [*state[0]]
    sgd(
        weights,
        gradients,
        momentum,
        fused=True,
        grad_scale=_grad_scale(clip),
        weight_decay=0.0,
        momentum=optimizer.config.momentum,
        lr=learning_rate,
        dampening=0.0,
        nesterov=False,
        maximize=False,
    )


def _adam(
    optimizer: Optimizer,
    weights: list[Tensor],
    gradients: list[Tensor],
    state: list[list[Tensor]],
    learning_rate: float,
    clip: float,
) -> None:
    """Adam (Kingma and Ba 2015); with decoupled weight decay it is AdamW (Loshchilov and Hutter 2019)."""
    from torch.optim.adam import adam

    beta1, beta2 = optimizer.config.betas
    means, squares = state
    adam(
        weights,
        gradients,
        means,
        squares,
        [],
        optimizer.steps_before(len(weights)),
        fused=True,
        grad_scale=_grad_scale(clip),
        amsgrad=False,
        beta1=beta1,
        beta2=beta2,
        lr=learning_rate,
        weight_decay=0.0,
        eps=optimizer.config.epsilon,
        maximize=False,
    )


def _adagrad(
    optimizer: Optimizer,
    weights: list[Tensor],
    gradients: list[Tensor],
    state: list[list[Tensor]],
    learning_rate: float,
    clip: float,
) -> None:
    """Adagrad (Duchi et al. 2011)."""
    from torch.optim.adagrad import adagrad

    adagrad(
        weights,
        gradients,
        state[0],
        optimizer.steps_before(len(weights)),
        fused=True,
        grad_scale=_grad_scale(clip),
        lr=learning_rate,
        weight_decay=0.0,
        lr_decay=0.0,
        eps=optimizer.config.epsilon,
        maximize=False,
    )


_UPDATES: dict[str, Callable[..., None]] = {"sgd": _sgd, "adam": _adam, "adamw": _adam, "adagrad": _adagrad}


def _slanted_triangle(config: Schedule, progress: float) -> float:
    """Up to the peak, then down more slowly (Howard and Ruder 2018)."""
    rise = config.warmup_fraction
    return progress / rise if progress < rise else (1.0 - progress) / (1.0 - rise)


# Each takes the progress after warm-up (0 … 1), the step and the warm-up steps; returns a factor of the peak rate.
_SHAPES: dict[str, Callable[[Schedule, float, int, int], float]] = {
    "constant": lambda config, progress, step, warmup: 1.0,
    "plateau": lambda config, progress, step, warmup: 1.0,  # evaluations lower it: see `reduce_on_plateau`
    "linear": lambda config, progress, step, warmup: 1.0 - progress,
    "cosine": lambda config, progress, step, warmup: 0.5 * (1.0 + math.cos(math.pi * progress)),
    "inverse-sqrt": lambda config, progress, step, warmup: math.sqrt(max(warmup, 1) / max(step, warmup, 1)),
    "slanted-triangular": lambda config, progress, step, warmup: _slanted_triangle(config, progress),
}
_ENDS_AT_MINIMUM = ("linear", "cosine", "slanted-triangular")
_HAS_OWN_WARMUP = ("slanted-triangular",)


def learning_rate_factor(config: Schedule, step: int, total: int) -> float:
    """The factor of the peak learning rate for the step after `step` finished ones, of `total` steps."""
    config = _without_warmup(config)
    if step < config.warmup_steps:
        return (step + 1) / (config.warmup_steps + 1)
    progress = min(1.0, (step - config.warmup_steps) / max(1, total - config.warmup_steps))
    # stages change where those of a length curriculum do
    stage = sum(step >= total * stage // config.decay_stages for stage in range(1, config.decay_stages))
    return _shape(config, progress, step, config.warmup_steps) * config.factor**stage


MAX_WARMUP = 0.3  # of a time budget, however many steps of warm-up are configured


def timed_learning_rate_factor(config: Schedule, step: int, fraction: float) -> float:
    """The same where a fraction of the time has passed, and the number of steps is not known."""
    config = _without_warmup(config)
    steps = step / fraction if fraction else math.inf  # as many as the time allows, at the speed so far
    warmup = int(min(config.warmup_steps, MAX_WARMUP * steps))
    ramp = min(1.0, max((step + 1) / (config.warmup_steps + 1), fraction / MAX_WARMUP))
    stage = int(fraction * config.decay_stages)
    return ramp * _shape(config, fraction, step, warmup) * config.factor ** min(stage, config.decay_stages - 1)


def _without_warmup(config: Schedule) -> Schedule:
    """The schedule without a warm-up before a shape that has one of its own."""
    return replace(config, warmup_steps=0) if config.shape in _HAS_OWN_WARMUP else config


def _shape(config: Schedule, progress: float, step: int, warmup: int) -> float:
    factor = _SHAPES[config.shape](config, progress, step, warmup)
    return config.min_ratio + (1.0 - config.min_ratio) * factor if config.shape in _ENDS_AT_MINIMUM else factor


def reduce_on_plateau(config: Schedule, factor: float, bad_evaluations: int) -> float:
    """The plateau factor after an evaluation, given how many in a row brought no improvement (patience)."""
    if config.shape != "plateau" or bad_evaluations <= config.patience:
        return factor
    return max(factor * config.factor, config.min_ratio)
