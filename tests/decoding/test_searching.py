"""What a search may be asked for: ranks, stops, groups, alignments, trees; on tables that can be checked by hand."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_steppers import END, START, A, B, Table, prompts, tables, weights

from firth.decoding.beam import Beam, search
from firth.decoding.choosing import best, highest
from firth.decoding.required import by_turns
from firth.decoding.rules import Rules
from firth.decoding.sample import Sampling, generate
from firth.errors import FirthError

SOURCES = [[1, 2, 3], [2, 4], [5]]


def told(logarithms):
    """A table of log-probabilities (which need not add up to 1) by the last token."""
    rows = {last: [math.exp(row.get(n, -1000.0)) for n in range(len(logarithms))] for last, row in logarithms.items()}
    return Table(rows)


# --- the worked examples -------------------------------------------------------------------------------------------


def test_a_beam_of_two_finds_what_greedy_passes_over():
    """P(A) = .55, P(B) = .45; after A two continuations at .5; after B, A at .9."""
    table = Table({START: [0, 0.55, 0.45, 0], A: [0, 0.5, 0.5, 0], B: [0, 0.9, 0.1, 0], END: [0.25] * 4})
    scores = [search(table, prompts(START), 2, Beam(width), end=END)[0][0].score for width in (1, 2)]
    assert scores == [pytest.approx(-1.2910, abs=5e-5), pytest.approx(-0.9039, abs=5e-5)]


@pytest.mark.parametrize(
    ("normalise", "winner", "score"), [("none", [1], -2.0), ("mean", [2, 4, 5], -2.7 / 4), ("gnmt", [1], -2.0)]
)
def test_two_tokens_at_minus_two_lose_to_four_at_minus_2_7(normalise, winner, score):
    step = -2.7 / 4
    rows = {START: {1: -1.0, 2: step}, 1: {END: -1.0}, 2: {4: step}, 4: {5: step}, 5: {END: step}, END: {END: 0.0}}
    found = search(told(rows), prompts(START), 6, Beam(3, normalise=normalise, count=2), end=END)[0]
    assert found[0].ids == winner and found[0].score == pytest.approx(score)


# --- when it stops -------------------------------------------------------------------------------------------------


def test_stopping_by_count_by_hope_or_at_the_length():
    """[END] at .1 each time: texts of any length, ever less probable."""
    rows = {n: [0.0, 0.9, 0.0, 0.1] for n in range(4)}
    steps = {}
    for stop in ("completed", "best", "length"):
        table = Table(rows)
        (found,) = search(table, prompts(START), 60, Beam(2, stop=stop), end=END)[0]
        assert found.ids == [] and found.ended
        steps[stop] = len(table.steps)
    assert steps["completed"] == 2  # two have ended: with nothing, with A
    assert steps["best"] == 22  # .9^22 < .1 <= .9^21
    assert steps["length"] == 60


# --- groups --------------------------------------------------------------------------------------------------------


def test_groups_begin_with_different_tokens():
    """A at .6 is what every hypothesis begins with; the second group pays for it, so B at .4 is the next best."""
    rows = {START: [0, 0.6, 0.4, 0], A: [0.0, 0.5, 0.3, 0.2], B: [0.0, 0.1, 0.1, 0.8], END: [0.25] * 4}
    alike = search(Table(rows), prompts(START), 1, Beam(2, count=2, groups=2, diversity=0.0), end=END)[0]
    apart = search(Table(rows), prompts(START), 1, Beam(2, count=2, groups=2, diversity=1.0), end=END)[0]
    assert [each.ids for each in alike] == [[A]]  # the same text of both groups is one
    assert [each.ids for each in apart] == [[A], [B]]
    assert apart[1].score == pytest.approx(math.log(0.4))  # the cost of likeness is not in the score


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 5), st.integers(1, 3), st.sampled_from([0.0, 0.7]))
def test_the_first_group_is_a_beam_of_its_own(rows, length, width, diversity):
    """It knows nothing of the others: all together never find less."""
    how = Beam(2 * width, count=2 * width, groups=2, diversity=diversity, stop="length")
    found = search(Table(rows), prompts(START), length, how, end=END)[0]
    alone = search(Table(rows), prompts(START), length, Beam(width, count=width, stop="length"), end=END)[0]
    texts = [(each.ids, each.ended) for each in found]
    assert found[0].score >= alone[0].score - 1e-9
    assert len({str(each) for each in texts}) == len(texts)


# --- what was looked at --------------------------------------------------------------------------------------------


def looked(first, ids, source):
    """What a table's hypothesis looks at, worked out from its tokens."""
    mask = torch.ones(1, len(source), dtype=torch.bool)
    rows = [weights(torch.tensor([[n]]), torch.tensor([source]), mask)[0].tolist() for n in [first, *ids][: len(ids)]]
    return [each for row in rows for each in row]


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.5]))
def test_alignments_follow_their_hypotheses_without_padding(rows, length, width, coverage):
    batch, how = prompts(START, A, B, sources=SOURCES), Beam(width, count=width, coverage=coverage)
    found = search(Table(rows), batch, length, how, end=END)
    found = [*found, *[[each] for each in generate(Table(rows), batch, length, Sampling(), 3, end=END)]]
    for first, source, each in zip([START, A, B] * 2, SOURCES * 2, found, strict=True):
        for hypothesis in each:
            assert hypothesis.alignment.shape == (len(hypothesis.ids), len(source))
            assert hypothesis.alignment.flatten().tolist() == pytest.approx(looked(first, hypothesis.ids, source))


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 4), st.integers(1, 3), st.sampled_from([1, 2]), st.sampled_from([0.0, 0.5]))
def test_inputs_together_are_each_alone(rows, length, width, groups, coverage):
    how = Beam(width * groups, count=width, coverage=coverage, groups=groups, normalise="mean")
    rules = Rules(no_repeat=3, repetition=1.3, shortest=1)
    together = search(Table(rows), prompts(START, A, B, sources=SOURCES), length, how, end=END, rules=rules)
    for first, source, found in zip((START, A, B), SOURCES, together, strict=True):
        batch = prompts(first, sources=[source])
        (alone,) = search(Table(rows), batch, length, how, end=END, rules=rules)
        scores = [each.score for each in alone]
        assert [each.score for each in found] == pytest.approx(scores)
        for one, other in zip(found[:-1], alone[:-1], strict=True):
            if sum(abs(other.score - score) < 1e-9 for score in scores) == 1:  # else rounding decides which comes first
                assert (one.ids, one.ended) == (other.ids, other.ended)


