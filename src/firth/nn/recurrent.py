"""Stacked recurrent layers: Elman RNN, LSTM, GRU; unidirectional or bidirectional."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from firth.config.schema import Recurrent
from firth.errors import FirthError
from firth.nn.linear import compute_dtype
from firth.nn.ragged_recurrent import run_ragged


class Cell(NamedTuple):
    """A kind of recurrent cell: torch's module, whose parameters it has, and the function that runs it."""

    module: Callable[..., nn.Module]
    run: Callable[..., tuple[Tensor, ...]]
    state_names: tuple[str, ...]  # of the tensors carried from step to step


CELLS = {
    "lstm": Cell(nn.LSTM, torch.lstm, ("hidden", "cell")),
    "gru": Cell(nn.GRU, torch.gru, ("hidden",)),
    "tanh": Cell(nn.RNN, torch.rnn_tanh, ("hidden",)),
    "relu": Cell(nn.RNN, torch.rnn_relu, ("hidden",)),
}


class RecurrentLayers(nn.Module):
    """Stacked layers of one cell with dropout after each (Zaremba et al. 2014): a new dropout mask at every position,
    or one for all positions (variational dropout; Gal and Ghahramani 2016). Its parameters are those of torch's module,
    by name and shape."""

    def __init__(self, config: Recurrent, input_width: int):
        super().__init__()
        self.config, self.cell = config, CELLS[config.cell]
        if config.projection and (config.cell != "lstm" or config.projection >= config.width):
            what = (
                f"backbone.projection = {config.projection}: needs cell lstm and a projection narrower than its width"
            )
            raise FirthError(what, do="set it to 0, or to less than backbone.width")
        bidirectional = config.bidirectional != "no"
        extra: dict[str, Any] = {"proj_size": config.projection} if config.projection else {}
        module = self.cell.module(input_width, config.width, config.depth, bidirectional=bidirectional, **extra)
        for name, parameter in module.named_parameters():
            self.register_parameter(name, nn.Parameter(_init_parameter(name, parameter.data, config)))
        self.shapes = {name: (config.depth * (1 + bidirectional), self._width(name)) for name in self.cell.state_names}
        for name, shape in self.shapes.items() if config.learned_initial_state else ():
            self.register_parameter(f"initial_{name}", nn.Parameter(torch.zeros(shape)))

    def _width(self, name: str) -> int:
        return self.config.projection or self.config.width if name == "hidden" else self.config.width

    @property
    def width(self) -> int:
        """The width of the output states."""
        return self._width("hidden") * (2 if self.config.bidirectional == "concatenate" else 1)

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to, from 1; a learned initial state, which is that of all
        layers, belongs to the lowest."""
        layer = re.search(r"_l(\d+)(_reverse)?$", name)
        return int(layer[1]) + 1 if layer else 1

    def start(self, batch_size: int, device: torch.device | str) -> dict[str, Tensor]:
        """The initial state by name (batch, depth × directions, width): zeros, or learned."""
        if self.config.learned_initial_state:
            return {name: getattr(self, f"initial_{name}").repeat(batch_size, 1, 1) for name in self.shapes}
        return {name: torch.zeros(batch_size, *shape, device=device) for name, shape in self.shapes.items()}

    def forward(
        self,
        x: Tensor,
        live: Mapping[str, Tensor],
        lengths: Tensor | None = None,
        kept_layers: list[Tensor] | None = None,
        final_state: bool = True,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """x (batch, time, input width), live (batch, depth × directions, width) by name -> states (batch, time, width),
        new live. With `lengths`, padding is skipped in both directions; without `final_state` that is faster, and the
        new live is empty. Each layer's states are added to `kept_layers`."""
        # oneDNN needs one dtype for all of its inputs; the carried state keeps its own
        dtype, config = compute_dtype(x), self.config
        final_states: list[tuple[Tensor, ...]] = []
        for layer in range(config.depth):
            states, final = self._run_layer(layer, x.to(dtype), live, lengths, final_state)
            states = states + x if config.residual and states.shape == x.shape else states
            x = _dropout(states, config.dropout, self.training, config.variational_dropout)
            final_states.append(final)
            if kept_layers is not None:
                kept_layers.append(x)
        named = zip(self.cell.state_names, zip(*final_states, strict=True), strict=True) if final_state else ()
        return x, {name: torch.cat(parts).transpose(0, 1).to(live[name].dtype) for name, parts in named}

    def _run_layer(
        self, layer: int, x: Tensor, live: Mapping[str, Tensor], lengths: Tensor | None, final_state: bool
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One layer: its output states, and its final state (directions, batch, width)."""
        bidirectional = self.config.bidirectional != "no"
        span = slice(layer * (1 + bidirectional), (layer + 1) * (1 + bidirectional))
        initial = [live[name][:, span].to(x.dtype).transpose(0, 1).contiguous() for name in self.cell.state_names]
        weights = [self._weights(f"l{layer}{suffix}") for suffix in ("", "_reverse")[: 1 + bidirectional]]
        if lengths is None:
            states, *final = self._run_padded(x, initial, weights)
        elif self._is_fast_ragged(x) and not final_state:
            run, size = partial(self._run_direction, weights), sum(each.numel() for each in weights[0])
            states, final = run_ragged(run, x, initial, lengths, len(weights), size), []
        else:
            states, *final = self._run_packed(x, initial, weights, lengths)
        if self.config.bidirectional == "average":
            states = torch.stack(states.chunk(2, -1)).mean(0)
        return states, tuple(final)

    def _is_fast_ragged(self, x: Tensor) -> bool:
        """Whether segments of sequences are faster than packed ones: oneDNN has a kernel for LSTMs only."""
        return x.device.type == "cpu" and self.config.cell == "lstm" and not self.config.projection

    def _run_padded(
        self, x: Tensor, initial: list[Tensor], weights: list[list[Tensor]], batch_first: bool = True
    ) -> tuple[Tensor, ...]:
        """Output states (batch, time, width) and the final state of sequences of equal lengths; weights by
        direction."""
        state, flat = initial if len(initial) > 1 else initial[0], [each for part in weights for each in part]
        return self.cell.run(x, state, flat, True, 1, 0.0, self.training, len(weights) > 1, batch_first)

    def _run_direction(
        self, weights: list[list[Tensor]], x: Tensor, initial: list[Tensor], direction: int
    ) -> tuple[Tensor, ...]:
        """Output states (time, batch, width) of one direction, and its final state (batch, width)."""
        states, *final = self._run_padded(x, [part[None] for part in initial], [weights[direction]], batch_first=False)
        return states, *(part[0] for part in final)

    def _run_packed(
        self, x: Tensor, initial: list[Tensor], weights: list[list[Tensor]], lengths: Tensor
    ) -> tuple[Tensor, ...]:
        """Output states (batch, time, width) and the final state of sequences of their own lengths."""
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        assert packed.sorted_indices is not None and packed.unsorted_indices is not None  # it was sorted here
        initial = [part.index_select(1, packed.sorted_indices) for part in initial]  # longest sequence first
        state, flat = initial if len(initial) > 1 else initial[0], [each for part in weights for each in part]
        data, *final = self.cell.run(
            packed.data, packed.batch_sizes, state, flat, True, 1, 0.0, self.training, len(weights) > 1
        )
        states, _ = pad_packed_sequence(packed._replace(data=data), batch_first=True, total_length=x.shape[1])
        return states, *(part.index_select(1, packed.unsorted_indices) for part in final)

    def _weights(self, suffix: str) -> list[Tensor]:
        """The parameters of a layer, recurrent weights with dropout (weight-dropped LSTM; Merity et al. 2018)."""
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        weights = {kind: getattr(self, f"{kind}_{suffix}") for kind in kinds if hasattr(self, f"{kind}_{suffix}")}
        weights["weight_hh"] = F.dropout(weights["weight_hh"], self.config.weight_dropout, self.training)
        return list(weights.values())


def _init_parameter(name: str, values: Tensor, config: Recurrent) -> Tensor:
    """Uniform initialisation; orthogonal for each gate's recurrent matrix if so configured (Saxe et al. 2014)."""
    if config.orthogonal_init and name.startswith("weight_hh"):
        for gate in values.split(config.width):
            nn.init.orthogonal_(gate)
        return values
    return values.uniform_(-config.init_range, config.init_range)


def _dropout(x: Tensor, probability: float, training: bool, variational: bool) -> Tensor:
    if not variational:
        return F.dropout(x, probability, training)
    return x * F.dropout(torch.ones_like(x[:, :1]), probability, training)
