"""Two processes started by torchrun train as one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import firth

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


# every stage of gradual unfreezing: the head; it and the top layer; …
GROUPS = ["head.tied=false", "backbone.depth=2", "train.unfreeze=1", "train.optimizer.layer_decay=0.5"]


def run(processes: int, folder: Path, steps: int, settings: list[str]) -> list[float]:
    """The losses of a run by so many processes."""
    text = folder.parent / "text.txt"
    text.write_text("\n".join(f"{n} and {n + 1} make {2 * n + 1}" for n in range(200)))
    sets = dict(setting.split("=", 1) for setting in [*SETTINGS, *settings, f"train.budget={steps} steps"])
    if processes == 1:
        firth.train("lstm-lm:tiny", text=text, document="line", out=folder, settings=sets)
    else:
        _launch(processes, text, folder, [f"{name}={value}" for name, value in sets.items()])
    lines = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines]


def _launch(processes: int, text: Path, folder: Path, settings: list[str]) -> None:
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes), "--master-port", "29731"]
    sets = [part for setting in settings for part in ("--set", setting)]
    train = ["train", "lstm-lm:tiny", "--text", str(text), "--document", "line", "--out", str(folder), "--quiet"]
    command = [sys.executable, *launch, "-m", "firth", *train, *sets]
    environment = {**os.environ, "FIRTH_CACHE": str(folder.parent / "cache"), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, env=environment, capture_output=True)


@pytest.mark.parametrize("settings", [[], GROUPS], ids=["plain", "groups"])
def test_two_processes_have_the_losses_of_one(tmp_path, settings):
    one, two = run(1, tmp_path / "one", 6, settings), run(2, tmp_path / "two", 6, settings)
    assert len(one) == 8  # six steps, two evaluations
    assert two == pytest.approx(one, rel=1e-5)
    assert one[0] > one[-1]
