"""Forward–backward and Viterbi against all taggings of short sentences, and against themselves on long ones."""

from itertools import pairwise

import numpy as np
import pytest
from brute_force import probabilities, random_chain, taggings

from firth.errors import FirthError
from firth.generation.structured import forward_backward
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.viterbi import k_best, viterbi, viterbi_ragged


def one(emissions):
    return emissions[None], np.array([len(emissions)])


@pytest.mark.parametrize("forbidden", [0.0, 0.3])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_normaliser_marginals_and_best_tagging_are_those_of_all_taggings(forbidden, scale):
    rng = np.random.default_rng(0)
    seen = 0
    for trial in range(60):
        tags, time = 1 + trial % 4, 1 + trial % 5
        chain, emissions = random_chain(rng, tags, forbidden, scale), rng.normal(size=(time, tags)) * scale
        emissions[rng.random(emissions.shape) < forbidden / 3] = -np.inf
        scores = taggings(emissions, chain)
        if max(scores.values()) == -np.inf:
            with pytest.raises(FirthError, match="no tagging"):
                viterbi(*one(emissions), chain)
            assert forward_backward.forward(*one(emissions), chain).normalisers[0] == -np.inf
            assert not forward_backward.marginals(*one(emissions), chain).any()
            continue
        seen += 1
        each, normaliser = probabilities(emissions, chain)
        expected = np.zeros_like(emissions)
        for path, probability in each.items():
            expected[np.arange(time), path] += probability
        assert forward_backward.forward(*one(emissions), chain).normalisers[0] == pytest.approx(normaliser)
        np.testing.assert_allclose(forward_backward.marginals(*one(emissions), chain)[0], expected, atol=1e-12)
        (best,) = viterbi(*one(emissions), chain)
        assert best.score == pytest.approx(max(scores.values())) == pytest.approx(scores[tuple(best.tags)])
        ranked = k_best(emissions, chain, 4)
        right = sorted((score for score in scores.values() if score > -np.inf), reverse=True)[:4]
        assert [tagging.score for tagging in ranked] == pytest.approx(right)
        assert [scores[tuple(tagging.tags)] for tagging in ranked] == pytest.approx(right)
        assert len({tuple(tagging.tags) for tagging in ranked}) == len(right)
    assert seen > 15


def test_gradients_are_expected_counts():
    rng = np.random.default_rng(1)
    chain, emissions = random_chain(rng, 3), rng.normal(size=(2, 4, 3))
    lengths, weights = np.array([4, 2]), np.array([0.5, -2.0])
    found = forward_backward.gradients(
        emissions, lengths, chain, forward_backward.forward(emissions, lengths, chain), weights
    )
    start, end, pairs = np.zeros(3), np.zeros(3), np.zeros((3, 3))
    for row, length in enumerate(lengths):
        for path, probability in probabilities(emissions[row, :length], chain)[0].items():
            start[path[0]] += weights[row] * probability
            end[path[-1]] += weights[row] * probability
            for a, b in pairwise(path):
                pairs[a, b] += weights[row] * probability
    np.testing.assert_allclose(found.start, start)
    np.testing.assert_allclose(found.end, end)
    np.testing.assert_allclose(found.transitions, pairs)
    assert not found.emissions[1, 2:].any()


def test_what_underflows_in_a_step_is_not_lost():
    """Two groups of tags with no way between them, and only the group that is worse by e^-9000 may end."""
    rng = np.random.default_rng(2)
    worse = np.array([0.0, 0.0, -300.0, -300.0])
    emissions, chain = rng.normal(size=(30, 4)) + worse, random_chain(rng, 4)
    chain.transitions[:2, 2:] = chain.transitions[2:, :2] = -np.inf
    chain.end[:2] = -np.inf
    alone = LinearChain(chain.transitions[2:, 2:].copy(), chain.start[2:].copy(), chain.end[2:].copy())
    whole, half = (
        (forward_backward.forward(*one(e), c), forward_backward.marginals(*one(e), c), (e, c))
        for e, c in ((emissions, chain), (emissions[:, 2:], alone))
    )
    assert whole[0].normalisers == pytest.approx(half[0].normalisers)
    np.testing.assert_allclose(whole[1][..., 2:], half[1])
    found, expected = (
        forward_backward.gradients(*one(e), c, lattice, np.ones(1)) for lattice, _, (e, c) in (whole, half)
    )
    np.testing.assert_allclose(found.transitions[2:, 2:], expected.transitions)
    assert found.transitions.sum() == pytest.approx(29)


