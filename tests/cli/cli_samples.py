"""What the tests of the command line share: a small text, a small model, and how an ending is judged."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TEXT = "".join(f"{' '.join(str(n * m % 97) for m in range(12))}\n" for n in range(60))
SMALL = {
    "tokenizer.model": "byte", "backbone.width": 16, "batching.rows": 4, "batching.length": 8,
    "train.budget": "6 steps", "train.evaluate": 3, "train.save": 3, "train.threads": 1,
}  # fmt: skip
OPTIONS = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def outcome(run: Path) -> dict[str, bytes]:
    """The bytes that must not depend on what happened on the way: the model and the last state."""
    paths = [run / "model.safetensors", *sorted(max((run / "state").glob("step-*")).iterdir())]
    return {str(path.relative_to(run)): path.read_bytes() for path in paths}


def assert_refused(found: Outcome, *parts: object) -> None:
    """Exit code 2 and one line, in which these parts stand."""
    assert found.code == 2, found
    assert found.err.startswith("firth: ") and found.err.count("\n") == 1 and found.err.endswith("\n"), found.err
    assert "Traceback" not in found.err and found.out == ""
    for part in parts:
        assert str(part) in found.err


def assert_done(found: Outcome) -> Outcome:
    """Exit code 0 and no complaint."""
    assert found.code == 0 and "firth:" not in found.err, found
    return found
