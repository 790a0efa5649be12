"""Options of beam search: scores, early stopping, diverse groups, alignments, trees; on tables to check by hand."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_steppers import END, START, A, B, Table, attention_weights, prompts, tables

from firth.errors import FirthError
from firth.generation.beam_search import BeamConfig, beam_search
from firth.generation.constraints import Constraints
from firth.generation.lexical_constraints import allocate_beam
from firth.generation.sampling import SamplingConfig, sample
from firth.generation.top_k import stable_topk, top_tokens

SOURCES = [[1, 2, 3], [2, 4], [5]]


def log_table(log_probs):
    """A table of log-probabilities (which need not add up to 1) by the last token."""
    rows = {last: [math.exp(row.get(n, -1000.0)) for n in range(len(log_probs))] for last, row in log_probs.items()}
    return Table(rows)


# --- the worked examples -------------------------------------------------------------------------------------------


def test_a_beam_of_two_finds_what_greedy_passes_over():
    """P(A) = .55, P(B) = .45; after A two continuations at .5; after B, A at .9."""
    table = Table({START: [0, 0.55, 0.45, 0], A: [0, 0.5, 0.5, 0], B: [0, 0.9, 0.1, 0], END: [0.25] * 4})
    scores = [beam_search(table, prompts(START), 2, BeamConfig(width), end=END)[0][0].score for width in (1, 2)]
    assert scores == [pytest.approx(-1.2910, abs=5e-5), pytest.approx(-0.9039, abs=5e-5)]


@pytest.mark.parametrize(
    ("length_normalisation", "winner", "score"),
    [("none", [1], -2.0), ("mean", [2, 4, 5], -2.7 / 4), ("gnmt", [1], -2.0)],
)
def test_two_tokens_at_minus_two_lose_to_four_at_minus_2_7(length_normalisation, winner, score):
    step = -2.7 / 4
    rows = {START: {1: -1.0, 2: step}, 1: {END: -1.0}, 2: {4: step}, 4: {5: step}, 5: {END: step}, END: {END: 0.0}}
    hypotheses = beam_search(
        log_table(rows), prompts(START), 6, BeamConfig(3, length_normalisation=length_normalisation, count=2), end=END
    )[0]
    assert hypotheses[0].ids == winner and hypotheses[0].score == pytest.approx(score)


# --- when it stops -------------------------------------------------------------------------------------------------


def test_early_stopping_by_count_by_bound_or_at_the_length():
    """[END] at .1 each time: texts of any length, ever less probable."""
    rows = {n: [0.0, 0.9, 0.0, 0.1] for n in range(4)}
    steps = {}
    for stop in ("completed", "best", "length"):
        table = Table(rows)
        (hypotheses,) = beam_search(table, prompts(START), 60, BeamConfig(2, early_stopping=stop), end=END)[0]
        assert hypotheses.ids == [] and hypotheses.ended
        steps[stop] = len(table.steps)
    assert steps["completed"] == 2  # two have ended: with nothing, with A
    assert steps["best"] == 22  # .9^22 < .1 <= .9^21
    assert steps["length"] == 60


# --- groups --------------------------------------------------------------------------------------------------------


def test_groups_begin_with_different_tokens():
    """A at .6 is what every hypothesis begins with; the second group pays for it, so B at .4 is the next best."""
    rows = {START: [0, 0.6, 0.4, 0], A: [0.0, 0.5, 0.3, 0.2], B: [0.0, 0.1, 0.1, 0.8], END: [0.25] * 4}
    same = beam_search(
        Table(rows), prompts(START), 1, BeamConfig(2, count=2, beam_groups=2, diversity_penalty=0.0), end=END
    )[0]
    diverse = beam_search(
        Table(rows), prompts(START), 1, BeamConfig(2, count=2, beam_groups=2, diversity_penalty=1.0), end=END
    )[0]
    assert [each.ids for each in same] == [[A]]  # the same text of both groups is one
    assert [each.ids for each in diverse] == [[A], [B]]
    assert diverse[1].score == pytest.approx(math.log(0.4))  # the diversity penalty is not in the score


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 5), st.integers(1, 3), st.sampled_from([0.0, 0.7]))
def test_the_first_group_is_a_beam_of_its_own(rows, length, width, diversity):
    """It knows nothing of the others: all together never find less."""
    config = BeamConfig(2 * width, count=2 * width, beam_groups=2, diversity_penalty=diversity, early_stopping="length")
    hypotheses = beam_search(Table(rows), prompts(START), length, config, end=END)[0]
    alone = beam_search(
        Table(rows), prompts(START), length, BeamConfig(width, count=width, early_stopping="length"), end=END
    )[0]
    texts = [(each.ids, each.ended) for each in hypotheses]
    assert hypotheses[0].score >= alone[0].score - 1e-9
    assert len({str(each) for each in texts}) == len(texts)


# --- attention and coverage ----------------------------------------------------------------------------------------


def expected_attention(first, ids, source):
    """The attention weights of a table's hypothesis, computed from its tokens."""
    mask = torch.ones(1, len(source), dtype=torch.bool)
    rows = [
        attention_weights(torch.tensor([[n]]), torch.tensor([source]), mask)[0].tolist()
        for n in [first, *ids][: len(ids)]
    ]
    return [each for row in rows for each in row]


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.5]))
def test_alignments_follow_their_hypotheses_without_padding(rows, length, width, coverage):
    batch, config = prompts(START, A, B, sources=SOURCES), BeamConfig(width, count=width, coverage_penalty=coverage)
    hypotheses = beam_search(Table(rows), batch, length, config, end=END)
    hypotheses = [*hypotheses, *[[each] for each in sample(Table(rows), batch, length, SamplingConfig(), 3, end=END)]]
    for first, source, each in zip([START, A, B] * 2, SOURCES * 2, hypotheses, strict=True):
        for hypothesis in each:
            assert hypothesis.alignment.shape == (len(hypothesis.ids), len(source))
            assert hypothesis.alignment.flatten().tolist() == pytest.approx(
                expected_attention(first, hypothesis.ids, source)
            )


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 4), st.integers(1, 3), st.sampled_from([1, 2]), st.sampled_from([0.0, 0.5]))
def test_inputs_together_are_each_alone(rows, length, width, groups, coverage):
    config = BeamConfig(
        width * groups, count=width, coverage_penalty=coverage, beam_groups=groups, length_normalisation="mean"
    )
    constraints = Constraints(no_repeat_ngram_size=3, repetition_penalty=1.3, min_length=1)
    together = beam_search(
        Table(rows), prompts(START, A, B, sources=SOURCES), length, config, end=END, constraints=constraints
    )
    for first, source, hypotheses in zip((START, A, B), SOURCES, together, strict=True):
        batch = prompts(first, sources=[source])
        (alone,) = beam_search(Table(rows), batch, length, config, end=END, constraints=constraints)
        scores = [each.score for each in alone]
        assert [each.score for each in hypotheses] == pytest.approx(scores)
        for one, other in zip(hypotheses[:-1], alone[:-1], strict=True):
            if sum(abs(other.score - score) < 1e-9 for score in scores) == 1:  # else rounding decides which comes first
                assert (one.ids, one.ended) == (other.ids, other.ended)


