"""While a command prints nothing, a terminal shows what it does; Ctrl-C is one line from the first import on."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from firth.cli import busy_line
from firth.cli.busy_line import BusyLine

CLEAR = "\r\x1b[2K"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminals(monkeypatch):
    """Standard output and error, both terminals; called in the test itself, since pytest sets its own before."""
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(busy_line, "_INTERVAL", 3600.0)  # the tests tick
    return out, err


def test_silence_is_filled_and_what_is_printed_takes_the_place(monkeypatch):
    out, err = terminals(monkeypatch)
    with BusyLine("firth eval") as line:
        line.tick(time.monotonic() + 0.5)
        assert not err.getvalue()
        busy_line.say_doing("scoring the test split")
        line.tick(time.monotonic() + 3.2)
        assert err.getvalue() == f"{CLEAR}scoring the test split … 3 s"
        print("perplexity 12")
        assert err.getvalue().endswith(CLEAR) and out.getvalue() == "perplexity 12\n"
        line.tick(time.monotonic() + 5)
        assert err.getvalue().endswith(" 5 s")
    assert err.getvalue().endswith(CLEAR)
    assert (sys.stdout, sys.stderr) == (out, err)


def test_an_unfinished_line_and_the_user_are_left_alone(monkeypatch):
    _, err = terminals(monkeypatch)
    with BusyLine("firth run") as line:
        print("prompt: \x1b[0m", end="", file=sys.stderr)
        line.tick(time.monotonic() + 5)
        print("\r\x1b[2K", end="", file=sys.stderr)  # a progress bar that has ended
        shown = err.getvalue()
        line.tick(time.monotonic() + 5)
        assert shown.startswith("prompt: ") and "firth run" not in shown and "firth run" in err.getvalue()
        busy_line.stop_line()
        shown = err.getvalue()
        line.tick(time.monotonic() + 9)
        assert err.getvalue() == shown


def test_a_pager_has_the_screen_for_itself(monkeypatch):
    _, err = terminals(monkeypatch)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with BusyLine("firth corpus") as line:
        print("to a pager")
        line.tick(time.monotonic() + 5)
    assert not err.getvalue()


def test_nothing_is_changed_where_no_terminal_is(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    before = sys.stdout, sys.stderr
    with BusyLine("firth eval") as line:
        assert (sys.stdout, sys.stderr) == before
        busy_line.say_doing("other")
        assert line.what == "firth eval"


def in_terminal(code: str, *arguments: str) -> tuple[int, int]:
    """A Python process with this code in a terminal: its id and the terminal."""
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-c", code, *arguments])
    return pid, terminal


def read_all(terminal: int) -> list[tuple[float, str]]:
    """What is printed, each part with its time."""
    parts = []
    while select.select([terminal], [], [], 120)[0]:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not part:
            break
        parts.append((time.monotonic(), part.decode()))
    return parts


SLOW = """
import sys, time
from firth import api
sys.argv = ["firth", "eval", "runs/none"]
api.load = lambda *_, **__: time.sleep(5)
from firth.cli.main import run
began = time.monotonic()
run()
"""


def test_a_command_that_waits_is_never_silent_on_a_terminal():
    pid, terminal = in_terminal(SLOW)
    parts = read_all(terminal)
    os.waitpid(pid, 0)
    shown = "".join(text for _, text in parts)
    assert re.search(r"loading the model … [3-6] s", shown)


@pytest.mark.parametrize("module", ["typer", "firth.cli.main", "firth.cli.busy_line", "firth.runs.atomic_files"])
def test_ctrl_c_during_the_imports_is_one_line(module):
    code = f"""
import builtins, os, signal, sys, threading
original = builtins.__import__
def slow(name, *rest):
    if name == "{module}" and not called:
        called.append(name)
        os.kill(os.getpid(), signal.SIGINT)
    return original(name, *rest)
called = []
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may have begun without it
from firth.__main__ import run
builtins.__import__ = slow
sys.argv = ["firth", "presets"]
run()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert found.returncode == 130 and found.stderr == "firth: stopped; nothing was written\n", found.stderr


def test_a_second_ctrl_c_when_all_is_done_has_no_traceback():
    code = """
import atexit, os, signal, sys
from firth.__main__ import run
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
sys.argv = ["firth", "--version"]
run()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert found.returncode == -signal.SIGINT and not found.stderr
