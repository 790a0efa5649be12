"""Causal language models (autoregressive networks): scoring with carried state, memory or overlapping windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from firth.config import schema
from firth.datasets.collators.batches import EVALUATION_CORRUPTIONS, context_label, evaluation_batching, make_batches
from firth.datasets.collators.sentence_pairs import InputSequence
from firth.datasets.token_cache import Split
from firth.errors import FirthError
from firth.models.build import System
from firth.nn import pooling
from firth.pipelines.encode_texts import encode_texts
from firth.pipelines.language_model import LanguageModel
from firth.pipelines.lm_stepper import NeuralStepper
from firth.runs.run_folder import Run
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Encoded

CHUNK_LENGTH = 1024  # tokens of a sequence that are scored at once where the state is carried


class CausalLMModel(LanguageModel):
    """A trained causal language model: what `firth.load` returns for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, engine: NeuralEngine) -> None:
        super().__init__(run, tokenizer, engine, engine.context)
        self._engine: NeuralEngine = engine
        self.system = engine.system

    def set_memory_length(self, tokens: int) -> None:
        """Set the memory length: tokens before each segment that are attended to (models with segment recurrence)."""
        backbone = self._engine.system.backbone
        if not backbone.segment_length:
            do = "train one that has: firth train transformer-xl"
            raise FirthError("this model has no memory", where=self.run.path, do=do)
        backbone.memory = tokens
        self._context = self._engine.context


def make_causal_lm(run: Run, tokenizer: Tokenizer, system: System) -> CausalLMModel:
    """The language model of a run."""
    return CausalLMModel(run, tokenizer, NeuralEngine(system, run.record.config, tokenizer))


class NeuralEngine:
    """Scores tokens with a causal network."""

    def __init__(self, system: System, config: schema.Neural, tokenizer: Tokenizer) -> None:
        self.system, self.config, self.special = system, config, tokenizer.special
        self.precision, self.max_length = config.train.precision, system.backbone.max_length
        self.stepper = NeuralStepper(system, tokenizer.vocab_size)

    @property
    def context(self) -> str:
        """The context policy of a token's prediction, for the signature of scores."""
        backbone, batching = self.system.backbone, self.batching
        carried = backbone.segment_length and batching.carries_state
        return f"memory/{backbone.memory}/{batching.length}" if carried else context_label(batching)

    @property
    def batching(self) -> schema.Batching:
        """How a text is cut for scoring; with segment recurrence, in segments as long as in training."""
        batching, segment_length = evaluation_batching(self.config.batching), self.system.backbone.segment_length
        return replace(batching, length=segment_length) if segment_length else batching

    @torch.no_grad()
    def surprisals(self, split: Split) -> np.ndarray:
        """-log p of every token of a split, its documents one after the other."""
        surprisals, state = np.empty(len(split.ids), np.float32), None
        prepare = EVALUATION_CORRUPTIONS.get(type(self.config.objective), lambda batch: batch)
        for batch in map(prepare, make_batches(self.batching, split, self.special, 0).evaluation_batches()):
            with autocast(self.config.train):
                values, state = self.system.nll(batch.to("cpu"), None if batch.reset_state else state)
            target = batch.targets["text"]
            predicted = target.weight > 0
            surprisals[target.positions[predicted]] = values.float().numpy()[predicted]
        return surprisals

    def mean_states(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        """The mean hidden state of each sequence of tokens (sequences, width)."""
        if not sequences:
            return np.zeros((0, self.system.backbone.width), np.float32)
        inputs = []
        for ids in sequences:
            if self.max_length and len(ids) > self.max_length:
                what = f"{len(ids):,} tokens, and this model takes at most {self.max_length:,} at once"
                raise FirthError(what, do="give a shorter text")
            inputs.append([InputSequence(np.array(ids, np.int64), np.zeros(len(ids), np.int64))])

        def mean(encoded: Encoded) -> torch.Tensor:
            return pooling.mean(encoded.states, encoded.mask)

        return encode_texts(self.system, inputs, self.special, self.config.train, mean)

    @torch.no_grad()
    def log_probabilities(self, batch: Batch) -> np.ndarray:
        """Log-probability of each target given its context (batch, time)."""
        tensors = batch.to("cpu")
        width, limit = tensors.streams["text"].ids.shape[1], self.max_length
        # The same chunks whatever else is in the batch. Where there is a limit they overlap (sliding window), else the
        # state is carried.
        chunk = self.system.backbone.segment_length or CHUNK_LENGTH
        length, stride = (limit, max(1, limit // 2)) if limit else (chunk, chunk)
        log_probs, done, state = [], 0, None
        for first in range(0, max(1, width - length + stride), stride):
            stop = min(first + length, width)
            with autocast(self.config.train):
                values, state = self.system.nll(tensors.slice_time(first, stop), None if limit else state)
            log_probs.append(-values[:, done - stop :].float())
            done = stop
        return torch.cat(log_probs, 1).numpy()
