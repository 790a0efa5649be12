"""Contextual states of single words of sentences, from any network that reads text: masked and causal language models,
classifiers, sentence encoders, imported ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firth.datasets.collators.sentence_pairs import InputSequence, pad_sequences
from firth.errors import FirthError
from firth.models.build import resolve_backbone
from firth.objectives.requirements import is_causal
from firth.pipelines.encode_texts import group_by_length
from firth.tokenizers.special_tokens import special_tokens_around
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch

LAYERS = 4  # the last ones, whose mean is a word's state (Loureiro and Jorge 2019 take their sum)


class WordStates:
    """The states of words in a network's upper layers: the mean over the word's subwords and over the last layers."""

    def __init__(self, model: Any, layers: int = LAYERS, mask_target: bool = False) -> None:
        self.model, self.layers = model, layers
        system, config = getattr(model, "system", None), getattr(model, "config", None)
        if system is None or "text" not in getattr(config, "streams", ()):
            do = "give a masked or causal language model, a classifier, or a sentence encoder"
            raise FirthError("this model has no contextual states of words", where=model.run.path, do=do)
        self.tokenizer: Tokenizer = model.tokenizer
        special = self.tokenizer.special
        around = special_tokens_around(getattr(config.batching, "layout", "cls-first"), special)
        self.around = ([special.start], []) if is_causal(resolve_backbone(config)) else (around[0], around[2])
        self.mask = [self.tokenizer.special.mask] if mask_target else []
        if mask_target and self.mask == [None]:
            raise FirthError("this model has no [MASK]", where=model.run.path, do="use a masked language model")

    @torch.no_grad()
    def __call__(self, sentences: Sequence[Sequence[str]], positions: Sequence[int]) -> np.ndarray:
        """The state of one word of each sentence (sentences, width), given by its position."""
        rows = [self._row(*pair) for pair in zip(self.tokenizer.encode_words(sentences), positions, strict=True)]
        states = np.empty((len(rows), self.model.system.backbone.width), np.float32)
        for indices in group_by_length([len(ids) for ids, _ in rows]):
            chosen = [rows[index] for index in indices]
            inputs = [InputSequence(np.array(ids, np.int64), np.zeros(len(ids), np.int64)) for ids, _ in chosen]
            tokens = pad_sequences(inputs, self.tokenizer.special)
            with autocast(self.model.config.train):
                encoded = self.model.system.encode(Batch({"text": tokens}, {}).to("cpu"), keep_layers=True)
            states[indices] = _mean(encoded.layers[-self.layers :], [span for _, span in chosen]).numpy()
        return states

    def _row(self, words: Any, position: int) -> tuple[list[int], tuple[int, int]]:
        """The tokens of a sentence with its special tokens, and where those of the word are; a long sentence keeps
        what is around the word."""
        start = words.word_of.index(position)
        stop = start + words.word_of.count(position)
        ids = [*words.ids[:start], *(self.mask or words.ids[start:stop]), *words.ids[stop:]]
        stop = start + 1 if self.mask else stop
        first, last = self.around
        limit = self.model.system.backbone.max_length
        room = limit - len(first) - len(last) if limit else len(ids)
        lost = max(0, min((start + stop - room) // 2, len(ids) - room)) if len(ids) > room else 0
        ids = ids[lost : lost + room]
        begin = len(first) + start - lost
        return [*first, *ids, *last], (begin, min(begin + stop - start, len(first) + len(ids)))


def _mean(layers: Sequence[Tensor], spans: Sequence[tuple[int, int]]) -> Tensor:
    """The mean over layers (batch, time, width) and over each row's span (batch, width)."""
    states = torch.stack([layer.float() for layer in layers]).mean(0)
    return torch.stack([row[start:stop].mean(0) for row, (start, stop) in zip(states, spans, strict=True)])
