"""Fixed-window neural language model (Bengio et al. 2003): one hidden layer over the last tokens' embeddings."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from firth.config.schema import Window
from firth.types import Encoded, State, Tokens


class WindowBackbone(nn.Module):
    """A tanh layer over the last `context_size` embeddings; with direct connections, also these embeddings."""

    bidirectional_setting = ""
    streams: tuple[str, ...] = ()  # that it reads, by name; none: the one that the batches have
    depth = 1  # layers
    max_length = 0  # context length in tokens: unlimited
    segment_length = 0  # tokens per forward pass: unlimited

    def __init__(self, config: Window, input_width: int):
        super().__init__()
        self.context_size, self.direct, self.input_width = config.context_size, config.direct_connections, input_width
        self.hidden = nn.Linear(config.context_size * input_width, config.width)
        nn.init.uniform_(self.hidden.weight, -config.init_range, config.init_range)
        nn.init.zeros_(self.hidden.bias)
        self.dropout = nn.Dropout(config.dropout)
        self.width = config.width + (config.context_size * input_width if config.direct_connections else 0)

    def depth_of(self, name: str) -> int:
        """The number of the layer that a parameter belongs to: there is one."""
        return 1

    def start(self, batch_size: int, device: torch.device | str = "cpu") -> State:
        """The state before any token: zero embeddings."""
        shape = (batch_size, self.context_size - 1, self.input_width)
        return State(source={}, live={"window": torch.zeros(shape, device=device)})

    def forward(
        self, vectors: Tensor, tokens: Tokens, state: State | None = None, keep_layers: bool = False
    ) -> Encoded:
        """Token embeddings (batch, time, input width) -> hidden states (batch, time, width), and the next state."""
        state = state or self.start(len(vectors), vectors.device)
        vectors_so_far = torch.cat([state.live["window"].to(vectors.dtype), vectors], 1)
        # (batch, time, context × input width)
        windows = vectors_so_far.unfold(1, self.context_size, 1).transpose(2, 3).flatten(2)
        states = self.dropout(torch.tanh(self.hidden(windows)))
        states = torch.cat([states, windows], -1) if self.direct else states
        window = vectors_so_far[:, vectors_so_far.shape[1] - self.context_size + 1 :].to(state.live["window"].dtype)
        layers = (vectors, states) if keep_layers else ()
        return Encoded(states, tokens.mask, layers, State(source=state.source, live={"window": window}))
