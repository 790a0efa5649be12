"""`firth export` and `firth import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from firth import api
from firth.cli.options import RUN
from firth.cli.stopping import Stopped, resume_line, same_command
from firth.runs.run_folder import Run
from firth.runs.summary import count_parameters


def export(
    run: RUN,
    to: Annotated[
        str,
        typer.Option(
            metavar="huggingface[:FAMILY]|arpa",
            help="A network as a Hugging Face folder, of a model family such as roberta; n-grams as an ARPA file.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder or file to write; an ARPA file ending in .gz is compressed.")],
    verify: Annotated[bool, typer.Option("--verify", help="Import it again and compare the logits.")] = False,
) -> None:
    """Export a model: Hugging Face folder, ARPA file."""
    print(api.export_model(run, to=to, out=out, verify=verify))


def import_model(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A Hugging Face folder, or an ARPA file (also .gz).")],
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME by default.")] = None,
) -> None:
    """Import a pretrained model: Hugging Face folder, ARPA file."""
    folder = out or api.import_folder(path)
    try:
        model = api.import_model(path, out=folder, say=lambda note: print(f"note: {note}"))
    except KeyboardInterrupt:
        if Run(folder).exists and Run(folder).is_trained:
            raise Stopped(f"stopped; the run is complete: {folder}") from None
        if (folder / "tokenizers").exists() or Run(folder).exists:
            raise Stopped(resume_line(same_command(folder))) from None
        raise
    if hasattr(model, "counted"):
        sizes = ", ".join(f"{size:,}" for size in model.counted.sizes)
        print(f"n-grams of order 1 to {model.counted.order}: {sizes}")
        print(f"run folder: {folder}  (firth run {folder} --score 'some words')")
        return
    print(f"{model.run.record.data['training']}: {count_parameters(model.run.weights):,} parameters")
    print(f"run folder: {folder}  ({model.hint})")
