"""Flags, settings and recipes that the pages speak of exist."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from page_blocks import FENCE, read_blocks
from test_pages import PAGES

from firth.api import resolve_config
from firth.cli.config_options import _fields_at
from firth.cli.main import app
from firth.config import schema
from firth.datasets import sets

INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
GROUPS = "inputs|backbone|head|objective|batching|train|data|tokenizer|method|phrases"
SETTING = re.compile(rf"(?:^|--set )(({GROUPS})(?:\.[a-z_]\w*)+)(?![\w(]|\.py)")
FILE_ENDINGS = (".conllu", ".de", ".en", ".json", ".py", ".txt")  # tokenizer.json is no setting
# in config.json
RECORDED = {f"data.{key}" for key in ("base", "byte_counts", "labels", "origin", "parts", "splits", "steps")}
OTHER_PROGRAMS = {  # of the tools of this repository, lmplz, torchrun and mkdocs
    "--discount_fallback", "--jobs", "--keep", "--models", "--no-python", "--nproc-per-node", "--prune", "--quick",
    "--strict",
}  # fmt: skip
PAGE = pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda p: p.name)


def inline_code(page: Path) -> Iterator[str]:
    """The code within the running text."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return (" ".join(code.split()) for code in INLINE.findall(text))


@cache
def flags() -> dict[str, set[str]]:
    """The flags of every command, by its words: `firth train` and so on."""

    def walk(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
        context = typer.Context(command)
        if hasattr(command, "list_commands"):
            for inner in command.list_commands(context):
                yield from walk(command.get_command(context, inner), f"{name} {inner}")
        own = (parameter for parameter in command.get_params(context))
        yield name, {flag for parameter in own for flag in (*parameter.opts, *parameter.secondary_opts)}

    return dict(walk(typer.main.get_command(app), "firth"))


def is_setting(path: str) -> bool:
    """Whether some configuration has it; `kind` chooses among the kinds of a group."""
    return any(_fields_at(path.removesuffix(".kind"), get_args(schema.System))) or path.endswith(FILE_ENDINGS)


@PAGE
def test_flags_exist(page):
    known = flags()
    anywhere = set().union(*known.values()) | OTHER_PROGRAMS
    for code in inline_code(page):
        words = code.split()
        command = next((name for n in (3, 2) if (name := " ".join(words[:n])) in known), "")
        for flag in FLAG.findall(code):
            assert flag in (known[command] if command else anywhere), f"{page.name}: `{code}`"


@PAGE
def test_settings_exist(page):
    for code in inline_code(page):
        for path, _ in SETTING.findall(code):
            assert is_setting(path) or path in RECORDED, f"{page.name}: `{code}`"


@PAGE
def test_toml_is_a_recipe_or_a_data_set(page, tmp_path):
    for block in read_blocks(page):
        if block.language == "toml":
            path = tmp_path / "block.toml"
            path.write_text(block.code)
            read = resolve_config if "preset" in tomllib.loads(block.code) else sets.load
            assert read(path), block.place


def test_what_does_not_exist_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    for code, check in (("firth train lstm-lm --lenght 3", test_flags_exist), ("train.budgets", test_settings_exist)):
        page.write_text(f"Type `{code}`.")
        with pytest.raises(AssertionError, match=re.escape(code)):
            check.__wrapped__(page) if hasattr(check, "__wrapped__") else check(page)