def test_a_model_without_alignments_has_no_coverage():
    rows = {n: [0.25] * 4 for n in range(4)}
    with pytest.raises(FirthError, match="no attention over a source, so there is no coverage; set coverage_penalty"):
        beam_search(Table(rows), prompts(START), 2, BeamConfig(2, coverage_penalty=0.2), end=END)
    assert beam_search(Table(rows), prompts(START), 2, BeamConfig(2), end=END)[0][0].alignment is None


# --- the search tree -----------------------------------------------------------------------------------------------


def test_the_tree_of_the_worked_example():
    """After two steps of a beam of one: A is kept and B pruned, then B and A after A."""
    rows = {START: [0, 0.55, 0.45, 0], A: [0, 0.4, 0.6, 0], B: [0, 0.9, 0.1, 0], END: [0.25] * 4}
    ((hypotheses,),), (tree,) = beam_search(Table(rows), prompts(START), 2, BeamConfig(1), end=END, return_tree=True)
    nodes = [(node.token, node.parent, node.step, node.status) for node in tree.nodes]
    assert nodes == [(A, -1, 1, "kept"), (B, -1, 1, "pruned"), (B, 0, 2, "kept"), (A, 0, 2, "pruned")]
    assert [node.total for node in tree.nodes] == pytest.approx([math.log(p) for p in (0.55, 0.45, 0.33, 0.22)])
    assert tree.best == [2] and tree.tokens(2) == hypotheses.ids == [A, B]


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 4), st.integers(1, 3), st.sampled_from([1, 2]), st.sampled_from([1.0, 1.4]))
def test_a_tree_holds_together(rows, length, width, groups, theta):
    config, constraints = (
        BeamConfig(width * groups, count=width, beam_groups=groups),
        Constraints(repetition_penalty=theta),
    )
    batch = prompts(START, B)
    hypotheses, trees = beam_search(
        Table(rows), batch, length, config, end=END, constraints=constraints, return_tree=True
    )
    plain = beam_search(Table(rows), batch, length, config, end=END, constraints=constraints)
    assert hypotheses == plain
    for first, own, tree in zip((START, B), hypotheses, trees, strict=True):
        assert [tree.tokens(at) for at in tree.best] == [[*h.ids, *[END] * h.ended] for h in own]
        for number, node in enumerate(tree.nodes):
            parent = tree.nodes[node.parent] if node.parent >= 0 else None
            assert node.parent < number and node.step == (parent.step + 1 if parent else 1)
            assert parent is None or parent.status == "kept"
            before = parent.token if parent else first
            assert node.log_probability == pytest.approx(math.log(rows[before][node.token]))
            if theta == 1.0:
                assert node.total == pytest.approx((parent.total if parent else 0.0) + node.log_probability)
            assert (node.status != "ended") or node.token == END


