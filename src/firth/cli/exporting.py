"""`firth export` and `firth import`: models to and from other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from firth import api
from firth.errors import FirthError


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")],
    to: Annotated[str, typer.Option(help="The format; for n-gram models: arpa.")],
    out: Annotated[Path, typer.Option(help="The file to write; .gz packs it.")],
) -> None:
    """Write a model for other programs."""
    model = api.load(run)
    if not hasattr(model, "export"):
        raise FirthError(f"{model.run.record.preset} cannot be exported yet", where=run, do="n-gram models can")
    model.export(to, out)
    print(f"{out}: {out.stat().st_size:,} bytes")


def bring_in(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An ARPA file, plain or packed.")],
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME by default.")] = None,
) -> None:
    """Make a run of a model from another program."""
    model = api.import_model(file, out=out)
    sizes = ", ".join(f"{size:,}" for size in model.counted.sizes)
    print(f"n-grams of 1 to {model.counted.order} words: {sizes}")
    print(f"run folder: {model.run.path}  (firth run {model.run.path} --score 'some words')")
