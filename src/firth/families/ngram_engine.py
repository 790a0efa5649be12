"""An n-gram model as a language model: scores of splits and batches, a stepper, and texts drawn without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from firth.counts.ngram import Model, score
from firth.counts.ngram.stepping import advance, begin, next_logprobs
from firth.data.cache import Split
from firth.data.randomness import generator
from firth.text.special import Special
from firth.types import Batch, State

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = "document"  # for the signature of scores: every document begins anew
_NODE = "node"  # in the state: the longest known context of each row


class NgramEngine:
    """Counted n-grams as `LanguageModel` asks them."""

    precision = "float32"
    limit = 0  # it looks at the last tokens only, however many there are

    def __init__(self, model: Model) -> None:
        self.model, self.stepper = model, NgramStepper(model)

    def surprises(self, split: Split) -> np.ndarray:
        """-log p of every token of a split."""
        return -score(self.model, split.ids, split.starts).logprobs

    def log_probabilities(self, batch: Batch) -> np.ndarray:
        """Of each target given all before it (batch, time); 0 where nothing is to be predicted."""
        values, told = (np.asarray(part) for part in (batch.targets["text"].values, batch.streams["text"].mask))
        found = np.zeros(values.shape, np.float32)
        starts = np.concatenate([[0], np.cumsum(told.sum(1))])
        found[told] = score(self.model, values[told].astype(np.uint32), starts).logprobs
        return found


class NgramStepper:
    """Reads a token per row, gives log-probabilities of the next; the state is a number per row."""

    def __init__(self, model: Model) -> None:
        self.model, self.size = model, model.size

    def start(self, batch: Batch) -> State:
        """The state after the prompts but for their last token."""
        ids = np.asarray(batch.streams["text"].ids)
        states = begin(self.model, len(ids))
        for column in ids[:, :-1].T:
            states = advance(self.model, states, column)
        return _state(states)

    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Log-probabilities of the next token (rows, size)."""
        import torch

        states = advance(self.model, state.live[_NODE].numpy(), last.numpy())
        return torch.from_numpy(next_logprobs(self.model, states)), _state(states)


def _state(states: np.ndarray) -> State:
    import torch

    return State({}, {_NODE: torch.from_numpy(states)})


def draw(model: Model, special: Special, *, count: int, length: int, temperature: float, seed: int) -> list[list[int]]:
    """Texts as tokens: the largest of log-probability and Gumbel noise is a draw from the distribution."""
    random, states, drawn = generator(seed, "samples"), begin(model, count), []
    never = sorted(special.ids - {special.end})
    for _ in range(length):
        logs = next_logprobs(model, states) / np.float32(temperature)
        logs[:, never] = -np.inf
        last = (logs + random.gumbel(size=logs.shape)).argmax(1)
        states = advance(model, states, last)
        drawn.append(last)
    rows = np.stack(drawn, 1).tolist()
    return [row[: next((at for at, token in enumerate(row) if token in special.ids), length)] for row in rows]
