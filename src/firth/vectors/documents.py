"""Documents to be searched: plain text, tables, collections with ids of their own, and sets with judgements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import chain, count, groupby, islice, repeat
from pathlib import Path

from firth.config.schema import Text
from firth.counts.texts import open_texts
from firth.data import formats, lines, sets, sources
from firth.data.formats.relevance import Collection, collect
from firth.data.records import Passage
from firth.errors import FirthError

TITLE = 80  # characters of a text that stand for a title it does not have
PARTS = ("documents", "queries", "judgements")  # of a set with judgements


def read_documents(
    names: Sequence[str], config: Text | None = None, *, column: str = "", data: str | Path | None = None
) -> Iterator[Passage]:
    """The documents of files, folders, built-in texts, a collection (Cranfield, TREC, JSON lines with ids) or a set.

    A document without an id is called by its file and its number there; one without a title by its beginning.
    """
    name = names[0] if len(names) == 1 else ""
    known = name and name != "-" and name.partition(":")[0] not in sources.BUILT_IN
    if known and not Path(name).exists() and (found := _set(name, data)):
        return _of_set(found)
    form = _collection(Path(name)) if known and not column and Path(name).is_file() else None
    return form.read(Path(name)) if form else _plain(names, config, column)


def read_collection(name: str, data: str | Path | None = None) -> Collection:
    """The documents, queries and judgements of a set."""
    found = sets.find(name, data)
    if not set(PARTS) <= set(found.parts):
        raise FirthError("a set without queries and judgements", where=name, do="give --queries and --judgements")
    return collect(*(found.records(part) for part in PARTS), path=found.paths(PARTS[-1])[0])


def join_collection(documents: Iterator[Passage], queries: Path, judgements: Path) -> Collection:
    """The same of files: queries as a collection (id, tab, text will do), judgements as TREC or Cranfield has them."""
    form = _collection(queries) or formats.FORMATS["passages"]
    return collect(documents, form.read(queries), formats.FORMATS["judgements"].read(judgements), path=judgements)


def _collection(path: Path) -> formats.Format | None:
    """The format of a file whose texts have ids; None for any other."""
    form = formats.guess(path)
    if form.holds is Passage:
        return form
    first = next((line for _, line in islice(lines.lines(path), 1)), "")
    if formats.name_of(form) != "jsonl":
        return None
    try:
        keys = set(json.loads(first))
    except (ValueError, TypeError):
        return None
    return formats.FORMATS["passages"] if "text" in keys and keys & {"_id", "id"} else None


def _set(name: str, data: str | Path | None) -> sets.DataSet | None:
    """The set of this name, if there is one; an error if there is one of a name much like it."""
    known = sets.all_sets(data)
    near = get_close_matches(name, known, n=1, cutoff=0.75)
    if name not in known and near:
        raise FirthError("no such file or set", where=name, do=f"did you mean {near[0]!r}?")
    return sets.find(name, data) if name in known else None


def _of_set(found: sets.DataSet) -> Iterator[Passage]:
    if found.task == "retrieval":
        yield from found.records(PARTS[0])
        return
    split = next(iter(found.parts))
    for number, record in enumerate(found.examples(split), 1):
        if not isinstance(getattr(record, "text", None), str):
            raise FirthError("not a set of texts", where=found.name, do="give texts, or files of text")
        yield _titled(f"{split}:{number}", record.text)


def _plain(names: Sequence[str], config: Text | None, column: str) -> Iterator[Passage]:
    texts = open_texts(names, config, column=column)
    place = texts.columns.index("file") if "file" in texts.columns and not column else -1
    shown = names[0]
    for file, rows in groupby(texts, key=lambda row: row[1][place] if place >= 0 else shown):
        found = (text for text, _ in rows)
        first = list(islice(found, 2))
        called = repeat(file) if len(first) == 1 else (f"{file}:{number}" for number in count(1))
        yield from map(_titled, called, chain(first, found))


def _titled(name: str, text: str) -> Passage:
    """With its beginning for a title: what a text begins with counts once in the index."""
    line = text.partition("\n")[0]
    title = line if len(line) <= TITLE else line[:TITLE].rpartition(" ")[0] or line[:TITLE]
    return Passage(name, text, title)
