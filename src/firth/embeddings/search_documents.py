"""Reads the documents of a search index: plain text, tables, collections with ids, and retrieval datasets with
relevance judgements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import chain, count, groupby, islice, repeat
from pathlib import Path

from firth.config.schema import Text
from firth.corpus.documents import open_corpus
from firth.datasets import numbered_lines, readers, sets, sources
from firth.datasets.readers.relevance import Collection, collect
from firth.datasets.records import Passage
from firth.errors import FirthError

TITLE_LENGTH = 80  # characters of the beginning of a text that serve as its title
PARTS = ("documents", "queries", "judgements")  # of a retrieval dataset


def read_documents(
    names: Sequence[str], config: Text | None = None, *, column: str = "", data: str | Path | None = None
) -> Iterator[Passage]:
    """The documents of files, folders, built-in texts, a collection (Cranfield, TREC, JSONL with ids) or a dataset.

    A document without an id gets its file and number as id; one without a title gets its beginning as title.
    """
    name = names[0] if len(names) == 1 else ""
    known = name and name != "-" and name.partition(":")[0] not in sources.BUILT_IN
    if known and not Path(name).exists() and (dataset := _find_dataset(name, data)):
        return _dataset_passages(dataset)
    format = _passage_format(Path(name)) if known and not column and Path(name).is_file() else None
    return format.read(Path(name)) if format else _text_passages(names, config, column)


def read_collection(name: str, data: str | Path | None = None) -> Collection:
    """The documents, queries and relevance judgements (qrels) of a retrieval dataset."""
    dataset = sets.find(name, data)
    if not set(PARTS) <= set(dataset.splits):
        raise FirthError("a dataset without queries and judgements", where=name, do="give --queries and --judgements")
    return collect(*(dataset.records(part) for part in PARTS), path=dataset.paths(PARTS[-1])[0])


def join_collection(documents: Iterator[Passage], queries: Path, judgements: Path) -> Collection:
    """The same from files: queries as a collection (id, tab, text), judgements in the format of TREC or Cranfield."""
    format = _passage_format(queries) or readers.FORMATS["passages"]
    return collect(documents, format.read(queries), readers.FORMATS["judgements"].read(judgements), path=judgements)


def _passage_format(path: Path) -> readers.Format | None:
    """The format of a file whose texts have ids; None for any other."""
    format = readers.guess(path)
    if format.record_type is Passage:
        return format
    first = next((line for _, line in islice(numbered_lines.lines(path), 1)), "")
    if readers.format_name(format) != "jsonl":
        return None
    try:
        keys = set(json.loads(first))
    except (ValueError, TypeError):
        return None
    return readers.FORMATS["passages"] if "text" in keys and keys & {"_id", "id"} else None


def _find_dataset(name: str, data: str | Path | None) -> sets.Dataset | None:
    """The dataset of this name, if there is one; an error if there is one of a similar name."""
    known = sets.all_sets(data)
    close = get_close_matches(name, known, n=1, cutoff=0.75)
    if name not in known and close:
        raise FirthError("no such file or dataset", where=name, do=f"did you mean {close[0]!r}?")
    return sets.find(name, data) if name in known else None


def _dataset_passages(dataset: sets.Dataset) -> Iterator[Passage]:
    if dataset.task == "retrieval":
        yield from dataset.records(PARTS[0])
        return
    split = next(iter(dataset.splits))
    for number, record in enumerate(dataset.examples(split), 1):
        if not isinstance(getattr(record, "text", None), str):
            raise FirthError("not a dataset of texts", where=dataset.name, do="give texts, or files of text")
        yield _make_passage(f"{split}:{number}", record.text)


def _text_passages(names: Sequence[str], config: Text | None, column: str) -> Iterator[Passage]:
    texts = open_corpus(names, config, column=column)
    file_column = texts.columns.index("file") if "file" in texts.columns and not column else -1
    for file, rows in groupby(texts, key=lambda row: row[1][file_column] if file_column >= 0 else names[0]):
        documents = (text for text, _ in rows)
        first = list(islice(documents, 2))
        ids = repeat(file) if len(first) == 1 else (f"{file}:{number}" for number in count(1))
        yield from map(_make_passage, ids, chain(first, documents))


def _make_passage(name: str, text: str) -> Passage:
    """A passage titled by its beginning, which the index counts only once."""
    line = text.partition("\n")[0]
    title = line if len(line) <= TITLE_LENGTH else line[:TITLE_LENGTH].rpartition(" ")[0] or line[:TITLE_LENGTH]
    return Passage(name, text, title)
