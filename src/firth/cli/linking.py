"""`firth align`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli import stores
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.uses.linking import Linked


def align(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A file of texts, one a line.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Their translations, line by line.")],
    preset: Annotated[
        str, typer.Option(help="hmm-aligner, ibm-1, ibm-2 or fast-align, learned from these files.")
    ] = "",
    run: Annotated[str, typer.Option(metavar="RUN", help="A trained run instead.")] = "",
    join: Annotated[
        str, typer.Option(help="How both directions are joined: grow-diag-final-and, intersection, forward, …")
    ] = "",
    gold: Annotated[str, typer.Option(metavar="FILE", help="Right links, to compare with: Pharaoh lines.")] = "",
    possible: Annotated[str, typer.Option(metavar="FILE", help="With --gold: further links that are not wrong.")] = "",
    out: Annotated[Path | None, typer.Option(help="Write the lines to this file.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Words instead of their numbers.")] = False,
    threads: Annotated[int, typer.Option(min=0, help="0: all cores.")] = 0,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Any setting: --set method.null=0.2")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: stores.JSON = False,
) -> None:
    """Link the words of two files that belong together line by line; print the links in Pharaoh's format."""
    from firth import api
    from firth.data import lines
    from firth.runs import files
    from firth.uses.linking import link_files

    if run and (preset or settings):
        raise FirthError("a run is used as it was trained", where=run, do="leave out --preset and --set")
    if possible and not gold:
        raise FirthError("--possible without --gold", do="give the sure links with --gold")
    if out:
        files.destination(out)
    choice = None if run else api.choose(preset or "hmm-aligner", [f"train.threads={threads}", *(settings or [])])

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr)

    found = link_files(source, target, choice, run=run, join=join, gold=gold, possible=possible, say=say)
    rows = _rows(found, words, as_json)
    if out:
        lines.save(out, rows)
    else:
        for row in rows:
            print(row)
    say(_told(found))


def _rows(found: Linked, words: bool, as_json: bool) -> Iterator[str]:
    import json

    from firth.families.linker import spelled

    for pair, links in zip(found.pairs, found.links, strict=True):
        told = spelled(pair.left, pair.right, links)
        if as_json:
            yield json.dumps({"links": links, "words": told}, ensure_ascii=False)
        elif words:
            yield "  ".join("–".join(map(stores.plain, both)) for both in told)
        else:
            yield " ".join(f"{i}-{j}" for i, j in links)


def _told(found: Linked) -> str:
    line = f"{len(found.pairs):,} pairs, {sum(map(len, found.links)):,} links"
    if found.told is None:
        return line
    names = {"error rate": found.told.error_rate, "precision": found.told.precision, "recall": found.told.recall}
    return line + "".join(f"; {name} {'n/a' if value is None else f'{value:.4f}'}" for name, value in names.items())
