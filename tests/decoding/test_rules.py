"""Rules against their definitions, tried out on every text of a small vocabulary."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_steppers import END, START, A, B, Table, has, prompts, tables, texts

from firth.config import from_dict
from firth.decoding.beam import Beam, search
from firth.decoding.exhaustive import exhaustive
from firth.decoding.rules import Keeper, Rules
from firth.decoding.sample import Sampling, generate
from firth.errors import FirthError

LENGTH = 4


def repeats(ids, size):
    windows = [tuple(ids[n : n + size]) for n in range(len(ids) - size + 1)]
    return len(windows) > len({*windows})


# Each rule, and what it means for a text.
KINDS = {
    "shortest": (Rules(shortest=2), lambda ids, ended: len(ids) >= 2),
    "no_repeat": (Rules(no_repeat=2), lambda ids, ended: not repeats(ids, 2)),
    "banned": (Rules(banned=((B,), (A, A))), lambda ids, ended: not has(ids, (B,)) and not has(ids, (A, A))),
    "begun": (Rules(begun=((A, B),)), lambda ids, ended: ids[:2] == [A, B]),
    "required": (
        Rules(required=((A,), (B, START))),
        lambda ids, ended: has(ids, (A,)) and has(ids, (B, START)),
    ),
    "a phrase that overlaps itself": (
        Rules(required=((A, A, B),)),
        lambda ids, ended: has(ids, (A, A, B)),
    ),
    "all": (
        Rules(shortest=3, no_repeat=3, banned=((B, B),), begun=((A,),), required=((B, START),)),
        lambda ids, ended: (
            len(ids) >= 3 and not repeats(ids, 3) and not has(ids, (B, B)) and ids[0] == A and has(ids, (B, START))
        ),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None)
@given(rows=tables())
def test_what_can_be_written_is_what_keeps_the_rules(kind, rows):
    rules, allowed = KINDS[kind]
    found = exhaustive(Table(rows), prompts(START), LENGTH, end=END, rules=rules)[0]
    wanted = {(*ids, ended): chance for ids, ended, chance in texts(rows, LENGTH, allowed=allowed)}
    assert {(*each.ids, each.ended): each.log_probability for each in found} == pytest.approx(wanted)
    assert len(found) == len(wanted) > 0


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None)
@given(rows=tables(), width=st.integers(1, 5), seed=st.integers(0, 9))
def test_beams_and_draws_keep_them_and_say_the_models_own_log_probability(kind, rows, width, seed):
    rules, allowed = KINDS[kind]
    chances = {(*ids, ended): chance for ids, ended, chance in texts(rows, LENGTH)}
    found = search(Table(rows), prompts(START), LENGTH, Beam(width, count=width), end=END, rules=rules)[0]
    found += generate(Table(rows), prompts(*[START] * 20), LENGTH, Sampling(), seed, end=END, rules=rules)
    for each in found:
        assert allowed(each.ids, each.ended)
        assert each.log_probability == pytest.approx(chances[*each.ids, each.ended])


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 4), st.sampled_from([1.2, 3.0]))
def test_a_token_that_was_written_costs_its_log_probability_times_theta(rows, length, theta):
    """Worked out anew for every text that is found; the score pays the penalty, the log-probability does not."""
    rules = Rules(repetition=theta)
    for found in (
        search(Table(rows), prompts(START), length, Beam(3, count=3), end=END, rules=rules)[0],
        exhaustive(Table(rows), prompts(START), length, end=END, rules=rules)[0],
    ):
        for each in found:
            path, own, score = [START, *each.ids, *([END] if each.ended else [])], 0.0, 0.0
            for n in range(1, len(path)):
                gain = math.log(rows[path[n - 1]][path[n]])
                own, score = own + gain, score + gain * (theta if path[n] in path[1:n] else 1.0)
            assert (each.log_probability, each.score) == (pytest.approx(own), pytest.approx(score))


def test_a_penalty_on_repetition_leaves_a_loop():
    """A follows A at .6 for ever; squared, .36, it is less than B at .4."""
    rows = {START: [0, 1, 0, 0], A: [0, 0.6, 0.4, 0], B: [0, 0.5, 0, 0.5], END: [0.25] * 4}
    (plain,) = generate(Table(rows), prompts(START), 3, Sampling(temperature=0.0), 0, end=END)
    (other,) = generate(
        Table(rows), prompts(START), 3, Sampling(temperature=0.0), 0, end=END, rules=Rules(repetition=2.0)
    )
    assert plain.ids == [A, A, A] and other.ids == [A, B] and other.ended


def test_each_input_may_have_a_beginning_of_its_own():
    rows = {n: [0.25] * 4 for n in range(4)}
    rules = Rules(begun=((A, B), (B,), ()))
    found = search(Table(rows), prompts(START, A, B), 3, Beam(2), end=END, rules=rules)
    assert found[0][0].ids[:2] == [A, B] and found[1][0].ids[:1] == [B]
    drawn = generate(Table(rows), prompts(START, A, B), 3, Sampling(), 1, end=END, rules=rules)
    assert drawn[0].ids[:2] == [A, B] and drawn[1].ids[:1] == [B]


def test_an_improbable_word_that_is_required_comes_where_it_costs_least():
    """B costs .01 after START and .2 after A; a narrow beam without banks would lose it, then force it at the end."""
    rows = {START: [0, 0.99, 0.01, 0], A: [0, 0.5, 0.2, 0.3], B: [0, 0.1, 0, 0.9], END: [0.25] * 4}
    rules = Rules(required=((B,),))
    found = search(Table(rows), prompts(START), 6, Beam(2, stop="best"), end=END, rules=rules)[0][0]
    assert found.ids == [A, B] and found.ended
    assert found == exhaustive(Table(rows), prompts(START), 6, end=END, rules=rules)[0][0]


def test_where_the_rules_leave_nothing_the_text_ends():
    rows = {n: [0.0, 0.4, 0.4, 0.2] for n in range(4)}
    rules = Rules(no_repeat=1, shortest=3)
    ((found,),) = search(Table(rows), prompts(START), 5, Beam(1), end=END, rules=rules)
    assert sorted(found.ids) == [A, B] and found.ended
    assert found.log_probability == pytest.approx(math.log(0.4 * 0.4 * 0.2))


def test_no_rules_cost_nothing_and_rows_of_the_model_stay_as_they_are():
    assert Keeper.of(Rules(), [1], END, 2, 5, 4) is None and Keeper.of(None, [1], END, 2, 5, 4) is None
    rows = torch.full((2, 4), 0.25).log()
    before, keeper = rows.clone(), Keeper(Rules(2, 1, 2.0, ((A,),), ((B,),)), [0], END, 2, 5, 4)
    keeper.kept(rows, torch.tensor([[B], [B]]), torch.tensor([0, 1]))
    assert torch.equal(rows, before)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Rules(required=((9,),)), "required: a token that is not in the vocabulary; encode it with this tokenizer"),
        (Rules(banned=((-1,),)), "banned: a token that is not in the vocabulary"),
        (Rules(required=((A,), ())), "required: a word without tokens; leave it out"),
        (Rules(required=((A, B),), banned=((B,),)), "a required word that is banned; ban it or require it, not both"),
        (Rules(required=((END,),)), "a required word that is banned"),
        (Rules(required=((A, B), (B, A))), "what is required takes 4 tokens, and at most 3 may be written; allow a"),
        (Rules(begun=((A, B, A, B),)), "begun: what is required takes 4 tokens"),
        (Rules(begun=((A,), (B,))), "begun: 2 beginnings for 1 inputs; give one for all, or one for each"),
    ],
)
@pytest.mark.parametrize("way", ["search", "draw"])
def test_rules_that_cannot_be_kept_are_refused(rules, message, way):
    rows = {n: [0.25] * 4 for n in range(4)}
    with pytest.raises(FirthError) as error:
        if way == "search":
            search(Table(rows), prompts(START), 3, Beam(2), end=END, rules=rules)
        else:
            generate(Table(rows), prompts(START), 3, Sampling(), 0, end=END, rules=rules)
    assert message in str(error.value)


def test_what_the_model_cannot_write_is_refused():
    rows = {START: [0, 1, 0, 0], A: [0, 1, 0, 0], B: [0.25] * 4, END: [0.25] * 4}
    for rules in (Rules(begun=((B,),)), Rules(required=((B,),))):
        with pytest.raises(FirthError, match="no text keeps these rules"):
            search(Table(rows), prompts(START), 3, Beam(2), end=END, rules=rules)
        with pytest.raises(FirthError, match="keeps these rules; ask for less"):
            generate(Table(rows), prompts(START), 3, Sampling(), 0, end=END, rules=rules)


@pytest.mark.parametrize(("name", "value"), [("shortest", -1), ("no_repeat", -2), ("repetition", 0.5)])
def test_numbers_out_of_bounds_are_refused(name, value):
    with pytest.raises(FirthError, match=name):
        from_dict(Rules, {name: value})
