"""Writes the tables of docs/configuration.md from the fields in config/schema and the comments beside them.

`python tools/settings.py` after a field was added or changed; a test sees to it that this was done.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from firth.config import schema
from firth.config.streams import Streams

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "configuration.md"
MARK = "<!-- below: python tools/settings.py -->\n"


def comments(kind: type) -> dict[str, str]:
    """What stands beside or above each field, inherited ones included."""
    parents = filter(is_dataclass, reversed(kind.__mro__))
    return {name: text for parent in parents for name, text in field_comments(inspect.getsource(parent)).items()}


def field_comments(source: str) -> dict[str, str]:
    """What stands beside or above each field in the source of a class."""
    found = {}
    source = textwrap.dedent(source)
    lines = source.split("\n")
    for item in ast.parse(source).body[0].body:
        if isinstance(item, ast.AnnAssign):
            beside = re.search(r"  # (.*)$", lines[item.end_lineno - 1])
            above, row = [], item.lineno - 2
            while lines[row].strip().startswith("# "):
                above.insert(0, lines[row].strip()[2:])
                row -= 1
            text = " ".join([*above, *([beside[1]] if beside else [])])
            found[item.target.id] = re.sub(r" ?\btype: ignore.*", "", text)
    return found


def sections(kind: type, told: dict[type, str], path: str = "") -> Iterator[str]:
    """A table for a group of settings, and those of the groups within it that are not told yet."""
    hints, said = get_type_hints(kind), comments(kind)
    groups, rows = [], []
    for item in fields(kind):
        hint, name = hints[item.name], item.name
        if get_origin(hint) is Streams:
            groups += [(f"{name}.{_stream_of(kind, each)}", [each]) for each in _members(*get_args(hint))]
        elif inner := [each for each in _members(hint) if is_dataclass(each)]:
            groups.append((name, inner))
        else:
            meaning = said.get(item.name, "").replace("|", "\\|")
            rows.append(
                f"| `{path}{item.name}` | `{_shown(_default(item))}` | {_values(item, hints[item.name])} | {meaning} |"
            )
    yield f"{kind.__doc__.split(chr(10))[0]}\n"
    yield (
        "\n".join(["| setting | default | values | meaning |", "| --- | --- | --- | --- |", *rows]) + "\n"
        if rows
        else "It has no settings of its own.\n"
    )
    for name, inner in groups:
        for each in inner:
            kinds = len(inner) > 1 or "." in name
            several = f' with `kind = "{each.kind}"`' if kinds and hasattr(each, "kind") else ""
            yield f"### `{path}{name}`{several}\n"
            if each in told:
                yield f"As `{told[each]}`.\n"
            else:
                told[each] = f"{path}{name}"
                yield from sections(each, told, f"{path}{name}.")


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def _stream_of(kind: type, group: Any) -> str:
    """The first stream of any batching that holds what this input takes."""
    batchings = _members(get_type_hints(kind)["batching"])
    return next(name for each in batchings for name, holds in each.streams.items() if holds == group.takes)


def _default(item: Field) -> Any:
    return item.default if item.default is not MISSING else item.default_factory()


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _values(item: Field, hint: Any) -> str:
    if get_origin(hint) is tuple:
        return f"list: {_values(item, get_args(hint)[0])}"
    if get_origin(hint) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(hint))
    if hint is bool:
        return "`true`, `false`"
    limits = {"least": "≥", "above": ">", "most": "≤"}
    given = {sign: item.metadata.get(name) for name, sign in limits.items()}
    told = [f"{sign} {value:g}" for sign, value in given.items() if value is not None and value < 2**62]
    return ", ".join([{int: "whole number", float: "number", str: "text"}[hint], *told])


def page() -> str:
    """The whole page: what is above the mark as it is, and the tables."""
    above = PAGE.read_text().partition(MARK)[0]
    return above + MARK + "\n" + "\n".join(sections(schema.Neural, {}))


if __name__ == "__main__":
    PAGE.write_text(page())
