"""The training log `log.jsonl`: a line for each step and each evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Required, TypedDict

from firth.config import migrations
from firth.runs import atomic_files, json_files
from firth.runs.gate import Gate
from firth.runs.json_files import Natural

_MAX_LINE = 1 << 24


class Line(TypedDict, total=False):
    """A line of the log; others keys are kept as they are."""

    step: Required[Natural]
    seconds: Required[float]
    split: str
    metric: str
    sample: str
    loss: float
    value: float
    tokens: float
    tokens_per_second: float
    fraction: float
    learning_rate: float
    grad_norm: float
    batches: Natural
    notes: list[str]


class Log:
    """Appends lines; each has a `step`, so that a resumed run can drop the lines after its checkpoint."""

    def __init__(self, path: Path, *, keep_to: int) -> None:
        self._path, self._gate = path, Gate(path.parent)
        self._start(keep_to)

    def _start(self, keep_to: int) -> None:
        entries = [line for line in read_log(self._path) if line["step"] <= keep_to]
        self.seconds = max((line.get("seconds", 0.0) for line in entries), default=0.0)
        self._gate.replace(self._path.name, b"".join(map(_encode, entries)))
        self._file = self._gate.append(self._path.name)  # unbuffered: nothing is left to write on close

    def add(self, entry: Mapping[str, Any]) -> None:
        """Append one line."""
        with atomic_files.explain_errors(self._path):
            self._file.write(_encode(entry))

    def drop_after(self, step: int) -> None:
        """Drop the lines after a step (training went back to its checkpoint)."""
        self._file.close()
        self._start(step)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log that are whole; one cut by a crash, or damaged, is skipped."""
    gate = Gate(path.parent)
    if not gate.exists(path.name):
        return
    with gate.open(path.name) as file:
        while line := file.readline(_MAX_LINE):
            with suppress(ValueError):
                yield json_files.convert(Line, _rename(json_files.decode(line, dict[str, Any])))


def _rename(entry: Mapping[str, Any]) -> dict[str, Any]:
    return migrations.rename(migrations.rename(entry, migrations.LOG), migrations.METRICS)


def _encode(entry: Mapping[str, Any]) -> bytes:
    return (json.dumps(entry, ensure_ascii=False) + "\n").encode()
