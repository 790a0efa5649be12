"""Rates and budgets, against values worked out by hand."""

import math

import pytest

from firth.config.schema import Schedule
from firth.errors import FirthError
from firth.runs.budget import Budget, parse
from firth.training.schedule import after_evaluation, share


@pytest.mark.parametrize(
    ("shape", "step", "expected"),
    [
        ("constant", 7, 1.0),
        ("constant", 99, 1.0),
        ("plateau", 50, 1.0),
        ("linear", 10, 1.0),
        ("linear", 55, 0.5),
        ("linear", 100, 0.0),
        ("cosine", 10, 1.0),
        ("cosine", 55, 0.5),
        ("cosine", 100, 0.0),
        ("inverse-sqrt", 10, 1.0),
        ("inverse-sqrt", 40, 0.5),
        ("inverse-sqrt", 90, 1 / 3),
    ],
)
def test_shapes_after_a_warm_up_of_ten(shape, step, expected):
    assert share(Schedule(shape=shape, warmup=0 if shape == "constant" else 10), step, 100) == pytest.approx(expected)


def test_a_warm_up_rises_evenly_to_the_full_rate():
    rises = [share(Schedule(shape="constant", warmup=4), step, 100) for step in range(6)]
    assert rises == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])


def test_the_floor_is_where_cosine_ends():
    assert share(Schedule(shape="cosine", floor=0.1), 100, 100) == pytest.approx(0.1)
    assert share(Schedule(shape="cosine", floor=0.1), 0, 100) == pytest.approx(1.0)


def test_a_plateau_is_left_after_patience():
    config = Schedule(shape="plateau", factor=0.5, patience=1, floor=0.2)
    assert after_evaluation(config, 1.0, stale=1) == 1.0
    assert after_evaluation(config, 1.0, stale=2) == 0.5
    assert after_evaluation(config, 0.25, stale=2) == 0.2
    assert after_evaluation(Schedule(shape="cosine"), 1.0, stale=9) == 1.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", Budget(90, "seconds")),
        ("2m", Budget(120, "seconds")),
        ("1.5h", Budget(5400, "seconds")),
        ("500 steps", Budget(500, "steps")),
        ("1 step", Budget(1, "steps")),
        ("13 epochs", Budget(13, "epochs")),
    ],
)
def test_budgets_are_read_as_people_write_them(text, expected):
    found = parse(text)
    assert found.unit == expected.unit
    assert math.isclose(found.amount, expected.amount)


@pytest.mark.parametrize("text", ["", "2", "two minutes", "0s", "-3 steps", "3 days"])
def test_other_budgets_are_refused(text):
    with pytest.raises(FirthError, match=r"write 90s, 2m, 1.5h, 500 steps or 13 epochs"):
        parse(text)