# --- top-k and banks -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), min_size=8, max_size=8), min_size=1, max_size=4), st.integers(1, 8))
def test_stable_topk_is_the_top_of_a_stable_sort(rows, count):
    values = torch.tensor(rows, dtype=torch.float32)
    values[values == 0] = -torch.inf
    top, indices = stable_topk(values, count)
    expected, order = values.sort(dim=-1, descending=True, stable=True)
    assert torch.equal(top, expected[:, :count])
    real = top > -torch.inf
    assert torch.equal(indices[real], order[:, :count][real])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sets(st.integers(0, 11), max_size=5))
def test_the_best_that_are_not_banned(seed, count, banned):
    rows = torch.randn(3, 12, generator=torch.Generator().manual_seed(seed)).log_softmax(-1)
    top, tokens = top_tokens(rows, count, torch.tensor(sorted(banned), dtype=torch.long))
    expected = rows.clone()
    expected[:, sorted(banned)] = -torch.inf
    values, indices = expected.topk(count)
    assert torch.equal(top, values) and torch.equal(tokens, indices)


def test_banks_take_turns_the_fullest_first():
    scores = torch.tensor([[-1.0, -2.0, -3.0, -9.0, -8.0, -torch.inf, -4.0]])
    banks = torch.tensor([[0, 0, 0, 2, 2, 2, 1]])
    assert allocate_beam(scores, banks, 7).tolist() == [[4, 6, 0, 3, 1, 2, 5]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 5, "beam_groups": 2}, "a beam of 5 cannot be divided into 2 groups; choose a beam size that"),
        (
            {"length_penalty": 0.5, "length_normalisation": "mean"},
            "a length penalty beside length_normalisation = mean",
        ),
    ],
)
def test_beams_that_make_no_sense_are_refused(options, message):
    with pytest.raises(FirthError, match=message):
        BeamConfig(**options)
