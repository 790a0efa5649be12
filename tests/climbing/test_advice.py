"""What is said, on tables made by hand."""

import pytest
from ladder_samples import curve, result, row

from firth.climbing.advice import Known, advise, trend
from firth.climbing.judging import table


def known(floor=None):
    return Known("bits per byte", floor, 2000, lambda rung: f"firth train {rung}")


def said(rows, results, floor=None):
    return advise(rows, results, known(floor))


@pytest.mark.parametrize(
    "bits, course",
    [
        ((4.0, 3.0, 2.5, 2.2, 2.0, 1.9), "falling"),
        ((4.0, 3.0, 2.5, 2.01, 2.005, 2.0), "flat"),
        ((4.0, 3.0, 2.0, 2.1, 2.2, 2.4), "overfitting"),
        ((4.0, 3.0, 2.5, 2.2, 1.9, 1.91), "falling"),  # a little worse at the end is not yet overfitting
        ((2.0,), "unknown"),
        ((), "unknown"),
    ],
)
def test_how_a_curve_ends(bits, course):
    assert trend(curve(*bits)).course == course


def test_the_gain_is_that_of_the_last_third():
    assert trend(curve(4.0, 3.0, 2.5, 2.0, 1.5, 1.0)).gain == pytest.approx(0.5)  # 2.0 at two thirds
    assert trend(curve(4.0, 2.0, 2.5)).gain == pytest.approx(0.25)


def test_the_first_sentence_says_what_to_use_with_its_interval():
    results = [result("5-gram", valid=3.0, test=3.0, bits=()), result("gpt", test=2.0)]
    advice = said(table(results, 1), results)
    assert advice.rung == "gpt" and advice.sentences[0].startswith("Use gpt, a Transformer: 2.000 bits per byte")
    assert "33.3% less than 5-gram" in advice.sentences[1]
    assert advice.command == "firth train gpt" and "More time would help" in advice.sentences[-1]
    assert "2.0 times" in advice.sentences[-1]  # 4,000 tokens of 2,000


def test_an_n_gram_that_wins_points_to_who_still_learns():
    results = [result("5-gram", valid=1.5, test=1.5, bits=()), result("gru-lm", valid=2.1), result("gpt")]
    advice = said(table(results, 1), results)
    text = " ".join(advice.sentences)
    assert "Use 5-gram" in text and "gru-lm and gpt were still learning" in text
    assert "25.0% less than" in text and advice.command == "firth train gpt"


def test_the_choice_is_compared_with_the_next_and_with_the_other_way():
    results = [result("2-gram", test=4.0, valid=4.0, bits=()), result("5-gram", valid=1.0, test=1.0, bits=())]
    results += [result("gru-lm", valid=2.0, test=2.0), result("gpt", valid=2.5, test=2.5)]
    assert "needs 50.0% less than gru-lm." in " ".join(said(table(results, 1), results).sentences)
    results[1] = result("5-gram", valid=3.0, test=3.0, bits=())
    text = " ".join(said(table(results, 1), results).sentences)
    assert "needs 20.0% less than gpt and 33.3% less than 5-gram." in text


def test_an_n_gram_alone_has_no_one_to_wait_for():
    results = [result("5-gram", bits=())]
    advice = said(table(results, 1), results)
    assert len(advice.sentences) == 1 and advice.command == "firth train 5-gram"


def test_a_tie_and_a_test_text_that_disagrees_are_told():
    rows = [row("gru-lm", 2.02, (0.02, -0.01, 0.04), test_behind=(0.3, 0.2, 0.4)), row("gpt", 2.0, bits=1.7)]
    text = " ".join(said(rows, [result("gru-lm"), result("gpt")]).sentences)
    assert "gpt was 1.0% better, which may be chance; gru-lm is simpler" in text
    assert "gpt is better, by more than chance explains" in text
    rows = [row("gru-lm", 2.0), row("gpt", 2.02, (0.02, -0.01, 0.04), bits=2.02)]
    text = " ".join(said(rows, [result("gru-lm"), result("gpt")]).sentences)
    assert "gpt cannot be told from it" in text and "more than chance" not in text


def test_overfitting_and_the_truth_are_told():
    results = [result("gpt", bits=(3.0, 2.0, 2.2, 2.4))]
    text = " ".join(said(table(results, 1), results, floor=1.6).sentences)
    assert "by heart (20.0% worse" in text and "25.0% above it" in text
