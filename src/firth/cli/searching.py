"""`firth vectors search`: documents found by words, by vectors, or by both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli import stores
from firth.cli.tables import show
from firth.errors import FirthError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firth.data.formats.relevance import Collection
    from firth.vectors.search import SearchIndex
    from firth.vectors.store import WordVectors

WAYS = ("bm25", "tfidf", "vectors", "blend")


def search(
    vectors: Annotated[str, typer.Argument(metavar="VECTORS|-", help="Word vectors, or - to search by words alone.")],
    queries: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY...", help="Each in quotes; without one they are read, one a line."),
    ] = None,
    text: Annotated[str, typer.Option(help="Files, folders, a collection or a set; several with commas.")] = "",
    column: Annotated[
        str, typer.Option(help="The text is a TSV, CSV or JSONL table, and this its column of text.")
    ] = "",
    document: Annotated[str, typer.Option(help="What a document is: auto, file, paragraph or line.")] = "auto",
    encoding: Annotated[str, typer.Option(help="Of the text files.")] = "utf-8",
    index: Annotated[Path | None, typer.Option(help="An index that --save wrote, instead of --text.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the index in this file.")] = None,
    how: Annotated[str, typer.Option(help="bm25, tfidf, vectors or blend; blend where there are vectors.")] = "",
    count: stores.COUNT = 10,
    judge: Annotated[bool, typer.Option("--judge", help="Score all ways against the judgements of the set.")] = False,
    asked: Annotated[Path | None, typer.Option("--queries", help="With --judgements: queries with ids.")] = None,
    judgements: Annotated[Path | None, typer.Option(help="Which document is relevant to which query (TREC).")] = None,
    data: stores.DATA = None,
    as_json: stores.JSON = False,
) -> None:
    """Search documents by words and by meaning; score the answers against relevance judgements."""
    from firth.config import core, schema
    from firth.errors import unknown
    from firth.runs import files

    if how and how not in WAYS:
        raise unknown("way to search", how, WAYS)
    if bool(asked) != bool(judgements):
        raise FirthError("--queries and --judgements belong together", do="give both")
    if save:
        files.destination(save)
    store = None if vectors == "-" else stores.opened(Path(vectors))
    settings = (
        core.override(schema.Text(), [f"text={text}", f"document={document}", f"encoding={encoding}"]) if text else None
    )
    collection = _collection(settings, column, asked, judgements, data) if judge or judgements else None
    found = _index(index, store, settings, column, collection, data)
    if save:
        found.save(save)
        if not as_json:
            print(f"{save}: {len(found.ids):,} documents, {len(found.terms):,} words")
    if collection:
        _judge(found, collection, how, text, as_json)
    if queries or not (collection or save):
        lines = stores.lines() if queries in (None, [], ["-"]) else queries
        _answer(found, lines, how or ("blend" if found.vectors.size else "bm25"), count, as_json)


def _collection(settings, column: str, asked: Path | None, judgements: Path | None, data: Path | None) -> Collection:
    from firth.vectors import documents

    if settings is None:
        raise FirthError("nothing to judge by", do="name the set with --text, also beside --index")
    if asked and judgements:
        texts = documents.read_documents(settings.text, settings, column=column, data=data)
        return documents.join_collection(texts, asked, judgements)
    if len(settings.text) != 1:
        raise FirthError("judgements belong to one set", do="give --text one set, or --queries and --judgements")
    return documents.read_collection(settings.text[0], data)


def _index(
    path: Path | None,
    store: WordVectors | None,
    settings,
    column: str,
    collection: Collection | None,
    data: Path | None,
) -> SearchIndex:
    from firth.vectors.documents import read_documents
    from firth.vectors.search import SearchIndex, build_index

    if path:
        return SearchIndex.load(path, store)
    if settings is None:
        raise FirthError("no documents", do="give --text with files, folders or a set, or --index")
    if collection:
        return build_index(collection.documents.values(), store)
    return build_index(read_documents(settings.text, settings, column=column, data=data), store)


def _judge(index: SearchIndex, collection: Collection, how: str, name: str, as_json: bool) -> None:
    from firth.vectors.search import evaluate_search

    ways = [how] if how else WAYS if index.vectors.size else WAYS[:2]
    results = {way: evaluate_search(index, collection, way, name=name) for way in ways}
    if as_json:
        for way, result in results.items():
            scores = [score.to_dict() for score in result.scores]
            stores.print_json({"how": way, "scores": scores, "queries": result.answered})
        return
    show([
        {"how": way, **{s.name: "n/a" if s.value is None else f"{s.value:.4f}" for s in result.scores},
         "queries": f"{result.answered:,}"}
        for way, result in results.items()
    ], whole=True)  # fmt: skip


def _answer(index: SearchIndex, queries: Iterable[str], how: str, count: int, as_json: bool) -> None:
    for number, query in enumerate(queries):
        hits = index.search(query, count, how)
        if as_json:
            stores.print_json({"query": query, "how": how, "hits": [hit._asdict() for hit in hits]})
            continue
        print(("\n" if number else "") + stores.plain(query))
        size = max((len(hit.id) for hit in hits), default=0)
        for hit in hits:
            print(f"  {hit.score:z8.4f}  {stores.plain(hit.id):<{size}}  {stores.plain(hit.title)}".rstrip())
        if not hits:
            print("  nothing found")
