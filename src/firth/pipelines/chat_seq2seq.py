"""Conversation with an encoder-decoder: the turns so far are the source, the reply is the target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from firth.datasets import labelled_dataset
from firth.datasets.chat_format import EncodedDialogue
from firth.datasets.collators.batches import corrupt_batches, make_batches
from firth.datasets.dialogue_dataset import make_split, source_of
from firth.display import Table
from firth.metrics.score import Score
from firth.models.build import System
from firth.pipelines.chat_model import ChatModel, ChatOptions, Reply, ReplyStatistics
from firth.pipelines.seq2seq import Seq2SeqModel, Seq2SeqOptions
from firth.runs.run_folder import Run
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast

_SHARED = [field.name for field in fields(ChatOptions)]


class ChatSeq2Seq(ChatModel, Seq2SeqModel):
    """An encoder-decoder that was trained on dialogues: what `firth.load` returns for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        Seq2SeqModel.__init__(self, run, tokenizer, system)
        self.metric = ChatModel.metric

    def evaluate(
        self, text: str | Iterable[Any] | None = None, split: str = "test", cache: Path | None = None
    ) -> Table[Score]:
        """Perplexity of the replies' tokens, and exact match: the fraction of replies that greedy decoding gives token
        by token."""
        return ChatModel.evaluate(self, text, split, cache)

    def generate_reply(self, turns: EncodedDialogue, options: ChatOptions) -> Reply:
        """The reply to the turns that fit into a source as long as in training."""
        length = self.config.batching.length
        history = self.fit(turns, length + 1)  # no [END] after the last
        source = self.add_special_tokens(source_of(history.turns, length, self.tokenizer).tolist())
        shared = Seq2SeqOptions(**{name: getattr(options, name) for name in _SHARED})
        best = self.decode([source], shared)[0][0]
        return Reply(self.tokenizer.decode(best.ids).strip(), best.log_probability, history.dropped)

    @torch.no_grad()
    def reply_statistics(self, part: labelled_dataset.Split) -> ReplyStatistics:
        """One pass with teacher forcing: greedy decoding gives a reply if each of its tokens is the most probable one
        after those before it."""
        config, nll, tokens, exact, replies = self.config, 0.0, 0, 0, 0
        batches = make_batches(config.batching, make_split(part, config, self.tokenizer), self.tokenizer.special, 0)
        for batch in corrupt_batches(batches, config.objective, self.tokenizer, 0).evaluation_batches():
            tensors = batch.to("cpu")
            values, predicted = tensors.targets["target"].values, tensors.targets["target"].weight > 0
            with autocast(config.train):
                log_probs = self.system.objective.log_probabilities(self.system, tensors)
            nll -= float(log_probs.gather(2, values[..., None])[..., 0][predicted].double().sum())
            log_probs[..., self._banned] = -torch.inf
            right = (log_probs.argmax(2) == values) | ~predicted
            right[:, : int(self._add_start_token)] = True  # given to decoding, not chosen by it
            tokens, exact, replies = (
                tokens + int(predicted.sum()),
                exact + int(right.all(1).sum()),
                replies + len(values),
            )
        return ReplyStatistics(nll, tokens, exact, replies)
