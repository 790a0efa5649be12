"""One call for all decoding methods: greedy, sampling, beam search. The options say which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from firth.config.core import bounded
from firth.generation.beam_search import BeamSearchResult, beam_search
from firth.generation.constraints import Constraints, TokenSequences
from firth.generation.hypothesis_scores import LENGTH_NORMALISERS, BeamConfig, Hypothesis
from firth.generation.sampling import GeneratedSequence, SamplingConfig, sample
from firth.types import Batch, Stepper


@dataclass(frozen=True)
class GenerationConfig:
    """How texts are generated: greedily, unless a beam or a temperature is set."""

    count: int = bounded(1, least=1)  # sequences returned for each input
    beam: int = bounded(1, least=1)  # beam size; above 1: beam search, whatever the temperature
    temperature: float = bounded(0.0, least=0.0, most=1e6)  # above 0: tokens are sampled
    top_k: int = bounded(0, least=0)
    top_p: float = bounded(1.0, above=0.0, most=1.0)
    seed: int = bounded(0, least=0)
    length_penalty: float = bounded(0.0, least=0.0, most=10.0)
    length_normalisation: Literal["none", "mean", "gnmt"] = "gnmt"
    coverage_penalty: float = bounded(0.0, least=0.0, most=100.0)
    early_stopping: Literal["completed", "best", "length"] = "completed"
    beam_groups: int = bounded(1, least=1)
    diversity_penalty: float = bounded(0.5, least=0.0, most=100.0)
    min_length: int = bounded(0, least=0)
    no_repeat_ngram_size: int = bounded(0, least=0)
    repetition_penalty: float = bounded(1.0, least=1.0, most=100.0)

    @property
    def sampling(self) -> SamplingConfig:
        """The options of sampling."""
        return SamplingConfig(self.temperature, self.top_k, self.top_p)

    @property
    def beam_search(self) -> BeamConfig:
        """The options of beam search."""
        scoring = (self.length_normalisation, self.coverage_penalty, self.early_stopping)
        return BeamConfig(
            self.beam, self.length_penalty, self.count, *scoring, self.beam_groups, self.diversity_penalty
        )

    def constraints(
        self, bad_words: TokenSequences = (), prefixes: TokenSequences = (), force_words: TokenSequences = ()
    ) -> Constraints:
        """The constraints, with words as token ids."""
        numbers = (self.min_length, self.no_repeat_ngram_size, self.repetition_penalty)
        return Constraints(*numbers, bad_words, prefixes, force_words)


def generate(
    stepper: Stepper,
    batch: Batch,
    max_length: int,
    config: GenerationConfig,
    *,
    end: int,
    banned: Sequence[int] = (),
    bad_words: TokenSequences = (),
    prefixes: TokenSequences = (),
    force_words: TokenSequences = (),
    return_tree: bool = False,
) -> list[list[Hypothesis]] | BeamSearchResult:
    """`count` sequences for each input (prompts of one length), of at most `max_length` tokens; of a beam the best
    first."""
    sampled = config.temperature > 0 and config.beam == 1 and not return_tree
    if not sampled and (config.beam_search.beam_size > 1 or return_tree):
        return beam_search(
            stepper,
            batch,
            max_length,
            config.beam_search,
            end=end,
            banned=banned,
            constraints=config.constraints(bad_words, prefixes, force_words),
            return_tree=return_tree,
        )
    if config.count > 1:  # each sequence is a row of its own, and so is its source
        batch = batch.map(lambda array: array.repeat_interleave(config.count, 0))
        prefixes = tuple(row for row in prefixes for _ in range(config.count)) if len(prefixes) > 1 else prefixes
    constraints = config.constraints(bad_words, prefixes, force_words)
    sequences = sample(
        stepper, batch, max_length, config.sampling, config.seed, end=end, banned=banned, constraints=constraints
    )
    hypotheses = [_to_hypothesis(each, config) for each in sequences]
    return [hypotheses[first : first + config.count] for first in range(0, len(hypotheses), config.count)]


def _to_hypothesis(sequence: GeneratedSequence, config: GenerationConfig) -> Hypothesis:
    length, log_prob = max(1, len(sequence.ids) + sequence.ended), sequence.log_probability
    divisor = LENGTH_NORMALISERS[config.length_normalisation](length, config.length_penalty)
    return Hypothesis(sequence.ids, log_prob, sequence.ended, log_prob / divisor, sequence.alignment)
