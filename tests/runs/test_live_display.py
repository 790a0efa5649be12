"""The live line of a terminal: what goes on, in any width."""

import io

import pytest
from rich.console import Console

from firth.runs import live_display
from firth.runs.live_display import Live, Status, fit_line

STEP = {"step": 1200, "loss": 4.321, "tokens_per_second": 12345.6, "fraction": 0.25}
FIELDS = ["25%", "step 1,200", "loss 4.321", "12,346 tokens/s"]


@pytest.mark.parametrize("width", range(1, 140))
def test_a_line_fits_any_width_and_ends_with_the_time_left(width):
    line = fit_line(0.25, FIELDS, "9 min left", width)
    assert len(line) <= width
    if width >= 20:
        assert line.endswith("9 min left") and "━" in line
    if width >= 80:
        assert all(field in line for field in FIELDS)


def test_fields_are_dropped_from_the_least_important(width=45):
    line = fit_line(0.25, FIELDS, "9 min left", width)
    assert "step 1,200" in line and "tokens/s" not in line


@pytest.mark.parametrize("width", range(1, 60))
def test_a_stage_is_shortened_but_not_its_time(width):
    status = Status()
    status.stage("reading a file with a long name")
    line = status.line(width)
    assert len(line) <= width
    if width >= 12:
        assert line.endswith("0 s")


def test_a_live_line_shows_the_stage_then_the_steps(monkeypatch):
    clock = iter(range(100, 1000))
    monkeypatch.setattr(live_display.time, "monotonic", lambda: next(clock))
    status = Status()
    status.stage("reading the text")
    assert "reading the text" in status.line(80)
    status.start(90.0, "seconds")
    assert "first step" in status.line(80)
    status.step({**STEP, "fraction": 0.1})
    status.step(STEP)
    shown = status.line(80)
    assert all(field in shown for field in FIELDS) and shown.endswith("left")


def test_a_message_does_not_end_the_stage():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    live = Live(console)
    try:
        live.stage("training the tokenizer")
        live.say("note: a note")
        assert "training the tokenizer" in live.line(80)
    finally:
        live.stop()
    assert "note: a note" in console.file.getvalue()
