"""`firth vectors`: what word vectors say of words; the rest of the group is in the modules named below."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from firth import api
from firth.cli import aligning, judging, picturing, searching, stores, studying
from firth.errors import FirthError

app = typer.Typer(
    help="Ask word vectors, compare them, turn them into maps, search documents with them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_Words = Annotated[list[str], typer.Argument(metavar="WORD...", help="Words, or - to read one a line.")]


@app.command("info")
def info(vectors: stores.VECTORS, as_json: stores.JSON = False) -> None:
    """Tell about vectors: how many words, how wide, what else is kept, how large; NaN in them is an error."""
    store = stores.opened(vectors)
    parts = store.subwords
    about: dict[str, Any] = {
        "words": len(store),
        "width": store.width,
        "mean_length": round(float(store.lengths.mean()), 4),
        "context_vectors": store.context is not None,
        "occurrences": None if store.counts is None else int(store.counts.sum()),
        "parts": None if parts is None else {"least": parts.least, "most": parts.most, "buckets": parts.count},
        "bytes": _size(vectors),
        "first": store.words[:10],
    }
    if as_json:
        stores.print_json(about)
        return
    for key, value in about.items():
        print(f"{key.replace('_', ' '):<16} {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {number:,}" for key, number in value.items())
    if isinstance(value, list):
        return " ".join(map(stores.plain, value))
    if value is None or isinstance(value, bool):
        return "kept" if value else "not kept"
    return f"{value:,}"


def _size(path: Path) -> int:
    """Bytes of the file, or of the vectors' files in a folder."""
    if path.is_file():
        return path.stat().st_size
    files = [path / name for name in ("model.safetensors", "vectors.tsv", "metadata.tsv")]
    return sum(file.stat().st_size for file in files if file.is_file())


@app.command("neighbours")
def neighbours(
    vectors: stores.VECTORS,
    words: _Words,
    count: stores.COUNT = 10,
    among: stores.AMONG = 0,
    kind: stores.KIND = "",
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Quick for many words of a large vocabulary; may miss some.")
    ] = False,
    wordnet: Annotated[bool, typer.Option("--wordnet", help="Say what each is to the word by WordNet.")] = False,
    lexicon: stores.LEXICON = "",
    as_json: stores.JSON = False,
) -> None:
    """List the nearest words of each word."""
    from firth.vectors.wordnet import open_wordnet

    if approximate and among:
        raise FirthError("--approximate looks through all words", do="leave --among or --approximate out")
    net = open_wordnet(lexicon) if wordnet or lexicon else None
    store = stores.opened(vectors, kind)
    index = store.approximate() if approximate else None
    for number, word in enumerate(stores.words_of(words)):
        found = store.most_similar(word, count=count, among=among or None, index=index)
        notes = [net.relation(word, near.word) for near in found] if net else []
        if as_json:
            rows = [near._asdict() for near in found]
            for row, note in zip(rows, notes, strict=False):
                row["relation"] = note
            stores.print_json({"word": word, "neighbours": rows})
            continue
        print(("\n" if number else "") + stores.plain(word))
        stores.list_scored(found, notes)


@app.command("similarity")
def similarity(
    vectors: stores.VECTORS,
    a: Annotated[str, typer.Argument(metavar="A", help="A word.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    kind: stores.KIND = "",
    as_json: stores.JSON = False,
) -> None:
    """Print the cosine of two words' vectors."""
    found = stores.opened(vectors, kind).similarity(a, b)
    stores.print_json({"a": a, "b": b, "similarity": found}) if as_json else print(f"{found:z.4f}")


@app.command("analogy")
def analogy(
    vectors: stores.VECTORS,
    a: Annotated[str, typer.Argument(metavar="A", help="A is to …")],
    b: Annotated[str, typer.Argument(metavar="B", help="… B as …")],
    c: Annotated[str, typer.Argument(metavar="C", help="… C is to what?")],
    count: stores.COUNT = 5,
    how: stores.HOW = "additive",
    among: stores.AMONG = 0,
    kind: stores.KIND = "",
    as_json: stores.JSON = False,
) -> None:
    """Complete an analogy: A is to B as C is to these."""
    store = stores.opened(vectors, kind)
    found = store.most_similar([b, c], [a], count=count, how=how, among=among or None)
    if as_json:
        stores.print_json({"a": a, "b": b, "c": c, "how": how, "answers": [near._asdict() for near in found]})
        return
    print(f"{stores.plain(a)} is to {stores.plain(b)} as {stores.plain(c)} is to")
    stores.list_scored(found)


@app.command("odd")
def odd(
    vectors: stores.VECTORS,
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Three words or more.")],
    kind: stores.KIND = "",
    as_json: stores.JSON = False,
) -> None:
    """Print the word that does not belong to the others."""
    if len(words) < 3:
        raise FirthError(f"no odd one out among {len(words)} words", do="give three or more")
    found = stores.opened(vectors, kind).doesnt_match(words)
    stores.print_json({"words": words, "odd": found}) if as_json else print(stores.plain(found))


@app.command("recommend")
def recommend(
    vectors: stores.VECTORS,
    items: Annotated[list[str], typer.Argument(metavar="ITEM...", help="What is in the basket, or - for one a line.")],
    count: stores.COUNT = 10,
    among: stores.AMONG = 0,
    kind: stores.KIND = "",
    as_json: stores.JSON = False,
) -> None:
    """List what goes with all of some items: the nearest to their mean, never one of them."""
    given = list(stores.words_of(items, "item"))
    found = stores.opened(vectors, kind).most_similar(given, count=count, among=among or None)
    if as_json:
        stores.print_json({"items": given, "recommended": [near._asdict() for near in found]})
        return
    stores.list_scored(found)


@app.command("convert")
def convert(
    vectors: stores.VECTORS,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, or a folder for the projector.")],
    to: Annotated[
        str, typer.Option(help="firth, word2vec, word2vec-text, glove, fasttext or projector; else by the ending.")
    ] = "",
    kind: stores.KIND = "",
    top: Annotated[int, typer.Option(min=0, help="Only so many words, the most frequent; 0: all.")] = 0,
    as_json: stores.JSON = False,
) -> None:
    """Write vectors in another format, or other vectors of a model, or those of frequent words alone.

    A classifier's run becomes the whole model in fastText's format.
    """
    if (out / "config.json").is_file() or (out.parent / "config.json").is_file():
        raise FirthError("this would change a run", where=out, do="write the file somewhere else")
    if _is_classifier(vectors) and (to or out.suffix.removeprefix(".")) in ("fasttext", "bin"):
        api.load(vectors).export(out)
        stores.print_json({"file": str(out)}) if as_json else print(f"{out}: a classifier for fastText")
        return
    store = stores.opened(vectors, kind)
    store = store.top(top) if top else store
    store.save(out, to)
    about = {"file": str(out), "words": len(store), "width": store.width, "bytes": _size(out)}
    if as_json:
        stores.print_json(about)
        return
    print(f"{out}: {len(store):,} words, width {store.width:,}, {about['bytes']:,} bytes")


def _is_classifier(path: Path) -> bool:
    from firth.config.schema import BagClassifier
    from firth.runs.folder import Run

    return (path / "config.json").is_file() and isinstance(Run(path).record.config, BagClassifier)


app.command("evaluate")(judging.evaluate)
app.command("senses")(judging.senses)
app.command("search")(searching.search)
app.command("align")(aligning.align)
app.command("map")(picturing.draw_map)
app.command("arrows")(picturing.draw_arrows)
app.command("study")(studying.study)
