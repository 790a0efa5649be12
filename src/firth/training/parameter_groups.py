"""Parameter groups: frozen parts (linear probing), adapters, layer-wise learning-rate decay (discriminative
fine-tuning), gradual unfreezing.

The network declares the depth of its parameters (`System.depth_of`): 0 is the input, the head is above the last layer.
"""

from __future__ import annotations

import torch

from firth.config import schema
from firth.errors import FirthError
from firth.models.build import System
from firth.nn.lora import add_adapters, is_adapter
from firth.types import derive_seed

# part of `train.frozen` -> how the names of its parameters begin; the objective's own predict, as the head does
_PARTS = {"inputs": ("inputs.",), "backbone": ("backbone.",), "head": ("head.", "objective.")}
_ADAPTED = ("inputs", "backbone")  # what an adapter is trained in place of
_ROUNDING = 1e-9  # a stage begins with the step at its border, whatever that is in floating point


def prepare_training(system: System, config: schema.Neural) -> None:
    """Give a network its adapters, and freeze what is not trained."""
    if isinstance(config.train.adapter, schema.LoRA):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive_seed(config.seed, "adapter"))
            add_adapters(system.backbone, config.train.adapter)
    freeze(system, config.train)


def freeze(system: System, config: schema.Train) -> None:
    """Parameters of frozen parts and of the lowest layers get no gradient, and are not trained."""
    if config.frozen_layers >= system.depth:
        what = f"train.frozen_layers = {config.frozen_layers}, and the network has {system.depth - 1} layers"
        raise FirthError(what, do="set it to fewer")
    frozen = (*config.frozen, *(_ADAPTED if isinstance(config.adapter, schema.LoRA) else ()))
    prefixes, lowest = tuple(prefix for part in frozen for prefix in _PARTS[part]), config.frozen_layers
    for name, parameter in system.named_parameters():
        if (name.startswith(prefixes) and not is_adapter(name)) or (lowest and system.depth_of(name) <= lowest):
            parameter.requires_grad_(False)
    if frozen and not any(parameter.requires_grad for parameter in system.parameters()):
        raise FirthError("nothing is left to train", where="train.frozen", do="leave out the head, or the backbone")


def count_trained(system: System) -> int:
    """The number of trained parameters."""
    return sum(parameter.numel() for parameter in system.parameters() if parameter.requires_grad)


def learning_rate_factors(system: System, config: schema.Optimizer) -> dict[str, float]:
    """The learning rate of each parameter, as a fraction of the head's (Howard and Ruder 2018; Clark et al. 2020)."""
    if config.layer_decay == 1.0:
        return {}
    depths = {name: system.depth_of(name) for name, _ in system.named_parameters()}
    return {name: config.layer_decay ** (system.depth - depth) for name, depth in depths.items()}


class GradualUnfreezing:
    """Trains the head first, then one more layer in each of equal stages, down to the input (Howard and Ruder 2018)."""

    def __init__(self, system: System, fraction: float) -> None:
        """The stages divide this first fraction of the run; 0: there are none."""
        self.fraction = fraction
        trained = [(name, p) for name, p in system.named_parameters() if p.requires_grad and fraction]
        self.depths = [(system.depth_of(name), parameter) for name, parameter in trained]
        self.levels = sorted({depth for depth, _ in self.depths}, reverse=True)

    def update(self, fraction: float) -> bool:
        """Freeze and unfreeze as the used fraction of the run demands, and nothing else; returns whether that changed
        anything."""
        if not self.fraction:
            return False
        stages = fraction * len(self.levels) / self.fraction + _ROUNDING
        stage = min(int(stages), len(self.levels) - 1)
        changed = [p for depth, p in self.depths if p.requires_grad != (depth >= self.levels[stage])]
        for parameter in changed:
            parameter.requires_grad_(not parameter.requires_grad)
        return bool(changed)
