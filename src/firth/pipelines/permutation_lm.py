"""Permutation language models (XLNet, Yang et al. 2019) used as causal ones: factorised from left to right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from firth.datasets.collators.batches import corrupt_batches, make_batches
from firth.datasets.token_cache import Split
from firth.display import Table
from firth.metrics.perplexity import perplexity
from firth.metrics.score import Score
from firth.models.build import System
from firth.nn.attention.two_stream import QueryStream
from firth.pipelines.causal_lm import CausalLMModel, NeuralEngine
from firth.runs.run_folder import Run
from firth.tokenizers.special_tokens import SpecialTokens
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Encoded, State


class LeftToRight:
    """A permutation LM whose factorisation order is that of the text: a query after each token predicts the next.

    Its batches are those of causal language models. Where a document begins they have [START], which was not in its
    training data: there it gets the [END] before it instead."""

    def __init__(self, system: System, special: SpecialTokens) -> None:
        self.system, self.backbone, self.special = system, system.backbone, special

    def encode(self, batch: Batch, state: State | None = None) -> Encoded:
        """Hidden states of the positions after each token (batch, time, width), and the carried state."""
        text = batch.streams["text"]
        ids = text.ids.masked_fill(text.ids == self.special.start, self.special.end)
        rank = torch.arange(ids.shape[1]).expand_as(ids)
        text = replace(text, ids=ids, rank=rank)
        query = QueryStream(rank + 1, rank, text.document, text.segment)
        return self.backbone.forward_two_stream(self.system.embed("text", text), text, query, state)

    def nll(self, batch: Batch, state: State | None = None) -> tuple[Tensor, State | None]:
        """Surprisal of each target (batch, time) without gradients, and the state for the next batch."""
        encoded = self.encode(batch, state)
        values = batch.targets["text"].values
        return self.system.head.nll(encoded.states, values, self.system.embedding_weight), encoded.state

    def log_probabilities(self, states: Tensor) -> Tensor:
        """Log-probabilities of the token at each position."""
        return self.system.log_probabilities(states)


class PermutationLMModel(CausalLMModel):
    """A trained permutation language model: what `firth.load` returns for one."""

    metric = "permutation_perplexity"

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        adapted = LeftToRight(system, tokenizer.special)
        super().__init__(run, tokenizer, NeuralEngine(adapted, run.record.config, tokenizer))
        self.system = system

    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Perplexity and bits per byte from left to right, then perplexity in random factorisation orders as in
        training; of a split of the run's own text or of other text."""
        tokens = self.tokenised_split(text, split, cache)
        return Table([*super().evaluate(text, split, cache), self._permutation_perplexity(tokens)])

    @torch.no_grad()
    def _permutation_perplexity(self, split: Split) -> Score:
        config, state, nll, count = self.config, None, 0.0, 0.0
        batches = make_batches(config.batching, split, self.tokenizer.special, 0)
        for batch in corrupt_batches(batches, config.objective, self.tokenizer, 0).evaluation_batches():
            with autocast(config.train):
                (term,), state = self.system(batch.to("cpu"), None if batch.reset_state else state)
            nll, count = nll + float(term.sum), count + term.count
        return Score(self.metric, perplexity(nll, count), self._signature(split))
