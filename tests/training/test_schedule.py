"""Learning-rate schedules and budgets, against values computed by hand."""

import math

import pytest

from firth.config.schema import Schedule
from firth.errors import FirthError
from firth.runs.progress import Budget, parse_budget
from firth.training.optimizer import learning_rate_factor, reduce_on_plateau


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
    config = Schedule(shape=shape, warmup_steps=0 if shape == "constant" else 10)
    assert learning_rate_factor(config, step, 100) == pytest.approx(expected)


def test_warm_up_is_linear_to_the_peak_learning_rate():
    factors = [learning_rate_factor(Schedule(shape="constant", warmup_steps=4), step, 100) for step in range(6)]
    assert factors == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])


def test_cosine_ends_at_the_minimum_ratio():
    assert learning_rate_factor(Schedule(shape="cosine", min_ratio=0.1), 100, 100) == pytest.approx(0.1)
    assert learning_rate_factor(Schedule(shape="cosine", min_ratio=0.1), 0, 100) == pytest.approx(1.0)


def test_the_learning_rate_is_reduced_on_a_plateau_after_patience():
    config = Schedule(shape="plateau", factor=0.5, patience=1, min_ratio=0.2)
    assert reduce_on_plateau(config, 1.0, bad_evaluations=1) == 1.0
    assert reduce_on_plateau(config, 1.0, bad_evaluations=2) == 0.5
    assert reduce_on_plateau(config, 0.25, bad_evaluations=2) == 0.2
    assert reduce_on_plateau(Schedule(shape="cosine"), 1.0, bad_evaluations=9) == 1.0


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
    budget = parse_budget(text)
    assert budget.unit == expected.unit
    assert math.isclose(budget.amount, expected.amount)


@pytest.mark.parametrize("text", ["", "2", "two minutes", "0s", "-3 steps", "3 days"])
def test_other_budgets_are_refused(text):
    with pytest.raises(FirthError, match=r"write 90s, 2m, 1.5h, 500 steps or 13 epochs"):
        parse_budget(text)
