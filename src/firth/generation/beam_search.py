"""Beam search: the most probable continuations, with length and coverage penalties, diverse beam groups and lexical
constraints. Knows a model only as a stepper.

Every unfinished input has the same number of rows, one after the other: row i × beams + j is hypothesis j of input i.
So a stepper that attends to a source finds the source of a row from the numbers of rows. `State.reorder` reorders
hypotheses, `State.select_inputs` drops finished inputs.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from firth.errors import FirthError
from firth.generation.constraints import ConstraintProcessor, Constraints
from firth.generation.hypotheses import Candidates, RunningBeams, select_candidates
from firth.generation.hypothesis_scores import BeamConfig, Hypothesis, HypothesisScorer, length_penalty, source_mask
from firth.generation.lexical_constraints import PhrasalConstraints
from firth.generation.search_tree import Expansion, SearchTree, SearchTreeBuilder
from firth.generation.top_k import force_end, top_tokens
from firth.types import ALIGNMENT, Batch, Stepper

__all__ = ["BeamConfig", "BeamSearchResult", "Hypothesis", "beam_search", "length_penalty"]


class BeamSearchResult(NamedTuple):
    """The hypotheses of each input, best first, and the search trees of the inputs."""

    hypotheses: list[list[Hypothesis]]
    trees: list[SearchTree]


@torch.inference_mode()
def beam_search(
    stepper: Stepper,
    prompts: Batch,
    max_length: int,
    config: BeamConfig,
    *,
    end: int,
    banned: Sequence[int] = (),
    constraints: Constraints | None = None,
    return_tree: bool = False,
) -> list[list[Hypothesis]] | BeamSearchResult:
    """The best continuations of every prompt (all of one length), best first, of at most `max_length` tokens.

    A hypothesis ends when its [END] is among the `beam_size` best candidates of a step. `banned` tokens never occur.
    """
    last, state = prompts.tokens("text").ids[:, -1], stepper.start(prompts)
    processor = ConstraintProcessor.create(constraints, banned, end, len(last), max_length, stepper.size)
    selector = _CandidateSelector(config, end, torch.tensor(banned, dtype=torch.long, device=last.device), processor)
    finished = _FinishedHypotheses(HypothesisScorer(config, max_length, source_mask(prompts)), len(last))
    beams = RunningBeams.begin(len(last), last.device)
    trees, step = SearchTreeBuilder(len(last)) if return_tree else None, 0
    for step in range(1, max_length + 1):
        predicted, state = stepper.step(last, state)
        attention = state.live.get(ALIGNMENT)
        beams = beams if attention is None else beams.with_alignment(attention)
        candidates = selector.select(beams, predicted)
        log_probs = selector.log_probs(beams, candidates, predicted)
        finished.add(beams, candidates, log_probs)
        if trees is not None:
            _record(trees, beams, candidates, predicted, step, end)
        parents = beams.offsets + candidates.parents.gather(1, candidates.survivors)
        beams = beams.advance(candidates, log_probs, attention)
        if step == max_length or not (unfinished := finished.unfinished(beams)):
            break
        state = state.reorder(parents[unfinished].flatten())
        if len(unfinished) < len(parents):  # encoder states are large: they are copied only if they must be
            state = state.select_inputs(torch.tensor(unfinished, device=last.device))
            beams = beams.select(unfinished)
        last = beams.ids[:, :, -1].flatten()
    if step == max_length:
        finished.add_running(beams)
    hypotheses = finished.best()
    return hypotheses if trees is None else BeamSearchResult(hypotheses, trees.finish(hypotheses, end))


class _CandidateSelector(NamedTuple):
    """Selects the candidates of a step."""

    config: BeamConfig
    end: int
    banned: Tensor
    processor: ConstraintProcessor | None

    def select(self, beams: RunningBeams, log_probs: Tensor) -> Candidates:
        """The best candidates after the running hypotheses; log_probs (rows, size)."""
        size, groups, phrases = self.config.beam_size, self.config.beam_groups, None
        # a group needs more than its own size: earlier groups may have chosen the same tokens
        k = min(2 * size if groups == 1 else 2 * size // groups + size, log_probs.shape[1])
        if self.processor is None:
            top, tokens = top_tokens(log_probs, k, self.banned)
            force_end(top, tokens, self.end)
        else:
            ids, phrases = beams.ids.flatten(0, 1), self.processor.phrases
            log_probs = self.processor.apply(log_probs, ids, beams.inputs.repeat_interleave(beams.ids.shape[1]))
            top, tokens = top_tokens(log_probs, k, self.banned[:0])
            if phrases is not None:
                top, tokens = _add_phrase_tokens(top, tokens, log_probs, ids, phrases)
        return select_candidates(beams, top, tokens, self.config, self.end, phrases)

    def log_probs(self, beams: RunningBeams, candidates: Candidates, predicted: Tensor) -> Tensor | None:
        """Log-probabilities of the candidates under the model itself, where a penalty has changed their scores."""
        if self.processor is None or not self.processor.penalises:
            return None
        return beams.log_probs.gather(1, candidates.parents) + _token_log_probs(beams, candidates, predicted)


def _token_log_probs(beams: RunningBeams, candidates: Candidates, predicted: Tensor) -> Tensor:
    """The log-probability of each candidate's token (inputs, candidates); 0 of an [END] that is forced."""
    log_probs = predicted[beams.offsets + candidates.parents, candidates.tokens].double()
    return log_probs.masked_fill(log_probs.isneginf(), 0.0)


