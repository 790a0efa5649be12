"""`firth vectors search`: document retrieval by BM25, tf-idf and vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.console import print_json, print_table, require_writable, sanitise, stdin_lines
from firth.cli.options import COLUMN, COUNT, DATA, DOCUMENT, ENCODING, JSON
from firth.cli.vectors_arguments import load_vectors
from firth.embeddings.search import METHODS, Method
from firth.errors import FirthError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firth.config.schema import Text
    from firth.datasets.readers.relevance import Collection
    from firth.embeddings.search import SearchIndex
    from firth.embeddings.word_vectors import WordVectors

_LEXICAL = ("bm25", "tfidf")  # methods without vectors


def search(
    vectors: Annotated[str, typer.Argument(metavar="VECTORS|-", help="Word vectors, or - for lexical search alone.")],
    queries: Annotated[
        list[str] | None, typer.Argument(metavar="QUERY", help="Queries in quotes; without any, one per line is read.")
    ] = None,
    text: Annotated[str, typer.Option(help="Files, folders, a collection or a data set; several with commas.")] = "",
    column: COLUMN = "",
    document: DOCUMENT = "auto",
    encoding: ENCODING = "utf-8",
    index: Annotated[Path | None, typer.Option(help="An index that --save wrote, instead of --text.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the index to this file.")] = None,
    method: Annotated[
        Method | None, typer.Option(help="Retrieval method; blend if there are vectors, else bm25.")
    ] = None,
    count: COUNT = 10,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Evaluate all methods on the data set's relevance judgements.")
    ] = False,
    query_file: Annotated[Path | None, typer.Option("--queries", help="With --judgements: queries with ids.")] = None,
    judgements: Annotated[Path | None, typer.Option(help="Relevance judgements (TREC qrels).")] = None,
    data: DATA = None,
    as_json: JSON = False,
) -> None:
    """Search documents by BM25, tf-idf and vectors; evaluate against relevance judgements."""
    from firth.config import core, schema

    if bool(query_file) != bool(judgements):
        raise FirthError("--queries and --judgements belong together", do="give both")
    require_writable(save)
    store = None if vectors == "-" else load_vectors(Path(vectors))
    settings = [f"text={text}", f"document={document}", f"encoding={encoding}"]
    config = core.override(schema.Text(), settings) if text else None
    collection = None
    if evaluate or judgements:
        collection = _open_collection(config, column, query_file, judgements, data)
    search_index = _open_index(index, store, config, column, collection, data)
    if save:
        search_index.save(save)
        if not as_json:
            print(f"{save}: {len(search_index.ids):,} documents, {len(search_index.terms):,} words")
    if collection:
        _print_evaluation(search_index, collection, method, text, as_json)
    if queries or not (collection or save):
        lines = stdin_lines() if queries in (None, [], ["-"]) else queries
        _print_hits(search_index, lines, method or ("blend" if search_index.vectors.size else "bm25"), count, as_json)


def _open_collection(
    config: Text | None, column: str, queries: Path | None, judgements: Path | None, data: Path | None
) -> Collection:
    from firth.embeddings import search_documents

    if config is None:
        raise FirthError("no relevance judgements", do="give the data set with --text, also beside --index")
    if queries and judgements:
        documents = search_documents.read_documents(config.text, config, column=column, data=data)
        return search_documents.join_collection(documents, queries, judgements)
    if len(config.text) != 1:
        raise FirthError("judgements belong to one data set", do="give one with --text, or --queries and --judgements")
    return search_documents.read_collection(config.text[0], data)


def _open_index(
    path: Path | None,
    store: WordVectors | None,
    config: Text | None,
    column: str,
    collection: Collection | None,
    data: Path | None,
) -> SearchIndex:
    from firth.embeddings.search import SearchIndex, build_index
    from firth.embeddings.search_documents import read_documents

    if path:
        return SearchIndex.load(path, store)
    if config is None:
        raise FirthError("no documents", do="give --text with files, folders or a data set, or --index")
    if collection:
        return build_index(collection.documents.values(), store)
    return build_index(read_documents(config.text, config, column=column, data=data), store)


def _print_evaluation(index: SearchIndex, collection: Collection, method: str | None, name: str, as_json: bool) -> None:
    from firth.embeddings.search import evaluate_search

    methods = [method] if method else METHODS if index.vectors.size else _LEXICAL
    results = {each: evaluate_search(index, collection, each, name=name) for each in methods}
    if as_json:
        for each, result in results.items():
            scores = [score.to_dict() for score in result.scores]
            print_json({"method": each, "scores": scores, "queries": result.answered})
        return
    print_table([
        {"method": each, **{s.name: "n/a" if s.value is None else f"{s.value:.4f}" for s in result.scores},
         "queries": f"{result.answered:,}"}
        for each, result in results.items()
    ], full_width=True)  # fmt: skip


def _print_hits(index: SearchIndex, queries: Iterable[str], method: str, count: int, as_json: bool) -> None:
    for number, query in enumerate(queries):
        hits = index.search(query, count, method)
        if as_json:
            print_json({"query": query, "method": method, "hits": [hit._asdict() for hit in hits]})
            continue
        print(("\n" if number else "") + sanitise(query))
        width = max((len(hit.id) for hit in hits), default=0)
        for hit in hits:
            print(f"  {hit.score:z8.4f}  {sanitise(hit.id):<{width}}  {sanitise(hit.title)}".rstrip())
        if not hits:
            print("  no hits")
