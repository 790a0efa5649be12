"""`firth vectors study`: how hyperparameters of GloVe change analogy accuracy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.console import print_json, split_commas
from firth.cli.options import JSON, SEED, TEXT
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.embeddings.training_text import Corpus


def study(
    questions: Annotated[Path, typer.Argument(metavar="ANALOGIES", help="Analogies in the format of Google's set.")],
    text: TEXT,
    out: Annotated[Path, typer.Option(help="The page to write; its data go beside it, as .json.")] = Path("study.html"),
    widths: Annotated[str, typer.Option(metavar="N,…", help="Vector sizes; the last is the default.")] = "25,50,100",
    windows: Annotated[str, typer.Option(metavar="N,…", help="Window sizes; the last is the default.")] = "2,5,10",
    contexts: Annotated[
        str, typer.Option(metavar="A,B,…", help="symmetric, left, right; the first is the default.")
    ] = "symmetric,left",
    fractions: Annotated[str, typer.Option(metavar="F,…", help="Fractions of the text.")] = "0.25,0.5,1",
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each training.")] = 15,
    restrict_vocab: Annotated[
        int, typer.Option(min=0, help="Only questions among the n most frequent words; 0: all.")
    ] = 30_000,
    seed: SEED = 1,
    as_json: JSON = False,
) -> None:
    """Train GloVe with many hyperparameters and plot analogy accuracy against each."""
    from firth.datasets.readers import FORMATS
    from firth.embeddings.analogies import google_questions
    from firth.embeddings.hyperparameter_study import Study, run
    from firth.report.study_figure import study_figure
    from firth.runs import atomic_files

    data_file = atomic_files.destination(out).with_suffix(".json")
    if out.suffix == ".json":
        raise FirthError("the data are written to this file", where=out, do="give the page another extension: ….html")
    analogies = google_questions(FORMATS["analogy"].read(questions))
    chosen = Study(
        widths=_parse_numbers(widths, int),
        windows=_parse_numbers(windows, int),
        contexts=tuple(split_commas(contexts)),
        fractions=_parse_numbers(fractions, float),
        epochs=epochs,
        restrict_vocab=restrict_vocab,
        seed=seed,
    )
    corpus = _read_corpus(text)
    rows: list[dict[str, Any]] = _read_rows(data_file)

    def save_row(row: dict[str, Any]) -> None:
        rows.append(row)
        atomic_files.replace_file(data_file, (json.dumps(rows, indent=2) + "\n").encode())
        print(_format_row(row), file=sys.stderr, flush=True)

    results = run(corpus, analogies, chosen, list(rows), save_row)
    atomic_files.replace_file(out, study_figure(results).encode())
    print_json(results) if as_json else print(f"{out}: {len(results)} trainings")


def _read_corpus(text: str) -> Corpus:
    from firth.config import core
    from firth.datasets.token_cache import default_cache
    from firth.families.word_embeddings import read_corpus
    from firth.presets import preset

    config = core.override(preset("glove"), [f"data.text={text}", "data.valid_fraction=0"])
    return read_corpus(config, default_cache(), lambda line: print(line, file=sys.stderr))


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of an interrupted study."""
    try:
        rows = json.loads(path.read_bytes()) if path.exists() else []
    except ValueError:
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FirthError("not the data of a study", where=path, do="delete it, or choose another --out")
    return rows


def _parse_numbers(text: str, kind: type) -> tuple[Any, ...]:
    try:
        return tuple(kind(part) for part in split_commas(text))
    except ValueError:
        raise FirthError(f"{text!r} is not a list of numbers", do="write numbers with commas between") from None


def _format_row(row: dict[str, Any]) -> str:
    names = ("semantic", "syntactic", "total")
    scores = ", ".join(f"{name} {row[name]:.3f}" for name in names if row[name] is not None)
    return f"width {row['width']}, window {row['window']} {row['side']}, {row['words']:,} words: {scores}"
