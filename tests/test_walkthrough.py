"""docs/walkthrough.md names the files between a command and its first optimizer step, and they are few."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAX_FILES = 71


def test_the_page_names_the_files_that_run_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))  # empty, as on a new machine
    command = [sys.executable, ROOT / "tools" / "walkthrough.py", "train", "bert:tiny", "--out", tmp_path / "run"]
    shown = subprocess.run([*command, "--threads", "1"], capture_output=True, encoding="utf-8", check=True).stdout
    *visited, summary = shown.splitlines()
    assert summary == f"{len(visited)} files, 1 system built"
    assert len(visited) <= MAX_FILES
    page = (ROOT / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w/]+\.py)`", page, flags=re.MULTILINE) == visited
    assert f"Functions of {len(visited)} files" in page