def test_a_model_without_alignments_has_no_coverage():
    rows = {n: [0.25] * 4 for n in range(4)}
    with pytest.raises(
        FirthError, match="does not say what it looks at, so nothing is known of coverage; set coverage"
    ):
        search(Table(rows), prompts(START), 2, Beam(2, coverage=0.2), end=END)
    assert search(Table(rows), prompts(START), 2, Beam(2), end=END)[0][0].alignment is None


# --- its tree ------------------------------------------------------------------------------------------------------


def test_the_tree_of_the_worked_example():
    """After two steps of a beam of one: A is kept and B pruned, then B and A after A."""
    rows = {START: [0, 0.55, 0.45, 0], A: [0, 0.4, 0.6, 0], B: [0, 0.9, 0.1, 0], END: [0.25] * 4}
    ((found,),), (tree,) = search(Table(rows), prompts(START), 2, Beam(1), end=END, return_tree=True)
    nodes = [(node.token, node.parent, node.step, node.fate) for node in tree.nodes]
    assert nodes == [(A, -1, 1, "kept"), (B, -1, 1, "pruned"), (B, 0, 2, "kept"), (A, 0, 2, "pruned")]
    assert [node.total for node in tree.nodes] == pytest.approx([math.log(p) for p in (0.55, 0.45, 0.33, 0.22)])
    assert tree.best == [2] and tree.tokens(2) == found.ids == [A, B]


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 4), st.integers(1, 3), st.sampled_from([1, 2]), st.sampled_from([1.0, 1.4]))
def test_a_tree_holds_together(rows, length, width, groups, theta):
    how, rules = Beam(width * groups, count=width, groups=groups), Rules(repetition=theta)
    batch = prompts(START, B)
    found, trees = search(Table(rows), batch, length, how, end=END, rules=rules, return_tree=True)
    plain = search(Table(rows), batch, length, how, end=END, rules=rules)
    assert found == plain
    for first, hypotheses, tree in zip((START, B), found, trees, strict=True):
        assert [tree.tokens(at) for at in tree.best] == [[*h.ids, *[END] * h.ended] for h in hypotheses]
        for number, node in enumerate(tree.nodes):
            parent = tree.nodes[node.parent] if node.parent >= 0 else None
            assert node.parent < number and node.step == (parent.step + 1 if parent else 1)
            assert parent is None or parent.fate == "kept"
            before = parent.token if parent else first
            assert node.log_probability == pytest.approx(math.log(rows[before][node.token]))
            if theta == 1.0:
                assert node.total == pytest.approx((parent.total if parent else 0.0) + node.log_probability)
            assert (node.fate != "ended") or node.token == END


# --- its parts -----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), min_size=8, max_size=8), min_size=1, max_size=4), st.integers(1, 8))
def test_the_highest_are_those_of_a_stable_sort(rows, count):
    values = torch.tensor(rows, dtype=torch.float32)
    values[values == 0] = -torch.inf
    found, places = highest(values, count)
    wanted, order = values.sort(dim=-1, descending=True, stable=True)
    assert torch.equal(found, wanted[:, :count])
    real = found > -torch.inf
    assert torch.equal(places[real], order[:, :count][real])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sets(st.integers(0, 11), max_size=5))
def test_the_best_that_are_not_banned(seed, count, banned):
    rows = torch.randn(3, 12, generator=torch.Generator().manual_seed(seed)).log_softmax(-1)
    found, tokens = best(rows, count, torch.tensor(sorted(banned), dtype=torch.long))
    wanted = rows.clone()
    wanted[:, sorted(banned)] = -torch.inf
    values, places = wanted.topk(count)
    assert torch.equal(found, values) and torch.equal(tokens, places)


def test_banks_take_turns_the_fullest_first():
    scores = torch.tensor([[-1.0, -2.0, -3.0, -9.0, -8.0, -torch.inf, -4.0]])
    banks = torch.tensor([[0, 0, 0, 2, 2, 2, 1]])
    assert by_turns(scores, banks, 7).tolist() == [[4, 6, 0, 3, 1, 2, 5]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 5, "groups": 2}, "a beam of 5 cannot be shared by 2 groups; choose a width that groups divide"),
        ({"penalty": 0.5, "normalise": "mean"}, "a length penalty beside normalise = mean; leave one of them out"),
    ],
)
def test_beams_that_make_no_sense_are_refused(options, message):
    with pytest.raises(FirthError, match=message):
        Beam(**options)
