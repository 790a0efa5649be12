"""Two systems: against sacrebleu's tests on its own draws, against every possible swap, and where nothing differs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from firth.metrics import bootstrap
from firth.metrics.bootstrap import paired, redrawn, resampled, swapped
from firth.metrics.counted import Counted, percent
from firth.metrics.translation import Manner, count_bleu

SEED = 12345  # sacrebleu's own
MANNER = Manner("none")


def systems(noise, count=150, seed=0):
    """Two noisy copies of texts, the second the noisier, and the texts."""
    draws = np.random.default_rng(seed)
    right = [draws.integers(0, 30, size=draws.integers(4, 15)) for _ in range(count)]

    def spoiled(share):
        rows = [np.where(draws.random(len(row)) < share, draws.integers(0, 30, len(row)), row) for row in right]
        return [" ".join(map(str, row)) for row in rows]

    return spoiled(0.2), spoiled(0.2 + noise), [" ".join(map(str, row)) for row in right]


def mean_of(values):
    return Counted("mean", np.stack([values, np.ones(len(values))], 1), percent, "mean")


@pytest.fixture(scope="module", params=[0.02, 0.2])
def case(request):
    first, second, right = systems(request.param)
    return first, second, right, *(count_bleu(texts, [right], MANNER) for texts in (first, second))


def theirs(case, kind, draws):
    test = PairedTest(
        [("first", case[0]), ("second", case[1])], {"BLEU": BLEU(tokenize="none")}, [case[2]], kind, draws
    )
    return test()[1]["BLEU"][1]


def test_on_its_own_draws_the_bootstrap_is_sacrebleus(case, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", str(SEED))
    texts = len(case[2])
    chosen = np.random.default_rng(SEED).choice(texts, size=(300, texts), replace=True)
    times = np.stack([np.bincount(row, minlength=texts) for row in chosen])
    monkeypatch.setattr(bootstrap, "_times", lambda *_: iter([times]))
    wanted, first, second = theirs(case, "bs", 300), *(redrawn(each, draws=300) for each in case[3:])
    found = paired(*case[3:], draws=300)
    assert second.mean() == pytest.approx(wanted.mean, abs=1e-3)
    assert wanted.score == pytest.approx(case[4].score().value) and found.wins == ((second > first).mean())
    # sacrebleu takes the size of each difference before it moves them to zero, so it counts one side where all have
    # one sign; we count both.
    sizes = np.abs(second - first)
    one_side = ((sizes - sizes.mean() > abs(found.difference)).sum() + 1) / 301
    assert wanted.p_value == pytest.approx(one_side, abs=1 / 301)
    assert found.p >= wanted.p_value - 1 / 301


def test_on_its_own_swaps_the_randomisation_is_sacrebleus(case, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", str(SEED))
    swaps = np.random.default_rng(SEED).integers(2, size=(300, len(case[2])), dtype=bool)
    monkeypatch.setattr(bootstrap, "_swaps", lambda *_: iter([~swaps]))  # theirs says who stays
    assert swapped(*case[3:], draws=300).p == pytest.approx(theirs(case, "ar", 300).p_value)


def test_a_clear_difference_is_sure_and_a_small_one_is_not():
    near, far = (
        tuple(count_bleu(each, [found[2]], MANNER) for each in found[:2]) for found in map(systems, (0.0, 0.2))
    )
    assert paired(*far).p < 0.01 and swapped(*far).p < 0.01 and paired(*far).wins < 0.01
    assert paired(*near).p > 0.05 and swapped(*near).p > 0.05
    low, high = paired(*far).interval
    assert low < paired(*far).difference < high < 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_trials_come_to_the_share_of_all_swaps(pairs):
    first, second = np.array(pairs, float).T
    change = second - first
    every = np.array([abs((signs * change).sum()) for signs in product((-1, 1), repeat=len(pairs))])
    exact = (every >= abs(change.sum()) - 1e-9).mean()
    found = swapped(mean_of(first), mean_of(second), draws=3000).p
    assert found == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 3000) ** 0.5 + 1e-3)


@pytest.mark.parametrize("test", [paired, swapped])
def test_equal_systems_do_not_differ(test):
    first = count_bleu(*map(list, (["a b c d e", "c d e f"], [["a b c d e", "c d x f"]])), MANNER)
    found = test(first, first)
    assert found.p == 1.0 and found.difference == 0.0
    assert getattr(found, "wins", 0.5) == 0.5


@pytest.mark.parametrize("test", [paired, swapped])
def test_whose_turn_it_is_does_not_matter_and_the_seed_says_all(test, case):
    there, back, again = test(*case[3:], seed=3), test(*case[:2:-1], seed=3), test(*case[3:], seed=3)
    assert there == again and there.p == pytest.approx(back.p, abs=2e-3) and there.difference == -back.difference
    other = test(*case[3:], seed=4)
    assert other.difference == there.difference and 0 < other.p <= 1


def test_the_false_alarms_are_as_many_as_promised():
    """Of two systems that differ by chance only, few are told apart."""
    draws = np.random.default_rng(7)
    alarms = np.zeros(2)
    for seed in range(120):
        first, second = (mean_of(draws.normal(size=60)) for _ in range(2))
        alarms += [test(first, second, seed, draws=200).p < 0.1 for test in (paired, swapped)]
    assert ((alarms >= 3) & (alarms <= 25)).all(), alarms  # 12 expected; a binomial's outer thousandths


def test_means_are_redrawn_as_by_resampled():
    values = np.arange(40.0)
    np.testing.assert_allclose(redrawn(mean_of(values), 5, 50), 100 * resampled(values[None], np.ones(40), 5, 50)[:, 0])


def test_scores_of_different_kinds_are_not_compared():
    one, two = (count_bleu(["a"], [[right]], MANNER) for right in "ab")
    with pytest.raises(ValueError, match="signatures"):
        paired(one, two)


def test_many_texts_are_drawn_in_blocks_and_all_differ(monkeypatch):
    values = mean_of(np.random.default_rng(0).normal(size=30))
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 100)  # three draws a block
    found = redrawn(values, 1, 20)
    assert len(found) == 20 and len(set(found)) == 20
