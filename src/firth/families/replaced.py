"""What a network that tells wrong tokens is for: which tokens of a text look wrong, and with its small one, gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from firth.data.batching import batches
from firth.data.corrupt import corrupted
from firth.errors import FirthError
from firth.families.masked import MASK, MaskedModel
from firth.metrics.language import perplexity
from firth.metrics.score import Score
from firth.training.loop import autocast
from firth.types import Batch


class Suspect(NamedTuple):
    """A token of a text, and how probable it is that another stood there."""

    text: str
    probability: float


class ReplacedModel(MaskedModel):
    """A trained pair of networks: the small one fills gaps, the large one tells wrong tokens and gives vectors."""

    @torch.no_grad()
    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """How well the small network finds hidden tokens, and how often the large one is right about its guesses: of
        all tokens, and of those that are wrong; the same are hidden and guessed each time."""
        self._require_head()
        part, config, objective = self.part(text, split, cache), self.config, self.system.objective
        whole = batches(config.batching, part, self.tokenizer.special, 0)
        sums = dict.fromkeys(("nats", "hidden", "right", "read", "found", "wrong"), 0.0)
        for batch in corrupted(whole, config.objective, self.tokenizer, 0).once():
            tensors = batch.to("cpu")
            tokens, target = tensors.streams["text"], tensors.targets["text"]
            with autocast(config.train):
                states = objective.companion(self.system.input(tokens), tokens)
                nats = objective.companion.head.loss(states, target, self.system.table)
                guessed = objective.guess(self.system, states, tensors)
                said = objective.detect(self.system, guessed.tokens) > 0
            wrong = guessed.wrong & tokens.mask
            figures = (nats, target.weight.sum(), ((said == wrong) & tokens.mask).sum(), tokens.mask.sum())
            for name, value in zip(sums, (*figures, (said & wrong).sum(), wrong.sum()), strict=True):
                sums[name] += float(value)
        signed = self._signature(part)
        return [
            Score(self.metric, perplexity(sums["nats"], sums["hidden"]), signed),
            Score("replaced_accuracy", sums["right"] / sums["read"], signed),
            Score("replaced_found", sums["found"] / max(1.0, sums["wrong"]), signed),
        ]

    @torch.no_grad()
    def replaced(self, text: str) -> list[Suspect]:
        """For each token of a text, how probable it is that another stood there."""
        ids = self._framed(text)
        batch = self._batch([ids])
        scores = self.system.objective.detect(self.system, batch.streams["text"])[0].sigmoid().tolist()
        inner = range(1, len(ids) - 1)  # without the frame
        return [Suspect(self._shown(ids[place]), scores[place]) for place in inner]

    def _predicted(self, batch: Batch) -> Tensor:
        tokens, companion = batch.streams["text"], self.system.objective.companion
        states = companion(self.system.input(tokens), tokens)
        return companion.head.log_probabilities(states, self.system.table)

    # --- the command line -------------------------------------------------------------------------------------

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """What `firth run` says to a line: what fills its gaps or, if it has none, what looks wrong in it."""
        if MASK in line or options.get("embed"):
            return super().answer(line, options)
        if options:
            what = f"--{next(iter(options)).replace('_', '-')} has no use for a text without gaps"
            raise FirthError(what, do=f"put {MASK} where a word is to be found, or leave the option out")
        return {"input": line, "replaced": [each._asdict() for each in self.replaced(line)]}

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        if "replaced" not in answer:
            return super().shown(answer)
        return "\n".join(f"  {each['probability']:.4f}  {each['text']}" for each in answer["replaced"])
