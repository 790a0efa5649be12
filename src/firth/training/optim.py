"""How gradients become steps.

torch's fused kernels, called directly: its optimizer classes import the compiler (two seconds), keep their state by
number instead of name, and clip in a pass of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn

from firth.config.schema import Optimizer

# What each optimizer remembers of a parameter.
SLOTS = {"sgd": ("momentum",), "adam": ("mean", "square"), "adamw": ("mean", "square"), "adagrad": ("square",)}


class Optim:
    """Clips the gradient, decays matrices (apart from the gradient, for every optimizer) and takes the step."""

    def __init__(self, config: Optimizer, parameters: Iterable[tuple[str, nn.Parameter]]) -> None:
        """`parameters` are named, each tensor once, as `module.named_parameters()` gives them."""
        self.config = config
        self.parameters = {name: parameter for name, parameter in parameters if parameter.requires_grad}
        self.slots = () if config.name == "sgd" and not config.momentum else SLOTS[config.name]
        self.memory = {slot: {name: torch.zeros_like(p) for name, p in self.parameters.items()} for slot in self.slots}
        self.steps = 0

    def clear(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters.values():
            parameter.grad = None

    @torch.no_grad()
    def step(self, rate: float) -> float:
        """Change the weights by one step and return the gradient's norm; change nothing if that is not finite."""
        learned = {name: parameter for name, parameter in self.parameters.items() if parameter.grad is not None}
        norm = _norm([parameter.grad for parameter in learned.values()])
        if not math.isfinite(norm):
            return norm
        scale = min(1.0, self.config.clip / norm) if self.config.clip and norm else 1.0
        matrices = [parameter for parameter in learned.values() if parameter.ndim >= 2]
        if self.config.decay and matrices:
            torch._foreach_mul_(matrices, 1 - rate * self.config.decay)
        self.steps += 1
        gradients = [parameter.grad for parameter in learned.values()]
        memory = [[self.memory[slot][name] for name in learned] for slot in self.slots]
        _STEPS[self.config.name](self, list(learned.values()), gradients, memory, rate, scale)
        # fused functions leave the versions as they are, by which `nn.linear` knows that a matrix has changed
        torch.autograd.graph.increment_version(list(learned.values()))
        return norm

    def state_dict(self) -> dict[str, Tensor]:
        """All that is remembered: "slot.parameter" -> tensor, and the number of steps."""
        kept = {f"{slot}.{name}": tensor for slot, held in self.memory.items() for name, tensor in held.items()}
        return {**kept, "steps": torch.tensor(self.steps)}

    def load_state_dict(self, kept: Mapping[str, Tensor]) -> None:
        """Take over what `state_dict` gave; other names are an error."""
        if set(kept) != set(self.state_dict()):
            raise ValueError(
                f"not the state of this optimizer: {', '.join(sorted(set(kept) ^ set(self.state_dict())))}"
            )
        self.steps = int(kept["steps"])
        for slot, held in self.memory.items():
            for name, tensor in held.items():
                tensor.copy_(kept[f"{slot}.{name}"])


def _norm(gradients: list[Tensor]) -> float:
    """The norm of all gradients together. A dot product is faster than torch's norm, and nearer to the true value."""
    return math.sqrt(sum(float(torch.dot(flat, flat)) for flat in (g.flatten() for g in gradients)))


# --- the kernels: each divides the gradients by `grad_scale` as it reads them, which saves a pass for clipping ------


def _inverse(scale: float) -> Tensor | None:
    return torch.tensor(1.0 / scale) if scale < 1.0 else None


def _descend(
    optim: Optim, weights: list[Tensor], gradients: list[Tensor], memory: list[list[Tensor]], rate: float, scale: float
) -> None:
    """weight -= rate × gradient, or × its running sum (momentum)."""
    if not memory:
        torch._foreach_add_(weights, gradients, alpha=-rate * scale)
        return
    torch._fused_sgd_(
        weights,
        gradients,
        *memory,
        weight_decay=0.0,
        momentum=optim.config.momentum,
        lr=rate,
        dampening=0.0,
        nesterov=False,
        maximize=False,
        is_first_step=False,
        grad_scale=_inverse(scale),
    )


def _adapt(
    optim: Optim, weights: list[Tensor], gradients: list[Tensor], memory: list[list[Tensor]], rate: float, scale: float
) -> None:
    """Adam (Kingma and Ba 2015); with the decay apart from the gradient it is AdamW (Loshchilov and Hutter 2019)."""
    beta1, beta2 = optim.config.betas
    torch._fused_adam_(
        weights,
        gradients,
        *memory,
        [],
        _steps(optim, weights),
        lr=rate,
        beta1=beta1,
        beta2=beta2,
        weight_decay=0.0,
        eps=optim.config.epsilon,
        amsgrad=False,
        maximize=False,
        grad_scale=_inverse(scale),
    )


def _adagrad(
    optim: Optim, weights: list[Tensor], gradients: list[Tensor], memory: list[list[Tensor]], rate: float, scale: float
) -> None:
    """Adagrad (Duchi et al. 2011)."""
    torch._fused_adagrad_(
        weights,
        gradients,
        *memory,
        _steps(optim, weights),
        lr=rate,
        lr_decay=0.0,
        weight_decay=0.0,
        eps=optim.config.epsilon,
        maximize=False,
        grad_scale=_inverse(scale),
    )


def _steps(optim: Optim, weights: list[Tensor]) -> list[Tensor]:
    return [torch.tensor(float(optim.steps))] * len(weights)


_STEPS: dict[str, Callable[..., None]] = {"sgd": _descend, "adam": _adapt, "adamw": _adapt, "adagrad": _adagrad}
