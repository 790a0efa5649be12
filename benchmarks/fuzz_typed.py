"""What users type, fuzzed: recipes, settings, queries, options and columns of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.fuzz_search import TEXT, Target, exhaust, put
from benchmarks.harness import ROOT


def recipes(folder: Path) -> Target:
    """Recipes in TOML, resolved."""
    from firth import resolve_config

    seeds = {path.name: path.read_bytes() for path in sorted((ROOT / "recipes").glob("*.toml"))}

    def read(folder: Path, name: str, content: bytes) -> None:
        resolve_config(put(folder, name, content))

    return Target(seeds, read)


def settings(folder: Path) -> Target:
    """`--set` overrides, budgets and columns of every preset."""
    from firth import resolve_config
    from firth.config.core import to_dict
    from firth.presets import PRESETS
    from firth.runs.progress import parse_budget

    def flat(values: dict[str, Any], prefix: str = "") -> Iterable[str]:
        for key, value in values.items():
            if isinstance(value, dict):
                yield from flat(value, f"{prefix}{key}.")
            else:
                text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
                yield f"{prefix}{key}={text.lower() if isinstance(value, bool) else text}"

    seeds = {}
    for name in PRESETS:
        lines = list(flat(to_dict(resolve_config(name).config)))
        seeds[name] = "\n".join(
            [line for line in lines if not line.endswith("=")][:: max(1, len(lines) // 12)]
        ).encode()
    seeds |= {"budget": b"90s\n1.5h\n500 steps\n13 epochs", "columns": b"text=body,label=class\nleft=1"}

    def read(folder: Path, name: str, content: bytes) -> None:
        lines = content.decode("utf-8", "surrogateescape").split("\n")
        if name == "budget":
            for line in lines:
                parse_budget(line)
        elif name == "columns":
            resolve_config("classifier", [f"data.columns={line}" for line in lines])
        else:
            resolve_config(name, lines)

    return Target(seeds, read)


def queries(folder: Path) -> Target:
    """Queries with wildcards to the index of a corpus, and data.columns of a table."""
    from firth.corpus import corpus_index
    from firth.corpus.concordance import concordance
    from firth.corpus.query import require_hits

    documents = [TEXT, "the boat and the boats, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab " * 3, "a*b literal"]
    index = corpus_index.index_documents(documents)
    folded = index.fold_case()

    def read(folder: Path, name: str, content: bytes) -> None:
        text = content.decode("utf-8", "surrogateescape")
        about = folded if len(content) % 2 else index
        require_hits(about, text)
        str(concordance(about, text, sort=("position", "left", "right")[len(content) % 3]))

    seeds = {
        "word": b"boat",
        "phrase": b"the boat",
        "prefix": b"boat*",
        "middle": b"b*t",
        "any": b"the * and",
        "star": b"a\\*b",
    }
    return Target(seeds, read)


def table_columns(folder: Path) -> Target:
    """Options of formats and columns of tables, as they are typed."""
    from firth.config.schema import TaskExamples
    from firth.datasets import labelled_dataset, readers
    from firth.datasets.tasks import TASKS, get_task

    def typed(roles: Sequence[str]) -> bytes:
        return ",".join(
            f"{role}={name}" for role, name in zip(roles, ("text", "label", "other"), strict=False)
        ).encode()

    path = put(folder, "typed.tsv", b"text\tlabel\tother\nred boat\ta\t1\nblue boat\tb\t2\ngreen\ta\t3\n")
    seeds = {
        "tsv": b"columns=text,label,other\nheader=yes",
        "csv": b"separator=tab\nextra=keep",
        "series": b"separator=tab",
    }
    seeds["jsonl"] = b"extra=keep\nmissing=null"
    seeds |= {f"task {task}": typed(get_task(task).columns) for task in TASKS if get_task(task).columns}

    def read(folder: Path, name: str, content: bytes) -> None:
        lines = content.decode("utf-8", "surrogateescape").split("\n")
        if name.startswith("task "):
            config = TaskExamples(text=(str(path),), tasks=(name[5:],), columns=tuple(lines[0].split(",")))
            labelled_dataset.read(config, seed=1)
        else:
            exhaust(readers.get_format(name, lines).read(path))

    return Target(seeds, read)


TARGETS: dict[str, Callable[[Path], Target]] = {
    "columns": table_columns,
    "recipes": recipes,
    "settings": settings,
    "queries": queries,
}
