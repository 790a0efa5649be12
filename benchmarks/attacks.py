"""The attacks that firth was built against, each a test: how many were tried, and how many held."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.harness import ROOT, Options, Part, Row, make_row, note

ATTACKS = {  # what is attacked -> the tests that do it
    "received run and ladder folders: links, devices, damage": "tests/runs/test_attack.py",
    "names and handles of files in a folder": "tests/runs/test_gate.py",
    "checkpoints elsewhere, read-only folders, scores of several processes": "tests/runs/test_run_files.py",
    "weights: flipped bits, NaN, arrays that do not fit": "tests/runs/test_weight_files.py",
    "damaged token caches": "tests/datasets/test_token_cache.py",
    "leakage between splits, repeated texts, random labels": "tests/datasets/test_leakage.py",
    "bits per byte of text that a tokenizer loses": "tests/metrics/test_edit_code.py",
    "runs killed at every event of a checkpoint": "tests/training/test_crash.py",
    "models that transformers and sentence-transformers wrote": "tests/parity/test_huggingface_heads.py",
    "damaged and hostile files of every reader": "tests/datasets/test_findings.py",
    "broken files of every format of labelled data": "tests/datasets/readers/test_fuzz.py",
    "damaged tokenizers and endless patterns": "tests/tokenizers/test_damaged_tokenizers.py",
    "lexicons: XML that does harm, archives, damage": "tests/lexicon/test_lexicon_files.py",
    "wrong input of every command": "tests/cli/test_bad_input.py",
    "answers that depend on seed, batch, order or company": "tests/laws/test_families.py",
}


def tests(options: Options) -> Iterator[Row]:
    """Tests that held, of those tried; last, how many broke of all."""
    all_tried = all_held = 0
    for name, path in ATTACKS.items():
        tried, held = _run(path)
        all_tried, all_held = all_tried + tried, all_held + held
        yield make_row(f"{name}: held, of those tried", held, tried, "attacks", 1.0, quality=True)
    yield make_row(f"broke, of all {all_tried}", all_tried - all_held, None, "attacks", quality=True)


def _run(path: str) -> tuple[int, int]:
    """How many tests of a file were tried, and how many held; a file that does not run is one that did not."""
    command = [sys.executable, "-m", "pytest", "--tb=line", "-p", "no:cacheprovider", path]
    environment = {key: value for key, value in os.environ.items() if key != "FIRTH_CACHE"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    counts = {what: int(number) for number, what in re.findall(r"(\d+) (passed|failed|errors?)\b", done.stdout)}
    tried, held = sum(counts.values()), counts.get("passed", 0)
    if held < tried or done.returncode:
        note(done.stdout.strip()[-500:])
    return max(tried, held + (done.returncode != 0)), held


PARTS: dict[str, Part] = {"tests": tests}
