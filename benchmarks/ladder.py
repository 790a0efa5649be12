"""The first command: `firth ladder` without arguments, on an idle and on a busy machine, and the text that it shows."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import Options, Part, Row, make_row

IDLE_SECONDS, BUSY_SECONDS = 180.0, 300.0
MAX_DIFFERENCE = 0.15  # of generated text from real text, in bits per byte of a 5-gram that has seen neither
REAL, GENERATED = 500, 150  # texts
LENGTH, TEMPERATURE = 60, 0.8  # as the ladder samples


@contextmanager
def busy_cores(count: int) -> Iterator[None]:
    """Keep so many cores busy meanwhile."""
    loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for load in loads:
            load.kill()
            load.wait()


def climb(folder: Path, arguments: Sequence[str]) -> tuple[dict[str, Any], float]:
    """The ladder's result, and the seconds that the command took."""
    began = time.monotonic()
    command = [sys.executable, "-m", "firth", "ladder", "--json", "--out", str(folder), *arguments]
    result = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(result), time.monotonic() - began


def first_command(options: Options) -> Iterator[Row]:
    """Seconds with nothing in the cache, idle and with all cores busy, beside the promise; and the generated text."""
    arguments = options.choose(["--budget", "20s"], [])
    for name, busy, promised in (("idle", 0, IDLE_SECONDS), ("all cores busy", os.cpu_count() or 1, BUSY_SECONDS)):
        os.environ["FIRTH_CACHE"] = str(options.folder / f"cache-{busy}")
        folder = options.folder / f"ladder-{busy}"
        with busy_cores(busy):
            ladder, seconds = climb(folder, arguments)
        yield make_row(f"firth ladder, {name}: promise", seconds, promised, "s", 1.0, lower_is_better=True)
        yield compare_with_real_text(folder, ladder["advice"]["rung"], f"{name}, {ladder['advice']['rung']}")


def compare_with_real_text(ladder: Path, rung: str, name: str) -> Row:
    """Bits per byte of generated and of real text under a 5-gram of the held-out text, which no rung has seen."""
    import firth

    model = firth.load(ladder / "rungs" / rung)
    documents = model.documents()
    held_out = [text for split in ("valid", "test") for text in documents[split]]
    judge = firth.train("ngram-lm", text=held_out, out=ladder / "judge", settings={"method.order": 5})
    real = list(documents["train"])[:REAL]
    generated = model.generate(max_length=LENGTH, count=GENERATED, temperature=TEMPERATURE, seed=1)
    scores = [bits_per_byte(judge, texts) for texts in (generated, real)]
    closeness = 1 - abs(scores[0] / scores[1] - 1)
    what = f"generated text ({name}): real text, bits per byte under a held-out 5-gram"
    return Row(what, *scores, closeness, 1 - MAX_DIFFERENCE, "bits", quality=True)


def bits_per_byte(judge: Any, texts: Sequence[str]) -> float:
    """The bits per byte of texts under a language model."""
    texts = [text for text in texts if text.strip()]
    return -float(sum(judge.score(texts))) / math.log(2) / sum(len(text.encode()) for text in texts)


PARTS: dict[str, Part] = {"first-command": first_command}
