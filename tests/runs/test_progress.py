"""Progress reports: lines for logs, JSON for programs."""

import json
import threading
import time

from firth.runs.progress import Json, Plain

STEP = {"step": 1200, "loss": 4.321, "tokens_per_second": 12345.6, "fraction": 0.25}
VALID = {"step": 1200, "split": "valid", "metric": "masked_perplexity", "value": 93.456}


def test_a_log_has_a_line_for_a_stage_and_an_evaluation_but_not_for_each_step(capsys):
    progress = Plain()
    progress.stage("scoring the test split")
    progress.start(90.0, "seconds")
    for _ in range(100):
        progress.step(STEP)
    progress.evaluation(VALID)
    progress.stop()
    assert capsys.readouterr().err == "scoring the test split …\nstep 1,200  validation masked perplexity 93.46\n"


def test_json_lines_have_no_nan(capsys):
    Json().step({**STEP, "loss": float("nan")})
    assert json.loads(capsys.readouterr().out) == {"event": "step", **STEP, "loss": None}


def test_a_log_says_what_goes_on_while_a_stage_says_nothing(capsys):
    progress = Plain()
    progress.stage("scoring the test split")
    began = time.monotonic()
    progress.tick(began + 5)
    assert capsys.readouterr().err == "scoring the test split …\n"
    progress.tick(began + 20)
    assert capsys.readouterr().err == "scoring the test split … 20 s\n"
    progress.stop()


def test_a_stage_without_a_line_of_its_own_is_named_after_two_seconds(capsys):
    progress = Plain()
    progress.stage("")
    began = time.monotonic()
    progress.tick(began + 1)
    assert capsys.readouterr().err == ""
    progress.tick(began + 2.1)
    assert capsys.readouterr().err == "starting … 2 s\n"
    progress.tick(began + 4)
    assert capsys.readouterr().err == ""
    progress.stop()


def test_nothing_ticks_after_the_end():
    before = set(threading.enumerate())
    progress = Plain()
    progress.start(90.0, "seconds")
    (ticker,) = set(threading.enumerate()) - before
    progress.stop()
    ticker.join(timeout=60)
    assert not ticker.is_alive()
