"""How gradients become steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from firth.config.schema import Optimizer

ADAM = {"mean": "exp_avg", "square": "exp_avg_sq"}
# our names of what each optimizer remembers of a parameter -> torch's
SLOTS = {"sgd": {"momentum": "momentum_buffer"}, "adam": ADAM, "adamw": ADAM, "adagrad": {"square": "sum"}}
# Where torch has one kernel for the whole step. On CPUs it is about twice (sgd) to four times (adam) as fast.
FUSED = {"sgd": ("cpu", "cuda"), "adam": ("cpu", "cuda"), "adamw": ("cpu", "cuda"), "adagrad": ("cpu",)}


class Optim:
    """Clips the gradient, decays matrices (apart from the gradient, for every optimizer) and takes the step."""

    def __init__(self, config: Optimizer, parameters: Iterable[tuple[str, nn.Parameter]]):
        """`parameters` are named, each tensor once, as `module.named_parameters()` gives them."""
        self.config = config
        self.parameters = {name: parameter for name, parameter in parameters if parameter.requires_grad}
        self.fused = all(p.device.type in FUSED[config.name] for p in self.parameters.values())
        # Plain gradient descent remembers nothing and is one addition.
        self.plain = config.name == "sgd" and config.momentum == 0
        self.torch = None if self.plain else _make(config, self.parameters.values(), self.fused)

    @property
    def copies(self) -> int:
        """How many numbers are remembered per parameter."""
        return len(self._slots())

    def clear(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters.values():
            parameter.grad = None

    def step(self, rate: float) -> float:
        """Change the weights by one step and return the gradient's norm; change nothing if that is not finite."""
        learned = [parameter for parameter in self.parameters.values() if parameter.grad is not None]
        for parameter in learned:
            if parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce() if self.plain else parameter.grad.to_dense()
        norm = _norm([parameter.grad for parameter in learned])
        if not math.isfinite(norm):
            return norm
        scale = min(1.0, self.config.clip / norm) if self.config.clip and norm else 1.0
        matrices = [parameter for parameter in learned if parameter.ndim >= 2]
        if self.config.decay and matrices:
            with torch.no_grad():
                torch._foreach_mul_(matrices, 1 - rate * self.config.decay)
        if self.plain:
            _descend(learned, rate * scale)
        else:
            self._step_torch(learned, rate, scale)
        return norm

    def _step_torch(self, learned: list[nn.Parameter], rate: float, scale: float) -> None:
        """Let torch's optimizer take the step, with the gradients scaled."""
        for group in self.torch.param_groups:
            group["lr"] = rate
        if not self.fused:
            torch._foreach_mul_([parameter.grad for parameter in learned], scale)
        elif scale < 1:
            # The kernel divides by it as it reads the gradients, which saves a pass over them.
            self.torch.grad_scale = torch.tensor(1 / scale, device=learned[0].device)
        else:
            self.torch.grad_scale = None
        self.torch.step()

    def state_dict(self) -> dict[str, Tensor]:
        """All that is remembered: "slot.parameter" -> the tensor itself, "steps.parameter" -> an int64."""
        kept = {}
        for name, parameter in self.parameters.items():
            state = {} if self.plain else self.torch.state.get(parameter, {})
            kept |= {f"{ours}.{name}": state[its] for ours, its in self._slots() if its in state}
            if "step" in state:
                kept[f"steps.{name}"] = torch.as_tensor(state["step"]).to("cpu", torch.int64)
        return kept

    def load_state_dict(self, kept: Mapping[str, Tensor]) -> None:
        """Take over what `state_dict` gave; names that fit no parameter are an error."""
        slots = [ours for ours, _ in self._slots()]
        known = {f"{slot}.{name}" for slot in [*slots, "steps"] for name in self.parameters}
        if unknown := sorted(set(kept) - known):
            raise ValueError(f"the optimizer's state has entries that fit no parameter: {', '.join(unknown)}")
        for name, parameter in self.parameters.items():
            state = {its: kept[f"{ours}.{name}"] for ours, its in self._slots() if f"{ours}.{name}" in kept}
            state = {its: tensor.to(parameter, copy=True) for its, tensor in state.items()}
            if f"steps.{name}" in kept:
                state["step"] = kept[f"steps.{name}"].to(self._step_device(parameter), torch.float32)
            if state:
                self.torch.state[parameter] = state

    def _slots(self) -> list[tuple[str, str]]:
        return [] if self.plain else list(SLOTS[self.config.name].items())

    def _step_device(self, parameter: nn.Parameter) -> torch.device:
        """Where torch wants its count of steps."""
        return parameter.device if self.fused else torch.device("cpu")


def _make(config: Optimizer, parameters: Iterable[nn.Parameter], fused: bool) -> torch.optim.Optimizer:
    """torch's optimizer of that name; rate and decay are not its business."""
    parameters = list(parameters)
    options = {"lr": config.rate, "fused": fused} if fused else {"lr": config.rate}
    if config.name == "sgd":
        return torch.optim.SGD(parameters, momentum=config.momentum, **options)
    if config.name == "adagrad":
        return torch.optim.Adagrad(parameters, eps=config.epsilon, **options)
    return torch.optim.Adam(parameters, betas=config.betas, eps=config.epsilon, **options)


def _norm(gradients: list[Tensor]) -> float:
    """The norm of all gradients together; sparse ones are coalesced."""
    flat = [(g.values() if g.is_sparse else g).flatten() for g in gradients]
    # A dot product is faster than torch's norm, and nearer to the true value.
    return math.sqrt(sum(float(torch.dot(g, g)) for g in flat))


@torch.no_grad()
def _descend(parameters: list[nn.Parameter], rate: float) -> None:
    """parameter -= rate × gradient; of sparse gradients, only the rows that are there."""
    dense = [parameter for parameter in parameters if not parameter.grad.is_sparse]
    if dense:
        torch._foreach_add_(dense, [parameter.grad for parameter in dense], alpha=-rate)
    for parameter in parameters:
        if parameter.grad.is_sparse:
            rows, values = parameter.grad.indices()[0], parameter.grad.values()
            parameter.index_add_(0, rows, values, alpha=-rate)
