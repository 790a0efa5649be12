"""The house rules that a program can check: who imports whom, what is imported when, what must not be there."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import firth

SOURCE = Path(firth.__file__).parent
ROOT = SOURCE.parent.parent
# Data flows one way: a part imports only parts above it.
FLOORS = [
    "errors",
    "config",
    "types",
    "presets",
    "text",
    "metrics",
    "runs",
    "data",
    "counts",
    "vectors",
    "nn",
    "backbones",
    "heads",
    "objectives",
    "decoding",
    "build",
    "training",
    "interop",
    "report",
    "families",
    "api",
    "uses",
    "climbing",
    "cli",
]
COMMAND = "\nfrom firth.cli.main import run\ntry: run()\nexcept SystemExit: pass"
TORCH_FREE = ("errors", "config", "types", "presets", "text", "metrics", "runs", "data", "counts", "vectors", "report")


def modules():
    return [(path, path.relative_to(SOURCE).parts[0].removesuffix(".py")) for path in sorted(SOURCE.rglob("*.py"))]


def imported(path):
    """Names of modules that a file imports anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_imports_go_one_way():
    wrong = []
    for path, here in modules():
        if here in ("__init__", "__main__"):
            continue
        for name in imported(path):
            parts = name.split(".")
            if (
                parts[0] == "firth"
                and len(parts) > 1
                and parts[1] in FLOORS
                and FLOORS.index(parts[1]) > FLOORS.index(here)
            ):
                wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
    assert not wrong


def test_every_part_has_its_floor():
    assert {here for _, here in modules()} - {"__init__", "__main__"} <= set(FLOORS)


@pytest.mark.parametrize(
    "statement",
    [
        "import firth",
        "import firth.config.schema, firth.presets, firth.types",
        "import sys; sys.argv = ['firth', '--help']" + COMMAND,
        "import sys; sys.argv = ['firth', 'presets', '--json']" + COMMAND,
    ],
)
def test_light_things_import_neither_torch_nor_numpy(statement):
    check = f"{statement}\nimport sys; sys.exit(any(m in sys.modules for m in ('torch', 'numpy')))"
    subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)


@pytest.mark.parametrize("floor", TORCH_FREE)
def test_what_needs_no_torch_imports_none(floor):
    names = [path for path, here in modules() if here == floor]
    assert names
    for path in names:
        top = [node for node in ast.parse(path.read_text()).body if isinstance(node, (ast.Import, ast.ImportFrom))]
        loaded = {alias.name for node in top if isinstance(node, ast.Import) for alias in node.names}
        loaded |= {node.module for node in top if isinstance(node, ast.ImportFrom)}
        assert not any(name and name.split(".")[0] == "torch" for name in loaded), path


def test_help_is_quick():
    """The median of several runs, in seconds of CPU: the machine's other work does not count."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'firth', '--help'], check=True, stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\nprint(used.ru_utime + used.ru_stime)"
    )
    times = sorted(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
    assert times[2] < 0.3


def test_nothing_in_the_package_can_run_what_it_loads():
    words = r"\b(pickle|cloudpickle|dill|joblib|marshal)\b|allow_pickle=True"
    calls = r"(?<!safetensors\.)torch\.load\(|(?<!\.)\beval\(|\bexec\("
    pattern = re.compile(f"{words}|{calls}")
    found = [
        f"{path}:{number}"
        for path, _ in modules()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found


def test_the_help_says_of_every_verb_what_the_verb_says():
    from firth.cli.main import VERBS, Verbs

    for name, (_, about) in VERBS.items():
        command = Verbs(name="firth").get_command(None, name)
        assert command.name == name
        assert " ".join(command.help.split("\n\n")[0].split()) == about
