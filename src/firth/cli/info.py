"""`firth presets`, `firth info` and `firth compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.console import print_json, print_table
from firth.cli.options import JSON, RUN, VERBOSE
from firth.runs.progress import parse_budget

if TYPE_CHECKING:
    from firth.presets.preset_table import PresetEntry


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="PRESET[:SIZE]", help="Print the configuration of this preset as TOML.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """List the presets, or print one as a TOML recipe."""
    from firth.config import to_dict
    from firth.config.toml import to_toml
    from firth.presets import preset
    from firth.presets.preset_table import preset_table

    if name:
        values = {"preset": name, **to_dict(preset(name))}
        print_json(values) if as_json else print(to_toml(values), end="")
        return
    table = preset_table()
    print_json([_describe(entry) for entry in table]) if as_json else print(table)


def _describe(entry: PresetEntry) -> dict[str, Any]:
    sizes = [
        {"size": size, "parameters": entry.parameters[size], "budget": _budget(entry.budgets[size])}
        for size in entry.sizes
    ]
    return {"preset": entry.name, "model": entry.summary, "paper": entry.paper, "data": entry.data,
            "default": entry.default, "sizes": sizes}  # fmt: skip


def _budget(text: str) -> dict[str, Any] | None:
    return parse_budget(text).to_dict() if text else None


def info(run: RUN, verbose: VERBOSE = False, as_json: JSON = False) -> None:
    """Describe a run: model, training progress, scores, size."""
    from firth.runs.summary import format_summary, survey

    about, damage = survey(run)
    if damage:
        about["damaged"] = [f"{error.where}: {error.what}" for error in damage]
    if as_json:
        print_json(about)
    for key, value in () if as_json else format_summary(about, verbose).items():
        for line in value if isinstance(value, list) else [value]:
            print(f"{key.replace('_', ' '):<12} {line}")
    if damage:
        raise damage[0]


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Run folders.")],
    verbose: VERBOSE = False,
    as_json: JSON = False,
) -> None:
    """Compare runs side by side; note where scores are not comparable."""
    from firth.metrics.score import format_scores
    from firth.runs.run_folder import Run
    from firth.runs.summary import compare_runs

    rows, warnings = compare_runs(runs)
    scores = {row["run"]: Run(row["run"]).scores() for row in rows}
    if as_json:
        print_json({"rows": [{**row, "scores": scores[row["run"]]} for row in rows], "warnings": warnings})
        return
    print_table([{key: _cell(value) for key, value in row.items()} for row in rows], full_width=True)
    for warning in warnings:
        print(f"note: {warning}")
    for run in scores if verbose else ():
        print(f"\n{run}", *format_scores(scores[run], verbose=True), sep="\n")


def _cell(value: Any) -> str:
    if value is None:
        return "n/a"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
