"""Greedy decoding and sampling with temperature, top-k, top-p (nucleus sampling). Knows a model only as a stepper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from firth.config.core import bounded
from firth.errors import FirthError
from firth.generation.constraints import ConstraintProcessor, Constraints
from firth.generation.hypothesis_scores import source_mask
from firth.generation.top_k import force_end, stable_topk, top_tokens
from firth.types import ALIGNMENT, Batch, Stepper

NUCLEUS_GUESS = 256  # tokens that usually reach top-p
MIN_TEMPERATURE = 1e-30  # that float32 can hold


@dataclass(frozen=True)
class SamplingConfig:
    """How to choose the next token from a distribution."""

    temperature: float = bounded(1.0, least=0.0, most=1e6)  # 0: greedy, always the most probable token
    top_k: int = bounded(0, least=0)  # only the k most probable (Fan et al. 2018); 0: all
    # only the fewest most probable tokens that together reach p (Holtzman et al. 2020)
    top_p: float = bounded(1.0, above=0.0, most=1.0)


@dataclass(frozen=True)
class GeneratedSequence:
    """One continuation, without its [END]."""

    ids: list[int]
    log_probability: float  # under the model itself, before temperature, top-k, top-p and constraints; with [END]
    ended: bool
    alignment: np.ndarray | None = field(default=None, compare=False)  # (tokens, source length), if the model attends


def distribution(log_probs: Tensor, config: SamplingConfig) -> Tensor:
    """The probabilities to sample from (rows, size)."""
    probabilities, tokens = truncated_distribution(log_probs, config)
    if tokens is None:
        return probabilities
    return torch.zeros(log_probs.shape, dtype=probabilities.dtype).scatter(-1, tokens, probabilities)


def truncated_distribution(log_probs: Tensor, config: SamplingConfig) -> tuple[Tensor, Tensor | None]:
    """Probabilities (rows, kept) of the tokens within top-k and top-p, best first, and their ids; None: all ids."""
    logits = log_probs
    if config.temperature != 1.0:  # of differences from the best, which stays 0 however small the temperature is
        logits = (logits - logits.max(-1, keepdim=True).values) / max(config.temperature, MIN_TEMPERATURE)
    if not config.top_k and config.top_p == 1.0:
        return logits.softmax(-1), None
    if config.top_k:
        top, tokens = stable_topk(logits, config.top_k)
        probabilities = top.double().softmax(-1)
    else:
        probabilities, tokens = _nucleus(logits.softmax(-1), config.top_p)
    before = probabilities.cumsum(-1) - probabilities  # cumulative, without this token
    probabilities = probabilities.masked_fill(before >= config.top_p, 0.0)
    return probabilities / probabilities.sum(-1, keepdim=True), tokens


def _nucleus(probabilities: Tensor, top_p: float) -> tuple[Tensor, Tensor]:
    """The highest probabilities of each row, enough to reach `top_p` together, and their tokens (rows, some).

    A few are tried first: to sort a whole vocabulary can take longer than the network does."""
    k, size = NUCLEUS_GUESS, probabilities.shape[-1]
    while True:
        top, tokens = stable_topk(probabilities, k)
        if k >= size or bool((top.sum(-1) >= top_p).all()):
            return top.double(), tokens
        k *= 16


def sample_indices(probabilities: Tensor, generator: torch.Generator) -> Tensor:
    """One index of each row (rows, size), sampled by probability; never one whose probability is 0."""
    cumulative = probabilities.cumsum(-1, dtype=torch.float64)
    uniform = torch.rand(len(probabilities), 1, generator=generator, dtype=cumulative.dtype) * cumulative[:, -1:]
    indices = torch.searchsorted(cumulative, uniform, right=True).squeeze(-1)
    return indices.clamp_(max=probabilities.shape[-1] - 1)


@torch.inference_mode()
def sample(
    stepper: Stepper,
    prompts: Batch,
    max_length: int,
    config: SamplingConfig,
    seed: int,
    *,
    end: int,
    banned: Sequence[int] = (),
    constraints: Constraints | None = None,
) -> list[GeneratedSequence]:
    """Continue every prompt (all of one length) until [END] or `max_length` tokens. Finished rows are dropped."""
    last, state = prompts.tokens("text").ids[:, -1], stepper.start(prompts)
    processor = ConstraintProcessor.create(constraints, banned, end, len(last), max_length, stepper.size)
    generator = torch.Generator().manual_seed(seed)
    sampler = _TokenSampler(config, end, torch.tensor(banned, dtype=torch.long), processor, generator)
    output, rows = _Output(len(last), max_length, end), torch.arange(len(last))  # rows: the unfinished inputs
    for step in range(max_length):
        log_probs, state = stepper.step(last, state)
        last = sampler.next(log_probs, output.ids[rows, :step], rows)
        token_log_probs = log_probs.gather(-1, last[:, None]).squeeze(-1)
        output.add(rows, step, last, token_log_probs, state.live.get(ALIGNMENT))
        unfinished = (last != end).nonzero().squeeze(-1)
        if len(unfinished) == 0:
            break
        if len(unfinished) < len(rows):
            rows, last = rows[unfinished], last[unfinished]
            state = state.reorder(unfinished).select_inputs(unfinished)
    return output.to_sequences(source_mask(prompts))


@dataclass(frozen=True)
class _TokenSampler:
    """Chooses the next token of each row."""

    config: SamplingConfig
    end: int
    banned: Tensor
    processor: ConstraintProcessor | None
    generator: torch.Generator  # private: generation in the middle of training must not disturb it

    def next(self, log_probs: Tensor, ids: Tensor, inputs: Tensor) -> Tensor:
        """Tokens (rows,) after `ids` (rows, so far)."""
        banned = self.banned
        if self.processor is not None:
            log_probs, banned = self.processor.apply(log_probs, ids, inputs), banned[:0]
            if bool(log_probs.isneginf().all(-1).any()):
                do = "constrain less, or use a beam"
                raise FirthError("no continuation from here satisfies these constraints", do=do)
        if self.config.temperature == 0.0:
            top, tokens = top_tokens(log_probs, 1, banned)
            force_end(top, tokens, self.end)
            return tokens.squeeze(-1)
        if len(banned):
            log_probs = log_probs.index_fill(1, banned, -torch.inf)
        dead_end = log_probs.amax(-1).isneginf()
        if bool(dead_end.any()):  # no token is possible, without smoothing: the text ends
            log_probs = log_probs.clone()
            log_probs[dead_end, self.end] = 0.0
        probabilities, kept = truncated_distribution(log_probs, self.config)
        indices = sample_indices(probabilities, self.generator)
        return indices if kept is None else kept.gather(-1, indices[:, None]).squeeze(-1)


class _Output:
    """The tokens generated so far; a row per input."""

    def __init__(self, inputs: int, max_length: int, end: int) -> None:
        self.end = end
        self.ids = torch.zeros(inputs, max_length, dtype=torch.long)
        self.log_probs = torch.zeros(inputs, dtype=torch.float64)
        self.lengths = torch.zeros(inputs, dtype=torch.long)
        self.ended = torch.zeros(inputs, dtype=torch.bool)
        self.alignment: Tensor | None = None  # (inputs, max_length, source length)

    def add(self, rows: Tensor, step: int, tokens: Tensor, log_probs: Tensor, attention: Tensor | None) -> None:
        """Add a step's tokens, their log-probabilities and attention weights (rows, source length)."""
        self.ids[rows, step] = tokens
        self.log_probs[rows] += log_probs.double().masked_fill(log_probs.isneginf(), 0.0)  # -inf: a forced [END]
        self.ended[rows] = tokens == self.end
        self.lengths[rows] += tokens != self.end
        if attention is not None:
            if self.alignment is None:
                self.alignment = attention.new_zeros(*self.ids.shape, attention.shape[1])
            self.alignment[rows, step] = attention

    def to_sequences(self, source: Tensor | None) -> list[GeneratedSequence]:
        """The generated sequences; alignments without the padding of their sources."""
        lengths, sequences = self.lengths.tolist(), []
        parts = (self.ids.tolist(), self.log_probs.tolist(), self.ended.tolist())
        for number, (ids, log_prob, ended) in enumerate(zip(*parts, strict=True)):
            length, alignment = lengths[number], None
            if self.alignment is not None:
                source_length = self.alignment.shape[2] if source is None else int(source[number].sum())
                alignment = self.alignment[number, :length, :source_length].numpy().copy()
            sequences.append(GeneratedSequence(ids[:length], log_prob, ended, alignment))
        return sequences
