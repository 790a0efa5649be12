"""Corpora: documents with metadata columns (the file name for files and folders, the other columns for a table)."""

from __future__ import annotations

import hashlib
import json
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from firth.config.schema import Text
from firth.datasets import numbered_lines, python_docs
from firth.datasets.compression import explain_read_errors
from firth.datasets.readers.tables import Json, JsonLines, Table
from firth.datasets.sources import PythonDocs, Source, WorldText, keep_documents, open_source
from firth.datasets.text_files import LARGE, TextFile, check_encoding, no_text_error
from firth.datasets.token_cache import default_cache
from firth.errors import FirthError, unknown

Row = tuple[str, tuple[str, ...]]  # a document and its value in every column


class Stamp(NamedTuple):
    """Identifies a version of a file by its size and modification time, without reading it."""

    path: str
    size: int
    modified: float
    settings: str


class Corpus(Protocol):
    """Documents that can be read repeatedly, each with a value in every metadata column."""

    columns: tuple[str, ...]

    def __iter__(self) -> Iterator[Row]: ...
    def fingerprint(self) -> str: ...
    def stamp(self) -> list[Stamp] | None: ...  # None: only reading it tells its version
    def describe(self) -> str: ...


@dataclass(frozen=True)
class FileCorpus:
    """Plain text of a source; its only metadata column is the file a document came from."""

    source: Source
    columns: tuple[str, ...] = ("file",)

    def __iter__(self) -> Iterator[Row]:
        empty = True
        for part, name in zip(self.source.parts, self._names(), strict=True):
            for document in part:
                empty = False
                yield document, (name,)
        if empty:
            raise no_text_error(self.describe())

    def fingerprint(self) -> str:
        """A hash of the text and of the file names, since these can be queried."""
        return hashlib.sha256(json.dumps([self.source.fingerprint(), *self._names()]).encode()).hexdigest()

    def stamp(self) -> list[Stamp] | None:
        """One stamp per file, and one for the text of Python; other built-in texts have none."""
        config = self.source.config
        settings = json.dumps(
            [config.document, config.encoding, config.encoding_errors, config.long_lines, self._names()]
        )
        stamps = []
        for part in self.source.parts:
            if isinstance(part, PythonDocs):
                stamps.append(_python_stamp(settings))
            elif isinstance(part, TextFile):
                stamps.append(_file_stamp(part.path, f"{part.alone} {settings}"))
            else:
                return None
        return stamps

    def describe(self) -> str:
        return self.source.describe()

    def _names(self) -> list[str]:
        built_in = {PythonDocs: "python-docs", WorldText: "world"}
        parts = self.source.parts
        return [part.shown if isinstance(part, TextFile) else built_in.get(type(part), "") for part in parts]


@dataclass(frozen=True)
class TableCorpus:
    """A table; the text of a row is in one column, its metadata in the others."""

    path: Path
    reader: Table | JsonLines
    column: str  # of the text
    columns: tuple[str, ...]

    def __iter__(self) -> Iterator[Row]:
        empty = True
        for row in self.reader.read(self.path):
            values = {name: _to_text(value) for name, value in zip(row.names, row.values, strict=True)}
            for document in _split_long(values[self.column]):
                empty = False
                yield document, tuple(values[name] for name in self.columns)
        if empty:
            raise no_text_error(str(self.path))

    def fingerprint(self) -> str:
        """A hash of the whole file and of the name of the text column."""
        with explain_read_errors(str(self.path)), self.path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        return hashlib.sha256(json.dumps(["table", content, self.column]).encode()).hexdigest()

    def stamp(self) -> list[Stamp]:
        return [_file_stamp(self.path, f"table {self.column}")]

    def describe(self) -> str:
        return f"{self.path}, column {self.column}"


def _file_stamp(path: Path, settings: str) -> Stamp:
    with explain_read_errors(str(path)):
        state = path.stat()
    return Stamp(str(path.absolute()), state.st_size, state.st_mtime_ns / 1e9, f"{state.st_ino} {settings}")


def _python_stamp(settings: str) -> Stamp:
    """The text of Python depends on its version, its location and the code that extracts the text."""
    library = Path(sysconfig.get_paths()["stdlib"])
    topics = (library / "pydoc_data" / "topics.py").exists()  # some distributions ship it separately
    return _file_stamp(Path(python_docs.__file__), f"python-docs {sys.version} {library} {topics} {settings}")


def open_corpus(names: Sequence[str] | str, config: Text | None = None, *, column: str = "") -> Corpus:
    """A corpus by name (files, folders, -, python-docs, world); with `column`, a table with its text in that column."""
    names = [names] if isinstance(names, str) else list(names)
    if not column:
        return FileCorpus(open_source(names, config or Text(), default_cache() / "spool"))
    if len(names) != 1:
        raise FirthError(f"{len(names)} texts", where=", ".join(names), do="with --column, give one table")
    _check_settings(config or Text())
    return _open_table(Path(names[0]), column)


def _check_settings(config: Text) -> None:
    """The settings of plain text have no effect on a table, so they must be the defaults."""
    default = Text()
    is_default = {
        "encoding": check_encoding(config.encoding) == check_encoding(default.encoding),
        "encoding-errors": config.encoding_errors == default.encoding_errors,
        "document": config.document == default.document,
    }
    for name, unchanged in is_default.items():
        if not unchanged:
            do = "tables are UTF-8, and a row is a document: save it so, or leave the option out"
            raise FirthError(f"--{name} does nothing with --column", do=do)


def cache_corpus(documents: Iterable[str]) -> Corpus:
    """A corpus of any iterable of strings; they are stored in the cache."""
    return open_corpus(keep_documents(documents, default_cache() / "spool"))


def _open_table(path: Path, column: str) -> TableCorpus:
    """TSV (in which a quotation mark is text), CSV or JSON lines, detected by the first line.

    If that is a single name, the table is a TSV, unless the file's suffix is .csv."""
    header = next(numbered_lines.lines(path), (0, ""))[1]
    suffixes = {suffix.lower() for suffix in path.suffixes}
    if header.lstrip().startswith("{"):
        reader = JsonLines(extra="keep", missing="null")
    elif "\t" in header or suffixes & {".tsv", ".tab"} or ("," not in header and ".csv" not in suffixes):
        reader = Table(header="yes")
    else:
        reader = Table(separator=",", header="yes", quotes="csv")
    names = next(reader.read(path)).names
    if column not in names:
        raise unknown("column", column, names, where=f"{path}:1")
    return TableCorpus(path, reader, column, tuple(name for name in names if name != column))


def _to_text(value: str) -> str:
    return "" if isinstance(value, Json) and value == "null" else str(value)


def _split_long(text: str) -> Iterator[str]:
    """The text, a very long one split at newlines; nothing if it is blank."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    while len(text) > LARGE and (cut := text.find("\n", LARGE)) >= 0:
        yield text[:cut]
        text = text[cut:].strip("\n")
    if text and not text.isspace():
        yield text
