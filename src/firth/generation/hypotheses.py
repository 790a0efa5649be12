"""The running hypotheses of a beam search, and how one step selects those that continue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from firth.generation.hypothesis_scores import BeamConfig
from firth.generation.lexical_constraints import PhrasalConstraints, allocate_beam
from firth.generation.top_k import stable_topk


@dataclass(frozen=True)
class RunningBeams:
    """The running hypotheses of the unfinished inputs; an impossible one has a score of -inf."""

    inputs: Tensor  # (inputs,) their indices in the batch
    scores: Tensor  # (inputs, beams) summed log-probabilities, penalties included: what a step selects by
    log_probs: Tensor  # (inputs, beams) under the model itself; the same tensor, where nothing changes them
    ids: Tensor  # (inputs, beams, tokens so far)
    alignment: Tensor | None = None  # (inputs, beams, tokens so far, source length)

    @classmethod
    def begin(cls, count: int, device: torch.device) -> RunningBeams:
        """One empty hypothesis of each input."""
        scores = torch.zeros(count, 1, dtype=torch.float64, device=device)
        ids = torch.zeros(count, 1, 0, dtype=torch.long, device=device)
        return cls(torch.arange(count, device=device), scores, scores, ids)

    @property
    def offsets(self) -> Tensor:
        """The row of each input's first hypothesis (inputs, 1)."""
        count, beams = self.scores.shape
        return torch.arange(count, device=self.scores.device)[:, None] * beams

    def advance(self, candidates: Candidates, log_probs: Tensor | None, attention: Tensor | None) -> RunningBeams:
        """One token more: the surviving candidates. `log_probs` (inputs, candidates), `attention` (rows, source)."""
        survivors = candidates.survivors
        parts = (candidates.scores, candidates.parents, candidates.tokens)
        scores, parents, tokens = (part.gather(1, survivors) for part in parts)
        scores = scores.masked_fill(candidates.is_end.gather(1, survivors), -torch.inf)
        ids = torch.cat([_gather_parents(self.ids, parents), tokens[:, :, None]], 2)
        alignment = None
        if attention is not None:
            assert self.alignment is not None  # since `with_alignment`
            last = attention[self.offsets + parents][:, :, None]
            alignment = torch.cat([_gather_parents(self.alignment, parents), last], 2)
        log_probs = scores if log_probs is None else log_probs.gather(1, survivors)
        return RunningBeams(self.inputs, scores, log_probs, ids, alignment)

    def with_alignment(self, attention: Tensor) -> RunningBeams:
        """The same with an empty alignment, once the first step has shown that the model attends to a source."""
        if self.alignment is not None:
            return self
        return replace(self, alignment=attention.new_zeros(*self.ids.shape, attention.shape[1]))

    def select(self, unfinished: list[int]) -> RunningBeams:
        """Only the inputs that continue."""
        alignment = None if self.alignment is None else self.alignment[unfinished]
        inputs, scores, log_probs, ids = self.inputs, self.scores, self.log_probs, self.ids
        return RunningBeams(inputs[unfinished], scores[unfinished], log_probs[unfinished], ids[unfinished], alignment)


def _gather_parents(values: Tensor, parents: Tensor) -> Tensor:
    """The values of each candidate's parent: (inputs, beams, …) to (inputs, candidates, …)."""
    return values[torch.arange(len(values), device=values.device)[:, None], parents]


class Candidates(NamedTuple):
    """The best candidates of a step (inputs, candidates), in the order in which they are selected."""

    scores: Tensor
    parents: Tensor  # beam of the hypothesis that is extended
    tokens: Tensor
    is_end: Tensor  # whether the token is [END]
    finished: Tensor  # whether it is a finished hypothesis
    survivors: Tensor  # (inputs, beams): indices of the candidates that continue


def select_candidates(
    beams: RunningBeams,
    log_probs: Tensor,
    tokens: Tensor,
    config: BeamConfig,
    end: int,
    phrases: PhrasalConstraints | None,
) -> Candidates:
    """The best candidates among the top tokens after each hypothesis (rows, k); groups select one after the other."""
    (count, width), k, group_size = beams.scores.shape, log_probs.shape[1], config.beam_size // config.beam_groups
    scores, tokens = beams.scores[:, :, None] + log_probs.view(count, width, k), tokens.view(count, width, k)
    banks = None if phrases is None else _banks(beams.ids, tokens, phrases)
    parts: list[Candidates] = []
    for group in range(config.beam_groups):
        first, last = (number * width // config.beam_groups for number in (group, group + 1))
        own = slice(first, last) if width > 1 else slice(0, 1)
        ranked = scores[:, own]
        if parts:
            ranked = ranked - config.diversity_penalty * _hamming_diversity(parts, tokens[:, own])
        order = _rank(ranked.flatten(1), None if banks is None else banks[:, own].flatten(1), 2 * group_size)
        parents = order // k + own.start
        group_scores, group_tokens = (part[:, own].flatten(1).gather(1, order) for part in (scores, tokens))
        parts.append(_split_finished(group_scores, parents, group_tokens, group_size, end))
    return parts[0] if len(parts) == 1 else _concatenate(parts)


def _rank(scores: Tensor, banks: Tensor | None, count: int) -> Tensor:
    # Each running hypothesis can end in one way only, so twice the beam size holds enough that continue.
    count = min(count, scores.shape[1])
    return stable_topk(scores, count)[1] if banks is None else allocate_beam(scores, banks, count)


def _split_finished(scores: Tensor, parents: Tensor, tokens: Tensor, beam_size: int, end: int) -> Candidates:
    """[END] among the first `beam_size` finishes a hypothesis; the best others survive, up to the beam size."""
    is_end = tokens == end
    finished = is_end & (scores > -torch.inf)
    finished[:, beam_size:] = False
    survivors = is_end.sort(dim=-1, stable=True).indices[:, :beam_size]
    return Candidates(scores, parents, tokens, is_end, finished, survivors)


def _concatenate(parts: Iterable[Candidates]) -> Candidates:
    """The candidates of all groups, one group after the other."""
    offset, shifted = 0, []
    for part in parts:
        shifted.append(part._replace(survivors=part.survivors + offset))
        offset += part.scores.shape[1]
    return Candidates(*(torch.cat(each, 1) for each in zip(*shifted, strict=True)))


def _hamming_diversity(parts: Iterable[Candidates], tokens: Tensor) -> Tensor:
    """How often earlier groups have chosen each token in this step (Vijayakumar et al. 2018)."""
    chosen = torch.cat([part.tokens.gather(1, part.survivors) for part in parts], 1)
    return (tokens[..., None] == chosen[:, None, None, :]).sum(-1)


def _banks(ids: Tensor, tokens: Tensor, phrases: PhrasalConstraints) -> Tensor:
    """How many constraint tokens each candidate satisfies (inputs, beams, k)."""
    before = ids[:, :, None].expand(*tokens.shape, ids.shape[2])
    return phrases.satisfied_tokens(torch.cat([before, tokens[..., None]], 3).flatten(0, 2)).view(tokens.shape)
