"""Budgets in steps and in wall time: what is due when, and what a resumed run does."""

import json
import shutil
import subprocess
import sys
import time
from itertools import pairwise
from types import SimpleNamespace

import pytest

import firth
from firth.config.schema import Schedule, Train
from firth.families import neural
from firth.runs import summary
from firth.runs.progress import Quiet
from firth.training import clock as clocks
from firth.training.clock import FinalScores, StepClock, TimeClock
from firth.training.optimizer import learning_rate_factor, timed_learning_rate_factor

DOCUMENTS = [f"{n} plus {n} is {2 * n}, and not {2 * n + 1}" for n in range(400)]
SETTINGS = {
    "tokenizer.model": "byte",
    "backbone.width": 16,
    "batching.batch_size": 4,
    "batching.length": 16,
    "train.threads": 1,
    "train.checkpoint_every": 3,
}


class Hands:
    """The hands of a clock that a test moves, or that move whenever somebody looks."""

    def __init__(self, tick=0.0):
        self.time, self.tick = 100.0, tick

    def __call__(self):
        self.time += self.tick
        return self.time


@pytest.fixture
def ticking(monkeypatch):
    """Runs whose time passes by looking at the clock, so that these tests do not depend on what the machine does."""
    monkeypatch.setattr(neural, "TimeClock", lambda *arguments: TimeClock(*arguments, now=Hands(tick=0.01)))


class Recorder(Quiet):
    """Remembers when what was said; may copy the run after a step, as a power cut would leave it."""

    def __init__(self, copy_at=0, copy=None):
        self.copy_at, self.copy, self.said, self.fractions, self.evaluations = copy_at, copy, [], [], []

    def say(self, text):
        self.said.append((time.monotonic(), text))

    stage = say

    def step(self, entry):
        self.fractions.append(entry["fraction"])
        if entry["step"] == self.copy_at:
            self.copy()

    def evaluation(self, entry):
        self.evaluations.append(entry["step"])


def trained(folder, progress=None, **settings):
    options = {**SETTINGS, **{name.replace("__", "."): value for name, value in settings.items()}}
    return firth.train("lstm-lm:tiny", text=DOCUMENTS, out=folder, settings=options, progress=progress or Quiet())


def test_steps_count_steps():
    clock = StepClock(Train(evaluate_every=4, checkpoint_every=3), 10)
    assert [step for step in range(1, 12) if clock.evaluation_due(step)] == [4, 8]
    assert [step for step in range(1, 12) if clock.checkpoint_due(step)] == [3, 6, 9]
    assert [clock.is_over(step) for step in (9, 10, 11)] == [False, True, True]
    schedule = Schedule(warmup_steps=2)
    for step in range(10):
        factor = clock.learning_rate_factor(schedule, step, clock.begin_step(step))
        assert factor == learning_rate_factor(schedule, step, 10)


def test_time_is_over_when_the_reserve_for_the_final_scores_is_reached():
    now = Hands()
    clock = TimeClock(Train(), 20.0, lambda: 4.0, now)
    now.time += 8.0
    assert clock.begin_step(5) == 0.5 and not clock.is_over(5)
    now.time += 7.9
    assert not clock.is_over(6)
    now.time += 0.1
    assert clock.is_over(6) and clock.begin_step(6) == 1.0


@pytest.mark.parametrize(("seconds", "count"), [(0.1, 10), (5.0, 5)])  # of an evaluation; 5 s are half of its share
def test_there_are_ten_evaluations_but_for_a_tenth_of_the_time_at_most(seconds, count):
    now, evaluated, step = Hands(), 0, 0
    clock = TimeClock(Train(), 200.0, now=now)
    while not clock.is_over(step):
        now.time, step = now.time + 0.25, step + 1
        if clock.evaluation_due(step):
            now.time += seconds
            evaluated += 1
            clock.evaluation_done(seconds)
    assert count - 1 <= evaluated <= count
    assert (evaluated - 1) * seconds <= 0.1 * 200.0


def test_warm_up_takes_three_tenths_of_the_time_at_most():
    schedule = Schedule(shape="constant", warmup_steps=1000)
    factors = [timed_learning_rate_factor(schedule, step, step / 50) for step in range(50)]
    assert factors[0] == pytest.approx(1 / 1001) and factors[3] == pytest.approx(0.2) and set(factors[15:]) == {1.0}
    plenty = [timed_learning_rate_factor(schedule, step, step / 10**5) for step in (0, 99, 999, 5000)]
    assert plenty == pytest.approx([1 / 1001, 100 / 1001, 1000 / 1001, 1.0])


@pytest.mark.parametrize(("shape", "end"), [("linear", 0.1), ("cosine", 0.1), ("constant", 1.0)])
def test_the_schedule_follows_the_time(shape, end):
    schedule = Schedule(shape=shape, min_ratio=0.1)
    assert timed_learning_rate_factor(schedule, 0, 0.0) == 1.0
    assert timed_learning_rate_factor(schedule, 123, 0.5) == pytest.approx((1.0 + end) / 2)
    assert timed_learning_rate_factor(schedule, 456, 1.0) == pytest.approx(end)
    staged = Schedule(shape="constant", decay_stages=4, factor=0.5)
    assert [timed_learning_rate_factor(staged, 9, f) for f in (0.2, 0.3, 0.6, 0.9, 1.0)] == [1, 0.5, 0.25, 0.125, 0.125]


