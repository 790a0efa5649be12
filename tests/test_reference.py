"""The API reference names every public name of the package, and nothing that is not there or says nothing."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import firth

ROOT = Path(__file__).parent.parent
NAMES = [
    name
    for page in ("api.md", "api-types.md")
    for name in re.findall(r"^::: (\S+)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
]
WITHOUT_DOCSTRING = {"firth.__version__"}  # a string


def find(name):
    """The module or the member of a module of this name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        parent, _, member = name.rpartition(".")
        return getattr(importlib.import_module(parent), member)


def public_functions(kind):
    """The functions, methods and properties that a class defines itself."""
    for name, member in vars(kind).items():
        function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def test_every_public_name_is_in_the_reference():
    missing = {f"firth.{name}" for name in firth.__all__} - set(NAMES)
    assert not missing, "add it to docs/api.md"


def test_no_name_is_there_twice():
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_everything_in_the_reference_exists_and_has_a_docstring(name):
    value = find(name)
    assert name in WITHOUT_DOCSTRING or inspect.getdoc(value)
    if inspect.isclass(value):
        assert [method for method, function in public_functions(value) if not inspect.getdoc(function)] == []


def test_the_models_that_load_returns_are_in_the_reference():
    classes = {f"firth.{_module(path)}.{name}" for path in _sources() for name in _loaded(path)}
    assert len(classes) > 8
    assert classes <= set(NAMES)


def _sources():
    folder = Path(firth.__file__).parent
    return [*(folder / "pipelines").glob("*.py"), *(folder / "families").glob("*.py")]


def _module(path):
    return f"{path.parent.name}.{path.stem}"


def _loaded(path):
    """The classes of a file whose docstring says that `firth.load` returns them."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef) and "what `firth.load` returns" in (ast.get_docstring(node) or ""):
            yield node.name


def test_every_dotted_name_on_a_page_exists():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"`(firth(?:\.[A-Za-z_]\w*)+)[(`]", page.read_text())}
    assert len(named) > 10
    for name in sorted(named):
        assert exists(name), name


def exists(name):
    """Whether this is a module, or a member of one, or a member of a class."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False
