"""The fixed-window network of Bengio et al. (2003): the last words side by side, and one hidden layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from firth.config.schema import Window
from firth.types import Encoded, State, Tokens


class WindowBackbone(nn.Module):
    """tanh(the vectors of the last `words` tokens, each with its own matrix); directly connected, these vectors too."""

    looks_ahead = ""
    streams = ("text",)
    limit = 0  # tokens that it can be given: any number
    segment = 0  # … at once: any number

    def __init__(self, config: Window, input_width: int):
        super().__init__()
        self.words, self.direct, self.input_width = config.words, config.direct, input_width
        self.hidden = nn.Linear(config.words * input_width, config.width)
        nn.init.uniform_(self.hidden.weight, -config.spread, config.spread)
        nn.init.zeros_(self.hidden.bias)
        self.dropout = nn.Dropout(config.dropout)
        self.width = config.width + (config.words * input_width if config.direct else 0)

    def start(self, rows: int, device: torch.device | str = "cpu") -> State:
        """Nothing before the first token: zeros."""
        shape = (rows, self.words - 1, self.input_width)
        return State(source={}, live={"window": torch.zeros(shape, device=device)})

    def forward(self, vectors: Tensor, tokens: Tokens, state: State | None = None) -> Encoded:
        """vectors (batch, time, input width) -> states (batch, time, width), and the last vectors."""
        state = state or self.start(len(vectors), vectors.device)
        seen = torch.cat([state.live["window"].to(vectors.dtype), vectors], 1)
        around = seen.unfold(1, self.words, 1).transpose(2, 3).flatten(2)  # (batch, time, words × input width)
        states = self.dropout(torch.tanh(self.hidden(around)))
        states = torch.cat([states, around], -1) if self.direct else states
        window = seen[:, seen.shape[1] - self.words + 1 :].to(state.live["window"].dtype)
        return Encoded(states, tokens.mask, state=State(source=state.source, live={"window": window}))
