"""`firth train`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from firth import api
from firth.cli.options import with_settings
from firth.errors import FirthError
from firth.metrics.score import parts
from firth.presets import PRESETS
from firth.runs.budget import duration


@with_settings
def train(
    what: Annotated[
        str, typer.Argument(metavar="PRESET|RECIPE.toml|RUN", help="What to train, or the run to continue.")
    ],
    short: dict[str, str],
    settings: list[str],
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/PRESET by default.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what it would take.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line per step and evaluation.")] = False,
) -> None:
    """Train a preset on a text; continue a run that was interrupted."""
    style = "quiet" if quiet else "json" if as_json else "auto"
    is_preset = what.partition(":")[0] in PRESETS
    is_run = not is_preset and (Path(what).is_dir() or (os.sep in what and not what.endswith(".toml")))
    if is_run and "start" not in short:
        if short or settings or out or plan:
            raise FirthError("a run is continued as it was begun", where=what, do="leave out the other options")
        _finish(lambda: api.resume(what, progress=style), style)
        return
    choice = api.choose(what, settings, short)
    if plan:
        _print_plan(api.plan(choice), as_json)
        return
    _finish(lambda: api.start(choice, out, style), style)


def _finish(work: Callable[[], Any], style: str) -> None:
    from firth.training.guard import Interrupted

    try:
        model = work()
    except Interrupted as stop:
        print(
            f"firth: stopped and saved at step {stop.step}; continue with: firth train {stop.folder}", file=sys.stderr
        )
        sys.exit(128 + stop.number)
    if os.environ.get("RANK", "0") != "0":  # of several processes the first one talks
        return
    scores = model.run.scores()
    if style == "json":
        print(json.dumps({"event": "done", "run": str(model.run.path), "scores": scores}))
    elif style != "quiet":
        for score in scores:
            value = "n/a" if score["value"] is None else f"{score['value']:.4g}"
            name = f"{parts(score['signature'])['split']} {score['name'].replace('_', ' ')}"
            print(f"{name}: {value}  [{score['signature']}]")
        print(f"run folder: {model.run.path}  ({model.hint}; {model.run.path}/report.html)")


def _print_plan(plan: Any, as_json: bool) -> None:
    total = sum(plan.parameters.values())
    if as_json:
        print(
            json.dumps(
                {
                    "parameters": total,
                    "parts": plan.parameters,
                    "steps": plan.steps,
                    "epochs": plan.epochs,
                    "seconds": plan.seconds,
                    "memory": plan.memory,
                    "disk": plan.disk,
                    "in_bf16": plan.in_bf16 and {"steps": plan.in_bf16.steps, "seconds": plan.in_bf16.seconds},
                }
            )
        )
        return
    parts = ", ".join(f"{name} {count:,}" for name, count in plan.parameters.items())
    print(f"parameters  {total:,} ({parts})")
    print(f"steps       {plan.steps:,} ({plan.epochs:.1f} epochs)")
    print(f"time        about {duration(plan.seconds)}")
    print(f"memory      about {plan.memory / 1e9:.2f} GB")
    print(f"disk        about {plan.disk / 1e6:,.0f} MB")
    if other := plan.in_bf16:
        print(f"or          {other.steps:,} steps in about {duration(other.seconds)} with --precision bf16")
