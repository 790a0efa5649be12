"""Word lists for evaluating word vectors: similarity ratings, analogies (Google, BATS) and categories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar, Literal

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.values import check_column_count, parse_number, quote, require_cell, split_cells
from firth.datasets.records import Analogy, Labelled, Pair
from firth.errors import FirthError

SEPARATORS = {"tab": "\t", "blank": " ", "comma": ","}
COMPRESSED = (".gz", ".xz", ".zst")
MISSING = ("na", "n/a", "nan", "null", "none", "inf", "-inf", "infinity")


@dataclass(frozen=True)
class Similarity:
    """Word similarity: pairs of words with a score; columns other than left, right and score become fields."""

    columns: tuple[str, ...] = ("left", "right", "score")
    separator: Literal["auto", "tab", "blank", "comma"] = "auto"  # auto: by the first line; written: tab
    header: Literal["auto", "yes", "no"] = "auto"  # auto: a first line with a word for a score; written: only if yes

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Pair
    task: ClassVar[str] = "similarity"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Pair]:
        """The pairs; blank lines are skipped."""
        self._check()
        rows = ((n, line) for n, line in numbered_lines.lines(path) if line.strip())
        first = next(rows, (0, ""))
        separator = self._separator(first[1])
        units = rows if self._is_header(_split(first[1], separator)) or not first[0] else chain((first,), rows)
        return fault_report.parse_all(
            lambda unit: self._pair(_split(unit[1], separator), numbered_lines.at(path, unit[0]), unit[0]),
            units,
            report,
        )

    def _pair(self, cells: list[str], where: str, line: int) -> Pair:
        if len(cells) != len(self.columns):
            check_column_count(len(cells), len(self.columns), where, self.columns)
        values = dict(zip(self.columns, cells, strict=True))
        left, right, text = values.pop("left"), values.pop("right"), values["score"]
        score = parse_number(text)
        if score is None:
            raise FirthError(f"score {quote(text)} is not a finite number", where=where, do="write a number")
        if not left or not right:
            raise FirthError("a pair without a word", where=where, do="give both words")
        if _format_score(score) == text:
            del values["score"]  # else the text is kept, to be written as it was
        return Pair(left, right, None, score, line, tuple(values.items()))

    def rows(self, records: Iterable[Pair]) -> Iterator[str]:
        """The lines of a file with these pairs."""
        self._check()
        delimiter = SEPARATORS.get(self.separator, "\t")
        if self.header == "yes":
            yield delimiter.join(self.columns)
        for pair in records:
            values = {
                "left": pair.left,
                "right": pair.right,
                "score": _format_score(pair.score or 0.0),
                **dict(pair.fields),
            }
            yield delimiter.join([require_cell(values.get(name, ""), "\n" + delimiter) for name in self.columns])

    def _check(self) -> None:
        wrong = [name for name in ("left", "right", "score") if self.columns.count(name) != 1]
        if wrong or len(set(self.columns)) != len(self.columns):
            what = f"columns = {','.join(self.columns)}: left, right and score are needed, each name once"
            raise FirthError(what, do="such as columns=left,right,score")

    def _separator(self, line: str) -> str:
        if self.separator != "auto":
            return SEPARATORS[self.separator]
        return next((mark for mark in "\t," if mark in line), " ")

    def _is_header(self, cells: list[str]) -> bool:
        if self.header != "auto":
            return self.header == "yes"
        position = self.columns.index("score")
        return len(cells) == len(self.columns) and _is_name(cells[position])


CONTEXTS = Similarity(  # SCWS: pairs of words in context, and the ratings of ten people
    (
        *("id", "left", "left_pos", "right", "right_pos", "left_context", "right_context", "score"),
        *(f"rating{i}" for i in range(1, 11)),
    ),
    separator="tab",
    header="no",
)


@dataclass(frozen=True)
class Analogies:
    """Google's word analogies: `: section`, then lines of four words."""

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Analogy

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Analogy]:
        """The analogies; blank lines are skipped."""
        return fault_report.parse_all(lambda unit: _analogy(*unit, path), _sections(path), report)

    def rows(self, records: Iterable[Analogy]) -> Iterator[str]:
        """The lines of a file with these analogies."""
        section = ""
        for record in records:
            if record.section != section:
                section = record.section
                yield f": {require_cell(section, chr(10))}"
            if any(word.split() != [word] for word in record.words):
                raise FirthError(f"{' '.join(record.words)!r}: a word with a blank in it", do="write single words")
            yield " ".join(record.words)


