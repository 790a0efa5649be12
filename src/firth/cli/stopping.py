"""What Ctrl-C leaves: one line that says how to go on."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path


class Stopped(Exception):
    """A command was stopped; the line says how to go on."""

    def __init__(self, line: str, code: int = 130) -> None:
        self.code = code
        super().__init__(line)


def resume_line(command: Iterable[str], done: str = "") -> str:
    """The line that names the command that goes on."""
    return f"stopped{done}; resume with: {shlex.join(command)}"


def same_command(out: Path | None = None) -> list[str]:
    """The command of this process; with the folder that it chose, if it was not given one."""
    is_given = any(argument.partition("=")[0] == "--out" for argument in sys.argv)
    return ["firth", *sys.argv[1:], *([] if out is None or is_given else ["--out", str(out)])]


def stop_line(folders: Iterable[Path]) -> str:
    """The line for a command that put files into these folders and goes on, or starts anew, when it is given again."""
    from firth.datasets.token_cache import default_cache

    cache = default_cache().resolve()
    if all(folder.resolve().is_relative_to(cache) for folder in folders):
        return "stopped; nothing was written"
    return resume_line(same_command())
