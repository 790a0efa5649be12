"""The recommendation's sentences, on tables made by hand."""

import pytest
from ladder_samples import curve, result, row

from firth.ladder.recommendation import AdviceContext, advise, curve_trend
from firth.ladder.results_table import build_table


def context(true_entropy=None):
    return AdviceContext(true_entropy, 2000, lambda rung: f"firth train {rung}")


def advice_for(rows, results, true_entropy=None):
    return advise(rows, results, context(true_entropy))


@pytest.mark.parametrize(
    "bits, course",
    [
        ((4.0, 3.0, 2.5, 2.2, 2.0, 1.9), "falling"),
        ((4.0, 3.0, 2.5, 2.01, 2.005, 2.0), "flat"),
        ((4.0, 3.0, 2.0, 2.1, 2.2, 2.4), "overfitting"),
        ((4.0, 3.0, 2.5, 2.2, 1.9, 1.91), "falling"),  # a little worse at the end is not yet overfitting
        ((3.0, 2.5), "falling"),
        ((2.5, 2.499), "flat"),
        ((2.0,), "unknown"),
        ((), "unknown"),
    ],
)
def test_trends_of_learning_curves(bits, course):
    assert curve_trend(curve(*bits)).course == course


def test_the_gain_is_that_of_the_last_third():
    assert curve_trend(curve(4.0, 3.0, 2.5, 2.0, 1.5, 1.0)).gain == pytest.approx(0.5)  # 2.0 at two thirds
    assert curve_trend(curve(4.0, 2.0, 2.5)).gain == pytest.approx(0.25)


def test_the_first_sentence_recommends_a_rung_with_its_interval():
    results = [result("5-gram", valid=3.0, test=3.0, bits=()), result("transformer-lm", test=2.0)]
    advice = advice_for(build_table(results, 1), results)
    assert advice.rung == "transformer-lm" and advice.sentences[0].startswith(
        "Use transformer-lm, a decoder-only Transformer: 2.000 bits per byte"
    )
    assert "33.3% less than 5-gram" in advice.sentences[1]
    assert advice.command == "firth train transformer-lm" and "More time would help" in advice.sentences[-1]
    assert "2.0 epochs" in advice.sentences[-1]  # 4,000 tokens of 2,000


def test_an_n_gram_that_wins_points_to_rungs_that_still_improve():
    results = [result("5-gram", valid=1.5, test=1.5, bits=()), result("gru-lm", valid=2.1), result("transformer-lm")]
    advice = advice_for(build_table(results, 1), results)
    text = " ".join(advice.sentences)
    assert "Use 5-gram" in text and "gru-lm and transformer-lm were still improving" in text
    assert "25.0% less than" in text and advice.command == "firth train transformer-lm"


def test_networks_that_have_not_seen_the_text_are_not_yet_compared():
    results = [result("5-gram", valid=1.5, test=1.5, bits=()), result("gru-lm", valid=2.1)]
    table = build_table(results, 1)
    text = " ".join(advise(table, results, context()._replace(train_tokens=16_000)).sentences)
    assert "No network saw the whole text in this time (at most 25% of it)" in text
    assert "No network" not in " ".join(advice_for(table, results).sentences)


def test_the_choice_is_compared_with_the_next_best_and_with_the_other_kind():
    results = [result("2-gram", test=4.0, valid=4.0, bits=()), result("5-gram", valid=1.0, test=1.0, bits=())]
    results += [result("gru-lm", valid=2.0, test=2.0), result("transformer-lm", valid=2.5, test=2.5)]
    assert "needs 50.0% less than gru-lm." in " ".join(advice_for(build_table(results, 1), results).sentences)
    results[1] = result("5-gram", valid=3.0, test=3.0, bits=())
    text = " ".join(advice_for(build_table(results, 1), results).sentences)
    assert "needs 20.0% less than transformer-lm and 33.3% less than 5-gram." in text


def test_an_n_gram_alone_has_one_sentence():
    results = [result("5-gram", bits=())]
    advice = advice_for(build_table(results, 1), results)
    assert len(advice.sentences) == 1 and advice.command == "firth train 5-gram"


def test_a_tie_and_a_test_text_that_disagrees_are_noted():
    rows = [row("gru-lm", 2.02, (0.02, -0.01, 0.04), test_behind=(0.3, 0.2, 0.4)), row("transformer-lm", 2.0, bits=1.7)]
    text = " ".join(advice_for(rows, [result("gru-lm"), result("transformer-lm")]).sentences)
    assert "transformer-lm was 1.0% better, which is not significant; gru-lm is simpler" in text
    assert "transformer-lm is significantly better" in text
    rows = [row("gru-lm", 2.0), row("transformer-lm", 2.02, (0.02, -0.01, 0.04), bits=2.02)]
    text = " ".join(advice_for(rows, [result("gru-lm"), result("transformer-lm")]).sentences)
    assert "transformer-lm is not significantly worse" in text and "significantly better" not in text


def test_overfitting_and_the_true_entropy_are_noted():
    results = [result("transformer-lm", bits=(3.0, 2.0, 2.2, 2.4))]
    text = " ".join(advice_for(build_table(results, 1), results, true_entropy=1.6).sentences)
    assert "overfitted (20.0% worse" in text and "25.0% above it" in text
