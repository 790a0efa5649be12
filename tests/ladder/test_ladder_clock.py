"""The networks of a ladder share its time: a budget of 1,000 s, four networks, and a clock set by hand."""

import pytest

from firth.ladder import ladder_clock
from firth.ladder.ladder_clock import LadderClock
from firth.runs.progress import Budget


@pytest.fixture
def now(monkeypatch):
    now = [50.0]
    monkeypatch.setattr(ladder_clock.time, "monotonic", lambda: now[0])
    return now


def test_what_surrounds_training_counts_so_that_the_ladder_ends_within_its_budget(now):
    clock = LadderClock(Budget(1000.0, "seconds"), 4)
    now[0] += 40.0  # reading, n-grams
    shares = []
    for _ in range(4):
        began = clock.spent()
        shares.append(clock.share())
        now[0] += shares[-1] + 20.0  # and scoring
        clock.finish(began)
    assert shares[0] == 228.0  # 240 less 5 %
    assert clock.spent() == pytest.approx(1000.0, abs=1.0)
    assert max(shares) / min(shares) < 1.06


def test_a_network_that_is_slow_to_score_has_its_time_reserved_from_the_start(now):
    clock = LadderClock(Budget(1000.0, "seconds"), 4, scoring=1 + 1 + 1 + 5)
    shares = []
    for scoring in (1, 1, 1, 5):
        began = clock.spent()
        shares.append(clock.share())
        now[0] += shares[-1] + 20.0 * scoring
        clock.finish(began, scoring=scoring)
    assert clock.spent() == pytest.approx(1000.0, abs=1.0)
    assert max(shares[1:]) - min(shares[1:]) <= 0.2


def test_half_of_the_budget_is_for_training_whatever_the_rest_takes(now):
    clock = LadderClock(Budget(1000.0, "seconds"), 4)
    now[0] += 5000.0
    assert clock.share() == 125.0


def test_rungs_of_an_earlier_process_count(now):
    clock = LadderClock(Budget(1000.0, "seconds"), 4)
    clock.skip(10.0, 0)
    clock.skip(240.0, 1)
    assert clock.spent() == 250.0 and clock.share() == round(0.95 * 250.0, 1)


def test_a_ladder_that_takes_longer_than_its_budget_says_so(now):
    clock, steps = LadderClock(Budget(1000.0, "seconds"), 4), LadderClock(Budget(100.0, "steps"), 4)
    now[0] += 1200.0
    assert not list(clock.overrun())
    now[0] += 300.0
    (note,) = clock.overrun()
    assert note.startswith("The ladder took 25 min, not 17 min: ")
    assert not list(steps.overrun())
