"""`firth surprise`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli import stores
from firth.cli.tables import show

if TYPE_CHECKING:
    from firth.families.language import LanguageModel


def surprise(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder of a language model.")],
    text: Annotated[str, typer.Option(help="Text by people: a file or folder; else the run's own test text.")] = "",
    out: Annotated[Path, typer.Option(help="The page or picture to write: .html or .svg.")] = Path("surprise.html"),
    passages: Annotated[int, typer.Option(min=1, help="Beginnings of documents that are continued.")] = 8,
    prompt: Annotated[int, typer.Option(min=1, help="Tokens of a beginning.")] = 20,
    length: Annotated[int, typer.Option(min=10, help="Tokens after it.")] = 80,
    beam: Annotated[int, typer.Option(min=1, help="Width of the beam search.")] = 5,
    top_p: Annotated[float, typer.Option(help="Of the nucleus sampling.")] = 0.95,
    document: Annotated[str, typer.Option(help="What a document is: auto, file, paragraph or line.")] = "",
    seed: stores.SEED = 0,
    as_json: stores.JSON = False,
) -> None:
    """Draw how probable each token is to a model: of a text, and of what the model writes itself."""
    from firth.config import from_dict
    from firth.report.surprise import ending_of, shown
    from firth.runs import files
    from firth.uses.models import language_model, require_probabilities
    from firth.uses.surprising import Asked, study

    files.destination(out)
    ending_of(out)
    asked = from_dict(Asked, {"passages": passages, "prompt": prompt, "length": length, "beam": beam, "top_p": top_p,
                              "seed": seed})  # fmt: skip
    model = language_model(run)
    require_probabilities(model, run)
    found = study(model, _documents(model, text, document), asked, model.run.path.name)
    found.save(out)
    if as_json:
        stores.print_json({"file": str(out), **asdict(found)})
        return
    show([{key: shown(value) for key, value in row.items()} for row in found.rows], whole=True)
    print(f"{out}: {len(found.passages)} passages")


def _documents(model: LanguageModel, text: str, document: str) -> list[str]:
    """The text that is named, or the run's own held-out text."""
    from dataclasses import replace

    from firth.data.cache import default_cache
    from firth.data.sources import open_source
    from firth.errors import FirthError

    if text:
        data = replace(model.config.data, **({"document": document} if document else {}))
        return list(open_source(stores.commas(text), data, default_cache() / "spool"))
    if document:
        raise FirthError("--document is for another text", do="give it with --text")
    found = model.documents() if model.run.record.data["splits"] else {}
    if "test" not in found:
        raise FirthError("this run has no test text", where=model.run.path, do="give a text with --text")
    return list(found["test"])
