"""Shared by the tests of the command line: a small text, a small model, assertions on the outcome of a command."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TEXT = "".join(f"{' '.join(str(n * m % 97) for m in range(12))}\n" for n in range(60))
SMALL = {
    "tokenizer.model": "byte", "backbone.width": 16, "batching.batch_size": 4, "batching.length": 8,
    "train.budget": "6 steps", "train.evaluate_every": 3, "train.checkpoint_every": 3, "train.threads": 1,
}  # fmt: skip
OPTIONS = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def outcome(run: Path) -> dict[str, bytes]:
    """The bytes that must not depend on what happened on the way: the model and the last state."""
    paths = [run / "model.safetensors", *sorted(max((run / "state").glob("step-*")).iterdir())]
    return {str(path.relative_to(run)): path.read_bytes() for path in paths}


def assert_refused(result: Outcome, *parts: object) -> None:
    """Exit code 2 and one line that contains these parts."""
    assert result.code == 2, result
    assert result.err.startswith("firth: ") and result.err.count("\n") == 1 and result.err.endswith("\n"), result.err
    assert "Traceback" not in result.err and result.out == ""
    for part in parts:
        assert str(part) in result.err


def assert_done(result: Outcome) -> Outcome:
    """Exit code 0 and no error message."""
    assert result.code == 0 and "firth:" not in result.err, result
    return result
