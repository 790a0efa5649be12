"""One line on the terminal while a command prints nothing: what it does, and for how long."""

from __future__ import annotations

import re
import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Any, TextIO

_SILENCE = 1.0  # seconds until the line appears
_INTERVAL = 0.5
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CLEAR = "\r\x1b[2K"


class BusyLine:
    """Shows `what … 3 s` on standard error, if that is a terminal; what is printed next takes its place. The line
    stays away from a line that is not finished, such as that of a progress bar, and from a pager's screen."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._terminal: TextIO = sys.stderr
        self._lock, self._ended = threading.RLock(), threading.Event()
        self._began = self._printed = time.monotonic()
        self._is_shown, self._line_is_free = False, True

    def __enter__(self) -> BusyLine:
        global _active
        if self._terminal.isatty():
            _active = self
            self._streams = sys.stdout, sys.stderr
            sys.stdout, sys.stderr = (_Watched(stream, self) for stream in self._streams)
            threading.Thread(target=self._tick_until_end, daemon=True).start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        global _active
        self.end()
        if _active is self:
            _active = None
            sys.stdout, sys.stderr = self._streams

    def end(self) -> None:
        """Show nothing from now on."""
        self._ended.set()
        self.clear()

    def clear(self) -> None:
        """Make room for what is printed."""
        with self._lock:
            if self._is_shown:
                self._terminal.write(_CLEAR)
                self._terminal.flush()
            self._is_shown, self._printed = False, time.monotonic()

    def printed(self, text: str, stream: TextIO) -> None:
        """That was printed; a stream that is no terminal may go on to one, through a pager."""
        if not stream.isatty():
            self.end()
        if text := _ESCAPES.sub("", text):
            self._line_is_free = text[-1] in "\r\n"

    def tick(self, now: float) -> None:
        """Show the line, if nothing was printed for a while."""
        with self._lock:
            if self._ended.is_set() or not self._line_is_free or now - self._printed < _SILENCE:
                return
            self._is_shown = True
            line = f"{self.what} … {now - self._began:.0f} s"
            self._terminal.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
            self._terminal.flush()

    def _tick_until_end(self) -> None:
        while not self._ended.wait(_INTERVAL):
            self.tick(time.monotonic())


class _Watched:
    """A stream that tells the line before it is written to."""

    def __init__(self, stream: TextIO, line: BusyLine) -> None:
        self._stream, self._line = stream, line

    def write(self, text: str) -> int:
        self._line.clear()
        written = self._stream.write(text)
        self._line.printed(text, self._stream)
        return written

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "writelines"):  # written to directly
            self._line.end()
        return getattr(self._stream, name)


_active: BusyLine | None = None


def say_doing(what: str) -> None:
    """What the command does from now on, for the line."""
    if _active:
        _active.what = what


def stop_line() -> None:
    """Show no line from now on: the user types."""
    if _active:
        _active.end()
