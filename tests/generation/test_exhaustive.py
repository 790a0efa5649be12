"""Beam search against exhaustive search and branch and bound, and these against brute force."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_steppers import END, START, A, B, Table, attention_weights, prompts, tables, texts

from firth.errors import FirthError
from firth.generation.beam_search import BeamConfig, beam_search
from firth.generation.constraints import Constraints
from firth.generation.exhaustive import branch_and_bound, exhaustive_search

SOURCES = [[1, 2, 3], [2, 4]]
CONSTRAINTS = [
    None,
    Constraints(repetition_penalty=1.5),
    Constraints(no_repeat_ngram_size=2),
    Constraints(min_length=1, force_words=((B, A),)),
    Constraints(prefixes=((B,),)),
]
configs = st.builds(
    lambda norm, alpha, beta, stop: BeamConfig(1, alpha * (norm == "gnmt"), 1, norm, beta, stop),
    st.sampled_from(["none", "mean", "gnmt"]),
    st.sampled_from([0.0, 0.6, 2.0]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from(["best", "length"]),
)


def wide(config, beam_size, count=1, **options):
    return replace(config, beam_size=beam_size, count=count, **options)


def expected(rows, length, config, source):
    """Scores of all texts by their definitions (Wu et al. 2016), best first."""
    scores = []
    for ids, ended, log_probability in texts(rows, length):
        size, coverage = len(ids) + ended, torch.zeros(len(source), dtype=torch.float64)
        divisors = {"none": 1.0, "mean": size, "gnmt": ((5 + size) / 6) ** config.length_penalty}
        mask = torch.ones(1, len(source), dtype=torch.bool)
        for last in [START, *ids][: len(ids)]:
            coverage += attention_weights(torch.tensor([[last]]), torch.tensor([source]), mask)[0]
        penalty = sum(math.log(min(max(each, 1e-6), 1.0)) for each in coverage.tolist())
        scores.append(log_probability / divisors[config.length_normalisation] + config.coverage_penalty * penalty)
    return sorted(scores, reverse=True)


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 3), configs)
def test_everything_is_found_with_its_score(rows, length, config):
    batch = prompts(START, sources=SOURCES[1:])
    hypotheses = exhaustive_search(Table(rows), batch, length, config, end=END)[0]
    assert [each.score for each in hypotheses] == pytest.approx(expected(rows, length, config, SOURCES[1]))
    assert len({(*each.ids, each.ended) for each in hypotheses}) == len(hypotheses)


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 3), configs, st.sampled_from(CONSTRAINTS))
def test_a_beam_as_wide_as_the_space_is_exhaustive(rows, length, config, constraints):
    if constraints is not None and constraints.force_words and length < 2:
        return
    batch = prompts(START, A, sources=SOURCES)
    every = exhaustive_search(Table(rows), batch, length, config, end=END, constraints=constraints)
    hypotheses = beam_search(
        Table(rows), batch, length, wide(config, 4**length, 4**length), end=END, constraints=constraints
    )
    for mine, all_ in zip(hypotheses, every, strict=True):
        assert [each.score for each in mine] == pytest.approx([each.score for each in all_])
        key = lambda each: (each.ids, each.ended)  # noqa: E731
        alike = zip(sorted(mine, key=key), sorted(all_, key=key), strict=True)
        for one, other in alike:
            assert (one.ids, one.ended) == (other.ids, other.ended)
            assert one.log_probability == pytest.approx(other.log_probability)
            assert one.alignment == pytest.approx(other.alignment)


@settings(max_examples=40, deadline=None)
@given(
    tables(5), st.integers(1, 4), st.integers(1, 6), configs, st.sampled_from(CONSTRAINTS[:3]), st.sampled_from([1, 2])
)
def test_a_narrow_beam_is_never_better_and_branch_and_bound_is_exact(rows, length, width, config, constraints, groups):
    batch = prompts(START, A, sources=SOURCES)
    every = exhaustive_search(Table(rows), batch, length, config, end=END, constraints=constraints)
    exact = branch_and_bound(Table(rows), batch, length, config, end=END, constraints=constraints)
    narrow = wide(config, width * groups, beam_groups=groups, diversity_penalty=0.7)
    hypotheses = beam_search(Table(rows), batch, length, narrow, end=END, constraints=constraints)
    for (mine,), one, all_ in zip(hypotheses, exact, every, strict=True):
        assert one.score == pytest.approx(all_[0].score)
        assert mine.score <= all_[0].score + 1e-9
        known = {(*each.ids, each.ended): each.score for each in all_}
        assert mine.score == pytest.approx(known[*mine.ids, mine.ended])


def test_branch_and_bound_leaves_what_cannot_win():
    """A model that is sure of its text needs a step for each of its tokens, not 5^20."""
    rows = {n: [0.01] * 4 + [0.0] for n in range(5)}
    for n, follows in {START: A, A: B, B: 4, 4: A, END: END}.items():
        rows[n] = [0.01, 0.01, 0.01, 0.01, 0.01]
        rows[n][follows] = 0.96
    table = Table(rows)
    (hypothesis,) = branch_and_bound(table, prompts(START), 20, BeamConfig(1), end=END)
    assert hypothesis.ids == [A, B, 4] * 6 + [A, B] and not hypothesis.ended
    assert len(table.steps) < 100


def test_spaces_that_are_too_large_are_refused():
    rows = {n: [0.25] * 4 for n in range(4)}
    with pytest.raises(FirthError, match="too many texts for exhaustive search; use a beam, or fewer tokens"):
        exhaustive_search(Table(rows), prompts(START), 30, end=END)
    with pytest.raises(FirthError, match="not solved after 20 steps of the model; allow more, or use a beam"):
        branch_and_bound(Table(rows), prompts(START), 30, BeamConfig(1, 10.0), end=END, max_steps=20)
