"""SQuAD's exact match and F1 by worked examples; the threshold against trying every one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.errors import FirthError
from firth.metrics.question_answering import (
    answer_f1,
    apply_threshold,
    best_threshold,
    exact_match,
    normalise_answer,
    score_answers,
)


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("The  Norman's army.", "normans army"),
        ("an apple, a day", "apple day"),
        ("U.S.", "us"),
        ("theatre another a-team", "theatre another ateam"),
        ("«Élan» – naïve", "«élan» – naïve"),  # punctuation is ASCII's
        ("THE", ""),
        ("a\tb\nthe\u00a0c", "b c"),
    ],
)
def test_normalisation(text, normalised):
    assert normalise_answer(text) == normalised


def test_scores_of_one_answer():
    assert exact_match("the Eiffel Tower", "Eiffel tower!") == 1
    assert exact_match("Eiffel", "Eiffel tower") == 0
    assert answer_f1("the big Eiffel tower", "Eiffel tower") == pytest.approx(2 * (2 / 3) * 1 / (2 / 3 + 1))
    assert answer_f1("to be or not to be", "to be") == pytest.approx(2 * (2 / 6) * 1 / (2 / 6 + 1))  # words are counted
    assert answer_f1("London", "Paris") == answer_f1("", "Paris") == answer_f1("Paris", "") == 0
    assert answer_f1("", "") == answer_f1("the", "") == 1


def test_squad_1_takes_the_best_reference_and_means_over_questions():
    references = [["Broncos", "the Denver Broncos"], ["1066"], ["blue"]]
    scores = score_answers(["Denver Broncos", "in 1066", "red"], references)
    exact, f1 = (statistics.score() for statistics in scores.statistics())
    assert (exact.name, f1.name) == ("exact_match", "f1") and "squad:1.1" in f1.signature
    assert exact.value == pytest.approx(100 / 3)
    assert f1.value == pytest.approx(100 * (1 + 2 / 3 + 0) / 3)


def test_squad_2_counts_questions_without_an_answer():
    scores = score_answers(["", "Paris", "", "Rome"], [[], [], ["Oslo"], ["Rome"]])
    exact, f1 = scores.statistics()
    assert "squad:2.0" in exact.signature and exact.score().value == f1.score().value == 50
    assert f1.details(f1.total) == {"answerable": 50.0, "unanswerable": 50.0}


def test_worked_example_of_a_threshold():
    """Answering the two questions that surely have an answer is best: the third has none, the fourth is wrong."""
    scores = score_answers(["Rome", "Oslo", "Bonn", "Kiel"], [["Rome"], ["Oslo"], [], ["Kiel Canal", "canal"]])
    no_answer = np.array([0.1, 0.2, 0.6, 0.9])
    best = best_threshold(scores.exact_match, scores.answerable, no_answer)
    assert best == (0.2, 75.0)
    limited = apply_threshold(scores, no_answer, best.value)
    assert limited.exact_match.tolist() == [1, 1, 1, 0] and limited.statistics()[0].score().value == best.score


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.booleans(), st.sampled_from([0.1, 0.4, 0.4001, 0.8])),
             min_size=1, max_size=8)
)  # fmt: skip
def test_no_threshold_is_better(questions):
    values, answerable, no_answer = (np.array(column) for column in zip(*questions, strict=True))
    scores = score_answers([""] * len(values), [["x"] if flag else [] for flag in answerable])
    scores = scores._replace(f1=values)

    def mean(threshold):
        return 100 * apply_threshold(scores, no_answer, threshold).f1.mean()

    best = best_threshold(values, answerable, no_answer)
    assert best.score == pytest.approx(mean(best.value))
    assert best.score == pytest.approx(max(mean(threshold) for threshold in (-np.inf, *no_answer)))


def test_mistakes_are_named():
    with pytest.raises(FirthError, match="1 answers to 2 questions"):
        score_answers(["a"], [["a"], ["b"]])
    with pytest.raises(FirthError, match="no questions"):
        best_threshold(np.array([]), np.array([]), np.array([]))
    assert score_answers([], []).statistics()[0].score().value is None
