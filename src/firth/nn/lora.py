"""Low-rank adaptation (LoRA; Hu et al. 2022): a linear layer W stays as it is, and a product of two narrow matrices is
added, W + α/r · B A."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.nn.linear import Linear


class LoRA(nn.Module):
    """The updates of a linear layer, one for each of its parts (query, key, value, …) that is adapted."""

    def __init__(self, config: schema.LoRA, weight: Tensor, parts: Sequence[str]) -> None:
        super().__init__()
        self.parts, self.dropout, self.scale = tuple(parts), config.dropout, config.alpha / config.rank
        self.size = len(weight) // len(parts)  # outputs of a part
        adapted = [part for part in parts if part in config.projections]
        down, up = (config.rank, weight.shape[1]), (self.size, config.rank)
        self.a = nn.ParameterDict({part: torch.empty(down, device=weight.device) for part in adapted})
        # with B = 0 the network is at first the pre-trained one
        self.b = nn.ParameterDict({part: torch.zeros(up, device=weight.device) for part in adapted})
        for matrix in self.a.values():
            nn.init.kaiming_uniform_(matrix, a=math.sqrt(5))

    def add_to(self, output: Tensor, x: Tensor, first: int = 0) -> Tensor:
        """The layer's output for x, or that of its parts from `first` on (…, parts × size), with their updates."""
        outputs = list(output.split(self.size, -1))
        for index, part in enumerate(self.parts[first : first + len(outputs)]):
            if part in self.a:
                narrow = F.linear(F.dropout(x, self.dropout, self.training), self.a[part])  # (…, rank)
                outputs[index] = outputs[index] + self.scale * F.linear(narrow, self.b[part])
        return torch.cat(outputs, -1) if len(outputs) > 1 else outputs[0]

    def weight_update(self) -> Tensor:
        """What is added to the layer's weight (out, in)."""
        zeros = next(iter(self.a.values())).new_zeros
        width = next(iter(self.a.values())).shape[1]
        updates = (
            self.scale * self.b[part] @ self.a[part] if part in self.a else zeros(self.size, width)
            for part in self.parts
        )
        return torch.cat(list(updates))


def add_adapters(network: nn.Module, config: schema.LoRA) -> None:
    """Give an adapter to each linear layer that has a part to be adapted."""
    layers = [layer for layer in _linear_layers(network) if {*layer.parts} & {*config.projections}]
    if not layers:
        what = f"this network has no projections to {', '.join(config.projections)}"
        raise FirthError(what, where="train.adapter", do="adapt a Transformer, or set it to none")
    for layer in layers:
        layer.adapter = LoRA(config, layer.weight, layer.parts)


def adapted_layers(network: nn.Module) -> dict[str, Linear]:
    """The linear layers with an adapter, by name."""
    return {name: layer for name, layer in network.named_modules() if isinstance(layer, Linear) and layer.adapter}


@torch.no_grad()
def merge_adapters(network: nn.Module) -> None:
    """Add all updates to the weights; the adapters are gone."""
    for layer in adapted_layers(network).values():
        assert layer.adapter is not None
        layer.weight += layer.adapter.weight_update()
        layer.adapter = None


def is_adapter(name: str) -> bool:
    """Whether a parameter belongs to an adapter."""
    return "adapter" in name.split(".")


def _linear_layers(network: nn.Module) -> list[Linear]:
    return [module for module in network.modules() if isinstance(module, Linear)]
