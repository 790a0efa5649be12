"""Tables on terminals of any width: nothing is cut off."""

from __future__ import annotations

import io
import re
import sys

import pytest

from firth.cli.console import print_table, print_with_details

RUNS = [
    {"run": f"runs/{name}", "preset": f"{name}:tiny", "parameters": "268,496", "test bits per byte": "2.524"}
    for name in ("lstm-lm", "transformer-lm", "gru-lm")
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(rows, columns, monkeypatch, kind=Terminal):
    monkeypatch.setenv("COLUMNS", str(columns))
    file = kind()
    print_table(rows, file, full_width=True)
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue()).splitlines()]


@pytest.mark.parametrize("columns", [40, 60, 67, 80, 120])
def test_every_value_is_whole_at_every_width(columns, monkeypatch):
    lines = printed(RUNS, columns, monkeypatch)
    assert max(map(len, lines)) <= columns
    shown = "\n".join(lines)
    for row in RUNS:
        assert all(value in shown for value in row.values())
    assert all(key in shown for key in RUNS[0])


def test_the_rows_become_columns_or_come_one_below_the_other(monkeypatch):
    assert printed(RUNS, 120, monkeypatch)[1].split() == ["runs/lstm-lm", "lstm-lm:tiny", "268,496", "2.524"]
    transposed = printed(RUNS, 67, monkeypatch)
    assert transposed[0].split() == ["run", "runs/lstm-lm", "runs/transformer-lm", "runs/gru-lm"]
    assert transposed[2].split() == ["parameters", "268,496", "268,496", "268,496"]
    records = printed(RUNS, 40, monkeypatch)
    assert [line for line in records if line.startswith("run ")] == [
        f"run                 runs/{name}" for name in ("lstm-lm", "transformer-lm", "gru-lm")
    ]


def test_long_values_are_wrapped_where_the_terminal_is_very_narrow(monkeypatch):
    lines = printed(RUNS, 30, monkeypatch)
    assert max(map(len, lines)) <= 30
    assert "transformer-lm:tiny" in "".join(line[19:].strip() for line in lines)


def test_a_file_has_a_row_for_each(monkeypatch):
    assert len(printed(RUNS, 40, monkeypatch, io.StringIO)) == 4


def test_details_come_below_a_line_that_is_too_long(monkeypatch):
    lines = [("world-language  built in", "train, valid, test"), ("x  built in", "train")]
    monkeypatch.setenv("COLUMNS", "30")
    for kind, expected in (
        (Terminal, "world-language  built in\n    train, valid, test\nx  built in  train\n"),
        (io.StringIO, "world-language  built in  train, valid, test\nx  built in  train\n"),
    ):
        out = kind()
        monkeypatch.setattr(sys, "stdout", out)
        print_with_details(lines)
        assert out.getvalue() == expected
