"""The glossary: alphabetical, and every module, command, option, setting and paper that it names exists."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
import typer

import firth
from firth import presets
from firth.cli.main import app
from firth.config import core
from firth.pipelines.translate import TranslateOptions

SOURCE = Path(firth.__file__).parent
TEXT = (SOURCE.parent.parent / "docs" / "glossary.md").read_text()
BODY, _, PAPERS = TEXT.partition("\n## Papers\n")
TERMS = re.findall(r"^### (.+)$", BODY, re.MULTILINE)
SPANS = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", BODY)]
MODULES = sorted({span for span in SPANS if re.fullmatch(r"[\w/]+\.py", span)})
COMMANDS = sorted({span for span in SPANS if span.startswith("firth ")})
OPTIONS = sorted({span for span in SPANS if span.startswith("--")})  # of `firth train`
CITATIONS = sorted({each for line in re.findall(r"^Paper: ([^·]+)", BODY, re.MULTILINE) for each in line.split(";")})


CONFIGURATIONS = [presets.preset(name) for name in presets.PRESETS]


def find_command(words):
    """The command that the words begin with, and the words after it."""
    command, rest = typer.main.get_command(app), list(words)
    while hasattr(command, "get_command") and rest:
        command = command.get_command(None, rest.pop(0))
        assert command, words
    return command, rest


def check_options(command, words):
    """The command has every option, and one preset at least (of `firth run`: generation) takes all settings."""
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= known
    settings = [after for word, after in pairwise(words) if word == "--set"]
    assert any(accepts(config, settings) for config in (*CONFIGURATIONS, TranslateOptions()))


def accepts(config, settings):
    try:
        return bool(core.override(config, settings))
    except firth.FirthError:
        return False


def test_terms_are_unique_and_in_alphabetical_order():
    order = [re.sub("[-']", "", term.casefold()) for term in TERMS]
    assert order == sorted(set(order))


def test_every_module_exists():
    assert len(MODULES) > 50
    assert [name for name in MODULES if not (SOURCE / name).is_file()] == []


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_exists(line):
    command, rest = find_command(line.split()[1:])
    check_options(command, rest)
    if line.startswith("firth train ") and rest[0] != "PRESET":
        presets.preset(rest[0])


@pytest.mark.parametrize("line", OPTIONS)
def test_every_option_of_train_exists(line):
    check_options(find_command(["train"])[0], line.split())


def test_every_paper_has_its_title():
    titles = {line.partition(":")[0] for line in re.findall(r"^- (.+)$", PAPERS, re.MULTILINE)}
    assert titles == {each.strip() for each in CITATIONS}
