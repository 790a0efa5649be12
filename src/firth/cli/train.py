"""`firth train`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from firth import api
from firth.cli.config_options import ConfigOptions
from firth.cli.console import print_json, print_table
from firth.cli.options import QUIET, SETTINGS, VERBOSE
from firth.cli.stopping import Stopped, resume_line, same_command
from firth.config import schema
from firth.config.short_names import SECTIONS
from firth.errors import FirthError
from firth.metrics.score import format_scores
from firth.presets import PRESETS
from firth.runs.progress import format_duration
from firth.runs.summary import summary

if TYPE_CHECKING:
    from firth.training.planner import Plan


@ConfigOptions(SECTIONS, get_args(schema.System)).add_to
def train(
    what: Annotated[str, typer.Argument(metavar="PRESET|RECIPE.toml|RUN", help="What to train, or the run to resume.")],
    values: dict[str, str],
    settings: SETTINGS = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/PRESET by default.")] = None,
    state_dir: Annotated[
        Path | None, typer.Option(help="A folder elsewhere for the checkpoints, such as one on a larger disk.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only estimate parameters, time, memory and disk.")] = False,
    learning_curve: Annotated[
        bool, typer.Option("--learning-curve", help="Train on 1/16 … 1 of the examples: what would more labels bring?")
    ] = False,
    quiet: QUIET = False,
    verbose: VERBOSE = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON line per step and evaluation.")] = False,
) -> None:
    """Train a preset on a text, or resume an interrupted run."""
    style = "quiet" if quiet else "json" if as_json else "auto"
    is_preset = what.partition(":")[0] in PRESETS
    is_run = not is_preset and (Path(what).is_dir() or (os.sep in what and not what.endswith(".toml")))
    if is_run and "init-from" not in values:
        if values or settings or out or plan or learning_curve:
            do = "leave out the other options, or train a new run from its weights with --init-from"
            raise FirthError("a run is resumed with its own configuration", where=what, do=do)
        resume = lambda: api.resume(what, progress=style, state_dir=state_dir)  # noqa: E731
        _train_and_report(resume, Path(what), style, verbose)
        return
    choice = api.resolve_config(what, settings or [], values)
    if plan:
        _print_plan(api.plan(choice), as_json)
        return
    if learning_curve:
        _train_curve(choice, out, style)
        return
    folder = api.run_folder(choice, out)
    _train_and_report(lambda: api.train_config(choice, folder, style, state_dir), folder, style, verbose)


def _train_and_report(train: Callable[[], Any], folder: Path, style: str, verbose: bool) -> None:
    model = _train_or_stop(train, folder)
    if os.environ.get("RANK", "0") != "0":  # of several processes only the first prints
        return
    scores = model.run.scores()
    if style == "json":
        print_json({"event": "done", **summary(model.run.path)})
    elif style != "quiet":
        for line in format_scores(scores, verbose):
            print(line)
        print(f"run folder: {model.run.path}  ({model.hint}; {model.run.path}/report.html)")


def _train_curve(choice: api.NamedConfig, out: Path | None, style: str) -> None:
    from firth.ladder.learning_curve import curve_folder, train_curve
    from firth.runs.checkpoints import Interrupted

    folder = curve_folder(choice, out)
    try:
        curve = train_curve(choice, folder, style)
    except Interrupted as stop:
        raise Stopped(resume_line(same_command(folder)), 128 + stop.signal_number) from None
    except KeyboardInterrupt:
        raise Stopped(resume_line(same_command(folder))) from None
    if style == "json":
        print_json({"event": "done", **curve.to_dict()})
    elif style != "quiet":
        print_table([_curve_row(point, curve.metric) for point in curve.points], full_width=True)
        print(f"{curve.sentence}\nreport: {curve.report}")


def _curve_row(point: Any, metric: Any) -> dict[str, str]:
    interval = " to ".join(map(metric.format, (point.low, point.high)))
    runs = str(point.runs) if point.runs else "extrapolated"
    score = metric.format(point.score)
    return {"examples": f"{point.examples:,}", "runs": runs, metric.name: score, "95% CI": interval}


def _train_or_stop(train: Callable[[], Any], folder: Path) -> Any:
    from firth.runs.checkpoints import Interrupted
    from firth.runs.run_folder import Run

    resume = ["firth", "train", str(folder)]
    try:
        return train()
    except Interrupted as stop:
        line = resume_line(resume, f" and saved at step {stop.step}")
        raise Stopped(line, 128 + stop.signal_number) from None
    except KeyboardInterrupt:
        if Run(folder).exists:
            raise Stopped(resume_line(resume)) from None
        if (folder / "tokenizers").exists():  # written before the run itself
            raise Stopped(resume_line(same_command(folder))) from None
        raise


def _print_plan(plan: Plan, as_json: bool) -> None:
    total = sum(plan.parameters.values())
    if as_json:
        print_json(
            {
                "parameters": total,
                "parts": plan.parameters,
                "trained": plan.trained,
                "steps": plan.steps,
                "epochs": plan.epochs,
                "seconds": plan.seconds,
                "from_flops": plan.from_flops,
                "memory": plan.memory,
                "disk": plan.disk,
                "in_bf16": plan.in_bf16 and {"steps": plan.in_bf16.steps, "seconds": plan.in_bf16.seconds},
            }
        )
        return
    parts = ", ".join(f"{name} {count:,}" for name, count in plan.parameters.items())
    frozen = f"; {plan.trained:,} are trained" if plan.trained < total else ""
    print(f"parameters  {total:,} ({parts}){frozen}")
    print(f"steps       {plan.steps:,} ({plan.epochs:.1f} epochs)")
    computed = " (from FLOPs at the speed of a matrix product, not measured: too large to try)" * plan.from_flops
    print(f"time        about {format_duration(plan.seconds)}{computed}")
    if plan.from_flops:
        print(f"memory      at least {plan.memory / 1e9:,.1f} GB (weights, gradients, optimizer state; no activations)")
    else:
        print(f"memory      about {plan.memory / 1e9:.2f} GB")
    print(f"disk        about {plan.disk / 1e6:,.0f} MB")
    if bf16 := plan.in_bf16:
        print(f"or          {bf16.steps:,} steps in about {format_duration(bf16.seconds)} with --precision bf16")
