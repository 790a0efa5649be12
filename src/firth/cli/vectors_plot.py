"""`firth vectors map | arrows`: plots of words, and of the offsets of word pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.console import print_json, read_words, require_writable, split_commas
from firth.cli.options import JSON, SEED
from firth.cli.vectors_arguments import KIND, VECTORS, load_vectors
from firth.embeddings.projection import Method, is_available
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.report.figure import Figure

OUT = Annotated[Path, typer.Option(help="The plot to write: .svg, .html or .png.")]
TITLE = Annotated[str, typer.Option(help="Title of the plot.")]


def plot_map(
    vectors: VECTORS,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Words, or - for one per line; the most frequent by default."),
    ] = None,
    out: OUT = Path("map.svg"),
    method: Annotated[
        Method | None, typer.Option(help="Dimensionality reduction: t-SNE if openTSNE is installed, else PCA.")
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME=WORDS", help="fruit=apple,pear: words of one colour; repeatable."),
    ] = None,
    near: Annotated[str, typer.Option(metavar="WORD,…", help="Words whose neighbours are plotted.")] = "",
    neighbours: Annotated[int, typer.Option(min=1, help="Neighbours of each word of --near.")] = 12,
    top: Annotated[int, typer.Option(min=2, help="The n most frequent words, if none are given.")] = 100,
    perplexity: Annotated[float, typer.Option(help="Perplexity of t-SNE.")] = 30.0,
    seed: SEED = 0,
    kind: KIND = None,
    title: TITLE = "",
    as_json: JSON = False,
) -> None:
    """Plot words in the plane: PCA, t-SNE or UMAP."""
    from firth.report.word_maps import word_map

    _check_output(out)
    store, chosen = load_vectors(vectors, kind), list(read_words(words)) if words else None
    figure = word_map(
        store,
        chosen,
        method,
        _parse_groups(groups or []),
        neighbours_of=split_commas(near),
        top_n=top,
        neighbours=neighbours,
        seed=seed,
        perplexity=perplexity,
        title=title,
    )
    _save(figure, out, f"{len(figure.rows):,} words", as_json)
    if method is None and not is_available("tsne") and not as_json:
        print('note: pip install "firth[maps]" for t-SNE, which keeps more of the neighbourhoods')


def plot_arrows(
    vectors: VECTORS,
    pairs: Annotated[list[str], typer.Argument(metavar="A:B", help="Pairs of words: man:woman king:queen")],
    out: OUT = Path("arrows.svg"),
    kind: KIND = None,
    title: TITLE = "",
    as_json: JSON = False,
) -> None:
    """Plot the offset vectors of word pairs, and print how parallel they are."""
    from firth.report.word_maps import analogy_plot

    _check_output(out)
    figure = analogy_plot(load_vectors(vectors, kind), [_parse_pair(text) for text in pairs], title=title)
    _save(figure, out, f"{len(figure.rows):,} pairs", as_json)


def _check_output(out: Path) -> None:
    """Refuse before the work what could not be written after it."""
    from firth.report.figure import figure_format

    require_writable(out)
    figure_format(out)


def _parse_groups(options: list[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for option in options:
        name, _, words = option.partition("=")
        if not name.strip() or not split_commas(words):
            raise FirthError(f"cannot read --group {option!r}", do="write it as fruit=apple,pear")
        groups.setdefault(name.strip(), []).extend(split_commas(words))
    return groups


def _parse_pair(text: str) -> tuple[str, str]:
    a, _, b = text.partition(":")
    if not a or not b or ":" in b:
        raise FirthError(f"cannot read the pair {text!r}", do="write it as man:woman")
    return a, b


def _save(figure: Figure, out: Path, what: str, as_json: bool) -> None:
    notes = figure.save(out)
    if as_json:
        rows = list(figure.rows)
        print_json({"file": str(out), "rows": rows, "without_label": figure.dropped_labels, "notes": notes})
        return
    dropped = f", {figure.dropped_labels} without a label for lack of room" if figure.dropped_labels else ""
    print(f"{out}: {what}{dropped}\n{figure.caption}")
    for note in notes:
        print(f"note: {note}")
