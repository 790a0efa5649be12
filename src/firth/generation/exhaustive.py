"""Exact search: exhaustive search over a small vocabulary, and branch and bound over any.

The reference that beam search is tested against. Scores and constraints are those of beam search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from firth.errors import FirthError
from firth.generation.beam_search import beam_search
from firth.generation.constraints import ConstraintProcessor, Constraints
from firth.generation.hypothesis_scores import BeamConfig, Hypothesis, HypothesisScorer, source_mask
from firth.types import ALIGNMENT, Batch, State, Stepper

_MAX_CANDIDATES = 2_000_000  # of one step of exhaustive search
_MAX_STEPS = 100_000  # of the model, in branch and bound


@torch.inference_mode()
def exhaustive_search(
    stepper: Stepper,
    prompts: Batch,
    max_length: int,
    config: BeamConfig | None = None,
    *,
    end: int,
    banned: Sequence[int] = (),
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """All texts of each input that end within `max_length` tokens or have that length, best first."""
    spaces = _search_spaces(stepper, prompts, max_length, config or BeamConfig(), end, banned, constraints)
    return [sorted(space.enumerate_all(), key=lambda each: -each.score) for space in spaces]


@torch.inference_mode()
def branch_and_bound(
    stepper: Stepper,
    prompts: Batch,
    max_length: int,
    config: BeamConfig | None = None,
    *,
    end: int,
    banned: Sequence[int] = (),
    constraints: Constraints | None = None,
    max_steps: int = _MAX_STEPS,
) -> list[Hypothesis]:
    """The best text of each input, exactly: depth-first, pruning what cannot beat the best so far, at first the result
    of a beam search (Stahlberg and Byrne 2019). Refused where it would take more than `max_steps` of the model."""
    config = replace(config or BeamConfig(), count=1)
    spaces = _search_spaces(stepper, prompts, max_length, config, end, banned, constraints)
    initial = beam_search(stepper, prompts, max_length, config, end=end, banned=banned, constraints=constraints)
    assert isinstance(initial, list)  # without trees
    return [space.find_best(first[0], max_steps) for space, first in zip(spaces, initial, strict=True)]


def _search_spaces(
    stepper: Stepper,
    prompts: Batch,
    max_length: int,
    config: BeamConfig,
    end: int,
    banned: Sequence[int],
    constraints: Constraints | None,
) -> Iterator[_SearchSpace]:
    """One for each input."""
    for number in range(prompts.size):
        own = constraints or Constraints()
        if len(own.prefixes) > 1:
            own = replace(own, prefixes=own.prefixes[number : number + 1])
        prompt = prompts.slice_batch(number, number + 1)
        processor = ConstraintProcessor(own, banned, end, 1, max_length, stepper.size)
        scorer = HypothesisScorer(config, max_length, source_mask(prompt))
        yield _SearchSpace(stepper, prompt, max_length, end, processor, scorer)


@dataclass(frozen=True)
class _Open:
    """Open (unfinished) hypotheses, a row each."""

    scores: Tensor  # (rows,) summed log-probabilities, penalties included
    log_probs: Tensor  # (rows,) under the model itself
    ids: Tensor  # (rows, tokens)
    last: Tensor  # (rows,)
    state: State
    alignment: Tensor | None = None  # (rows, tokens, source length)


@dataclass(frozen=True)
class _SearchSpace:
    """All texts that can be generated for one input."""

    stepper: Stepper
    prompt: Batch
    max_length: int
    end: int
    processor: ConstraintProcessor
    scorer: HypothesisScorer

    def begin(self) -> _Open:
        zero = torch.zeros(1, dtype=torch.float64)
        ids, state = torch.zeros(1, 0, dtype=torch.long), self.stepper.start(self.prompt)
        return _Open(zero, zero, ids, self.prompt.tokens("text").ids[:, -1], state)

    def enumerate_all(self) -> list[Hypothesis]:
        """All texts, breadth-first."""
        finished, open_ = [], self.begin()
        for _ in range(self.max_length):
            if len(open_.ids) * self.stepper.size > _MAX_CANDIDATES:
                raise FirthError("too many texts for exhaustive search", do="use a beam, or fewer tokens")
            scores, log_probs, open_ = self.step(open_)
            row, token = (scores > -torch.inf).nonzero(as_tuple=True)
            ends = token == self.end
            ended = (scores[row, token][ends], log_probs[row, token][ends])
            finished += self.to_hypotheses(open_, row[ends], *ended, ended=True)
            open_ = self.extend(open_, row[~ends], token[~ends], scores, log_probs)
        rows = torch.arange(len(open_.ids))
        return finished + self.to_hypotheses(open_, rows, open_.scores, open_.log_probs, ended=False)

    def find_best(self, first: Hypothesis, max_steps: int) -> Hypothesis:
        """The best text, given a good one as the first bound."""
        best, stack, steps = first, [self.begin()], 0
        while stack:
            open_ = stack.pop()
            if float(self.scorer.upper_bounds(open_.scores)) <= best.score:
                continue
            if open_.ids.shape[1] == self.max_length:
                row = torch.zeros(1, dtype=torch.long)
                complete = self.to_hypotheses(open_, row, open_.scores, open_.log_probs, ended=False)
                best = max([best, *complete], key=_score)
                continue
            steps += 1
            if steps > max_steps:
                raise FirthError(f"not solved after {max_steps:,} steps of the model", do="allow more, or use a beam")
            scores, log_probs, open_ = self.step(open_)
            token = (self.scorer.upper_bounds(scores[0]) > best.score).nonzero().squeeze(-1)
            token = token[scores[0, token].sort(stable=True).indices]  # the best is popped first
            ends, zero = token == self.end, torch.zeros_like(token)
            ended = (scores[0, token][ends], log_probs[0, token][ends])
            best = max([best, *self.to_hypotheses(open_, zero[ends], *ended, ended=True)], key=_score)
            stack += [self.extend(open_, zero[:1], one[None], scores, log_probs) for one in token[~ends]]
        return best

    def step(self, open_: _Open) -> tuple[Tensor, Tensor, _Open]:
        """Scores of all continuations, their log-probabilities under the model (rows, size), and what they extend."""
        predicted, state = self.stepper.step(open_.last, open_.state)
        allowed = self.processor.apply(predicted, open_.ids, torch.zeros(len(predicted), dtype=torch.long))
        predicted = predicted.double().masked_fill(predicted.isneginf(), 0.0)
        attention, alignment = state.live.get(ALIGNMENT), open_.alignment
        if alignment is None and attention is not None:
            alignment = attention.new_zeros(1, 0, attention.shape[1])
        open_ = replace(open_, state=state, alignment=alignment)
        return open_.scores[:, None] + allowed.double(), open_.log_probs[:, None] + predicted, open_

    def extend(self, open_: _Open, row: Tensor, token: Tensor, scores: Tensor, log_probs: Tensor) -> _Open:
        """Some rows with a token more."""
        attention, alignment = open_.state.live.get(ALIGNMENT), None
        if attention is not None:
            assert open_.alignment is not None  # since `step`
            alignment = torch.cat([open_.alignment[row], attention[row][:, None]], 1)
        ids = torch.cat([open_.ids[row], token[:, None]], 1)
        return _Open(scores[row, token], log_probs[row, token], ids, token, open_.state.reorder(row), alignment)

    def to_hypotheses(
        self, open_: _Open, row: Tensor, sums: Tensor, log_probs: Tensor, *, ended: bool
    ) -> list[Hypothesis]:
        """Rows as scored hypotheses."""
        inputs, alignment = torch.zeros_like(row), None if open_.alignment is None else open_.alignment[row]
        scores = self.scorer.scores(sums, open_.ids.shape[1] + ended, alignment, inputs)
        alignments = self.scorer.trim_alignments(alignment, inputs.tolist())
        parts = zip(open_.ids[row].tolist(), log_probs.tolist(), scores, alignments, strict=True)
        return [Hypothesis(ids, log_prob, ended, score, attended) for ids, log_prob, score, attended in parts]


def _score(hypothesis: Hypothesis) -> float:
    return hypothesis.score
