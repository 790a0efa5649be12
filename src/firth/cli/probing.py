"""`firth probe`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli import stores
from firth.cli.tables import show

if TYPE_CHECKING:
    from firth.report.figure import Figure
    from firth.uses.probing import Comparison, Word

_NOTE = "Probabilities of the {count:,} words that are among the {among:,} most probable with one of the prompts."
_SIDES = {"a": "A", "b": "B", "both": "both"}


def probe(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder of a model that fills gaps or continues.")],
    a: Annotated[str, typer.Argument(metavar="A", help="A text with one [MASK]; for a language model up to the gap.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The text to compare it with.")],
    count: Annotated[int, typer.Option(min=1, help="Words of each prompt, and of both, that the table has.")] = 10,
    among: Annotated[int, typer.Option(min=1, help="Only so many most probable words of each are compared.")] = 50,
    out: Annotated[Path | None, typer.Option(help="Draw them too: .svg, .html or .png.")] = None,
    as_json: stores.JSON = False,
) -> None:
    """Compare two prompts: which words a model expects with one rather than with the other."""
    from firth import api
    from firth.report.figure import ending_of
    from firth.runs import files
    from firth.uses.probing import compare

    if out:
        files.destination(out)
        ending_of(out)
    found = compare(api.load(run), a, b, among=among)
    notes = _drawn(found, among).save(out) if out else []
    if as_json:
        stores.print_json(_values(found, out, notes))
        return
    _print(found, count)
    for line in [*([f"{out}: {len(found.words):,} words"] if out else []), *(f"note: {note}" for note in notes)]:
        print(line)


def _drawn(found: Comparison, among: int) -> Figure:
    from firth.report.probe import Point, scatter

    order = sorted(found.words, key=lambda word: -abs(word.difference))
    points = [Point(word.text, math.exp(word.log_a), math.exp(word.log_b), word.side) for word in order]
    return scatter(found.a, found.b, points, _NOTE.format(count=len(points), among=among))


def _values(found: Comparison, out: Path | None, notes: list[str]) -> dict[str, Any]:
    words = [
        {"word": word.text, "log_a": word.log_a, "log_b": word.log_b, "difference": word.difference, "side": word.side}
        for side in _SIDES
        for word in found.side(side)
    ]
    about = {"a": found.a, "b": found.b, "divergence": found.divergence, "words": words}
    return {**about, "file": str(out), "notes": notes} if out else about


def _print(found: Comparison, count: int) -> None:
    print(f"A  {stores.plain(found.a)}\nB  {stores.plain(found.b)}")
    rows = [_row(side, word) for side in _SIDES for word in found.side(side, count)]
    show(rows, whole=True)
    print(f"divergence {found.divergence:.3f} bits (0: the same words, 1: none in both)")


def _row(side: str, word: Word) -> dict[str, str]:
    return {"more with": _SIDES[side], "word": stores.plain(word.text), "log p A": f"{word.log_a:.2f}",
            "log p B": f"{word.log_b:.2f}", "difference": f"{word.difference:+.2f}"}  # fmt: skip
