"""N-gram models as language models: scoring of splits and batches, a stepper for generation, sampling without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from firth.datasets.token_cache import Split
from firth.ngram import Model, score
from firth.ngram.context_state import advance, initial_states, next_logprobs
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Batch, State, generator

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = "document"  # for the signature of scores: the context ends at document boundaries
_NODE = "node"  # in the state: the trie node of each row's longest known context


class NgramEngine:
    """Scores tokens with an n-gram model."""

    precision = "float32"
    max_length = 0  # unlimited: only the last tokens matter

    def __init__(self, model: Model) -> None:
        self.model, self.stepper = model, NgramStepper(model)

    def surprisals(self, split: Split) -> np.ndarray:
        """Surprisal (-log p, nats) of every token of a split."""
        return -score(self.model, split.ids, split.starts).logprobs

    def log_probabilities(self, batch: Batch) -> np.ndarray:
        """Log-probability of each target given its context (batch, time); 0 at padding."""
        values, mask = (np.asarray(part) for part in (batch.targets["text"].values, batch.streams["text"].mask))
        log_probs = np.zeros(values.shape, np.float32)
        starts = np.concatenate([[0], np.cumsum(mask.sum(1))])
        log_probs[mask] = score(self.model, values[mask].astype(np.uint32), starts).logprobs
        return log_probs


class NgramStepper:
    """Takes a token per row and returns log-probabilities of the next; the state is a trie node per row."""

    def __init__(self, model: Model) -> None:
        self.model, self.size = model, model.size

    def start(self, batch: Batch) -> State:
        """The state after the prompts but for their last token."""
        ids = np.asarray(batch.streams["text"].ids)
        states = initial_states(self.model, len(ids))
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


def sample_texts(
    model: Model, special: SpecialTokens, *, count: int, length: int, temperature: float, seed: int
) -> list[list[int]]:
    """Sampled texts as token ids, by the Gumbel-max trick: argmax of log-probability plus Gumbel noise."""
    random, states, sampled = generator(seed, "samples"), initial_states(model, count), []
    banned = sorted(special.ids - {special.end})
    for _ in range(length):
        log_probs = next_logprobs(model, states) / np.float32(temperature)
        log_probs[:, banned] = -np.inf
        last = (log_probs + random.gumbel(size=log_probs.shape)).argmax(1)
        states = advance(model, states, last)
        sampled.append(last)
    rows = np.stack(sampled, 1).tolist()
    return [row[: next((at for at, token in enumerate(row) if token in special.ids), length)] for row in rows]
