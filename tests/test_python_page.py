"""The Python blocks of docs/python.md run, one after the other, in a folder with the files that they name."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "python.md"
SENTENCES = [f"{name} {verb} the {thing} ." for name in ("Anna", "Ben", "Carla") for verb in ("sees", "likes", "has")
             for thing in ("dog", "cat", "house", "garden")]  # fmt: skip


def test_the_blocks_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stories = "\n\n".join(" ".join(SENTENCES[n % 36 :][:6]) for n in range(400))
    Path("stories.txt").write_text(stories)
    Path("other.txt").write_text("Anna sees the cat .\n")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) > 8
    for block in blocks:
        if "bert-folder" in block:  # tests/interop imports and exports
            continue
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(block, PAGE.name, "exec"), {})
