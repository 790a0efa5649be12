"""The formats of labelled data: one literal table, how a name and settings become one, and how a file's is guessed.

A format is a frozen dataclass whose fields are its options. `read(path)` gives records and `rows(records)` the lines
of a file with them; `read(path, report)` tells of faults and goes on where it can.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import ClassVar, Protocol

from firth.config import core
from firth.data import lines
from firth.data.formats.columns import Columns
from firth.data.formats.conllu import Conllu
from firth.data.formats.cranfield import Cranfield
from firth.data.formats.going import Report
from firth.data.formats.image_folders import ClassFolders
from firth.data.formats.images import Arrays, Folder, Idx
from firth.data.formats.labels import Labels
from firth.data.formats.parallel import Alignments, Parallel
from firth.data.formats.relevance import Judgements, Passages
from firth.data.formats.series import SeriesTable
from firth.data.formats.squad import Squad
from firth.data.formats.tables import JsonLines, Table
from firth.data.formats.text import PlainText
from firth.data.formats.trec import Trec
from firth.data.formats.trees import Trees
from firth.data.formats.wordlists import CONTEXTS, Analogies, Bats, Categories, Similarity
from firth.data.records import Record
from firth.errors import FirthError, unknown


class Format(Protocol):
    """What all formats have; those that can be written also have `rows`, and some the `task` of their records."""

    endings: ClassVar[tuple[str, ...]]  # of file names, without the dot
    holds: ClassVar[type]  # the records that it reads and writes

    def read(self, path: str | Path, report: Report | None = None) -> Iterator[Record]: ...


FORMATS: dict[str, Format] = {
    "tsv": Table(),
    "csv": Table(separator=",", quotes="csv"),
    "jsonl": JsonLines(),
    "conllu": Conllu(),
    "columns": Columns(),
    "trees": Trees(),
    "labels": Labels(),
    "squad": Squad(),
    "parallel": Parallel(),
    "alignments": Alignments(),
    "similarity": Similarity(),
    "contexts": CONTEXTS,
    "analogy": Analogies(),
    "bats": Bats(),
    "categories": Categories(),
    "cranfield": Cranfield(),
    "trec": Trec(),
    "passages": Passages(),
    "judgements": Judgements(),
    "series": SeriesTable(),
    "images": Arrays(),
    "idx": Idx(),
    "image-folder": Folder(),
    "class-folders": ClassFolders(),
    "text": PlainText(),
}
PACKED = (".gz", ".xz", ".zst")
BY_ENDING = {ending: name for name, found in FORMATS.items() for ending in found.endings} | {"csv": "csv", "tsv": "tsv"}
SAMPLE = 200  # lines that a guess looks at


def named(name: str, settings: Iterable[str] = ()) -> Format:
    """The format of this name with settings such as `columns=label,text` put over it."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return core.override(FORMATS[name], settings)


def writable(found: Format, name: str = "") -> Format:
    """The format, if files can be written in it."""
    if not hasattr(found, "rows"):
        raise FirthError(f"format {name or name_of(found)} cannot be written", do="choose another")
    return found


def name_of(found: Format) -> str:
    """The name in the table of a format, whatever its options."""
    same = [name for name, value in FORMATS.items() if type(value) is type(found)]
    return next((name for name in same if FORMATS[name] == found), "csv" if _is_csv(found) else same[0])


def _is_csv(found: Format) -> bool:
    return isinstance(found, Table) and found.quotes == "csv"


def guess(path: str | Path | Sequence[str | Path]) -> Format:
    """The format of a file: by the ending of its name, else by its first lines; several files are parallel."""
    if not isinstance(path, (str, Path)):
        return FORMATS["parallel"] if len(path) > 1 else guess(*path)
    name = Path(path).name
    for ending in PACKED:
        name = name.removesuffix(ending)
    known = BY_ENDING.get(name.rpartition(".")[2].lower(), "")
    if known and known != "text":
        return _fitted(known, path)
    return _fitted(_by_content([line for _, line in islice(lines.lines(path), SAMPLE)]), path)


def whole(found: Format, path: str | Path) -> str | Path | tuple[Path, ...]:
    """All that a format reads of what was named: the file, and those that it knows to lie beside it."""
    return found.beside(Path(path)) if hasattr(found, "beside") else path


def _fitted(name: str, path: str | Path) -> Format:
    """The format with the separator that the first line has."""
    found = FORMATS[name]
    if name in ("csv", "columns"):
        first = next(lines.lines(path), (1, ""))[1]
        if "\t" in first and (name == "columns" or "," not in first):
            return replace(found, separator="tab") if name == "columns" else FORMATS["tsv"]
    return found


def _by_content(sample: list[str]) -> str:
    filled = [line for line in sample if line]
    first = filled[0] if filled else ""
    rules = {
        "conllu": lambda: any(re.match(r"1(-\d+)?\t", line) and line.count("\t") == 9 for line in filled),
        "labels": lambda: first.startswith("__label__"),
        "trees": lambda: first.startswith("(") and any(line.count("(") > 1 for line in filled),
        "squad": lambda: first.startswith("{") and '"data"' in first[:1000],
        "jsonl": lambda: first.startswith("{"),
        "analogy": lambda: re.match(r": \S", first) is not None,
        "cranfield": lambda: first.startswith(".I "),
        "trec": lambda: first.strip()[:5].lower() in ("<doc>", "<top>"),
        "columns": lambda: len(filled) < len(sample) and _is_columned(filled),
        "tsv": lambda: "\t" in first and len({line.count("\t") for line in filled}) == 1,
    }
    return next((name for name, rule in rules.items() if rule()), "text")


def _is_columned(filled: list[str]) -> bool:
    mark = "\t" if "\t" in filled[0] else " "
    return {line.count(mark) for line in filled} in ({1}, {2}, {3}, {4}, {5})
