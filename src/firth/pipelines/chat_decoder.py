"""Conversation with a decoder: the turns so far and the assistant's marker are the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise

import numpy as np
import torch
from torch import Tensor

from firth.datasets import labelled_dataset
from firth.datasets.chat_format import EncodedDialogue
from firth.datasets.collators.batches import context_label, make_batches
from firth.datasets.dialogue_dataset import make_split
from firth.datasets.readers.dialogues import ASSISTANT
from firth.generation.generate import generate
from firth.models.build import System
from firth.pipelines.chat_model import ChatModel, ChatOptions, Reply, ReplyStatistics
from firth.pipelines.evaluated_text import TextModel
from firth.pipelines.language_model import make_prompts
from firth.pipelines.lm_stepper import NeuralStepper
from firth.runs.run_folder import Run
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast


class ChatDecoder(ChatModel, TextModel):
    """A causal language model that was trained on dialogues: what `firth.load` returns for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        config = run.record.config
        TextModel.__init__(self, run, tokenizer, context_label(config.batching), config.train.precision)
        self.system, self.stepper = system, NeuralStepper(system, tokenizer.vocab_size)

    @property
    def limit(self) -> int:
        """The maximum length of its context, in tokens; 0: unlimited."""
        return self.system.backbone.max_length

    def generate_reply(self, turns: EncodedDialogue, options: ChatOptions) -> Reply:
        """The reply to the turns that fit, with room for it: at least half of the context is for them."""
        marker, special = self.encoder.markers[ASSISTANT], self.tokenizer.special
        own = len(marker) + 1  # of the reply: its marker, and the token before it
        room = self.limit and max(self.limit // 2, self.limit - options.max_length) - own
        history = self.fit(turns, room)
        prompt = list(chain.from_iterable((special.bos_id, *turn.marker, *turn.text) for turn in history.turns))
        prompt += [special.bos_id, *marker]
        max_length = min(options.max_length, self.limit - len(prompt)) if self.limit else options.max_length
        ((best, *_),) = generate(
            self.stepper, make_prompts([prompt]), max_length, options, end=special.end, banned=self._banned
        )
        return Reply(self.tokenizer.decode(best.ids).strip(), best.log_probability, history.dropped)

    @torch.no_grad()
    def reply_statistics(self, part: labelled_dataset.Split) -> ReplyStatistics:
        """One pass over the dialogues as in training: greedy decoding gives a reply if each of its tokens is the most
        probable one after those before it."""
        config, nll, tokens, exact, replies = self.config, 0.0, 0, 0, 0
        batches = make_batches(config.batching, make_split(part, config, self.tokenizer), self.tokenizer.special, 0)
        for batch in batches.evaluation_batches():
            target = batch.targets["text"]
            predicted = target.weight > 0
            values = torch.as_tensor(target.values[predicted])
            with autocast(config.train):
                states = self.system.encode(batch.to("cpu")).states[torch.as_tensor(predicted)]
                log_probs = self.system.log_probabilities(states)
            nll -= float(log_probs.gather(1, values[:, None]).double().sum())
            right = self._right(log_probs, values)
            tokens += len(right)
            for first, last in _runs(predicted):
                exact += int(right[first:last].all())
                replies += 1
        return ReplyStatistics(nll, tokens, exact, replies)

    def _right(self, log_probs: Tensor, values: Tensor) -> np.ndarray:
        """Whether greedy decoding chooses each target (tokens,)."""
        log_probs[:, self._banned] = -torch.inf
        return (log_probs.argmax(1) == values).numpy()

    @property
    def _banned(self) -> list[int]:
        """The special tokens that are never generated."""
        return sorted({*self.tokenizer.special.ids} - {self.tokenizer.special.end})


def _runs(predicted: np.ndarray) -> Iterator[tuple[int, int]]:
    """The ranges of each reply among the predicted tokens of a batch (rows, time), row by row: between two replies of a
    row there are tokens that are not predicted."""
    padded = np.pad(predicted, ((0, 0), (1, 0)))
    begins = (predicted & ~padded[:, :-1]).ravel()[predicted.ravel()]
    starts = [*np.flatnonzero(begins).tolist(), len(begins)]
    return pairwise(starts)
