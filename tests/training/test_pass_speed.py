"""The logged speed of training in passes: neither compilation nor evaluations count."""

from types import SimpleNamespace

import pytest

from firth.training import pass_loop
from firth.training.speed import training_speed


def test_compilation_and_pauses_do_not_slow_the_logged_speed(monkeypatch):
    now = 100.0
    monkeypatch.setattr(pass_loop.time, "perf_counter", lambda: now)
    monkeypatch.setattr(pass_loop, "thread_count", lambda config: 2)
    config = SimpleNamespace(epochs=1)
    trainer = pass_loop._PassTrainer(SimpleNamespace(config=config, trainer=SimpleNamespace(chunks=10, size=1000)))
    trainer._timed_from = now
    lines = []
    for step in range(1, 11):
        now += 30.0 if step == 1 else 0.0 if step == 2 else 1.0  # two threads wait for compilation, then a second each
        if step == 6:
            now, trainer._paused = now + 50.0, 50.0  # an evaluation
        trainer.state.step = step
        lines.append({"step": step, "tokens": 100, "tokens_per_second": trainer._speed(100)})
    assert [line["tokens_per_second"] for line in lines[2:]] == pytest.approx([100.0] * 8)
    assert training_speed(lines) == pytest.approx(100.0)  # by the clock it would be 11
