"""One call for all ways of writing: it is the way that the options say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_steppers import END, START, A, B, Table, has, prompts, tables

from firth.config import from_dict
from firth.decoding.beam import Beam, search
from firth.decoding.rules import Rules
from firth.decoding.sample import Sampling, generate
from firth.decoding.writing import Search, decode
from firth.errors import FirthError

UNIFORM = {n: [0.25] * 4 for n in range(4)}


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 5), st.sampled_from(["none", "mean", "gnmt"]))
def test_without_more_it_is_greedy_and_a_beam_of_one(rows, length, normalise):
    batch = prompts(START, A, sources=[[1, 2], [3]])
    found = decode(Table(rows), batch, length, Search(normalise=normalise), end=END)
    for mine, other in zip(
        found, search(Table(rows), batch, length, Beam(1, normalise=normalise), end=END), strict=True
    ):
        assert [(each.ids, each.ended) for each in mine] == [(each.ids, each.ended) for each in other]
        assert mine[0].score == pytest.approx(other[0].score)
        assert mine[0].alignment == pytest.approx(other[0].alignment)


@settings(max_examples=20, deadline=None)
@given(tables(), st.integers(1, 4))
def test_a_beam_is_searched_and_a_temperature_drawn(rows, length):
    batch, rules = prompts(START, A), Rules(shortest=1, no_repeat=2)
    how = Search(count=2, beam=4, length_penalty=0.6, groups=2, shortest=1, no_repeat=2)
    wanted = search(Table(rows), batch, length, Beam(4, 0.6, 2, groups=2), end=END, banned=[B], rules=rules)
    assert decode(Table(rows), batch, length, how, end=END, banned=[B]) == wanted
    how = Search(count=2, temperature=0.7, top_k=3, top_p=0.9, seed=5)
    drawn = generate(Table(rows), prompts(START, START, A, A), length, Sampling(0.7, 3, 0.9), 5, end=END)
    found = decode(Table(rows), batch, length, how, end=END)
    assert [each.ids for row in found for each in row] == [each.ids for each in drawn]
    assert [len(row) for row in found] == [2, 2]


@pytest.mark.parametrize("how", [Search(beam=3), Search(temperature=1.0, count=3), Search()])
def test_words_that_are_told(how):
    found = decode(
        Table(UNIFORM),
        prompts(START, A),
        5,
        how,
        end=END,
        banned_words=((A, A),),
        begun=((A,), (B, B)),
        required=((B, A),),
    )
    assert all(each.ids[:1] == [A] for each in found[0]) and all(each.ids[:2] == [B, B] for each in found[1])
    for each in [*found[0], *found[1]]:
        assert has(each.ids, (B, A)) and not has(each.ids, (A, A))


def test_trees_are_of_searches():
    found, trees = decode(Table(UNIFORM), prompts(START), 2, Search(temperature=1.0), end=END, return_tree=True)
    assert trees[0].tokens(trees[0].best[0])[: len(found[0][0].ids)] == found[0][0].ids


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam"),
        ({"count": 0}, "count"),
        ({"temperature": -1.0}, "temperature"),
        ({"normalise": "sum"}, "normalise"),
        ({"stop": "never"}, "stop"),
        ({"repetition": 0.1}, "repetition"),
    ],
)
def test_options_out_of_bounds_are_refused(options, message):
    with pytest.raises(FirthError, match=message):
        from_dict(Search, options)


def test_more_texts_than_a_search_keeps_are_refused():
    with pytest.raises(FirthError, match="a beam of 1 has no 3 best; make the beam wider"):
        decode(Table(UNIFORM), prompts(START), 2, Search(count=3), end=END)
