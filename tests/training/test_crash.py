"""A run that is killed, at any instant, ends with the same bytes as one that is not."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SETTINGS = {
    "tokenizer.model": "byte",
    "backbone.width": 16,
    "batching.batch_size": 4,
    "batching.length": 8,
    "train.threads": 1,
    "train.budget": "9 steps",
    "train.evaluate_every": 3,
    "train.checkpoint_every": 3,
    "train.schedule.warmup_steps": 2,
}
PRECISIONS = ("float32", "bf16")


class Harness:
    """Controls one crash.py process."""

    def __init__(self, root: Path, precision: str) -> None:
        environment = {**os.environ, "FIRTH_CACHE": str(root / "cache")}
        self.root, self.settings = root, {**SETTINGS, "train.precision": precision}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("crash.py"))],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, name: str, **task) -> int:
        """Train in a folder; the wait status of the process that did."""
        self.process.stdin.write(json.dumps({"out": str(self.root / name), "settings": self.settings, **task}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["status"]

    def killed_then_resumed(self, name: str, **kill) -> dict[str, bytes]:
        """What a run leaves behind that is killed and then continued to its end."""
        status = self.run(name, **kill)
        assert status in (0, signal.SIGKILL)
        assert self.run(name) == 0
        return outcome(self.root / name)


def outcome(run: Path) -> dict[str, bytes]:
    """The bytes that must not depend on interruptions: the model and the last state."""
    last = max((run / "state").glob("step-*"))
    return {
        str(path.relative_to(run)): path.read_bytes() for path in [run / "model.safetensors", *sorted(last.iterdir())]
    }


@pytest.fixture(scope="module", params=PRECISIONS)
def harness(request, tmp_path_factory):
    harness = Harness(tmp_path_factory.mktemp(request.param), request.param)
    assert harness.run("first") == 0  # fills the token cache
    began = time.monotonic()
    assert harness.run("whole") == 0
    harness.seconds = time.monotonic() - began
    harness.expected = outcome(harness.root / "whole")
    harness.spans = json.loads((harness.root / "whole.spans").read_text())
    yield harness
    harness.process.stdin.close()
    harness.process.wait(10)


def test_two_whole_runs_end_with_the_same_bytes(harness):
    assert outcome(harness.root / "first") == harness.expected
    assert "state/step-000009/weights.safetensors" in harness.expected


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_every_write_sync_and_rename_of_a_checkpoint(harness, when):
    """From the end of the first checkpoint to the end of the next: the best model's file is written in between too."""
    first, last = harness.spans["3"] + 1, harness.spans["6"]
    assert last - first >= 14  # 4 of the model, 2 each of 4 files, 3 of the folder
    for operation in range(first, last + 1):
        result = harness.killed_then_resumed(f"{when}-{operation}", kill_at=operation, when=when)
        assert result == harness.expected, f"killed {when} operation {operation}"


def test_killed_at_random_instants(harness):
    rng = random.Random(20260101)
    killed = number = 0
    while killed < 25 and number < 100:
        number += 1
        instant = rng.uniform(0.0, harness.seconds) * 1000
        killed += harness.run(f"random-{number}", timed=True, kill_at=instant) == signal.SIGKILL
        assert harness.run(f"random-{number}") == 0
        assert outcome(harness.root / f"random-{number}") == harness.expected, f"killed after {instant:.0f} ms"
    assert killed == 25