def _sections(path: str | Path) -> Iterator[tuple[str, int, str]]:
    """The lines with analogies, and the section of each."""
    section = ""
    for n, line in numbered_lines.lines(path):
        if line.startswith(":"):
            section = line[1:].strip()
        elif line.strip():
            yield section, n, line


def _analogy(section: str, line: int, text: str, path: str | Path) -> Analogy:
    words = text.split()
    if len(words) != 4:
        what = f"{len(words)} words, expected 4"
        raise FirthError(what, where=numbered_lines.at(path, line), do="write a b c d, or ': name' for a section")
    return Analogy(section, tuple(words), line)


@dataclass(frozen=True)
class Bats:
    """BATS analogies: one file per category, `word<tab>answer/other answer`; the pair's label is the category."""

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Pair

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Pair]:
        """The pairs of a category, named by the file; the right side has all answers."""
        category = _stem(numbered_lines.single_file(path))
        units = ((n, line) for n, line in numbered_lines.lines(path) if line.strip())
        return fault_report.parse_all(lambda unit: _bats(*unit, category, path), units, report)

    def rows(self, records: Iterable[Pair]) -> Iterator[str]:
        """The lines of the file of one category."""
        for pair in records:
            yield f"{require_cell(pair.left)}\t{require_cell(pair.right)}"


def _bats(line: int, text: str, category: str, path: str | Path) -> Pair:
    cells = text.split("\t") if "\t" in text else text.split()
    check_column_count(len(cells), 2, numbered_lines.at(path, line), ("word", "answers"))
    if not cells[0].strip() or not all(answer.strip() for answer in cells[1].split("/")):
        raise FirthError("an empty word", where=numbered_lines.at(path, line), do="write word<tab>answer/other answer")
    return Pair(cells[0], cells[1], category, line=line)


def answers(pair: Pair) -> tuple[str, ...]:
    """The answers of a BATS pair, the usual one first."""
    return tuple(pair.right.split("/"))


def analogies(pairs: Iterable[Pair]) -> Iterator[Analogy]:
    """Every two pairs of a category as an analogy, with the first answer of each."""
    pairs = list(pairs)
    for one in pairs:
        for other in pairs:
            if one.left != other.left and one.label == other.label:
                words = (one.left, answers(one)[0], other.left, answers(other)[0])
                yield Analogy(one.label or "", words, other.line)


@dataclass(frozen=True)
class Categories:
    """Words and their categories: CSV with a header and columns index, category, word."""

    columns: tuple[str, ...] = ("", "category", "word")  # category and word are needed
    empty: Literal["refuse", "keep", "skip"] = "refuse"  # a row without a word or a category

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Labelled
    task: ClassVar[str] = "classification"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Labelled]:
        """The words; the header decides the order of the columns."""
        rows = numbered_lines.lines(path)
        _, header = next(rows, (1, ""))
        names = split_cells(header, ",", numbered_lines.at(path, 1))
        if names.count("category") != 1 or names.count("word") != 1:
            what = f"the header {quote(header)} needs one column category and one column word"
            raise FirthError(what, where=numbered_lines.at(path, 1), do="begin with the line ,category,word")
        words = fault_report.parse_all(lambda unit: self._member(*unit, names, path), rows, report)
        return (word for word in words if self.empty != "skip" or (word.text and word.labels[0]))

    def _member(self, line: int, text: str, names: list[str], path: str | Path) -> Labelled:
        cells = split_cells(text, ",", numbered_lines.at(path, line))
        check_column_count(len(cells), len(names), numbered_lines.at(path, line), names)
        word, category = cells[names.index("word")], cells[names.index("category")]
        if self.empty == "refuse" and not (word and category):
            raise FirthError(
                "an empty word or category", where=numbered_lines.at(path, line), do="fill both, or set empty=skip"
            )
        return Labelled(word, (category,), line)

    def rows(self, records: Iterable[Labelled]) -> Iterator[str]:
        """The lines of a file with these words, counted from 0 in the other columns."""
        yield ",".join(self.columns)
        for n, record in enumerate(records):
            values = {"category": record.labels[0], "word": record.text}
            yield ",".join([_quoted(values.get(name, str(n))) for name in self.columns])


def _quoted(text: str) -> str:
    require_cell(text, "\n")
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _is_name(score: str) -> bool:
    """Whether this is the name of a column, not a malformed score."""
    text = score.strip().lower()
    return text not in MISSING and any(map(str.isalpha, text)) and not any(map(str.isdigit, text))


def _split(line: str, separator: str) -> list[str]:
    return line.split() if separator == " " else line.split(separator)


def _format_score(score: float) -> str:
    return str(int(score)) if score.is_integer() and abs(score) < 1e15 else repr(score)


def _stem(path: str | Path) -> str:
    path = Path(path)
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).stem
