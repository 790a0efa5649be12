"""Two processes started by torchrun train as one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = [
    "tokenizer.model=byte",
    "backbone.width=16",
    "backbone.dropout=0",
    "inputs.text.dropout=0",
    "batching.batch_size=4",
    "batching.length=8",
    "train.evaluate_every=3",
    "train.checkpoint_every=3",
    "train.threads=1",
    "train.gradient_accumulation=2",
]


def run(processes: int, folder: Path, steps: int) -> list[float]:
    """The losses of a run by so many processes."""
    text = folder.parent / "text.txt"
    text.write_text("\n".join(f"{n} and {n + 1} make {2 * n + 1}" for n in range(200)))
    sets = [part for setting in [*SETTINGS, f"train.budget={steps} steps"] for part in ("--set", setting)]
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes), "--master-port", "29731"]
    command = [
        sys.executable,
        *(launch if processes > 1 else []),
        "-m",
        "firth",
        "train",
        "lstm-lm:tiny",
        "--text",
        str(text),
        "--document",
        "line",
        "--out",
        str(folder),
        "--quiet",
        *sets,
    ]
    environment = {**os.environ, "FIRTH_CACHE": str(folder.parent / "cache"), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, env=environment, capture_output=True, timeout=120)
    lines = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines]


def test_two_processes_have_the_losses_of_one(tmp_path):
    one, two = run(1, tmp_path / "one", 6), run(2, tmp_path / "two", 6)
    assert len(one) == 8  # six steps, two evaluations
    assert two == pytest.approx(one, rel=1e-5)
    assert one[0] > one[-1]
