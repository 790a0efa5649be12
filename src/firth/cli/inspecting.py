"""`firth presets`, `firth info` and `firth compare`: what there is."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from firth.cli.tables import show


def presets(
    name: Annotated[str | None, typer.Argument(help="Print this preset's whole configuration as TOML.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """List the presets, or print one as a recipe to start from."""
    from firth.config import to_dict
    from firth.config.toml import to_toml
    from firth.presets import PRESETS, preset

    if name:
        values = {"preset": name, **to_dict(preset(name))}
        print(json.dumps(values) if as_json else to_toml(values), end="" if not as_json else "\n")
        return
    rows = [
        {
            "preset": key,
            "what": entry.summary,
            "sizes": ", ".join(entry.sizes),
            "takes": entry.takes,
            "after": entry.paper,
        }
        for key, entry in PRESETS.items()
    ]
    if as_json:
        print(json.dumps(rows))
        return
    show([{key: row[key] for key in ("preset", "what", "sizes")} for row in rows])
    print("\nfirth presets NAME prints all its settings; firth train NAME:SIZE trains another size")


def info(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Tell about a run: what it is, how far it is, how good, how big."""
    from firth.runs.summary import readable, summary

    found = summary(run)
    if as_json:
        print(json.dumps(found))
        return
    for key, value in readable(found).items():
        for line in value if isinstance(value, list) else [value]:
            print(f"{key.replace('_', ' '):<12} {line}")


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run folders.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Put runs side by side; say where their scores cannot be compared."""
    from firth.runs.summary import comparison

    rows, warnings = comparison(runs)
    if as_json:
        print(json.dumps({"rows": rows, "warnings": warnings}))
        return
    show([{key: _cell(value) for key, value in row.items()} for row in rows], whole=True)
    for warning in warnings:
        print(f"note: {warning}")


def _cell(value: Any) -> str:
    if value is None:
        return "n/a"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
