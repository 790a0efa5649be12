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
    "arguments",
    "display",
    "config",
    "types",
    "presets",
    "tokenizers",
    "metrics",
    "runs",
    "datasets",
    "jit",
    "generation.structured",
    "corpus",
    "lexicon",
    "ngram",
    "alignment",
    "embeddings",
    "linear",
    "nn",
    "models.inputs",
    "models.backbones",
    "models.heads",
    "objectives",
    "generation",
    "models.build",
    "training",
    "interop",
    "inspect",
    "report",
    "pipelines",
    "families",
    "api",
    "sklearn",
    "workflows",
    "ladder",
    "cli",
]
COMMAND = "\nfrom firth.cli.main import run\ntry: run()\nexcept SystemExit: pass"
TORCH_FREE = (*FLOORS[: FLOORS.index("nn")], "report")


def floor(name):
    """The entry of FLOORS that a module belongs to: `models` and `generation` have parts on several floors."""
    parts = name.split(".")
    part = ".".join(parts[:2])
    return part if parts[0] == "models" or part == "generation.structured" else parts[0]


def modules():
    paths = sorted(SOURCE.rglob("*.py"))
    names = {path: ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    return [(path, floor(name)) for path, name in names.items() if name not in ("__init__", "__main__", "models")]


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
        for name in imported(path):
            there = floor(name.removeprefix("firth.")) if name.startswith("firth.") else ""
            if there in FLOORS and FLOORS.index(there) > FLOORS.index(here):
                wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
    assert not wrong


def test_every_part_has_its_floor():
    assert {here for _, here in modules()} == set(FLOORS)


def test_contributing_lists_the_folders_in_this_order():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    tree = page[page.index("src/firth/\n") : page.index("tests/  ")]
    listed = [line.split()[0].rstrip("/").removesuffix(".py").replace("/", ".") for line in tree.splitlines()[1:]]
    whole = ("generation.structured", "models.build")
    floors = list(dict.fromkeys(part if part in whole else part.split(".")[0] for part in FLOORS))
    assert listed == floors


def test_no_module_name_has_two_meanings():
    """A name that stands in several folders means the same thing in each."""
    same = {
        "alignment", "bert", "causal_lm", "characters", "data", "denoising", "distillation", "longformer",
        "neural", "ngram", "permutation_lm", "recurrent", "reformer", "score", "seq2seq", "tagging", "tokenizer",
        "transformer", "vit"
    }  # fmt: skip
    names = [path.stem for path, _ in modules() if path.stem != "__init__"]
    assert {name for name in names if names.count(name) > 1} == same


@pytest.mark.parametrize(
    "statement",
    [
        "import firth",
        "import firth.config.schema, firth.presets, firth.types",
        "import sys; sys.argv = ['firth', '--help']" + COMMAND,
        "import sys; sys.argv = ['firth', 'corpus', '--help']" + COMMAND,
        "import sys; sys.argv = ['firth', 'lm', '--help']" + COMMAND,
        "import sys; sys.argv = ['firth', 'train', '--help']" + COMMAND,
        "import sys; sys.argv = ['firth', 'presets', '--json']" + COMMAND,
    ],
)
def test_light_things_import_neither_torch_nor_numpy(statement):
    check = f"{statement}\nimport sys; sys.exit(any(m in sys.modules for m in ('torch', 'numpy')))"
    subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)


@pytest.mark.parametrize("part", TORCH_FREE)
def test_what_needs_no_torch_imports_none(part):
    names = [path for path, here in modules() if here == part]
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


def test_the_help_of_every_group_agrees_with_the_help_of_its_verbs():
    import typer

    from firth.cli.main import app, corpus, lm, vectors

    for group in map(typer.main.get_command, (app, corpus, lm, vectors)):
        for name, (_, help_text) in group.table.items():
            command = group.get_command(None, name)
            assert command.name == name
            assert " ".join(command.help.split("\n\n")[0].split()) == help_text
