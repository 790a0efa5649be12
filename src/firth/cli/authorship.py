"""`firth authors`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli import stores
from firth.cli.tables import show
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.uses.authorship import Candidate, Verdict


def authors(
    text: Annotated[list[str], typer.Option(help="The text in question: a file or folder; repeat for more.")],
    by: Annotated[
        list[str] | None, typer.Option(help="austen=emma.txt: an author's own text; repeat for more.")
    ] = None,
    run: Annotated[list[str] | None, typer.Option(help="austen=runs/a: an author's ready model.")] = None,
    preset: Annotated[str, typer.Option(help="What to train; else a character n-gram model.")] = "",
    settings: Annotated[list[str] | None, typer.Option("--set", help="Any setting of it: method.order=5")] = None,
    as_it_is: Annotated[
        bool, typer.Option("--as-it-is", help="Keep line breaks, quotation marks and dashes of the editions.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where the authors' runs go.")] = Path("runs/authors"),
    seed: stores.SEED = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing while training.")] = False,
    as_json: stores.JSON = False,
) -> None:
    """Say who of several authors wrote a text: one language model for each."""
    from firth.uses import authorship

    own, ready = _named(by or [], "--by austen=emma.txt"), _named(run or [], "--run austen=runs/a")
    both = set(own) & set(ready)
    if both:
        raise FirthError(f"{min(both)} has both a text and a model", do="give --by or --run, not both")
    if len(own) + len(ready) < 2:
        raise FirthError("one author is no choice", do="give at least two with --by or --run")
    for name, paths in ready.items():
        if len(paths) > 1:
            raise FirthError(f"{name} has two models", do="give one --run for each author")
    models = authorship.opened({name: paths[0] for name, paths in ready.items()})
    if own:
        style = "quiet" if quiet or as_json else "auto"
        models |= authorship.train(
            own, preset=preset, settings=settings or [], level=not as_it_is, out=out, style=style
        )
    found = [authorship.identify(models, each, level=not as_it_is, seed=seed) for each in text]
    if as_json:
        stores.print_json([{**asdict(verdict), "author": verdict.author} for verdict in found])
        return
    for verdict in found:
        _tell(verdict)


def _named(given: Sequence[str], example: str) -> dict[str, list[str]]:
    """The texts of each author: one named twice has both."""
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, what = text.partition("=")
        if not equals or not name.strip() or not what.strip():
            raise FirthError(f"cannot read {text!r}", do=f"write it as {example}")
        found.setdefault(name.strip(), []).extend(stores.commas(what))
    return found


def _tell(verdict: Verdict) -> None:
    first = verdict.candidates[0]
    print(f"{stores.plain(verdict.text)}: {stores.plain(first.author)}, the best in {first.wins:.1%} of the draws")
    show([_row(each) for each in verdict.candidates], whole=True)
    for note in verdict.notes:
        print(f"note: {stores.plain(note)}")


def _row(each: Candidate) -> dict[str, str]:
    margin, low, high = each.margin
    more = "" if not margin and not high else f"+{margin:.4f} ({low:+.4f} to {high:+.4f})"
    return {"author": stores.plain(each.author), "bits/byte": f"{each.bits_per_byte:.4f}",
            "more than the best (95 %)": more, "best in": f"{each.wins:.1%}"}  # fmt: skip
