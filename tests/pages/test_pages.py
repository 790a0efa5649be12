"""Every page does what it shows: its commands and Python run in order, in one folder, at a tiny size."""

from __future__ import annotations

import contextlib
import io
import linecache
import traceback
from pathlib import Path

import page_inputs
import pytest
import smaller
from page_blocks import SHELL, Block, read_blocks
from page_shell import Shell, start_server
from shown_output import missing_lines

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
MAX_NOT_RUN = 40


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    with start_server(tmp_path_factory.mktemp("pages")) as environment:
        yield environment


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_does_what_it_shows(page, environment, tmp_path, monkeypatch):
    blocks = [block for block in read_blocks(page) if not block.not_run]
    if not any(block.language in (*SHELL, "python") for block in blocks):
        return
    monkeypatch.chdir(tmp_path)
    for replacement in smaller.replacements():
        monkeypatch.setattr(*replacement)
    monkeypatch.setenv("FIRTH_SETS", str(tmp_path / "sets"))
    shell = Shell(tmp_path, environment)
    page_inputs.prepare(page, shell)
    if Path("data").exists():
        monkeypatch.setenv("FIRTH_DATA", str(tmp_path / "data"))
    names = {}
    for block in blocks:
        if block.part_of:
            assert (ROOT / block.part_of).parent.is_dir(), block.place
        elif block.file:
            Path(block.file).write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            check_python(block, names)
        elif block.language in SHELL:
            check_commands(block, shell)


def check_commands(block: Block, shell: Shell) -> None:
    """The exit codes are 0, or not 0 where the page shows an error; what is shown is printed."""
    for command, shown in block.commands():
        code, printed = shell.run(page_inputs.filled_in(block.page, command))
        told = f"{block.place}\n{command}\nprinted, with exit code {code}:\n{printed}"
        assert (code != 0) == shown.startswith("firth: "), told
        missing = missing_lines(shown, printed, block.words_vary)
        assert not missing, f"{told}\nshown and not printed: {missing}"


def check_python(block: Block, names: dict[str, object]) -> None:
    """The code runs, with the names of the blocks before; what is shown is printed."""
    linecache.cache[block.place] = (len(block.code), None, block.code.splitlines(keepends=True), block.place)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(block.code, block.place, "exec"), names)
        except Exception:
            pytest.fail(f"{block.place}\n{traceback.format_exc(limit=-3)}", pytrace=False)
    missing = missing_lines(block.shown, printed.getvalue(), block.words_vary)
    assert not missing, f"{block.place}\nprinted:\n{printed.getvalue()}\nshown and not printed: {missing}"


def test_few_blocks_are_not_run():
    skipped = [block.place for page in PAGES for block in read_blocks(page) if block.not_run]
    assert len(skipped) <= MAX_NOT_RUN, skipped
