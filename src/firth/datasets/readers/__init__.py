"""File formats of labelled data: one literal table, formats by name and settings, and guessing the format of a file.

A format is a frozen dataclass whose fields are its options. `read(path)` returns records and `rows(records)` the lines
of a file with them; `read(path, report)` reports faults and continues where it can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import ClassVar, Protocol

from firth.config import core
from firth.datasets import numbered_lines
from firth.datasets.readers import choices
from firth.datasets.readers.choices import MultipleChoice
from firth.datasets.readers.columns import Columns
from firth.datasets.readers.conllu import Conllu
from firth.datasets.readers.cranfield import Cranfield
from firth.datasets.readers.dialogues import Dialogues
from firth.datasets.readers.fasttext_labels import Labels
from firth.datasets.readers.fault_report import Report
from firth.datasets.readers.image_folders import ClassFolders
from firth.datasets.readers.images import Arrays, Folder, Idx
from firth.datasets.readers.nbest_lists import NBestLists
from firth.datasets.readers.parallel import Alignments, Parallel
from firth.datasets.readers.plain_text import PlainText
from firth.datasets.readers.relevance import Judgements, Passages
from firth.datasets.readers.series import SeriesTable
from firth.datasets.readers.squad import Squad
from firth.datasets.readers.tables import JsonLines, Table
from firth.datasets.readers.trec import Trec
from firth.datasets.readers.trees import Trees
from firth.datasets.readers.word_senses import Senses, WordsInContext
from firth.datasets.readers.wordlists import CONTEXTS, Analogies, Bats, Categories, Similarity
from firth.datasets.records import Record
from firth.errors import FirthError, unknown


class Format(Protocol):
    """The protocol of a format; those that can be written also have `rows`, and some the `task` of their records."""

    extensions: ClassVar[tuple[str, ...]]  # of file names, without the dot
    record_type: ClassVar[type]  # of the records that it reads and writes

    def read(self, path: str | Path, report: Report | None = None) -> Iterator[Record]:
        """The records of a file. A fault is an error or, with a report, noted there and skipped."""


FORMATS: dict[str, Format] = {
    "tsv": Table(),
    "csv": Table(separator=",", quotes="csv"),
    "jsonl": JsonLines(),
    "conllu": Conllu(),
    "columns": Columns(),
    "trees": Trees(),
    "labels": Labels(),
    "squad": Squad(),
    "choices": MultipleChoice(),
    "dialogues": Dialogues(),
    "senses": Senses(),
    "wic": WordsInContext(),
    "nbest": NBestLists(),
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
COMPRESSED = (".gz", ".xz", ".zst")
BY_EXTENSION = {extension: name for name, format_ in FORMATS.items() for extension in format_.extensions}
BY_EXTENSION |= {"csv": "csv", "tsv": "tsv"}
SAMPLE = 200  # lines by which a format is guessed


def get_format(name: str, settings: Iterable[str] = ()) -> Format:
    """The format of this name, its options overridden by settings such as `columns=label,text`."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return core.override(FORMATS[name], settings)


def writable(format_: Format, name: str = "") -> Format:
    """The format, if files can be written in it."""
    if not hasattr(format_, "rows"):
        raise FirthError(f"format {name or format_name(format_)} cannot be written", do="choose another")
    return format_


def format_name(format_: Format) -> str:
    """The name of a format in the table, whatever its options."""
    same = [name for name, value in FORMATS.items() if type(value) is type(format_)]
    return next((name for name in same if FORMATS[name] == format_), "csv" if _is_csv(format_) else same[0])


def _is_csv(format_: Format) -> bool:
    return isinstance(format_, Table) and format_.quotes == "csv"


def guess(path: str | Path | Sequence[str | Path]) -> Format:
    """The format of a file: by its extension, else by its first lines; several files are parallel."""
    if not isinstance(path, (str, Path)):
        return FORMATS["parallel"] if len(path) > 1 else guess(*path)
    name = Path(path).name
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    known = BY_EXTENSION.get(name.rpartition(".")[2].lower(), "")
    if known == "jsonl":
        return FORMATS[_json_lines_format(next((line for _, line in numbered_lines.lines(path) if line), ""))]
    if known and known != "text":
        return _with_separator(known, path)
    return _with_separator(_guess_by_content([line for _, line in islice(numbered_lines.lines(path), SAMPLE)]), path)


def input_paths(format_: Format, path: str | Path) -> str | Path | tuple[Path, ...]:
    """All files that a format reads for a path: the file, and its companions (labels of images) if there are any."""
    return format_.with_companions(Path(path)) if hasattr(format_, "with_companions") else path


def _with_separator(name: str, path: str | Path) -> Format:
    """The format with the separator and the quotes of the first lines."""
    format_ = FORMATS[name]
    if name not in ("csv", "tsv", "columns"):
        return format_
    try:
        sample = [line for _, line in islice(numbered_lines.lines(path), SAMPLE)]
    except FirthError:
        if name == "tsv":  # reading it will say the same, where it is wanted
            return format_
        raise
    first = sample[0] if sample else ""
    if name == "columns":
        return replace(format_, separator="tab") if "\t" in first else format_
    if name == "csv" and "," not in first:
        if "\t" in first:
            name = "tsv"
        elif _has_semicolons(sample):
            return replace(format_, separator="semicolon")
    return replace(FORMATS["csv"], separator="tab") if name == "tsv" and _all_quoted(sample) else FORMATS[name]


def _has_semicolons(sample: list[str]) -> bool:
    """Whether these are lines of CSV as spreadsheets write it where the comma is a decimal point."""
    return len(sample) > 1 and len({re.sub(r'"[^"]*"', "", line).count(";") for line in sample} - {0}) == 1


def _all_quoted(sample: list[str]) -> bool:
    """Whether every value between tabs is in quotes."""
    cells = [cell for line in sample for cell in line.split("\t")]
    return len(sample) > 1 and all(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells)


def _guess_by_content(sample: list[str]) -> str:
    filled = [line for line in sample if line]
    first = filled[0] if filled else ""
    rules = {
        "conllu": lambda: any(re.match(r"1(-\d+)?\t", line) and line.count("\t") == 9 for line in filled),
        "labels": lambda: first.startswith("__label__"),
        "trees": lambda: first.startswith("(") and any(line.count("(") > 1 for line in filled),
        "squad": lambda: first.startswith("{") and '"data"' in first[:1000],
        _json_lines_format(first): lambda: first.startswith("{"),
        "analogy": lambda: re.match(r": \S", first) is not None,
        "cranfield": lambda: first.startswith(".I "),
        "trec": lambda: first.strip()[:5].lower() in ("<doc>", "<top>"),
        "columns": lambda: 0 < len(filled) < len(sample) and _has_columns(filled),
        "tsv": lambda: "\t" in first and len({line.count("\t") for line in filled}) == 1,
    }
    return next((name for name, rule in rules.items() if rule()), "text")


def _json_lines_format(line: str) -> str:
    """The format of JSON lines by the keys of the first: of dialogues, choices, senses, or else a table."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return "jsonl"
    if not isinstance(values, dict):
        return "jsonl"
    if isinstance(values.get("messages"), list):
        return "dialogues"
    if isinstance(values.get("words"), list) and "position" in values:
        return "senses"
    inside = values["question"] if isinstance(values.get("question"), dict) else values
    return "choices" if any(isinstance(inside.get(name), (list, dict)) for name in choices.CHOICES) else "jsonl"


def _has_columns(filled: list[str]) -> bool:
    separator = "\t" if "\t" in filled[0] else " "
    return {line.count(separator) for line in filled} in ({1}, {2}, {3}, {4}, {5})
