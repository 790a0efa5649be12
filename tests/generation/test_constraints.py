"""Constraints against their definitions, on every text of a small vocabulary."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_steppers import END, START, A, B, Table, has, prompts, tables, texts

from firth.config import from_dict
from firth.errors import FirthError
from firth.generation.beam_search import BeamConfig, beam_search
from firth.generation.constraints import ConstraintProcessor, Constraints
from firth.generation.exhaustive import exhaustive_search
from firth.generation.sampling import SamplingConfig, sample

LENGTH = 4


def repeats(ids, size):
    windows = [tuple(ids[n : n + size]) for n in range(len(ids) - size + 1)]
    return len(windows) > len({*windows})


# Each constraint, and what it means for a text.
KINDS = {
    "min_length": (Constraints(min_length=2), lambda ids, ended: len(ids) >= 2),
    "no_repeat_ngram_size": (Constraints(no_repeat_ngram_size=2), lambda ids, ended: not repeats(ids, 2)),
    "bad_words": (
        Constraints(bad_words=((B,), (A, A))),
        lambda ids, ended: not has(ids, (B,)) and not has(ids, (A, A)),
    ),
    "prefixes": (Constraints(prefixes=((A, B),)), lambda ids, ended: ids[:2] == [A, B]),
    "force_words": (
        Constraints(force_words=((A,), (B, START))),
        lambda ids, ended: has(ids, (A,)) and has(ids, (B, START)),
    ),
    "a phrase that overlaps itself": (
        Constraints(force_words=((A, A, B),)),
        lambda ids, ended: has(ids, (A, A, B)),
    ),
    "all": (
        Constraints(
            min_length=3, no_repeat_ngram_size=3, bad_words=((B, B),), prefixes=((A,),), force_words=((B, START),)
        ),
        lambda ids, ended: (
            len(ids) >= 3 and not repeats(ids, 3) and not has(ids, (B, B)) and ids[0] == A and has(ids, (B, START))
        ),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None)
@given(rows=tables())
def test_what_can_be_generated_is_what_satisfies_the_constraints(kind, rows):
    constraints, allowed = KINDS[kind]
    hypotheses = exhaustive_search(Table(rows), prompts(START), LENGTH, end=END, constraints=constraints)[0]
    expected = {(*ids, ended): log_probability for ids, ended, log_probability in texts(rows, LENGTH, allowed=allowed)}
    assert {(*each.ids, each.ended): each.log_probability for each in hypotheses} == pytest.approx(expected)
    assert len(hypotheses) == len(expected) > 0


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None)
@given(rows=tables(), width=st.integers(1, 5), seed=st.integers(0, 9))
def test_beams_and_samples_satisfy_them_and_report_the_models_own_log_probability(kind, rows, width, seed):
    constraints, allowed = KINDS[kind]
    log_probabilities = {(*ids, ended): log_probability for ids, ended, log_probability in texts(rows, LENGTH)}
    hypotheses = beam_search(
        Table(rows), prompts(START), LENGTH, BeamConfig(width, count=width), end=END, constraints=constraints
    )[0]
    hypotheses += sample(
        Table(rows), prompts(*[START] * 20), LENGTH, SamplingConfig(), seed, end=END, constraints=constraints
    )
    for each in hypotheses:
        assert allowed(each.ids, each.ended)
        assert each.log_probability == pytest.approx(log_probabilities[*each.ids, each.ended])


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 4), st.sampled_from([1.2, 3.0]))
def test_a_repeated_token_costs_its_log_probability_times_theta(rows, length, theta):
    """Computed anew for every text that is hypotheses; the score pays the penalty, the log-probability does not."""
    constraints = Constraints(repetition_penalty=theta)
    for hypotheses in (
        beam_search(Table(rows), prompts(START), length, BeamConfig(3, count=3), end=END, constraints=constraints)[0],
        exhaustive_search(Table(rows), prompts(START), length, end=END, constraints=constraints)[0],
    ):
        for each in hypotheses:
            path, own, score = [START, *each.ids, *([END] if each.ended else [])], 0.0, 0.0
            for n in range(1, len(path)):
                gain = math.log(rows[path[n - 1]][path[n]])
                own, score = own + gain, score + gain * (theta if path[n] in path[1:n] else 1.0)
            assert (each.log_probability, each.score) == (pytest.approx(own), pytest.approx(score))


def test_a_repetition_penalty_leaves_a_loop():
    """A follows A at .6 for ever; squared, .36, it is less than B at .4."""
    rows = {START: [0, 1, 0, 0], A: [0, 0.6, 0.4, 0], B: [0, 0.5, 0, 0.5], END: [0.25] * 4}
    (plain,) = sample(Table(rows), prompts(START), 3, SamplingConfig(temperature=0.0), 0, end=END)
    penalised = Constraints(repetition_penalty=2.0)
    (other,) = sample(
        Table(rows), prompts(START), 3, SamplingConfig(temperature=0.0), 0, end=END, constraints=penalised
    )
    assert plain.ids == [A, A, A] and other.ids == [A, B] and other.ended


def test_each_input_may_have_a_prefix_of_its_own():
    rows = {n: [0.25] * 4 for n in range(4)}
    constraints = Constraints(prefixes=((A, B), (B,), ()))
    hypotheses = beam_search(Table(rows), prompts(START, A, B), 3, BeamConfig(2), end=END, constraints=constraints)
    assert hypotheses[0][0].ids[:2] == [A, B] and hypotheses[1][0].ids[:1] == [B]
    sampled = sample(Table(rows), prompts(START, A, B), 3, SamplingConfig(), 1, end=END, constraints=constraints)
    assert sampled[0].ids[:2] == [A, B] and sampled[1].ids[:1] == [B]


def test_an_improbable_forced_word_comes_where_it_costs_least():
    """B costs .01 after START and .2 after A; a narrow beam without banks would lose it, then force it at the end."""
    rows = {START: [0, 0.99, 0.01, 0], A: [0, 0.5, 0.2, 0.3], B: [0, 0.1, 0, 0.9], END: [0.25] * 4}
    constraints = Constraints(force_words=((B,),))
    hypothesis = beam_search(
        Table(rows), prompts(START), 6, BeamConfig(2, early_stopping="best"), end=END, constraints=constraints
    )[0][0]
    assert hypothesis.ids == [A, B] and hypothesis.ended
    assert hypothesis == exhaustive_search(Table(rows), prompts(START), 6, end=END, constraints=constraints)[0][0]


def test_where_the_constraints_leave_nothing_the_text_ends():
    rows = {n: [0.0, 0.4, 0.4, 0.2] for n in range(4)}
    constraints = Constraints(no_repeat_ngram_size=1, min_length=3)
    ((hypothesis,),) = beam_search(Table(rows), prompts(START), 5, BeamConfig(1), end=END, constraints=constraints)
    assert sorted(hypothesis.ids) == [A, B] and hypothesis.ended
    assert hypothesis.log_probability == pytest.approx(math.log(0.4 * 0.4 * 0.2))


def test_no_constraints_cost_nothing_and_log_probabilities_of_the_model_stay_as_they_are():
    for none in (Constraints(), None):
        assert ConstraintProcessor.create(none, [1], END, 2, 5, 4) is None
    rows = torch.full((2, 4), 0.25).log()
    before, processor = rows.clone(), ConstraintProcessor(Constraints(2, 1, 2.0, ((A,),), ((B,),)), [0], END, 2, 5, 4)
    processor.apply(rows, torch.tensor([[B], [B]]), torch.tensor([0, 1]))
    assert torch.equal(rows, before)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            Constraints(force_words=((9,),)),
            "force_words: a token that is not in the vocabulary; encode it with this tokenizer",
        ),
        (Constraints(bad_words=((-1,),)), "bad_words: a token that is not in the vocabulary"),
        (Constraints(force_words=((A,), ())), "force_words: a word without tokens; leave it out"),
        (
            Constraints(force_words=((A, B),), bad_words=((B,),)),
            "a forced word that is banned; ban it or force it, not both",
        ),
        (Constraints(force_words=((END,),)), "a forced word that is banned"),
        (
            Constraints(force_words=((A, B), (B, A))),
            "the constraints take 4 tokens, and at most 3 are generated; allow a",
        ),
        (Constraints(prefixes=((A, B, A, B),)), "prefixes: the constraints take 4 tokens"),
        (Constraints(prefixes=((A,), (B,))), "prefixes: 2 prefixes for 1 inputs; give one for all, or one for each"),
    ],
)
@pytest.mark.parametrize("method", ["beam search", "sampling"])
def test_constraints_that_cannot_be_satisfied_are_refused(constraints, message, method):
    rows = {n: [0.25] * 4 for n in range(4)}
    with pytest.raises(FirthError) as error:
        if method == "beam search":
            beam_search(Table(rows), prompts(START), 3, BeamConfig(2), end=END, constraints=constraints)
        else:
            sample(Table(rows), prompts(START), 3, SamplingConfig(), 0, end=END, constraints=constraints)
    assert message in str(error.value)


def test_what_the_model_cannot_generate_is_refused():
    rows = {START: [0, 1, 0, 0], A: [0, 1, 0, 0], B: [0.25] * 4, END: [0.25] * 4}
    for constraints in (Constraints(prefixes=((B,),)), Constraints(force_words=((B,),))):
        with pytest.raises(FirthError, match="no text satisfies these constraints"):
            beam_search(Table(rows), prompts(START), 3, BeamConfig(2), end=END, constraints=constraints)
        with pytest.raises(FirthError, match="satisfies these constraints; constrain less"):
            sample(Table(rows), prompts(START), 3, SamplingConfig(), 0, end=END, constraints=constraints)


@pytest.mark.parametrize(
    ("name", "value"), [("min_length", -1), ("no_repeat_ngram_size", -2), ("repetition_penalty", 0.5)]
)
def test_numbers_out_of_bounds_are_refused(name, value):
    with pytest.raises(FirthError, match=name):
        from_dict(Constraints, {name: value})
