"""The training log of a run, log.jsonl: a line for each step and each evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from firth.config import migrations
from firth.runs import atomic_files


class Log:
    """Appends lines; each has a `step`, so that a resumed run can drop the lines after its checkpoint."""

    def __init__(self, path: Path, *, keep_to: int) -> None:
        self._path = path
        self._start(keep_to)

    def _start(self, keep_to: int) -> None:
        entries = [line for line in read_log(self._path) if line["step"] <= keep_to]
        self.seconds = max((line.get("seconds", 0.0) for line in entries), default=0.0)
        atomic_files.replace_file(self._path, b"".join(map(_line, entries)))
        self._file = self._path.open("ab", buffering=0)  # unbuffered: nothing is left to write on close

    def add(self, entry: Mapping[str, Any]) -> None:
        """Append one line."""
        with atomic_files.explain_errors(self._path):
            self._file.write(_line(entry))

    def drop_after(self, step: int) -> None:
        """Drop the lines after a step (training went back to its checkpoint)."""
        self._file.close()
        self._start(step)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The complete lines of a log; a last line cut by a crash is skipped."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and isinstance(entry.get("step"), int) and _is_number(entry.get("seconds")):
                yield migrations.rename(migrations.rename(entry, migrations.LOG), migrations.METRICS)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _line(entry: Mapping[str, Any]) -> bytes:
    return (json.dumps(entry, ensure_ascii=False) + "\n").encode()
