"""Beam search against search that misses nothing, and that against texts tried out one by one."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_steppers import END, START, A, B, Table, prompts, tables, texts, weights

from firth.decoding.beam import Beam, search
from firth.decoding.exhaustive import exhaustive, most_probable
from firth.decoding.rules import Rules
from firth.errors import FirthError

SOURCES = [[1, 2, 3], [2, 4]]
RULES = [None, Rules(repetition=1.5), Rules(no_repeat=2), Rules(shortest=1, required=((B, A),)), Rules(begun=((B,),))]
hows = st.builds(
    lambda normal, alpha, beta, stop: Beam(1, alpha * (normal == "gnmt"), 1, normal, beta, stop),
    st.sampled_from(["none", "mean", "gnmt"]),
    st.sampled_from([0.0, 0.6, 2.0]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from(["best", "length"]),
)


def wide(how, width, count=1):
    return Beam(width, how.penalty, count, how.normalise, how.coverage, how.stop)


def expected(rows, length, how, source):
    """Scores of all texts by their definitions (Wu et al. 2016), best first."""
    found = []
    for ids, ended, chance in texts(rows, length):
        size, seen = len(ids) + ended, torch.zeros(len(source), dtype=torch.float64)
        norm = {"none": 1.0, "mean": size, "gnmt": ((5 + size) / 6) ** how.penalty}[how.normalise]
        mask = torch.ones(1, len(source), dtype=torch.bool)
        for last in [START, *ids][: len(ids)]:
            seen += weights(torch.tensor([[last]]), torch.tensor([source]), mask)[0]
        coverage = sum(math.log(min(max(each, 1e-6), 1.0)) for each in seen.tolist())
        found.append(chance / norm + how.coverage * coverage)
    return sorted(found, reverse=True)


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 3), hows)
def test_everything_is_found_with_its_score(rows, length, how):
    batch = prompts(START, sources=SOURCES[1:])
    found = exhaustive(Table(rows), batch, length, how, end=END)[0]
    assert [each.score for each in found] == pytest.approx(expected(rows, length, how, SOURCES[1]))
    assert len({(*each.ids, each.ended) for each in found}) == len(found)


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 3), hows, st.sampled_from(RULES))
def test_a_beam_as_wide_as_the_space_is_exhaustive(rows, length, how, rules):
    if rules is not None and rules.required and length < 2:
        return
    batch = prompts(START, A, sources=SOURCES)
    every = exhaustive(Table(rows), batch, length, how, end=END, rules=rules)
    found = search(Table(rows), batch, length, wide(how, 4**length, 4**length), end=END, rules=rules)
    for mine, all_ in zip(found, every, strict=True):
        assert [each.score for each in mine] == pytest.approx([each.score for each in all_])
        key = lambda each: (each.ids, each.ended)  # noqa: E731
        alike = zip(sorted(mine, key=key), sorted(all_, key=key), strict=True)
        for one, other in alike:
            assert (one.ids, one.ended) == (other.ids, other.ended)
            assert one.log_probability == pytest.approx(other.log_probability)
            assert one.alignment == pytest.approx(other.alignment)


@settings(max_examples=40, deadline=None)
@given(tables(5), st.integers(1, 4), st.integers(1, 6), hows, st.sampled_from(RULES[:3]), st.sampled_from([1, 2]))
def test_a_narrow_beam_is_never_better_and_branch_and_bound_is_exact(rows, length, width, how, rules, groups):
    batch = prompts(START, A, sources=SOURCES)
    every = exhaustive(Table(rows), batch, length, how, end=END, rules=rules)
    exact = most_probable(Table(rows), batch, length, how, end=END, rules=rules)
    narrow = Beam(width * groups, how.penalty, 1, how.normalise, how.coverage, how.stop, groups, 0.7)
    found = search(Table(rows), batch, length, narrow, end=END, rules=rules)
    for (mine,), one, all_ in zip(found, exact, every, strict=True):
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
    (found,) = most_probable(table, prompts(START), 20, Beam(1), end=END)
    assert found.ids == [A, B, 4] * 6 + [A, B] and not found.ended
    assert len(table.steps) < 100


def test_spaces_that_are_too_large_are_refused():
    rows = {n: [0.25] * 4 for n in range(4)}
    with pytest.raises(FirthError, match="too many texts to try all of them; use a beam, or fewer tokens"):
        exhaustive(Table(rows), prompts(START), 30, end=END)
    with pytest.raises(FirthError, match="not settled after 20 steps of the model; allow more, or use a beam"):
        most_probable(Table(rows), prompts(START), 30, Beam(1, 10.0), end=END, steps=20)
