"""Winograd schemas as choices."""

import pytest

from firth.datasets.records import Choices, Pair
from firth.datasets.winograd import as_choices
from firth.errors import FirthError

TROPHY = "The trophy did not fit into the case since it was too large."


def test_readings_of_one_sentence_are_its_choices():
    pairs = [
        Pair(TROPHY, "The case was too large.", "0", line=2),
        Pair("Ann told Eve that she won.", "Ann won.", "1", line=3),
        Pair(TROPHY, "The trophy was too large.", "1", line=4),
        Pair("He slept.", "Bob slept.", "0", line=5),
        Pair("He slept.", "Tom slept.", "0", line=6),
    ]
    (question,) = as_choices(pairs)
    choices = ("The case was too large.", "The trophy was too large.")
    assert question == Choices("", TROPHY, choices, 1, line=2)


def test_two_right_readings_are_no_question():
    assert as_choices([Pair("A or B.", "A.", "entailment"), Pair("A or B.", "B.", "entailment")]) == []


def test_other_labels():
    with pytest.raises(FirthError, match="line 7: label 'T' is none of 1, entailment, 0, not_entailment"):
        as_choices([Pair("a", "b", "T", line=7)])
