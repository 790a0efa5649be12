"""Significance tests: against sacrebleu's on its own resamples, against all permutations, and of equal systems."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from firth.metrics import bootstrap
from firth.metrics.bleu import MetricOptions, count_bleu
from firth.metrics.bootstrap import approximate_randomisation, bootstrap_ratios, bootstrap_scores, paired_bootstrap
from firth.metrics.corpus_metric import CorpusStatistics, percentage

SEED = 12345  # sacrebleu's own
OPTIONS = MetricOptions("none")


def systems(noise, count=150, seed=0):
    """Two noisy copies of texts, the second the noisier, and the texts."""
    rng = np.random.default_rng(seed)
    right = [rng.integers(0, 30, size=rng.integers(4, 15)) for _ in range(count)]

    def corrupted(fraction):
        rows = [np.where(rng.random(len(row)) < fraction, rng.integers(0, 30, len(row)), row) for row in right]
        return [" ".join(map(str, row)) for row in rows]

    return corrupted(0.2), corrupted(0.2 + noise), [" ".join(map(str, row)) for row in right]


def mean_of(values):
    return CorpusStatistics("mean", np.stack([values, np.ones(len(values))], 1), percentage, "mean")


@pytest.fixture(scope="module", params=[0.02, 0.2])
def case(request):
    first, second, right = systems(request.param)
    return first, second, right, *(count_bleu(texts, [right], OPTIONS) for texts in (first, second))


def theirs(case, kind, resamples):
    test = PairedTest(
        [("first", case[0]), ("second", case[1])], {"BLEU": BLEU(tokenize="none")}, [case[2]], kind, resamples
    )
    return test()[1]["BLEU"][1]


def test_on_its_own_resamples_the_bootstrap_is_sacrebleus(case, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", str(SEED))
    texts = len(case[2])
    indices = np.random.default_rng(SEED).choice(texts, size=(300, texts), replace=True)
    counts = np.stack([np.bincount(row, minlength=texts) for row in indices])
    monkeypatch.setattr(bootstrap, "_resample_counts", lambda *_: iter([counts]))
    expected, first, second = theirs(case, "bs", 300), *(bootstrap_scores(each, resamples=300) for each in case[3:])
    result = paired_bootstrap(*case[3:], resamples=300)
    assert second.mean() == pytest.approx(expected.mean, abs=1e-3)
    assert expected.score == pytest.approx(case[4].score().value) and result.win_rate == ((second > first).mean())
    # sacrebleu takes the size of each difference before it moves them to zero, so it counts one side where all have
    # one sign; we count both.
    sizes = np.abs(second - first)
    one_side = ((sizes - sizes.mean() > abs(result.difference)).sum() + 1) / 301
    assert expected.p_value == pytest.approx(one_side, abs=1 / 301)
    assert result.p_value >= expected.p_value - 1 / 301


def test_on_its_own_swaps_the_randomisation_is_sacrebleus(case, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", str(SEED))
    swaps = np.random.default_rng(SEED).integers(2, size=(300, len(case[2])), dtype=bool)
    monkeypatch.setattr(bootstrap, "_swaps", lambda *_: iter([~swaps]))  # theirs says who stays
    assert approximate_randomisation(*case[3:], resamples=300).p_value == pytest.approx(theirs(case, "ar", 300).p_value)


def test_a_clear_difference_is_significant_and_a_small_one_is_not():
    near, far = (
        tuple(count_bleu(each, [texts[2]], OPTIONS) for each in texts[:2]) for texts in map(systems, (0.0, 0.2))
    )
    assert (
        paired_bootstrap(*far).p_value < 0.01
        and approximate_randomisation(*far).p_value < 0.01
        and paired_bootstrap(*far).win_rate < 0.01
    )
    assert paired_bootstrap(*near).p_value > 0.05 and approximate_randomisation(*near).p_value > 0.05
    low, high = paired_bootstrap(*far).interval
    assert low < paired_bootstrap(*far).difference < high < 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_the_p_value_is_the_fraction_of_all_swaps(pairs):
    first, second = np.array(pairs, float).T
    change = second - first
    every = np.array([abs((signs * change).sum()) for signs in product((-1, 1), repeat=len(pairs))])
    exact = (every >= abs(change.sum()) - 1e-9).mean()
    p_value = approximate_randomisation(mean_of(first), mean_of(second), resamples=3000).p_value
    assert p_value == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 3000) ** 0.5 + 1e-3)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_equal_systems_do_not_differ(test):
    first = count_bleu(*map(list, (["a b c d e", "c d e f"], [["a b c d e", "c d x f"]])), OPTIONS)
    result = test(first, first)
    assert result.p_value == 1.0 and result.difference == 0.0
    assert getattr(result, "win_rate", 0.5) == 0.5


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_the_order_of_systems_does_not_matter_and_the_seed_determines_all(test, case):
    there, back, again = test(*case[3:], seed=3), test(*case[:2:-1], seed=3), test(*case[3:], seed=3)
    assert (
        there == again
        and there.p_value == pytest.approx(back.p_value, abs=2e-3)
        and there.difference == -back.difference
    )
    other = test(*case[3:], seed=4)
    assert other.difference == there.difference and 0 < other.p_value <= 1


def test_false_positives_are_at_the_nominal_rate():
    """Of two systems that differ by chance only, few differ significantly."""
    rng = np.random.default_rng(7)
    alarms = np.zeros(2)
    for seed in range(120):
        first, second = (mean_of(rng.normal(size=60)) for _ in range(2))
        alarms += [
            test(first, second, seed, resamples=200).p_value < 0.1
            for test in (paired_bootstrap, approximate_randomisation)
        ]
    assert ((alarms >= 3) & (alarms <= 25)).all(), alarms  # 12 expected; a binomial's outer thousandths


def test_bootstrap_scores_of_means_are_bootstrap_ratios():
    values = np.arange(40.0)
    np.testing.assert_allclose(
        bootstrap_scores(mean_of(values), 5, 50), 100 * bootstrap_ratios(values[None], np.ones(40), 5, 50)[:, 0]
    )


def test_scores_of_different_kinds_are_not_compared():
    one, two = (count_bleu(["a"], [[right]], OPTIONS) for right in "ab")
    with pytest.raises(ValueError, match="signatures"):
        paired_bootstrap(one, two)


def test_blocks_of_resamples_differ(monkeypatch):
    values = mean_of(np.random.default_rng(0).normal(size=30))
    monkeypatch.setattr(bootstrap, "_BLOCK_SIZE", 100)  # three resamples a block
    scores = bootstrap_scores(values, 1, 20)
    assert len(scores) == 20 and len(set(scores)) == 20
