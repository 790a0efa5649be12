"""`firth vectors study`: what makes good vectors of this text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from firth.cli import stores
from firth.errors import FirthError


def study(
    questions: Annotated[Path, typer.Argument(metavar="ANALOGIES", help="A file of analogies, as Google's.")],
    text: Annotated[str, typer.Option(help="File, folder or python-docs; several with commas.")],
    out: Annotated[Path, typer.Option(help="The page with the figure; its rows are kept beside, as .json.")] = Path(
        "study.html"
    ),
    widths: Annotated[str, typer.Option(help="Of the vectors, with commas; the last is used elsewhere.")] = "25,50,100",
    windows: Annotated[str, typer.Option(help="With commas; the last is used elsewhere.")] = "2,5,10",
    sides: Annotated[str, typer.Option(help="both, left, right; the first is used elsewhere.")] = "both,left",
    shares: Annotated[str, typer.Option(help="Of the text.")] = "0.25,0.5,1",
    epochs: Annotated[int, typer.Option(min=1, help="Of each training.")] = 15,
    among: Annotated[int, typer.Option(min=0, help="Only so many words are asked for; 0: all.")] = 30_000,
    seed: stores.SEED = 1,
    as_json: stores.JSON = False,
) -> None:
    """Train GloVe in many ways, and draw how width, window, symmetry and size of the text change analogies."""
    from firth.data.formats import FORMATS
    from firth.report.study import study_figure
    from firth.runs import files
    from firth.vectors.analogies import google_questions
    from firth.vectors.study import Study, run

    kept = files.destination(out).with_suffix(".json")
    if out.suffix == ".json":
        raise FirthError("the rows are kept in this file", where=out, do="name the page ….html")
    asked = google_questions(FORMATS["analogy"].read(questions))
    chosen = Study(_numbers(widths, int), _numbers(windows, int), tuple(stores.commas(sides)), _numbers(shares, float),
                   epochs, among, seed)  # fmt: skip
    corpus = _corpus(text)
    rows: list[dict[str, Any]] = _rows(kept)

    def done(row: dict[str, Any]) -> None:
        rows.append(row)
        files.replace_file(kept, (json.dumps(rows, indent=2) + "\n").encode())
        print(_told(row), file=sys.stderr, flush=True)

    found = run(corpus, asked, chosen, list(rows), done)
    files.replace_file(out, study_figure(found).encode())
    stores.print_json(found) if as_json else print(f"{out}: {len(found)} trainings")


def _corpus(text: str) -> Any:
    from firth.config import core
    from firth.data.cache import default_cache
    from firth.families.vectors import read_text
    from firth.presets import preset

    config = core.override(preset("glove"), [f"data.text={text}", "data.valid_share=0"])
    return read_text(config, default_cache(), lambda line: print(line, file=sys.stderr))


def _rows(path: Path) -> list[dict[str, Any]]:
    """Those of a study that broke off."""
    try:
        found = json.loads(path.read_bytes()) if path.exists() else []
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise FirthError("not the rows of a study", where=path, do="delete it, or choose another --out")
    return found


def _numbers(text: str, kind: type) -> tuple[Any, ...]:
    try:
        return tuple(kind(part) for part in stores.commas(text))
    except ValueError:
        raise FirthError(f"{text!r}: not numbers with commas between them") from None


def _told(row: dict[str, Any]) -> str:
    scores = ", ".join(
        f"{name} {row[name]:.3f}" for name in ("semantic", "syntactic", "total") if row[name] is not None
    )
    return f"width {row['width']}, window {row['window']} {row['side']}, {row['words']:,} words: {scores}"
