"""A model that was trained to tell tokens in any order, as a language model: it tells them from left to right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from firth.build import System
from firth.data.batching import batches
from firth.data.cache import Split
from firth.data.corrupt import corrupted
from firth.families.causal import CausalModel, NeuralEngine
from firth.metrics.language import perplexity
from firth.metrics.score import Score
from firth.nn.streams import Asked
from firth.runs.folder import Run
from firth.text.special import Special
from firth.text.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Encoded, State


class LeftToRight:
    """A system whose order is that of the text: after each token it is asked what comes next.

    Its batches are those of other language models. Where a document begins they show [START], which this system was
    never shown: it knows such places by the [END] before them."""

    def __init__(self, system: System, special: Special) -> None:
        self.system, self.backbone, self.special = system, system.backbone, special

    def encode(self, batch: Batch, state: State | None = None) -> Encoded:
        """States of the places after each token (batch, time, width), and what is carried on."""
        text = batch.streams["text"]
        ids = text.ids.masked_fill(text.ids == self.special.start, self.special.end)
        rank = torch.arange(ids.shape[1]).expand_as(ids)
        text = replace(text, ids=ids, rank=rank)
        asked = Asked(rank + 1, rank, text.document, text.segment)
        return self.backbone.ask(self.system.input(text), text, asked, state)

    def surprises(self, batch: Batch, state: State | None = None) -> tuple[Tensor, State | None]:
        """-log p of each target (batch, time) without gradients, and the state for the batch that goes on."""
        encoded = self.encode(batch, state)
        values = batch.targets["text"].values
        return self.system.head.surprises(encoded.states, values, self.system.table), encoded.state

    def log_probabilities(self, states: Tensor) -> Tensor:
        """Of the token at every place."""
        return self.system.log_probabilities(states)


class PermutedModel(CausalModel):
    """A trained model of permutations: what `firth.load` gives for one."""

    metric = "permuted_perplexity"

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        adapted = LeftToRight(system, tokenizer.special)
        super().__init__(run, tokenizer, NeuralEngine(adapted, run.record.config, tokenizer))
        self.system = system

    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Perplexity and bits per byte from left to right, then perplexity in the orders it was trained for; of a split
        of the run's own text or of other text."""
        part = self.part(text, split, cache)
        return [*super().evaluate(text, split, cache), self._permuted(part)]

    @torch.no_grad()
    def _permuted(self, part: Split) -> Score:
        config, state, nats, count = self.config, None, 0.0, 0.0
        whole = batches(config.batching, part, self.tokenizer.special, 0)
        for batch in corrupted(whole, config.objective, self.tokenizer, 0).once():
            with autocast(config.train):
                (term,), state = self.system(batch.to("cpu"), None if batch.fresh else state)
            nats, count = nats + float(term.sum), count + term.count
        return Score(self.metric, perplexity(nats, count), self._signature(part))
