"""`firth presets`, `firth info` and `firth compare`."""

from __future__ import annotations

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
    indent = max(map(len, PRESETS)) + 2
    for row in rows:
        sizes = " · ".join(_format_size(size, row["default"]) for size in row["sizes"])
        lines = [row["model"], f"{row['paper']} · data: {row['data']}", f"sizes: {sizes}"]
        print(f"{row['preset']:<{indent}}" + f"\n{' ' * indent}".join(lines))
    print("\n* default size; firth train PRESET:SIZE trains another; firth presets PRESET prints all settings")


def _describe(name: str, preset: Preset) -> dict[str, Any]:
    sizes = [
        {"size": size, "parameters": _parameters(config), "budget": _budget(config)}
        for size, config in preset.sizes.items()
    ]
    return {"preset": name, "model": preset.summary, "paper": preset.paper, "data": preset.takes,
            "default": preset.default, "sizes": sizes}  # fmt: skip


def _parameters(config: System) -> int | None:
    """The number of parameters; None where it depends on the text."""
    from firth import presets

    count = getattr(presets, "parameter_count", None)
    return count(config) if count else None


def _budget(config: System) -> str:
    """The default training time, or the number of epochs."""
    train = getattr(config, "train", None)
    return "" if train is None else getattr(train, "budget", "") or f"{train.epochs} epochs"


def _format_size(size: dict[str, Any], default: str) -> str:
    count = "" if size["parameters"] is None else f"{size['parameters'] / 1e6:,.3g}M"
    details = ", ".join(filter(None, (count, size["budget"])))
    return f"{size['size']}{'*' * (size['size'] == default)}{f' ({details})' if details else ''}"


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
