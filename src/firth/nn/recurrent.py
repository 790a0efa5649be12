"""Stacked recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Recurrent


class RecurrentLayers(nn.LSTM):
    """LSTM layers, dropout after each with a new mask at every position (Zaremba et al. 2014).

    Its parameters are those of torch's LSTM, by name and shape.
    """

    def __init__(self, config: Recurrent, input_width: int):
        # torch drops between layers only (and warns if there is but one); the last output is dropped below
        between = config.dropout if config.depth > 1 else 0.0
        super().__init__(input_width, config.width, config.depth, batch_first=True, dropout=between)
        self.last_dropout = config.dropout
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -config.spread, config.spread)

    def forward(self, x: Tensor, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """x (batch, time, input width), live "hidden", "cell" (batch, depth, width) -> states, new live."""
        # oneDNN wants one type for all of its inputs; what is carried stays in its own type
        device = x.device.type
        low = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        start = tuple(live[name].to(low).transpose(0, 1).contiguous() for name in ("hidden", "cell"))
        states, end = super().forward(x.to(low), start)
        states = F.dropout(states, self.last_dropout, self.training)
        hidden, cell = (tensor.transpose(0, 1).to(live["hidden"].dtype) for tensor in end)
        return states, {"hidden": hidden, "cell": cell}