def test_pairs_that_underflow_in_a_step_are_not_lost():
    """The best tags before a transition and the best ones after it exclude each other."""
    chain = LinearChain(np.array([[0.0, -1.0], [-np.inf, 0.0]]), np.array([-900.0, 0.0]), np.array([0.0, -900.0]))
    emissions = np.zeros((3, 2))
    each, normaliser = probabilities(emissions, chain)
    lattice = forward_backward.forward(*one(emissions), chain)
    assert lattice.normalisers[0] == pytest.approx(normaliser)
    found = forward_backward.gradients(*one(emissions), chain, lattice, np.ones(1))
    expected = np.zeros((2, 2))
    for path, probability in each.items():
        expected[path[0], path[1]] += probability
        expected[path[1], path[2]] += probability
    np.testing.assert_allclose(found.transitions, expected)


def test_padding_and_batch_mates_change_no_bit():
    rng = np.random.default_rng(3)
    chain, emissions, lengths = random_chain(rng, 5), rng.normal(size=(6, 9, 5)), np.array([9, 0, 1, 4, 7, 2])
    for row, length in enumerate(lengths):
        emissions[row, length:] = rng.choice([np.nan, np.inf, -np.inf, 3.0])
    together = forward_backward.forward(emissions, lengths, chain).normalisers
    marginals, best = forward_backward.marginals(emissions, lengths, chain), viterbi(emissions, lengths, chain)
    for row, length in enumerate(lengths):
        alone = one(emissions[row, :length])
        assert forward_backward.forward(*alone, chain).normalisers[0] == together[row]
        assert (forward_backward.marginals(*alone, chain)[0] == marginals[row, :length]).all()
        assert not marginals[row, length:].any()
        assert viterbi(*alone, chain)[0] == best[row]


@pytest.mark.parametrize("name", ["_forward", "_backward"])
def test_compiled_equals_python(name, monkeypatch):
    rng = np.random.default_rng(4)
    chain, emissions, lengths = random_chain(rng, 3, 0.2), rng.normal(size=(3, 5, 3)), np.array([5, 3, 4])

    def run():
        lattice = forward_backward.forward(emissions, lengths, chain)
        found = forward_backward.gradients(emissions, lengths, chain, lattice, np.ones(3))
        return [lattice.normalisers, *found, *forward_backward.backward(emissions, lengths, chain, lattice)]

    compiled = run()
    monkeypatch.setattr(forward_backward, name, getattr(forward_backward, name).py_func)
    with np.errstate(divide="ignore", invalid="ignore"):
        for ours, plain in zip(compiled, run(), strict=True):
            np.testing.assert_allclose(ours, plain, atol=1e-13)


def test_sequences_one_after_the_other_have_the_tags_that_each_has_alone():
    rng = np.random.default_rng(5)
    lengths = np.array([4, 0, 1, 7, 2])
    for forbidden in (0.0, 0.3):
        chain, emissions = random_chain(rng, 4, forbidden), rng.normal(size=(lengths.sum(), 4))
        found, first = viterbi_ragged(emissions, lengths, chain), 0
        for length in lengths:
            (alone,) = viterbi(*one(emissions[first : first + length]), chain)
            assert found[first : first + length].tolist() == alone.tags
            first += length
    assert viterbi_ragged(np.zeros((0, 4)), np.zeros(0, int), chain).tolist() == []


def test_steps_that_no_sequence_has_are_refused():
    with pytest.raises(FirthError, match="3 steps of sequences that have 2"):
        viterbi_ragged(np.zeros((3, 2)), np.array([1, 1]), LinearChain.independent(2))
    impossible = LinearChain.of(np.full((2, 2), -np.inf), np.zeros(2), np.zeros(2))
    with pytest.raises(FirthError, match="sequence 1 has no tagging"):
        viterbi_ragged(np.zeros((3, 2)), np.array([1, 2]), impossible)


def test_nan_spreads():
    chain, emissions = LinearChain.independent(2), np.zeros((2, 3, 2))
    emissions[1, 1] = np.nan
    assert np.isnan(forward_backward.forward(emissions, np.array([3, 3]), chain).normalisers).tolist() == [False, True]


def test_ties_take_the_lowest_tags():
    assert viterbi(np.zeros((1, 3, 4)), np.array([3]), LinearChain.independent(4))[0].tags == [0, 0, 0]


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(FirthError, match="chain of 2 tags"):
        viterbi(np.zeros((1, 3, 4)), np.array([3]), LinearChain.independent(2))
    with pytest.raises(FirthError, match="4 in 3 time steps"):
        viterbi(np.zeros((1, 3, 2)), np.array([4]), LinearChain.independent(2))


def test_k_best_of_nothing():
    assert k_best(np.zeros((0, 2)), LinearChain.independent(2), 3) == [([], 0.0)]
    assert len(k_best(np.zeros((2, 2)), LinearChain.independent(2), 9)) == 4
