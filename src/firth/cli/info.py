"""`firth presets`, `firth info` and `firth compare`."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.console import print_json, print_table
from firth.cli.options import JSON, RUN

if TYPE_CHECKING:
    from firth.config.schema import System
    from firth.presets import Preset


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="PRESET[:SIZE]", help="Print the configuration of this preset as TOML.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """List the presets, or print one as a TOML recipe."""
    from firth.config import to_dict
    from firth.config.toml import to_toml
    from firth.presets import PRESETS, preset

    if name:
        values = {"preset": name, **to_dict(preset(name))}
        print_json(values) if as_json else print(to_toml(values), end="")
        return
    rows = [_describe(key, entry) for key, entry in PRESETS.items()]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        sizes = " · ".join(_format_size(size, row["default"]) for size in row["sizes"])
        print(row["preset"])
        for line in (row["model"], f"{row['paper']} · data: {row['data']}", f"sizes: {sizes}"):
            text = textwrap.fill(line, _width(), initial_indent="    ", subsequent_indent="      ")
            print(text.replace("\N{NO-BREAK SPACE}", " "))
    print("\n* default size; firth train PRESET:SIZE trains another; firth presets PRESET prints its settings")


def _describe(name: str, preset: Preset) -> dict[str, Any]:
    from firth.presets.parameter_counts import PARAMETERS

    sizes = [
        {"size": size, "parameters": PARAMETERS.get(f"{name}:{size}"), "budget": _budget(config)}
        for size, config in preset.sizes.items()
    ]
    return {"preset": name, "model": preset.summary, "paper": preset.paper, "data": preset.takes,
            "default": preset.default, "sizes": sizes}  # fmt: skip


def _budget(config: System) -> str:
    """The default training time, or the number of epochs."""
    train = getattr(config, "train", None)
    return "" if train is None else getattr(train, "budget", "") or f"{train.epochs} epochs"


def _format_size(size: dict[str, Any], default: str) -> str:
    count = "" if size["parameters"] is None else _format_count(size["parameters"])
    details = ", ".join(filter(None, (count, size["budget"])))
    text = f"{size['size']}{'*' * (size['size'] == default)}{f' ({details})' if details else ''}"
    return text.replace(" ", "\N{NO-BREAK SPACE}")  # a size stays on one line


def _format_count(count: int) -> str:
    """Three digits, in millions or billions."""
    number, unit = (count / 1e9, "B") if count >= 1e9 else (count / 1e6, "M")
    return f"{number:.3g} {unit}"


def _width() -> int:
    return min(100, shutil.get_terminal_size().columns - 1)


def info(run: RUN, as_json: JSON = False) -> None:
    """Describe a run: model, training progress, scores, size."""
    from firth.runs.summary import format_summary, summary

    about = summary(run)
    if as_json:
        print_json(about)
        return
    for key, value in format_summary(about).items():
        for line in value if isinstance(value, list) else [value]:
            print(f"{key.replace('_', ' '):<12} {line}")


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Run folders.")], as_json: JSON = False
) -> None:
    """Compare runs side by side; note where scores are not comparable."""
    from firth.runs.summary import compare_runs

    rows, warnings = compare_runs(runs)
    if as_json:
        print_json({"rows": rows, "warnings": warnings})
        return
    print_table([{key: _cell(value) for key, value in row.items()} for row in rows], full_width=True)
    for warning in warnings:
        print(f"note: {warning}")


def _cell(value: Any) -> str:
    if value is None:
        return "n/a"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
