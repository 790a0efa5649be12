"""`firth export` and `firth import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from firth import api
from firth.cli.console import print_json
from firth.cli.options import JSON, RUN
from firth.cli.stopping import Stopped, resume_line, same_command
from firth.runs.run_folder import Run
from firth.runs.summary import count_parameters, summary


def export(
    run: RUN,
    to: Annotated[
        str,
        typer.Option(
            metavar="huggingface[:FAMILY]|peft|arpa",
            help="A network as a Hugging Face folder, of a model family such as roberta; a LoRA adapter for peft; "
            "n-grams as an ARPA file.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder or file to write; an ARPA file ending in .gz is compressed.")],
    verify: Annotated[bool, typer.Option("--verify", help="Import it again and compare the logits.")] = False,
    as_json: JSON = False,
) -> None:
    """Export a model: Hugging Face folder, adapter for peft, ARPA file."""
    done = api.export_model(run, to=to, out=out, verify=verify)
    print_json({"run": run, "format": to, "file": str(out), "verified": verify}) if as_json else print(done)


def import_model(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A Hugging Face folder, or an ARPA file (also .gz).")],
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME by default.")] = None,
    as_json: JSON = False,
) -> None:
    """Import a pretrained model: Hugging Face folder, ARPA file."""
    folder, notes = out or api.import_folder(path), list[str]()
    try:
        model = api.import_model(path, out=folder, say=notes.append)
    except KeyboardInterrupt:
        if Run(folder).exists and Run(folder).is_trained:
            raise Stopped(f"stopped; the run is complete: {folder}") from None
        if (folder / "tokenizers").exists() or Run(folder).exists:
            raise Stopped(resume_line(same_command(folder))) from None
        raise
    if as_json:
        print_json({**summary(folder), "notes": notes})
        return
    for note in notes:
        print(f"note: {note}")
    if hasattr(model, "counted"):
        sizes = ", ".join(f"{size:,}" for size in model.counted.sizes)
        print(f"n-grams of order 1 to {model.counted.order}: {sizes}")
        print(f"run folder: {folder}  (firth run {folder} --score 'some words')")
        return
    print(f"{model.run.record.data['training']}: {count_parameters(model.run.weights):,} parameters")
    print(f"run folder: {folder}  ({model.hint})")
