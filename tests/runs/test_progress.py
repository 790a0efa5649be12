"""Progress reports: a line that fits any width, lines for logs, JSON for programs."""

import json

import pytest

from firth.runs.progress import Json, Live, Plain, fit_line

STEP = {"step": 1200, "loss": 4.321, "tokens_per_second": 12345.6, "fraction": 0.25}
VALID = {"step": 1200, "split": "valid", "metric": "masked_perplexity", "value": 93.456}
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


def test_a_log_has_a_line_for_a_stage_and_an_evaluation_but_not_for_each_step(capsys):
    progress = Plain()
    progress.stage("scoring the test split")
    progress.start(90.0, "seconds")
    for _ in range(100):
        progress.step(STEP)
    progress.evaluation(VALID)
    assert capsys.readouterr().err == "scoring the test split …\nstep 1,200  validation masked perplexity 93.46\n"


def test_json_lines_have_no_nan(capsys):
    Json().step({**STEP, "loss": float("nan")})
    assert json.loads(capsys.readouterr().out) == {"event": "step", **STEP, "loss": None}


def test_a_live_line_shows_the_stage_then_the_steps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    progress = Live()
    progress.stage("reading the text")
    assert "reading the text  0 s" in str(progress._render())
    progress.start(90.0, "seconds")
    progress.step({**STEP, "fraction": 0.1})
    progress.step(STEP)
    shown = str(progress._render())
    assert all(field in shown for field in FIELDS) and shown.endswith("left")
    progress.stop()