def _add_phrase_tokens(
    top: Tensor, tokens: Tensor, log_probs: Tensor, ids: Tensor, phrases: PhrasalConstraints
) -> tuple[Tensor, Tensor]:
    """The top tokens, and after them those that continue a forced phrase, however improbable."""
    forced = phrases.next_tokens(ids)  # (rows, phrases)
    more = log_probs.gather(1, forced)
    for column in range(forced.shape[1]):  # each token once
        known = torch.cat([tokens, forced[:, :column]], 1)
        more[(known == forced[:, column : column + 1]).any(1), column] = -torch.inf
    return torch.cat([top, more], 1), torch.cat([tokens, forced], 1)


class _FinishedHypotheses:
    """The finished hypotheses of each input."""

    def __init__(self, scorer: HypothesisScorer, inputs: int) -> None:
        self.scorer, self.config = scorer, scorer.config
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in range(inputs)]
        self.negated_scores: list[list[float]] = [[] for _ in range(inputs)]  # ascending: the best comes first

    def add(self, beams: RunningBeams, candidates: Candidates, log_probs: Tensor | None) -> None:
        """Add the candidates of a step that end."""
        row, index = candidates.finished.nonzero(as_tuple=True)
        if len(row):
            sums, parents = candidates.scores[row, index], candidates.parents[row, index]
            self._add(beams, row, parents, sums, sums if log_probs is None else log_probs[row, index], ended=True)

    def add_running(self, beams: RunningBeams) -> None:
        """Add the hypotheses that are still running at the maximum length."""
        row, beam = (beams.scores > -torch.inf).nonzero(as_tuple=True)
        self._add(beams, row, beam, beams.scores[row, beam], beams.log_probs[row, beam], ended=False)

    def _add(
        self, beams: RunningBeams, row: Tensor, beam: Tensor, sums: Tensor, log_probs: Tensor, *, ended: bool
    ) -> None:
        inputs, sequences = beams.inputs[row], beams.ids[row, beam].tolist()
        alignment = None if beams.alignment is None else beams.alignment[row, beam]
        scores, numbers = self.scorer.scores(sums, beams.ids.shape[2] + ended, alignment, inputs), inputs.tolist()
        alignments = self.scorer.trim_alignments(alignment, numbers)
        for number, *parts in zip(numbers, sequences, log_probs.tolist(), scores, alignments, strict=True):
            ids, log_prob, score, attended = parts
            others = self.hypotheses[number]
            # groups may come to the same text
            if self.config.beam_groups > 1 and any(each.ids == ids and each.ended == ended for each in others):
                continue
            others.append(Hypothesis(ids, log_prob, ended, score, attended))
            insort(self.negated_scores[number], -score)

    def unfinished(self, beams: RunningBeams) -> list[int]:
        """Positions, among the running inputs, of those that continue."""
        config, unfinished = self.config, []
        bounds = self.scorer.upper_bounds(beams.scores.max(1).values).tolist()
        for position, (number, bound) in enumerate(zip(beams.inputs.tolist(), bounds, strict=True)):
            scores = self.negated_scores[number]
            settled = len(scores) >= config.count and -scores[config.count - 1] >= bound
            full = len(scores) >= config.beam_size and config.early_stopping == "completed"
            done = full or (settled and config.early_stopping != "length")
            if bound > -torch.inf and not done:
                unfinished.append(position)
        return unfinished

    def best(self) -> list[list[Hypothesis]]:
        """The n best of each input."""
        if not all(self.hypotheses):
            raise FirthError("no text satisfies these constraints", do="allow a greater length, or constrain less")
        return [sorted(each, key=lambda h: -h.score)[: self.config.count] for each in self.hypotheses]


def _record(
    trees: SearchTreeBuilder, beams: RunningBeams, candidates: Candidates, predicted: Tensor, step: int, end: int
) -> None:
    """Add a step's candidates to the search trees."""
    log_probs = _token_log_probs(beams, candidates, predicted)
    parts = (
        candidates.parents,
        candidates.tokens,
        log_probs,
        candidates.scores,
        candidates.finished,
        candidates.survivors,
    )
    for number, *values in zip(beams.inputs.tolist(), *(part.tolist() for part in parts), strict=True):
        trees.expand(number, step, Expansion(*values), end)
