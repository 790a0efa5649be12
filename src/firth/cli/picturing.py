"""`firth vectors map | arrows`: pictures of words and of what sets pairs of them apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli import stores
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.report.figure import Figure

OUT = Annotated[Path, typer.Option(help="The picture to write: .svg, .html or .png.")]
TITLE = Annotated[str, typer.Option(help="What stands above the picture.")]


def draw_map(
    vectors: stores.VECTORS,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD...", help="Words, or - for one a line; else the most frequent.")
    ] = None,
    out: OUT = Path("map.svg"),
    how: Annotated[str, typer.Option(help="pca, tsne or umap.")] = "tsne",
    groups: Annotated[
        list[str] | None, typer.Option("--group", help="fruit=apple,pear: words of one colour; repeat for more.")
    ] = None,
    near: Annotated[str, typer.Option(help="Words whose neighbours are shown, with commas.")] = "",
    neighbours: Annotated[int, typer.Option(min=1, help="Of each of --near.")] = 12,
    top: Annotated[int, typer.Option(min=2, help="How many of the most frequent words, if none are given.")] = 100,
    perplexity: Annotated[float, typer.Option(help="Of t-SNE: about how many neighbours count.")] = 30.0,
    seed: stores.SEED = 0,
    kind: stores.KIND = "",
    title: TITLE = "",
    as_json: stores.JSON = False,
) -> None:
    """Draw a map of words on which near ones are alike."""
    from firth.report.maps import word_map

    _check(out)
    store, chosen = stores.opened(vectors, kind), list(stores.words_of(words)) if words else None
    figure = word_map(store, chosen, how, _groups(groups or []), near=stores.commas(near), top=top,
                      neighbours=neighbours, seed=seed, perplexity=perplexity, title=title)  # fmt: skip
    _save(figure, out, f"{len(figure.rows):,} words", as_json)


def draw_arrows(
    vectors: stores.VECTORS,
    pairs: Annotated[list[str], typer.Argument(metavar="A:B...", help="Pairs of words: man:woman king:queen")],
    out: OUT = Path("arrows.svg"),
    kind: stores.KIND = "",
    title: TITLE = "",
    as_json: stores.JSON = False,
) -> None:
    """Draw an arrow for each pair of words, and say how far all point the same way."""
    from firth.report.maps import arrows

    _check(out)
    figure = arrows(stores.opened(vectors, kind), [_pair(text) for text in pairs], title=title)
    _save(figure, out, f"{len(figure.rows):,} pairs", as_json)


def _check(out: Path) -> None:
    """Refuse before the work what could not be written after it."""
    from firth.report.figure import ending_of
    from firth.runs import files

    files.destination(out)
    ending_of(out)


def _groups(given: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, words = text.partition("=")
        if not equals or not name.strip() or not stores.commas(words):
            raise FirthError(f"cannot read --group {text!r}", do="write it as fruit=apple,pear")
        found.setdefault(name.strip(), []).extend(stores.commas(words))
    return found


def _pair(text: str) -> tuple[str, str]:
    a, colon, b = text.partition(":")
    if not colon or not a or not b or ":" in b:
        raise FirthError(f"cannot read the pair {text!r}", do="write it as man:woman")
    return a, b


def _save(figure: Figure, out: Path, what: str, as_json: bool) -> None:
    notes = figure.save(out)
    if as_json:
        rows = list(figure.rows)
        stores.print_json({"file": str(out), "rows": rows, "without_label": figure.dropped, "notes": notes})
        return
    lost = f", {figure.dropped} labels without room" if figure.dropped else ""
    print(f"{out}: {what}{lost}\n{figure.note}")
    for note in notes:
        print(f"note: {note}")
