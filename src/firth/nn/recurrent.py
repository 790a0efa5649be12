"""Stacked recurrent layers: Elman's, LSTM, GRU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from firth.config.schema import Recurrent
from firth.errors import FirthError
from firth.nn.precision import product_type


class Cell(NamedTuple):
    """A kind of layer: torch's module, whose parameters it has, and the function that runs it."""

    module: Callable[..., nn.Module]
    run: Callable[..., tuple]
    carried: tuple[str, ...]


CELLS = {
    "lstm": Cell(nn.LSTM, torch.lstm, ("hidden", "cell")),
    "gru": Cell(nn.GRU, torch.gru, ("hidden",)),
    "tanh": Cell(nn.RNN, torch.rnn_tanh, ("hidden",)),
    "relu": Cell(nn.RNN, torch.rnn_relu, ("hidden",)),
}


class RecurrentLayers(nn.Module):
    """Layers of one cell, dropout after each (Zaremba et al. 2014): with a new mask at every position or, if locked,
    one for all (Gal and Ghahramani 2016). Its parameters are those of torch's module, by name and shape.
    """

    def __init__(self, config: Recurrent, input_width: int):
        super().__init__()
        self.config, self.cell = config, CELLS[config.cell]
        if config.projection and (config.cell != "lstm" or config.projection >= config.width):
            what = f"backbone.projection = {config.projection}: for lstm, and narrower than its width"
            raise FirthError(what, do="set it to 0, or to less than backbone.width")
        both = config.directions != "left"
        extra: dict[str, Any] = {"proj_size": config.projection} if config.projection else {}
        made = self.cell.module(input_width, config.width, config.depth, bidirectional=both, **extra)
        for name, parameter in made.named_parameters():
            self.register_parameter(name, nn.Parameter(_start_values(name, parameter.data, config)))
        self.shapes = {name: (config.depth * (1 + both), self._width(name)) for name in self.cell.carried}
        for name, shape in self.shapes.items() if config.learned_start else ():
            self.register_parameter(f"start_{name}", nn.Parameter(torch.zeros(shape)))

    def _width(self, name: str) -> int:
        return self.config.projection or self.config.width if name == "hidden" else self.config.width

    @property
    def width(self) -> int:
        """Of the states."""
        return self._width("hidden") * (2 if self.config.directions == "concatenated" else 1)

    def start(self, rows: int, device: torch.device | str) -> dict[str, Tensor]:
        """What is carried before any token, rows first: zeros, or learned."""
        if self.config.learned_start:
            return {name: getattr(self, f"start_{name}").repeat(rows, 1, 1) for name in self.shapes}
        return {name: torch.zeros(rows, *shape, device=device) for name, shape in self.shapes.items()}

    def forward(
        self, x: Tensor, live: Mapping[str, Tensor], lengths: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """x (batch, time, input width), live (batch, depth, width) by name -> states, new live. Given their lengths,
        rows end where their own tokens do, in both directions."""
        # oneDNN wants one type for all of its inputs; what is carried stays in its own type
        low, config = product_type(x), self.config
        ends: list[tuple[Tensor, ...]] = []
        for layer in range(config.depth):
            states, end = self._layer(layer, x.to(low), live, low, lengths)
            states = states + x if config.residual and states.shape == x.shape else states
            x = _dropout(states, config.dropout, self.training, config.locked)
            ends.append(end)
        carried = zip(self.cell.carried, zip(*ends, strict=True), strict=True)
        return x, {name: torch.cat(parts).transpose(0, 1).to(live[name].dtype) for name, parts in carried}

    def _layer(
        self, layer: int, x: Tensor, live: Mapping[str, Tensor], low: torch.dtype, lengths: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One layer: its states, and what it carries on (directions, batch, width)."""
        both = self.config.directions != "left"
        span = slice(layer * (1 + both), (layer + 1) * (1 + both))
        begin = [live[name][:, span].to(low).transpose(0, 1).contiguous() for name in self.cell.carried]
        weights = [weight for end in ("", "_reverse")[: 1 + both] for weight in self._weights(f"l{layer}{end}")]
        states, *end = self._run(x, begin, weights, lengths)
        if self.config.directions == "averaged":
            states = torch.stack(states.chunk(2, -1)).mean(0)
        return states, tuple(end)

    def _run(self, x: Tensor, begin: list[Tensor], weights: list[Tensor], lengths: Tensor | None) -> tuple[Tensor, ...]:
        """States (batch, time, width) and what is carried on, of rows of one length or of their own lengths."""
        both = self.config.directions != "left"
        if lengths is None:
            given = begin if len(begin) > 1 else begin[0]
            return self.cell.run(x, given, weights, True, 1, 0.0, self.training, both, True)
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        begin = [part.index_select(1, packed.sorted_indices) for part in begin]  # longest row first
        given = begin if len(begin) > 1 else begin[0]
        data, *end = self.cell.run(packed.data, packed.batch_sizes, given, weights, True, 1, 0.0, self.training, both)
        states, _ = pad_packed_sequence(packed._replace(data=data), batch_first=True, total_length=x.shape[1])
        return states, *(part.index_select(1, packed.unsorted_indices) for part in end)

    def _weights(self, place: str) -> list[Tensor]:
        """Those of a layer, the recurrent ones with dropout (Merity et al. 2018)."""
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        found = {kind: getattr(self, f"{kind}_{place}") for kind in kinds if hasattr(self, f"{kind}_{place}")}
        found["weight_hh"] = F.dropout(found["weight_hh"], self.config.weight_dropout, self.training)
        return list(found.values())


def _start_values(name: str, values: Tensor, config: Recurrent) -> Tensor:
    """Uniform within the spread; recurrent matrices orthogonal gate by gate, if asked (Saxe et al. 2014)."""
    if config.orthogonal and name.startswith("weight_hh"):
        for gate in values.split(config.width):
            nn.init.orthogonal_(gate)
        return values
    return values.uniform_(-config.spread, config.spread)


def _dropout(x: Tensor, share: float, training: bool, locked: bool) -> Tensor:
    if not locked:
        return F.dropout(x, share, training)
    return x * F.dropout(torch.ones_like(x[:, :1]), share, training)
