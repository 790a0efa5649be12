"""A network that predicts the next token, as a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from firth.build import System
from firth.config import schema
from firth.data.batches.examples import Framed
from firth.data.batching import batches, context, reading
from firth.data.cache import Split
from firth.data.corrupt import READINGS
from firth.errors import FirthError
from firth.families.language import LanguageModel
from firth.families.reading import read_texts
from firth.families.stepper import NeuralStepper
from firth.heads.pooling import pool
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch

PIECE = 1024  # tokens of a row that are read at once where the state is carried


class CausalModel(LanguageModel):
    """A trained network that predicts the next token: what `firth.load` gives for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, engine: NeuralEngine) -> None:
        super().__init__(run, tokenizer, engine, engine.context)
        self._engine: NeuralEngine = engine

    def remember(self, tokens: int) -> None:
        """Look back from now on at so many tokens before each segment, where the model was trained with a memory."""
        backbone = self._engine.system.backbone
        if not backbone.segment:
            do = "train one that has: firth train transformer-xl"
            raise FirthError("this model has no memory", where=self.run.path, do=do)
        backbone.memory = tokens
        self._context = self._engine.context


def causal_model(run: Run, tokenizer: Tokenizer, system: System) -> CausalModel:
    """The language model of a run."""
    return CausalModel(run, tokenizer, NeuralEngine(system, run.record.config, tokenizer))


class NeuralEngine:
    """A system as a language model."""

    def __init__(self, system: System, config: schema.Neural, tokenizer: Tokenizer) -> None:
        self.system, self.config, self.special = system, config, tokenizer.special
        self.precision, self.limit = config.train.precision, system.backbone.limit
        self.stepper = NeuralStepper(system, tokenizer.size)

    @property
    def context(self) -> str:
        """What a token's prediction may look back on, for the signature."""
        backbone, found = self.system.backbone, self.reading
        carried = backbone.segment and isinstance(found, schema.Contiguous)
        return f"memory/{backbone.memory}/{found.length}" if carried else context(found)

    @property
    def reading(self) -> schema.Batching:
        """How a text is read: where the model remembers what was before a row, in rows as long as it was trained on."""
        found, segment = reading(self.config.batching), self.system.backbone.segment
        return replace(found, length=segment) if segment else found

    @torch.no_grad()
    def surprises(self, split: Split) -> np.ndarray:
        """-log p of every token of a split, its documents one after the other."""
        found, state = np.empty(len(split.ids), np.float32), None
        marked = READINGS.get(type(self.config.objective), lambda batch: batch)
        for batch in map(marked, batches(self.reading, split, self.special, 0).once()):
            with autocast(self.config.train):
                values, state = self.system.surprises(batch.to("cpu"), None if batch.fresh else state)
            target = batch.targets["text"]
            told = target.weight > 0
            found[target.place[told]] = values.float().numpy()[told]
        return found

    def states(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        """The mean of the states of each row of tokens (rows, width)."""
        if not rows:
            return np.zeros((0, self.system.backbone.width), np.float32)
        made = []
        for row in rows:
            if self.limit and len(row) > self.limit:
                what = f"{len(row):,} tokens, and this model reads at most {self.limit:,} at once"
                raise FirthError(what, do="give a shorter text")
            made.append(Framed(np.array(row, np.int64), np.zeros(len(row), np.int64)))
        return read_texts(self.system, made, self.special, self.config.train, lambda e: pool(e.states, e.mask, "mean"))

    @torch.no_grad()
    def log_probabilities(self, batch: Batch) -> np.ndarray:
        """Of each target given all before it that the model can look at (batch, time)."""
        tensors = batch.to("cpu")
        width, limit = tensors.streams["text"].ids.shape[1], self.system.backbone.limit
        # The same pieces whatever else is in the batch. Where there is a limit they overlap, else the state is carried.
        piece = self.system.backbone.segment or PIECE
        length, step = (limit, max(1, limit // 2)) if limit else (piece, piece)
        found, done, state = [], 0, None
        for first in range(0, max(1, width - length + step), step):
            stop = min(first + length, width)
            with autocast(self.config.train):
                values, state = self.system.surprises(tensors.columns(first, stop), None if limit else state)
            found.append(-values[:, done - stop :].float())
            done = stop
        return torch.cat(found, 1).numpy()
