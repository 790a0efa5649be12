"""Words with their senses: JSON lines of sentences, and pairs of sentences with the same word (words in context)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, Literal

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.json_objects import JsonObject, read_objects
from firth.datasets.readers.values import check_column_count, parse_int, quote, require_cell
from firth.datasets.records import Pair, WordSense
from firth.errors import FirthError

LABELS = ("T", "F")
KEYS = ("words", "position", "word", "sense", "definition")


@dataclass(frozen=True)
class Senses:
    """One word per line: `{"words": ["a", "dog", "ran"], "position": 1, "word": "dog", "sense": "dog.n.01"}`."""

    extra: Literal["refuse", "drop"] = "refuse"  # further keys: refuse the line, or leave them out

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = WordSense
    task: ClassVar[str] = "senses"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[WordSense]:
        """The words in the order of the file."""
        return read_objects(path, self._word, report)

    def _word(self, entry: JsonObject) -> WordSense:
        entry.only(KEYS, self.extra)
        words, position = entry.texts("words"), entry.get("position", int)
        if not 0 <= position < len(words):
            raise entry.error(f"position {position} of {len(words)} words", "count the words from 0")
        word = entry.get("word", str) if "word" in entry.values else words[position]
        definition = entry.get("definition", str) if "definition" in entry.values else ""
        return WordSense(words, position, word, entry.get("sense", str), definition, entry.line)

    def rows(self, records: Iterable[WordSense]) -> Iterator[str]:
        """The lines of a file with these words."""
        for record in records:
            values = dict(zip(KEYS, record[:-1], strict=True))
            if not record.definition:
                del values["definition"]
            yield json.dumps(values, ensure_ascii=False)


@dataclass(frozen=True)
class WordsInContext:
    """WiC: `word<tab>part of speech<tab>2-3<tab>sentence<tab>sentence`, the word's positions counted from 0; the labels
    (T: the same sense, F: another) in a second file, or in a sixth column."""

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Pair
    task: ClassVar[str] = "pairs"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Pair]:
        """The pairs of sentences; the word, its part of speech and its positions are fields."""
        if isinstance(path, (str, Path)):
            return fault_report.parse_all(lambda unit: _pair(*unit, path), numbered_lines.lines(path), report)
        if len(path) != 2:
            what = f"{len(path)} files, expected the sentences and their labels"
            raise FirthError(what, where=", ".join(map(str, path)), do="give two")
        units = zip_longest(*map(numbered_lines.lines, path))
        return fault_report.parse_all(lambda unit: _labelled(*unit, *path), units, report)

    def rows(self, records: Iterable[Pair]) -> Iterator[str]:
        """The lines of one file with these pairs, their labels in the sixth column."""
        for pair in records:
            fields = dict(pair.fields)
            cells = [fields.get(name, "") for name in ("word", "pos", "positions")]
            cells += [pair.left, pair.right, *([pair.label] if pair.label is not None else [])]
            yield "\t".join(map(require_cell, cells))


def _labelled(row: tuple[int, str] | None, label: tuple[int, str] | None, path: str | Path, gold: str | Path) -> Pair:
    """The pair of a line and the line of its label."""
    if row is None or label is None:
        short, (line, _) = (path, label) if row is None else (gold, row)
        raise FirthError(f"it ends before line {line} of the other file", where=short, do="give each line its label")
    text = label[1].strip()
    if text not in LABELS:
        raise _label_error(text, numbered_lines.at(gold, label[0]))
    return _pair(row[0], f"{row[1]}\t{text}", path)


def _label_error(text: str, where: str) -> FirthError:
    return FirthError(f"label {quote(text)}", where=where, do="write T (the same sense) or F")


def _pair(line: int, text: str, path: str | Path) -> Pair:
    where = numbered_lines.at(path, line)
    cells = text.split("\t")
    if len(cells) not in (5, 6):
        check_column_count(len(cells), 6, where, ("word", "pos", "positions", "left", "right", "label"))
    word, pos, positions, left, right, *label = cells
    numbers = [parse_int(number) for number in positions.split("-")]
    sizes = [len(left.split(" ")), len(right.split(" "))]
    if len(numbers) != 2 or any(n is None or not 0 <= n < size for n, size in zip(numbers, sizes, strict=True)):
        what = f"{quote(positions)} are no positions in sentences of {sizes[0]} and {sizes[1]} words"
        raise FirthError(what, where=where, do="write them as 2-3, counted from 0")
    if label and label[0] not in LABELS:
        raise _label_error(label[0], where)
    fields = (("word", word), ("pos", pos), ("positions", positions))
    return Pair(left, right, label[0] if label else None, None, line, fields)
