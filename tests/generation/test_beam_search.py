"""Beam search on tables that a reader can check by hand, and against brute force."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.errors import FirthError
from firth.generation.beam_search import BeamConfig, beam_search, length_penalty
from firth.generation.sampling import SamplingConfig, sample
from firth.types import Batch, State, Tokens

START, A, B, END = range(4)
ANY = [0.25] * 4  # nothing follows [END]
# The better first token leads to worse ones: A B has .55 × .6 = .33, B A has .45 × .9 = .405.
ROWS = {START: [0.0, 0.55, 0.45, 0.0], A: [0.0, 0.0, 0.6, 0.4], B: [0.0, 0.9, 0.0, 0.1], END: ANY}


class Table:
    """A stepper over hand-set probabilities of the next token after the last; its state holds all tokens so far."""

    def __init__(self, rows):
        self.rows = {last: torch.tensor(p, dtype=torch.float64).log() for last, p in rows.items()}
        self.size, self.steps = len(rows), []

    def start(self, batch):
        ids = batch.streams["text"].ids
        return State({"input": ids[:, :1]}, {"ids": ids[:, :-1]})

    def step(self, last, state):
        inputs = state.source["input"]
        so_far = torch.cat([state.live["ids"], last[:, None]], 1)
        # The contract of a stepper: rows are hypotheses of the inputs in their order, equally many of each.
        assert torch.equal(so_far[:, :1], inputs.repeat_interleave(len(last) // len(inputs), 0))
        self.steps.append(len(last))
        return torch.stack([self.rows[int(t)] for t in last]), State(state.source, {"ids": so_far})


def prompts(*first):
    ids = torch.tensor([[token] for token in first])
    return Batch({"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}, {})


def best(rows, length, **options):
    return beam_search(Table(rows), prompts(START), length, BeamConfig(**options), end=END)[0]


def test_a_beam_of_two_finds_what_greedy_passes_over():
    (greedy,) = best(ROWS, 2, beam_size=1)
    assert greedy.ids == [A, B] and math.exp(greedy.log_probability) == pytest.approx(0.55 * 0.6)
    (hypothesis,) = best(ROWS, 2, beam_size=2)
    assert hypothesis.ids == [B, A] and math.exp(hypothesis.log_probability) == pytest.approx(0.45 * 0.9)
    assert not hypothesis.ended


def test_the_best_come_first_and_some_have_ended():
    first, second, third = best(ROWS, 2, beam_size=4, count=3)
    assert [first.ids, second.ids, third.ids] == [[B, A], [A, B], [A]]
    assert third.ended and math.exp(third.log_probability) == pytest.approx(0.55 * 0.4)


def test_the_length_penalty_lets_the_longer_win():
    rows = {**ROWS, A: [0.0, 0.1, 0.3, 0.6]}  # A [END] has .55 × .6 = .33, B A [END] .45 × .9 × .6 = .243
    for alpha, winner in ((0.0, [A]), (3.0, [B, A])):  # ln .33 / (7/6)³ = -0.698, ln .243 / (8/6)³ = -0.597
        (hypothesis,) = best(rows, 3, beam_size=3, length_penalty=alpha)
        assert hypothesis.ids == winner and hypothesis.ended
        assert hypothesis.score == pytest.approx(hypothesis.log_probability / ((5 + len(winner) + 1) / 6) ** alpha)


def brute_force(rows, length, alpha):
    """All continuations that end within the length or have it, by score: brute force."""
    texts = []
    for n in range(length + 1):
        for ids in itertools.product([t for t in rows if t != END], repeat=n):
            ended = n < length
            path = [START, *ids, *([END] if ended else [])]
            probability = math.prod(rows[a][b] for a, b in itertools.pairwise(path))
            if probability > 0:
                texts.append((math.log(probability) / length_penalty(n + ended, alpha), list(ids), ended))
    return sorted(texts, key=lambda text: -text[0])


def tables(size=4):
    weights = st.lists(st.sampled_from([0.1, 0.25, 0.5, 1.0]), min_size=size, max_size=size)
    return st.lists(weights, min_size=size, max_size=size).map(
        lambda rows: {i: [w / sum(row) for w in row] for i, row in enumerate(rows)}
    )


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 3), st.sampled_from([0.0, 0.6, 2.0]))
def test_a_beam_as_wide_as_all_texts_is_exhaustive(rows, length, alpha):
    expected = brute_force(rows, length, alpha)[:5]
    hypotheses = beam_search(
        Table(rows), prompts(START), length, BeamConfig(4**length, alpha, min(5, 4**length)), end=END
    )[0]
    assert [h.score for h in hypotheses] == pytest.approx([score for score, _, _ in expected][: len(hypotheses)])
    assert len(hypotheses) == len(expected)
    for hypothesis in hypotheses:
        path = [START, *hypothesis.ids, *([END] if hypothesis.ended else [])]
        log_probability = math.log(math.prod(rows[a][b] for a, b in itertools.pairwise(path)))
        assert hypothesis.log_probability == pytest.approx(log_probability)


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 6), st.sampled_from([0.0, 1.0]))
def test_a_beam_of_one_is_greedy(rows, length, alpha):
    ((hypothesis,),) = beam_search(Table(rows), prompts(START), length, BeamConfig(1, alpha), end=END)
    (greedy,) = sample(Table(rows), prompts(START), length, SamplingConfig(temperature=0.0), seed=0, end=END)
    assert (hypothesis.ids, hypothesis.ended) == (greedy.ids, greedy.ended)
    assert hypothesis.log_probability == pytest.approx(greedy.log_probability)


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 5), st.integers(1, 4), st.sampled_from([0.0, 1.0]))
def test_inputs_together_are_each_alone(rows, length, width, alpha):
    config = BeamConfig(width, alpha, count=width)
    together = beam_search(Table(rows), prompts(START, A, B), length, config, end=END)
    alone = [beam_search(Table(rows), prompts(token), length, config, end=END)[0] for token in (START, A, B)]
    assert together == alone


def test_a_finished_input_is_no_longer_computed():
    rows = {START: [0.0, 0.0, 0.01, 0.99], A: [0.0, 0.4, 0.5, 0.1], B: [0.0, 0.5, 0.4, 0.1], END: [0.25] * 4}
    steps = Table(rows)
    hypotheses = beam_search(steps, prompts(START, A), 4, BeamConfig(2), end=END)
    assert hypotheses[0][0].ids == [] and hypotheses[0][0].ended
    assert steps.steps[0] == 2 and set(steps.steps[1:]) == {2}  # then two hypotheses of the second input only


def test_the_search_stops_when_nothing_open_can_win():
    rows = {START: [0.0, 0.1, 0.0, 0.9], A: [0.0, 0.9, 0.0, 0.1], B: [0.25] * 4, END: [0.25] * 4}
    steps = Table(rows)
    (hypothesis,) = beam_search(steps, prompts(START), 50, BeamConfig(4), end=END)[0]
    assert hypothesis.ids == [] and len(steps.steps) == 1
    steps = Table(rows)
    beam_search(steps, prompts(START), 50, BeamConfig(4, length_penalty=5.0), end=END)  # a long one may still win
    assert len(steps.steps) > 1


def test_banned_tokens_do_not_come_and_where_nothing_can_follow_the_text_ends():
    (hypotheses,) = beam_search(Table(ROWS), prompts(START), 3, BeamConfig(3, count=3), end=END, banned=[B])
    assert [(h.ids, h.ended) for h in hypotheses] == [([A], True)]  # after A, only B and [END] can come
    ((nothing,),) = beam_search(Table(ROWS), prompts(START), 3, BeamConfig(2), end=END, banned=[A, B])
    assert nothing.ids == [] and nothing.ended


def test_more_results_than_hypotheses_are_refused():
    with pytest.raises(FirthError, match="a beam of 2 cannot return 3 hypotheses; make the beam wider"):
        beam_search(Table(ROWS), prompts(START), 3, BeamConfig(2, count=3), end=END)
