"""`firth export` and `firth import`: models to and from other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from firth import api
from firth.runs.summary import parameters


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")],
    to: Annotated[
        str, typer.Option(help="For networks: huggingface, or huggingface:roberta to say as what; for n-grams: arpa.")
    ],
    out: Annotated[Path, typer.Option(help="The folder or file to write; .gz packs an ARPA file.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the folder back, and compare what it says with the run.")
    ] = False,
) -> None:
    """Write a model for other programs."""
    print(api.export_model(run, to=to, out=out, verify=verify))


def bring_in(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A Hugging Face folder, or an ARPA file, plain or packed.")
    ],
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME by default.")] = None,
) -> None:
    """Make a run of a model from another program."""
    model = api.import_model(path, out=out, say=lambda note: print(f"note: {note}"))
    place = model.run.path
    if hasattr(model, "counted"):
        sizes = ", ".join(f"{size:,}" for size in model.counted.sizes)
        print(f"n-grams of 1 to {model.counted.order} words: {sizes}")
        print(f"run folder: {place}  (firth run {place} --score 'some words')")
        return
    print(f"{model.run.record.data['training']}: {parameters(model.run.weights):,} parameters")
    print(f"run folder: {place}  ({model.hint})")
