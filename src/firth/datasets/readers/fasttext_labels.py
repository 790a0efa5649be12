"""fastText's format for text classification: a line begins with its labels, `__label__sport __label__news The …`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.records import Labelled
from firth.errors import FirthError


@dataclass(frozen=True)
class Labels:
    """One text per line after its labels; without a prefix the first word is the label."""

    prefix: str = "__label__"
    between: str = ""  # separator of several labels in one word, such as the colon of DESC:manner
    levels: int = 0  # so many of the labels in one word are kept, from the first on; 0: all
    extensions: ClassVar[tuple[str, ...]] = ("ft", "fasttext")
    record_type: ClassVar[type] = Labelled
    task: ClassVar[str] = "classification"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Labelled]:
        """The texts with their labels."""
        return fault_report.parse_all(lambda unit: self.parse(*unit, path), numbered_lines.lines(path), report)

    def rows(self, records: Iterable[Labelled]) -> Iterator[str]:
        """The lines of a file with these texts."""
        for number, record in enumerate(records, 1):
            words = [self.between.join(record.labels)] if self.between else list(record.labels)
            self._check(words, record.text, f"record {number}")
            yield " ".join([*(self.prefix + word for word in words), *([record.text] if record.text else [])])

    def parse(self, number: int, line: str, path: str | Path) -> Labelled:
        """One line; `number` and `path` are for errors."""
        labels, rest = [], line
        while rest.startswith(self.prefix) and (self.prefix or not labels) and rest:
            word, rest = _first(rest)
            labels.append(word.removeprefix(self.prefix))
            if self.prefix and rest.lstrip(" \t").startswith(self.prefix):
                rest = rest.lstrip(" \t")
        if not labels or not all(labels):
            what = "no label" if not labels else "an empty label"
            raise FirthError(what, where=numbered_lines.at(path, number), do=f"begin the line with {self.prefix}NAME")
        if self.between:
            labels = [label for word in labels for label in word.split(self.between)[: self.levels or None]]
        return Labelled(rest, tuple(labels), number)

    def _check(self, words: list[str], text: str, where: str) -> None:
        for word in words:
            if not word or any(mark in word for mark in " \t\n\r"):
                raise FirthError(f"label {word!r} is empty or has a blank in it", where=where, do="rename the label")
        if not words or (len(words) > 1 and not self.prefix):
            raise FirthError(f"{len(words)} labels", where=where, do="give exactly one, or set a prefix")
        if "\n" in text or (self.prefix and text.lstrip(" \t").startswith(self.prefix)):
            raise FirthError("a text with a line end, or one that looks like a label", where=where, do="write jsonl")


def _first(line: str) -> tuple[str, str]:
    """The first word, and the rest after the blank or tab that ends it."""
    ends = [position for position in (line.find(" "), line.find("\t")) if position >= 0]
    end = min(ends, default=len(line))
    return line[:end], line[end + 1 :]
