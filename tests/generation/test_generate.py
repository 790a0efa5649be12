"""One call for all decoding methods: the options say which."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_steppers import END, START, A, B, Table, has, prompts, tables

from firth.config import from_dict
from firth.errors import FirthError
from firth.generation.beam_search import BeamConfig, beam_search
from firth.generation.constraints import Constraints
from firth.generation.generate import GenerationConfig, generate
from firth.generation.sampling import SamplingConfig, sample

UNIFORM = {n: [0.25] * 4 for n in range(4)}


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 5), st.sampled_from(["none", "mean", "gnmt"]))
def test_without_more_it_is_greedy_and_a_beam_of_one(rows, length, normalise):
    batch = prompts(START, A, sources=[[1, 2], [3]])
    hypotheses = generate(Table(rows), batch, length, GenerationConfig(length_normalisation=normalise), end=END)
    for mine, other in zip(
        hypotheses,
        beam_search(Table(rows), batch, length, BeamConfig(1, length_normalisation=normalise), end=END),
        strict=True,
    ):
        assert [(each.ids, each.ended) for each in mine] == [(each.ids, each.ended) for each in other]
        assert mine[0].score == pytest.approx(other[0].score)
        assert mine[0].alignment == pytest.approx(other[0].alignment)


@settings(max_examples=20, deadline=None)
@given(tables(), st.integers(1, 4))
def test_a_beam_searches_and_a_temperature_samples(rows, length):
    batch, constraints = prompts(START, A), Constraints(min_length=1, no_repeat_ngram_size=2)
    config = GenerationConfig(count=2, beam=4, length_penalty=0.6, beam_groups=2, min_length=1, no_repeat_ngram_size=2)
    expected = beam_search(
        Table(rows), batch, length, BeamConfig(4, 0.6, 2, beam_groups=2), end=END, banned=[B], constraints=constraints
    )
    assert generate(Table(rows), batch, length, config, end=END, banned=[B]) == expected
    config = GenerationConfig(count=2, temperature=0.7, top_k=3, top_p=0.9, seed=5)
    sampled = sample(Table(rows), prompts(START, START, A, A), length, SamplingConfig(0.7, 3, 0.9), 5, end=END)
    hypotheses = generate(Table(rows), batch, length, config, end=END)
    assert [each.ids for row in hypotheses for each in row] == [each.ids for each in sampled]
    assert [len(row) for row in hypotheses] == [2, 2]


@pytest.mark.parametrize(
    "config", [GenerationConfig(beam=3), GenerationConfig(temperature=1.0, count=3), GenerationConfig()]
)
def test_bad_words_prefixes_and_forced_words(config):
    hypotheses = generate(
        Table(UNIFORM),
        prompts(START, A),
        5,
        config,
        end=END,
        bad_words=((A, A),),
        prefixes=((A,), (B, B)),
        force_words=((B, A),),
    )
    assert all(each.ids[:1] == [A] for each in hypotheses[0]) and all(each.ids[:2] == [B, B] for each in hypotheses[1])
    for each in [*hypotheses[0], *hypotheses[1]]:
        assert has(each.ids, (B, A)) and not has(each.ids, (A, A))


def test_trees_are_of_searches():
    hypotheses, trees = generate(
        Table(UNIFORM), prompts(START), 2, GenerationConfig(temperature=1.0), end=END, return_tree=True
    )
    assert trees[0].tokens(trees[0].best[0])[: len(hypotheses[0][0].ids)] == hypotheses[0][0].ids


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam"),
        ({"count": 0}, "count"),
        ({"temperature": -1.0}, "temperature"),
        ({"length_normalisation": "sum"}, "length_normalisation"),
        ({"early_stopping": "never"}, "early_stopping"),
        ({"repetition_penalty": 0.1}, "repetition_penalty"),
    ],
)
def test_options_out_of_bounds_are_refused(options, message):
    with pytest.raises(FirthError, match=message):
        from_dict(GenerationConfig, options)


def test_more_sequences_than_the_beam_size_are_refused():
    with pytest.raises(FirthError, match="a beam of 1 cannot return 3 hypotheses; make the beam wider"):
        generate(Table(UNIFORM), prompts(START), 2, GenerationConfig(count=3), end=END)
