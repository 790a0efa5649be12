"""`firth correct`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from firth.cli import stores
from firth.cli.using import inputs
from firth.errors import FirthError


def correct(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder of a language model.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text, or - to read lines.")],
    distance: Annotated[int, typer.Option(min=1, max=2, help="Slips in a word at most.")] = 1,
    rate: Annotated[
        float | None, typer.Option(help="How probable a slip is: the more, the more is changed; 0.001, choices 0.05.")
    ] = None,
    least: Annotated[int, typer.Option("--min-count", min=1, help="Rarer words of the text count as unknown.")] = 2,
    choices: Annotated[
        list[str] | None,
        typer.Option(help="Exchange only these: there,their,they're or a file with a set a line; repeat for more."),
    ] = None,
    as_json: stores.JSON = False,
) -> None:
    """Mend the spelling of a text, or the choice between words, by what a language model finds probable."""
    from firth.uses import correcting
    from firth.uses.lexicon import lexicon
    from firth.uses.models import language_model

    sets = list(_sets(choices or []))
    model = language_model(run)
    known = None if sets else lexicon(model, least)
    for line in inputs(text):
        found = correcting.correct(model, line, distance=distance, rate=rate, choices=sets, known=known)
        if as_json:
            stores.print_json({"input": line, **asdict(found)})
            continue
        print(found.text)
        for change in found.changes:
            print(f"  {change.at}: {stores.plain(change.typed)} → {stores.plain(change.meant)}  {change.sure:.1%} sure")


def _sets(given: Iterable[str]) -> Iterable[list[str]]:
    """Sets of words between commas, or of a file's lines."""
    for text in given:
        path = Path(text)
        lines = _lines(path) if path.is_file() else [text]
        for number, line in enumerate(lines, 1):
            words = stores.commas(line)
            if len(words) == 1:
                where = f"{path}:{number}" if path.is_file() else "--choices"
                raise FirthError(f"{line.strip()!r} is no set of words", where=where, do="write there,their,they're")
            if words:
                yield words


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FirthError(f"cannot read ({error})", where=path) from None
