"""A network that predicts the next token, as a language model."""

from __future__ import annotations

import numpy as np
import torch

from firth.build import System
from firth.config import schema
from firth.data.batching import batches, context, reading
from firth.data.cache import Split
from firth.families.language import LanguageModel
from firth.families.stepper import NeuralStepper
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch

PIECE = 1024  # tokens of a row that are read at once where the state is carried


def causal_model(run: Run, tokenizer: Tokenizer, system: System) -> LanguageModel:
    """The language model of a run."""
    engine = NeuralEngine(system, run.record.config, tokenizer)
    return LanguageModel(run, tokenizer, engine, engine.context)


class NeuralEngine:
    """A system as a language model."""

    def __init__(self, system: System, config: schema.Neural, tokenizer: Tokenizer) -> None:
        self.system, self.config, self.special = system, config, tokenizer.special
        self.precision = config.train.precision
        self.stepper = NeuralStepper(system, tokenizer.size)

    @property
    def context(self) -> str:
        """What a token's prediction may look back on, for the signature."""
        return context(reading(self.config.batching))

    @torch.no_grad()
    def surprises(self, split: Split) -> np.ndarray:
        """-log p of every token of a split, its documents one after the other."""
        found, state = np.empty(len(split.ids), np.float32), None
        for batch in batches(reading(self.config.batching), split, self.special, 0).once():
            with autocast(self.config.train):
                values, state = self.system.surprises(batch.to("cpu"), None if batch.fresh else state)
            target = batch.targets["text"]
            told = target.weight > 0
            found[target.place[told]] = values.float().numpy()[told]
        return found

    @torch.no_grad()
    def log_probabilities(self, batch: Batch) -> np.ndarray:
        """Of each target given all before it that the model can look at (batch, time)."""
        tensors = batch.to("cpu")
        width, limit = tensors.streams["text"].ids.shape[1], self.system.backbone.limit
        # The same pieces whatever else is in the batch. Where there is a limit they overlap, else the state is carried.
        length, step = (limit, max(1, limit // 2)) if limit else (PIECE, PIECE)
        found, done, state = [], 0, None
        for first in range(0, max(1, width - length + step), step):
            stop = min(first + length, width)
            with autocast(self.config.train):
                values, state = self.system.surprises(tensors.columns(first, stop), None if limit else state)
            found.append(-values[:, done - stop :].float())
            done = stop
        return torch.cat(found, 1).numpy()
