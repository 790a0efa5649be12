"""The ladder on a terminal: one table that fills rung by rung and fits any width."""

import io
import re

import pytest
from ladder_samples import result
from rich.console import Console

from firth.ladder.ladder_progress import ladder_progress
from firth.ladder.live_table import LiveTable
from firth.runs.progress import parse_budget

RUNGS = ("1-gram", "5-gram", "lstm-lm", "gru-lm", "transformer-lm")
STEP = {"step": 1200, "loss": 4.321, "tokens_per_second": 12345.6, "fraction": 0.25}


def console(width, height=30):
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height, record=True)


@pytest.fixture
def table():
    """A function that makes the table of a ladder in the middle of its third rung."""
    tables = []

    def make(screen):
        table = LiveTable(screen)
        tables.append(table)
        table.begin(RUNGS, parse_budget("2m"))
        for name in RUNGS[:2]:  # by an earlier process
            table.finish_rung(result(name, valid=1.5, seconds=10.0), "bits per byte")
        table.begin_rung("lstm-lm", "lstm-lm:tiny, 40s")
        table.start(40.0, "seconds")
        table.step({**STEP, "fraction": 0.1})
        table.step(STEP)
        return table

    yield make
    for table in tables:
        table.close()


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 120, 200])
def test_the_table_fits_the_terminal_with_every_rung_and_score(table, width):
    screen = console(width)
    ladder = table(screen)
    ladder.close()
    screen.export_text()
    screen.print(ladder._render())
    lines = screen.export_text().rstrip("\n").split("\n")
    assert all(len(line) <= width for line in lines)
    rows = {line.split()[1]: line for line in lines[1:-1]}
    assert list(rows) == list(RUNGS)
    if width >= 40:
        assert "1.500" in rows["1-gram"] and "pending" in rows["gru-lm"]
        assert "bits per byte" in lines[0] and rows["lstm-lm"].endswith("left") and "━" in rows["lstm-lm"]
        assert lines[-1].endswith("100 s of the budget left")  # of 120, less twice 10
    if width >= 80:
        assert "parameters" in lines[0] and "10 s" in rows["5-gram"] and "loss 4.321" in rows["lstm-lm"]


def test_a_low_terminal_shows_the_active_rung_and_those_around_it(table):
    lines = table(console(80)).lines(79, height=6)
    assert len(lines) < 6 and any("lstm-lm" in line and "loss" in line for line in lines)


def test_one_display_for_all_rungs_which_ends(table):
    screen = console(80)
    ladder = table(screen)
    assert ladder._live.is_started
    ladder.stop()  # of the steps of a rung
    ladder.finish_rung(result("lstm-lm", valid=1.25), "bits per byte")
    assert ladder._live.is_started and "1.250" in "\n".join(ladder.lines(79, 30))
    assert ladder.lines(79, 30)[-1].endswith("100 s of the budget left")  # the third is measured by the clock
    ladder.stage("writing the report")
    assert "writing the report" in ladder.lines(79, 30)[-2]
    ladder.close(is_done=True)
    assert not ladder._live.is_started
    after = screen.file.getvalue()
    ladder.close()
    assert screen.file.getvalue() == after


def test_messages_appear_above_the_table_once_and_of_a_rung_only_notes(table):
    screen = console(80)
    ladder = table(screen)
    for _ in range(2):
        ladder.say("note: few documents")
        ladder.say("12,345 parameters; the budget of 40s begins")
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.file.getvalue())
    assert shown.count("note: few documents") == 1 and "parameters; the budget" not in shown


def test_a_log_has_a_line_when_a_rung_begins_and_when_it_ends(capsys):
    log = ladder_progress("plain")
    log.stage("reading the text")
    log.say("reading a.txt")
    log.begin(RUNGS, parse_budget("2m"))
    log.begin_rung("5-gram", "")
    log.stage("counting n-grams")
    log.finish_rung(result("5-gram", valid=1.5, seconds=10.0), "bits per byte")
    log.close()
    assert capsys.readouterr().err == (
        "reading a.txt\n2/5 5-gram\n    1.500 bits per byte on validation text, 10.0 s, 4,000 tokens\n"
    )
