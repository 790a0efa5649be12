"""Replaced token detection (ELECTRA, Clark et al. 2020): the discriminator's probabilities that tokens were replaced,
and the generator's predictions for [MASK]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from firth.arguments import for_each
from firth.datasets.collators.batches import corrupt_batches, make_batches
from firth.display import Table
from firth.errors import FirthError
from firth.metrics.perplexity import perplexity
from firth.metrics.score import Score
from firth.pipelines.fill_mask import MASK, MaskedLMModel
from firth.training.loop import autocast
from firth.types import Batch


class DetectedToken(NamedTuple):
    """A token of a text, and the probability that it was replaced."""

    text: str
    probability: float


class ReplacedTokenDetector(MaskedLMModel):
    """A trained generator, which fills masks, and discriminator, which detects replaced tokens and embeds texts."""

    @torch.no_grad()
    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """The generator's perplexity of masked tokens, the discriminator's accuracy over all tokens and its recall of
        replaced tokens; the same tokens are masked and sampled each time."""
        self._require_head()
        tokens_split, config, objective = self.tokenised_split(text, split, cache), self.config, self.system.objective
        batches = make_batches(config.batching, tokens_split, self.tokenizer.special, 0)
        sums = dict.fromkeys(("nll", "masked", "correct", "tokens", "detected", "replaced"), 0.0)
        for batch in corrupt_batches(batches, config.objective, self.tokenizer, 0).evaluation_batches():
            tensors = batch.to("cpu")
            tokens, target = tensors.streams["text"], tensors.targets["text"]
            with autocast(config.train):
                states = objective.companion(self.system.embed("text", tokens), tokens)
                nll = objective.companion.head.loss(states, target, self.system.embedding_weight)
                sampled = objective.sample_replacements(self.system, states, tensors)
                detected = objective.detect(self.system, sampled.tokens) > 0
            replaced = sampled.replaced & tokens.mask
            correct = (detected == replaced) & tokens.mask
            values = (nll, target.weight.sum(), correct.sum(), tokens.mask.sum())
            for name, value in zip(sums, (*values, (detected & replaced).sum(), replaced.sum()), strict=True):
                sums[name] += float(value)
        signed = self._signature(tokens_split)
        values = {
            self.metric: perplexity(sums["nll"], sums["masked"]),
            "replaced_accuracy": sums["correct"] / sums["tokens"],
            "replaced_recall": sums["detected"] / max(1.0, sums["replaced"]),
        }
        return Table(Score(name, value, signed) for name, value in values.items())

    def detect_replaced(self, text: str | Iterable[str]) -> Any:
        """Each token of a text with the probability that it was replaced; of a list of texts, a list of these."""
        return for_each(text, self._detect_replaced)

    @torch.no_grad()
    def _detect_replaced(self, text: str) -> list[DetectedToken]:
        ids = self._encode(text)
        batch = self.batch([ids])
        scores = self.system.objective.detect(self.system, batch.streams["text"])[0].sigmoid().tolist()
        positions = range(1, len(ids) - 1)  # without [CLS] and [SEP]
        return [DetectedToken(self._token_text(ids[at]), scores[at]) for at in positions]

    def _log_probs(self, batch: Batch) -> Tensor:
        return self._generator_log_probs(self._generator_states(batch))

    def log_probs_at(self, batch: Batch, positions: Tensor) -> Tensor:
        """The generator's log-probabilities at one position of each sequence (batch, vocabulary)."""
        states = self._generator_states(batch)
        return self._generator_log_probs(states[torch.arange(len(states)), positions])

    def _generator_states(self, batch: Batch) -> Tensor:
        tokens = batch.streams["text"]
        states: Tensor = self.system.objective.companion(self.system.embed("text", tokens), tokens)
        return states

    def _generator_log_probs(self, states: Tensor) -> Tensor:
        return self.system.objective.companion.head.log_probabilities(states, self.system.embedding_weight)

    # --- the command line -------------------------------------------------------------------------------------

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The predictions for each [MASK] of a line or, without any, its tokens' probabilities of being replaced."""
        if MASK in line or options.get("embed"):
            return super().answer(line, options)
        if options:
            what = f"--{next(iter(options)).replace('_', '-')} has no effect on a text without {MASK}"
            raise FirthError(what, do=f"put {MASK} where a word is to be predicted, or leave the option out")
        return {"input": line, "replaced": [each._asdict() for each in self.detect_replaced(line)]}

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        if "replaced" not in answer:
            return super().format_answer(answer)
        return "\n".join(f"  {each['probability']:.4f}  {each['text']}" for each in answer["replaced"])
