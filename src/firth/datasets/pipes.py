"""Pipes as files of text: read to their end, but not waited for without end; devices are refused."""

from __future__ import annotations

import io
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from firth.datasets.compression import explain_read_errors
from firth.errors import FirthError

PATIENCE = 10.0  # seconds until somebody must have begun to write into a named pipe
_PAUSE = 0.02


@contextmanager
def open_pipe(path: Path, shown: str) -> Iterator[BinaryIO]:
    """The stream of a pipe or a terminal; other devices, such as /dev/zero, may never end and are refused."""
    with explain_read_errors(shown):
        mode = path.stat().st_mode
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if stat.S_ISFIFO(mode) else os.open(path, os.O_RDONLY)
        with open(descriptor, "rb", buffering=0) as raw:  # noqa: PTH123 - a descriptor
            if not stat.S_ISFIFO(mode):
                if not raw.isatty():
                    raise FirthError("a device, not a file", where=shown, do="put its content into a file first")
                yield raw
                return
            first = _first_block(raw, shown)
            os.set_blocking(descriptor, True)
            yield io.BufferedReader(_Joined(first, raw))


def _first_block(raw: io.FileIO, shown: str) -> bytes:
    """What the pipe has, as soon as somebody writes; nothing if the writer has not written yet."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        block = raw.read(1 << 16)
        if block is None:  # somebody writes, and is not ready
            return b""
        if block:
            return block
        time.sleep(_PAUSE)
    raise FirthError("nobody writes into this pipe", where=shown, do="start the command that writes, or name a file")


class _Joined(io.RawIOBase):
    """A block, then the rest of a stream."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first, self._rest = first, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        if not self._first:
            return self._rest.readinto(buffer)
        count = min(len(buffer), len(self._first))
        buffer[:count], self._first = self._first[:count], self._first[count:]
        return count
