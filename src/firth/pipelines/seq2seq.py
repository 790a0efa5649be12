"""The base of sequence-to-sequence models: generation from source texts, perplexity and accuracy of target tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, NamedTuple

import numpy as np
import torch

from firth.config.core import bounded
from firth.datasets.collators.batches import context_label, corrupt_batches, make_batches
from firth.datasets.collators.corruption.teacher_forcing import pad_batch
from firth.datasets.token_cache import Split
from firth.display import Table
from firth.errors import FirthError
from firth.generation.generate import GenerationConfig, generate
from firth.metrics.perplexity import perplexity
from firth.metrics.score import Score
from firth.models.build import System
from firth.pipelines.evaluated_text import TextModel
from firth.pipelines.seq2seq_stepper import Seq2SeqStepper
from firth.runs.run_folder import Run
from firth.tokenizers.characters import MAX_WORD_BYTES, PAD
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Tokens

_BATCH_SIZE = 32  # sources decoded together
_WORD_BEFORE = "a"  # any word: what follows it is tokenised as within a text


@dataclass(frozen=True)
class Seq2SeqOptions(GenerationConfig):
    """The options of generation: the decoding method, and constraints as words."""

    max_length: int = bounded(0, least=0)  # 0: 50 tokens and twice the source's length (as a power of 2)
    target_prefix: str = ""  # forced prefix of every target
    force_words: tuple[str, ...] = ()  # words that must occur (lexically constrained decoding)
    bad_words: tuple[str, ...] = ()  # words that must not occur


class SourceSequence(NamedTuple):
    """The token ids of a source with its special tokens, and the characters of its out-of-vocabulary words."""

    ids: list[int]
    characters: np.ndarray | None = None  # (tokens, characters)


class Seq2SeqModel(TextModel):
    """A trained sequence-to-sequence network."""

    kind = "seq2seq"  # prefix of its score names

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        config = run.record.config
        self.metric = f"{self.kind}_perplexity"
        super().__init__(run, tokenizer, context_label(config.batching), config.train.precision)
        self.system, self.stepper = system, Seq2SeqStepper(system, tokenizer.vocab_size)
        self.source = run.tokenizer("source") if "source" in run.record.tokenizers else tokenizer

    @property
    def limit(self) -> int:
        """The maximum length of a source in tokens, without special tokens; 0: unlimited."""
        limit = self.system.backbone.encoder.max_length
        return limit and limit - 1 - self._add_start_token

    @torch.no_grad()
    def perplexity_scores(self, split: Split) -> list[Score]:
        """Perplexity and accuracy of the next target token, with teacher forcing."""
        config, nll, correct, count = self.config, 0.0, 0, 0
        batches = make_batches(config.batching, split, self.tokenizer.special, 0)
        for batch in corrupt_batches(batches, config.objective, self.tokenizer, 0).evaluation_batches():
            tensors = batch.to("cpu")
            predicted = tensors.targets["target"].weight > 0
            with autocast(config.train):
                log_probs = self.system.objective.log_probabilities(self.system, tensors)[predicted]
            values = tensors.targets["target"].values[predicted]
            nll -= float(log_probs.gather(1, values[:, None]).double().sum())
            correct += int((log_probs.argmax(1) == values).sum())
            count += len(values)
        signed = self._signature(split)
        accuracy = Score(f"{self.kind}_accuracy", correct / count, signed)
        return Table([Score(self.metric, perplexity(nll, count), signed), accuracy])

    def decode(self, sources: Sequence[SourceSequence], options: Seq2SeqOptions) -> list[list[Any]]:
        """Hypotheses for each source, those of similar length decoded together."""
        order = sorted(range(len(sources)), key=lambda index: len(sources[index].ids))
        results: list[list[Any]] = [[]] * len(sources)
        for _, group in groupby(order, key=lambda index: _target_length(sources[index], options)):
            while indices := [*islice(group, _BATCH_SIZE)]:
                batch = self.decode_batch([sources[index] for index in indices], options)
                for index, hypotheses in zip(indices, batch, strict=True):
                    results[index] = hypotheses
        return results

    def decode_batch(
        self, sources: Sequence[SourceSequence], options: Seq2SeqOptions, return_tree: bool = False
    ) -> Any:
        """Hypotheses for a batch of sources; with `return_tree` the search trees too."""
        special, defaults = self.tokenizer.special, self.generation_defaults
        start = [
            getattr(special, self.config.objective.decoder_start),
            *([special.start] if self._add_start_token else []),
        ]
        limit = self.system.backbone.max_length
        max_length = max(_target_length(source, options) for source in sources)  # `decode` puts equal ones together
        max_length = min(max_length, limit - len(start) + 1) if limit else max_length
        prompts = np.tile(start, (len(sources), 1))
        streams = {"source": pad_sources(sources, special.pad_id), "text": Tokens(prompts, prompts >= 0)}
        words = {
            "bad_words": (*map(self._word_ids, options.bad_words), *map(tuple, defaults.get("bad_words_ids", ()))),
            "prefixes": self._prefix_ids(options.target_prefix, defaults.get("forced_bos_token_id")),
            "force_words": tuple(self._word_ids(word) for word in options.force_words),
        }
        tokens = {"end": self._end, "banned": self._banned, "return_tree": return_tree}
        return generate(self.stepper, Batch(streams, {}).to("cpu"), max_length, options, **tokens, **words)

    def _prefix_ids(self, prefix: str, forced: int | None) -> tuple[tuple[int, ...], ...]:
        first = () if forced is None else (forced,)
        ids = (*first, *(self._require_known(self.tokenizer.encode(prefix), prefix) if prefix else ()))
        return (ids,) if ids else ()

    def _word_ids(self, word: str) -> tuple[int, ...]:
        """The token ids of a word as it is tokenised within a text."""
        texts = (_WORD_BEFORE, f"{_WORD_BEFORE} {word.strip()}")
        before, both = (self.tokenizer.encode(text) for text in texts)
        within = both[: len(before)] == before and len(both) > len(before)
        return self._require_known(both[len(before) :] if within else self.tokenizer.encode(word), word)

    def _require_known(self, ids: Sequence[int], text: str) -> tuple[int, ...]:
        if not ids or self.tokenizer.special.unknown in ids:
            do = "use words that the training texts have"
            raise FirthError(f"{text!r} is not in the vocabulary, so it cannot be generated", do=do)
        return tuple(ids)

    def add_special_tokens(self, ids: Sequence[int], characters: np.ndarray | None = None) -> SourceSequence:
        """A source with its special tokens; refused if it is longer than the model's maximum length."""
        special, limit = self.source.special, self.system.backbone.encoder.max_length
        ids = [*([special.start] if self._add_start_token else []), *ids, special.end]
        if characters is not None:
            characters = np.pad(characters, ((int(self._add_start_token), 1), (0, 0)), constant_values=PAD)
        if limit and len(ids) > limit:
            what = f"{len(ids):,} tokens, and this model takes at most {limit:,} at once"
            raise FirthError(what, do="give a shorter text")
        return SourceSequence(ids, characters)

    @property
    def _add_start_token(self) -> bool:
        return self.config.objective.add_start_token

    @property
    def _banned(self) -> list[int]:
        """Special tokens that are never generated."""
        suppressed = {*self.generation_defaults.get("suppress_tokens", ())}
        return sorted({*self.tokenizer.special.ids, *self.tokenizer.sentinels, *suppressed} - {self._end})

    @property
    def _end(self) -> int:
        """The token that ends a target."""
        return self.generation_defaults.get("eos_token_id", self.tokenizer.special.end)


def pad_sources(sources: Sequence[SourceSequence], pad: int) -> Tokens:
    """Sources as one padded batch."""
    ids, mask = pad_batch([source.ids for source in sources], pad)
    if all(source.characters is None for source in sources):
        return Tokens(ids, mask)
    characters = np.full((*mask.shape, MAX_WORD_BYTES), PAD, np.int64)
    characters[mask] = np.concatenate([source.characters for source in sources])
    return Tokens(ids, mask, characters=characters)


def _target_length(source: SourceSequence, options: Seq2SeqOptions) -> int:
    """The most tokens to generate: a function of the source alone, and equal for sources of similar length."""
    return options.max_length or 50 + 2 * (1 << (len(source.ids) - 1).bit_length())