def test_a_resumed_clock_repeats_logged_steps_and_takes_no_time_for_them():
    now = Hands()
    clock = TimeClock(Train(), 20.0, now=now)
    log = [{"step": step + 1, "fraction": 0.1 * step, "seconds": 2.0 * step + 2} for step in range(5)]
    clock.resume(2, [*log, {"step": 4, "split": "valid", "seconds": 8.5}])
    repeated = []
    for step in (2, 3, 4):
        repeated.append(clock.begin_step(step))
        now.time += 50.0  # slower than before
        assert clock.evaluation_due(step + 1) is (step + 1 == 4) and not clock.is_over(step + 1)
    assert repeated == [entry["fraction"] for entry in log[2:]]
    assert clock.begin_step(5) == 0.5  # ten of twenty seconds
    now.time += 5.0
    assert clock.begin_step(6) == 0.75


def test_a_run_with_a_time_budget_that_is_killed_repeats_its_logged_steps_to_the_same_bytes(tmp_path, ticking):
    whole, copy = tmp_path / "whole", tmp_path / "copy"
    progress = Recorder(copy_at=10, copy=lambda: shutil.copytree(whole, copy))
    trained(whole, progress, train__budget="2s")
    steps = len(progress.fractions)
    assert steps > 20 and all(one <= other for one, other in pairwise(progress.fractions))

    shutil.copy(whole / "log.jsonl", copy)  # as if it had been killed at the very end, before it saved anything
    again = Recorder()
    trained(copy, again, train__budget="2s")
    assert again.fractions == progress.fractions[9:]
    assert (copy / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    last = f"state/step-{steps:06d}/weights.safetensors"
    assert (copy / last).read_bytes() == (whole / last).read_bytes()


def test_the_stages_of_a_length_curriculum_are_parts_of_the_time(tmp_path, ticking):
    settings = {
        "batching.length_curriculum": "8,12",
        "train.schedule.decay_stages": 3,
        "train.schedule.shape": "constant",
    }
    trained(tmp_path / "run", train__budget="3s", **settings)
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    rates = {int(line["fraction"] * 3): line["learning_rate"] for line in lines if 0.1 < line.get("fraction", 0) < 1}
    assert rates[1] == pytest.approx(rates[0] / 2) and rates[2] == pytest.approx(rates[0] / 4)
    checkpoint = max((tmp_path / "run" / "state").iterdir()) / "training.json"
    assert json.loads(checkpoint.read_text())["cursor"]["epoch"] == 2  # the last stage was reached


def test_scores_that_would_take_too_long_are_of_a_sample_and_say_so(tmp_path, ticking, monkeypatch):
    monkeypatch.setattr(clocks, "_MAX_SCORING", 1e-5)
    model = trained(tmp_path / "run", train__budget="1s")
    assert "split:test/" in model.run.scores()[0]["signature"]
    assert summary.compare_runs([str(tmp_path / "run")])[0][0]["test perplexity"] == model.run.scores()[0]["value"]
    assert "split:test|" in model.evaluate()[0].signature


@pytest.mark.parametrize(
    "tokens, documents, every", [(13_000, 21, 5), (13_000, 3, 1), (13_000, 2000, 43), (0, 0, None)]
)
def test_a_sample_has_documents_enough_for_scores_of_pairs(tokens, documents, every):
    """A novel gives few and large documents; one of them has no other to draw a second segment from."""
    scored = []
    model = SimpleNamespace(sample_every=1, evaluate=lambda split: scored.append(model.sample_every))
    scores = FinalScores(1e-9, tokens, documents)  # nothing has time
    scores.update(model)
    scores.update(model)
    assert scored == ([every] * 2 if every else [])
    assert scores.sample_every == (every or 1)


def test_too_few_steps_are_warned_of(tmp_path, ticking):
    progress = Recorder()
    trained(tmp_path / "run", progress, train__budget="0.2s")
    (warning,) = (text for _, text in progress.said if "warning: only" in text)
    assert "--budget 10m" in warning and "a smaller width" in warning  # it is of the size tiny already


@pytest.mark.parametrize("busy", [0, 2])
@pytest.mark.parametrize(
    ("seconds", "least", "most"), [(6, 4.0, 12.0), pytest.param(60, 51.0, 69.0, marks=pytest.mark.slow)]
)
def test_a_budget_in_time_holds_on_an_idle_and_on_a_busy_machine(tmp_path, seconds, least, most, busy):
    """From the moment it begins, scores and report included; a short one has a wide tolerance, since tests share the
    machine."""
    progress = Recorder()
    loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        trained(tmp_path / "run", progress, train__budget=f"{seconds}s")
        end = time.monotonic()
    finally:
        for load in loads:
            load.kill()
            load.wait()
    (began,) = (moment for moment, text in progress.said if f"the budget of {seconds}s begins" in text)
    assert least < end - began < most
    assert 1 < len(progress.evaluations) <= 10
