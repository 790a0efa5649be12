"""Documents with facts about each: of files and folders the file's name, of a table its other columns."""

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
from firth.data import lines, python_docs
from firth.data.cache import default_cache
from firth.data.formats.tables import Json, JsonLines, Table
from firth.data.packed import reading
from firth.data.reading import LARGE, TextFile, check_encoding, no_text
from firth.data.sources import PythonDocs, Source, WorldText, kept, open_source
from firth.errors import FirthError, unknown

Row = tuple[str, tuple[str, ...]]  # a document and its value in every column


class Stamp(NamedTuple):
    """What tells that a file is still the same without reading it."""

    path: str
    size: int
    changed: float
    settings: str


class Texts(Protocol):
    """What can be indexed: documents to read again and again, each with a value in every column."""

    columns: tuple[str, ...]

    def __iter__(self) -> Iterator[Row]: ...
    def fingerprint(self) -> str: ...
    def stamp(self) -> list[Stamp] | None: ...  # None: it has to be read
    def describe(self) -> str: ...


@dataclass(frozen=True)
class Files:
    """A source; its only column is the file a document came from."""

    source: Source
    columns: tuple[str, ...] = ("file",)

    def __iter__(self) -> Iterator[Row]:
        found = False
        for part, name in zip(self.source.parts, self._names(), strict=True):
            for document in part:
                found = True
                yield document, (name,)
        if not found:
            raise no_text(self.describe())

    def fingerprint(self) -> str:
        """Of the text and of the files' names, since these can be asked for."""
        return hashlib.sha256(json.dumps([self.source.fingerprint(), *self._names()]).encode()).hexdigest()

    def stamp(self) -> list[Stamp] | None:
        """One entry a file, and one for the text of Python; other built-in texts have none."""
        config = self.source.config
        settings = json.dumps([config.document, config.encoding, config.errors, config.long_lines, self._names()])
        found = []
        for part in self.source.parts:
            if isinstance(part, PythonDocs):
                found.append(_python_stamp(settings))
            elif isinstance(part, TextFile):
                found.append(_stamp(part.path, f"{part.alone} {settings}"))
            else:
                return None
        return found

    def describe(self) -> str:
        return self.source.describe()

    def _names(self) -> list[str]:
        built_in = {PythonDocs: "python-docs", WorldText: "world"}
        return [built_in.get(type(part)) or getattr(part, "shown", "") for part in self.source.parts]


@dataclass(frozen=True)
class Rows:
    """A table; the text of a row is in one column, and what is known of it in the others."""

    path: Path
    reader: Table | JsonLines
    column: str  # of the text
    columns: tuple[str, ...]

    def __iter__(self) -> Iterator[Row]:
        found = False
        for row in self.reader.read(self.path):
            values = {name: _value(value) for name, value in zip(row.names, row.values, strict=True)}
            for document in _documents(values[self.column]):
                found = True
                yield document, tuple(values[name] for name in self.columns)
        if not found:
            raise no_text(str(self.path))

    def fingerprint(self) -> str:
        """Of the whole file, and of which column is the text."""
        with reading(str(self.path)), self.path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        return hashlib.sha256(json.dumps(["table", content, self.column]).encode()).hexdigest()

    def stamp(self) -> list[Stamp]:
        return [_stamp(self.path, f"table {self.column}")]

    def describe(self) -> str:
        return f"{self.path}, column {self.column}"


def _stamp(path: Path, settings: str) -> Stamp:
    with reading(str(path)):
        found = path.stat()
    return Stamp(str(path.absolute()), found.st_size, found.st_mtime_ns / 1e9, f"{found.st_ino} {settings}")


def _python_stamp(settings: str) -> Stamp:
    """One version of Python in one place has one text, as long as the code that takes it out is the same."""
    library = Path(sysconfig.get_paths()["stdlib"])
    topics = (library / "pydoc_data" / "topics.py").exists()  # some distributions ship it apart
    return _stamp(Path(python_docs.__file__), f"python-docs {sys.version} {library} {topics} {settings}")


def open_texts(names: Sequence[str] | str, config: Text | None = None, *, column: str = "") -> Texts:
    """Texts by name (files, folders, -, python-docs, world); with `column`, a table that has its text there."""
    names = [names] if isinstance(names, str) else list(names)
    if not column:
        return Files(open_source(names, config or Text(), default_cache() / "spool"))
    if len(names) != 1:
        raise FirthError(f"{len(names)} texts", where=", ".join(names), do="with --column, give one table")
    _check_settings(config or Text())
    return _open_table(Path(names[0]), column)


def _check_settings(config: Text) -> None:
    """What says how plain text is read says nothing about a table."""
    plain = Text()
    utf8 = check_encoding(config.encoding) == check_encoding(plain.encoding)
    same = {"encoding": utf8, "errors": config.errors == plain.errors, "document": config.document == plain.document}
    for name, is_same in same.items():
        if not is_same:
            do = "tables are UTF-8, and a row is a document: save it so, or leave the option out"
            raise FirthError(f"--{name} does nothing with --column", do=do)


def keep_texts(documents: Iterable[str]) -> Texts:
    """Texts from any iterable of strings; they are kept in the cache."""
    return open_texts(kept(documents, default_cache() / "spool"))


def _open_table(path: Path, column: str) -> Rows:
    """TSV (in which a quotation mark is text), CSV or JSON lines, told apart by the first line.

    Where that is a single name, the table is a TSV, unless the file's name says CSV."""
    head = next(lines.lines(path), (0, ""))[1]
    endings = {ending.lower() for ending in path.suffixes}
    if head.lstrip().startswith("{"):
        reader = JsonLines(extra="keep", missing="null")
    elif "\t" in head or endings & {".tsv", ".tab"} or ("," not in head and ".csv" not in endings):
        reader = Table(header="yes")
    else:
        reader = Table(separator=",", header="yes", quotes="csv")
    names = next(reader.read(path)).names
    if column not in names:
        raise unknown("column", column, names, where=f"{path}:1")
    return Rows(path, reader, column, tuple(name for name in names if name != column))


def _value(value: str) -> str:
    return "" if isinstance(value, Json) and value == "null" else str(value)


def _documents(text: str) -> Iterator[str]:
    """The text, cut at line ends where it is very long; nothing if it is blank."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    while len(text) > LARGE and (cut := text.find("\n", LARGE)) >= 0:
        yield text[:cut]
        text = text[cut:].strip("\n")
    if text and not text.isspace():
        yield text
