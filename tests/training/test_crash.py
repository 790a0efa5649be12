"""A run that is killed, at any instant, ends with the same bytes as one that is not.

`Harness` takes any preset: `Harness(folder, "bert:tiny")` trains it on little data, counts the events of a whole run
and kills others at one of them.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from firth.config import core
from firth.presets import preset
from small_presets import SIZES, STEPS, TEACHER, TEXT, learns_from_text, settings_of

SMALL = {"tokenizer.model": "byte", "backbone.width": 16, "batching.batch_size": 4, "batching.length": 8}


class Server:
    """The process that forks those which train."""

    def __init__(self, cache: Path) -> None:
        paths = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))
        environment = {"FIRTH_CACHE": str(cache), "OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": paths}
        command = [sys.executable, str(Path(__file__).with_name("crash.py"))]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    def do(self, tasks: Sequence[Mapping[str, object]]) -> list[int]:
        """Do all tasks at once; the wait statuses."""
        self.process.stdin.write(json.dumps(tasks) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait(60)


class Harness:
    """Trains a preset in processes of their own, which are killed at an event; ends its own server on leaving."""

    def __init__(
        self, folder: Path, name: str, overrides: Mapping[str, object] | None = None, server: Server | None = None
    ) -> None:
        self.folder, self.name, self.settings = folder, name, {**settings_of(name), **(overrides or {})}
        folder.mkdir(parents=True, exist_ok=True)
        self.text = None
        if learns_from_text(name):
            self.text = str(folder / "text.txt")
            Path(self.text).write_text("".join(f"{line}\n\n" for line in TEXT))
        self.own = None if server else Server(folder / "cache")
        self.server = server or self.own

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, *_: object) -> None:
        if self.own:
            self.own.close()

    def run(self, name: str, **task: object) -> int:
        """Train in a folder; the wait status of the process that did."""
        return self.run_together([name], **task)[0]

    def run_together(self, names: Sequence[str], **task: object) -> list[int]:
        """Train in several folders at once, or in one; the wait statuses of the processes that did."""
        known = {"preset": self.name, "text": self.text, "settings": self.settings, **task}
        return self.server.do([{"out": str(self.folder / name), **known} for name in names])

    def start(self) -> None:
        """A run that fills the caches, and the run that the others are compared with: its outcome and its events."""
        if core.has(preset(self.name), "objective.teacher"):
            assert self.run("teacher", preset=TEACHER, settings=dict(STEPS)) == 0
            self.settings["objective.teacher"] = str(self.folder / "teacher")
        assert self.run("first") == 0
        assert self.run("whole") == 0
        self.expected = self.outcome("whole")
        found = json.loads((self.folder / "whole.events").read_text())
        self.kinds: list[str] = found["kinds"]
        self.saved = {int(step): number for step, number in found["saved"].items()}

    def killed_then_resumed(self, name: str, kill_at: int, **task: object) -> dict[str, bytes]:
        """What a run leaves behind that is killed at an event, and then continued to its end."""
        status = self.run(name, kill_at=kill_at, **task)
        assert status == signal.SIGKILL, f"not killed at event {kill_at} of {len(self.kinds)}: {status}"
        assert self.run(name, **task) == 0
        return self.outcome(name)

    def outcome(self, name: str) -> dict[str, bytes]:
        """The bytes of a run that must not depend on interruptions."""
        return outcome(self.folder / name)


def outcome(run: Path) -> dict[str, bytes]:
    """The bytes that must not depend on interruptions: the model and the last state."""
    steps = sorted((run / "state").glob("step-*"))[-1:]
    paths = [run / "model.safetensors", *(path for step in steps for path in sorted(step.iterdir()))]
    return {str(path.relative_to(run)): path.read_bytes() for path in paths}


@pytest.fixture(scope="module", params=["float32", "bf16"])
def harness(request, tmp_path_factory):
    overrides = {**SMALL, "train.precision": request.param}
    with Harness(tmp_path_factory.mktemp(request.param), "lstm-lm:tiny", overrides) as harness:
        harness.start()
        yield harness


def test_two_whole_runs_end_with_the_same_bytes(harness):
    assert outcome(harness.folder / "first") == harness.expected
    assert "state/step-000009/weights.safetensors" in harness.expected


def test_killed_at_every_event_of_a_checkpoint(tmp_path):
    """From the end of the first checkpoint to the end of the next: the best model's file is written in between too."""
    with Harness(tmp_path, "lstm-lm:tiny", SMALL) as harness:
        harness.start()
        first, last = harness.saved[3] + 1, harness.saved[6]
        assert {"write", "sync", "rename", "unlink", "step", "evaluation"} == set(harness.kinds[first - 1 : last])
        for event in range(first, last + 2):
            result = harness.killed_then_resumed(str(event), event)
            assert result == harness.expected, f"killed at event {event}, {harness.kinds[event - 1]}"


def test_killed_at_random_events(harness):
    """Anywhere from the first file to the report."""
    rng = random.Random(20260101)
    for number, event in enumerate(rng.sample(range(1, len(harness.kinds) + 1), 12)):
        result = harness.killed_then_resumed(f"random-{number}", event)
        assert result == harness.expected, f"killed at event {event}, {harness.kinds[event - 1]}"


def test_an_adapter_trained_in_groups_ends_the_same_after_a_kill(tmp_path):
    """Its checkpoints lack the weights of its base, which are read again; killed after its lower layer was unfrozen."""
    batches = {"batching.batch_size": 4, "batching.length": 8}
    base = {"tokenizer.model": "byte", "backbone.width": 32, "backbone.heads": 2, "backbone.depth": 2}
    settings = {
        **batches, "init_from": str(tmp_path / "base"), "train.adapter.kind": "lora", "train.adapter.rank": 2,
        "train.adapter.dropout": 0.2, "train.unfreeze": 0.9, "train.ema_decay": 0.9,
        "train.optimizer.layer_decay": 0.5, "train.schedule.shape": "slanted-triangular",
    }  # fmt: skip
    with Harness(tmp_path, "bert:tiny", settings) as harness:
        assert harness.run("base", settings={**STEPS, **batches, **base}) == 0
        harness.start()
        steps = [number for number, kind in enumerate(harness.kinds, 1) if kind == "step"]
        assert harness.killed_then_resumed("killed", steps[7]) == harness.expected
        sizes = [len(harness.expected[name]) for name in ("model.safetensors", "state/step-000009/weights.safetensors")]
        assert max(sizes) < 0.2 * (tmp_path / "base" / "model.safetensors").stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_every_preset_ends_the_same_after_a_kill(name, tmp_path):
    """One kill before the first checkpoint, one in the middle of the run."""
    with Harness(tmp_path, name) as harness:
        harness.start()
        for number, event in enumerate((3, len(harness.kinds) // 2)):
            assert harness.killed_then_resumed(str(number), event) == harness.expected
