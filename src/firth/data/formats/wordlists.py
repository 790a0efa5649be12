"""Lists of words: judged pairs, analogies (Google's and BATS's), categories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar, Literal

from firth.data import lines
from firth.data.formats import going
from firth.data.formats.values import cells, line_safe, number, same_count, shown
from firth.data.records import Analogy, Labelled, Pair
from firth.errors import FirthError

SEPARATORS = {"tab": "\t", "blank": " ", "comma": ","}
PACKED = (".gz", ".xz", ".zst")
MISSING = ("na", "n/a", "nan", "null", "none", "inf", "-inf", "infinity")


@dataclass(frozen=True)
class Similarity:
    """Pairs of words with a score; columns other than left, right and score go to the pair's fields."""

    columns: tuple[str, ...] = ("left", "right", "score")
    separator: Literal["auto", "tab", "blank", "comma"] = "auto"  # auto: what the first line has; written: tab
    header: Literal["auto", "yes", "no"] = "auto"  # auto: a first line with a word for a score; written: only if yes

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Pair
    task: ClassVar[str] = "similarity"

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Pair]:
        """The pairs; blank lines do not count."""
        self._check()
        rows = ((n, line) for n, line in lines.lines(path) if line.strip())
        first = next(rows, (0, ""))
        separator = self._separator(first[1])
        units = rows if self._is_header(_split(first[1], separator)) or not first[0] else chain((first,), rows)
        return going.parsed(
            lambda unit: self._pair(_split(unit[1], separator), lines.at(path, unit[0]), unit[0]), units, report
        )

    def _pair(self, found: list[str], where: str, line: int) -> Pair:
        if len(found) != len(self.columns):
            same_count(len(found), len(self.columns), where, self.columns)
        named = dict(zip(self.columns, found, strict=True))
        left, right, text = named.pop("left"), named.pop("right"), named["score"]
        score = number(text)
        if score is None:
            raise FirthError(f"score {shown(text)} is no finite number", where=where, do="write a number")
        if not left or not right:
            raise FirthError("a pair without a word", where=where, do="give both words")
        if _plain(score) == text:
            del named["score"]  # else the text is kept, to be written as it was
        return Pair(left, right, None, score, line, tuple(named.items()))

    def rows(self, records: Iterable[Pair]) -> Iterator[str]:
        """The lines of a file with these pairs."""
        self._check()
        mark = SEPARATORS.get(self.separator, "\t")
        if self.header == "yes":
            yield mark.join(self.columns)
        for pair in records:
            told = {"left": pair.left, "right": pair.right, "score": _plain(pair.score or 0.0), **dict(pair.fields)}
            yield mark.join([line_safe(told.get(name, ""), "\n" + mark) for name in self.columns])

    def _check(self) -> None:
        wrong = [name for name in ("left", "right", "score") if self.columns.count(name) != 1]
        if wrong or len(set(self.columns)) != len(self.columns):
            what = f"columns = {','.join(self.columns)}: left, right and score must be there, each name once"
            raise FirthError(what, do="such as columns=left,right,score")

    def _separator(self, line: str) -> str:
        if self.separator != "auto":
            return SEPARATORS[self.separator]
        return next((mark for mark in "\t," if mark in line), " ")

    def _is_header(self, found: list[str]) -> bool:
        if self.header != "auto":
            return self.header == "yes"
        place = self.columns.index("score")
        return len(found) == len(self.columns) and _is_name(found[place])


CONTEXTS = Similarity(  # SCWS: pairs of words, each in a text of its own, and the ratings of ten people
    (
        *("id", "left", "left_pos", "right", "right_pos", "left_context", "right_context", "score"),
        *(f"rating{i}" for i in range(1, 11)),
    ),
    separator="tab",
    header="no",
)


@dataclass(frozen=True)
class Analogies:
    """Google's questions: `: section`, then lines of four words."""

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Analogy

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Analogy]:
        """The questions; blank lines do not count."""
        return going.parsed(lambda unit: _analogy(*unit, path), _sections(path), report)

    def rows(self, records: Iterable[Analogy]) -> Iterator[str]:
        """The lines of a file with these questions."""
        section = ""
        for record in records:
            if record.section != section:
                section = record.section
                yield f": {line_safe(section, chr(10))}"
            if any(word.split() != [word] for word in record.words):
                raise FirthError(f"{' '.join(record.words)!r}: a word with a blank in it", do="write single words")
            yield " ".join(record.words)


def _sections(path: str | Path) -> Iterator[tuple[str, int, str]]:
    """The lines with questions, and the section each is in."""
    section = ""
    for n, line in lines.lines(path):
        if line.startswith(":"):
            section = line[1:].strip()
        elif line.strip():
            yield section, n, line


def _analogy(section: str, line: int, text: str, path: str | Path) -> Analogy:
    words = text.split()
    if len(words) != 4:
        what = f"{len(words)} words, expected 4"
        raise FirthError(what, where=lines.at(path, line), do="write a b c d, or ': name' for a section")
    return Analogy(section, tuple(words), line)


@dataclass(frozen=True)
class Bats:
    """BATS: a file for each category, `word<tab>answer/other answer`; the pair's label is the category."""

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Pair

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Pair]:
        """The pairs of a category, its name that of the file; the right side has all answers."""
        category = _stem(lines.one_file(path))
        units = ((n, line) for n, line in lines.lines(path) if line.strip())
        return going.parsed(lambda unit: _bats(*unit, category, path), units, report)

    def rows(self, records: Iterable[Pair]) -> Iterator[str]:
        """The lines of the file of one category."""
        for pair in records:
            yield f"{line_safe(pair.left)}\t{line_safe(pair.right)}"


def _bats(line: int, text: str, category: str, path: str | Path) -> Pair:
    found = text.split("\t") if "\t" in text else text.split()
    same_count(len(found), 2, lines.at(path, line), ("word", "answers"))
    if not found[0].strip() or not all(answer.strip() for answer in found[1].split("/")):
        raise FirthError("an empty word", where=lines.at(path, line), do="write word<tab>answer/other answer")
    return Pair(found[0], found[1], category, line=line)


def answers(pair: Pair) -> tuple[str, ...]:
    """The answers of a pair of BATS, the usual one first."""
    return tuple(pair.right.split("/"))


def analogies(pairs: Iterable[Pair]) -> Iterator[Analogy]:
    """Every two pairs of a category as a question, with the first answer of each."""
    pairs = list(pairs)
    for one in pairs:
        for other in pairs:
            if one.left != other.left and one.label == other.label:
                words = (one.left, answers(one)[0], other.left, answers(other)[0])
                yield Analogy(one.label or "", words, other.line)


@dataclass(frozen=True)
class Categories:
    """Words and the category each belongs to: CSV with a header and columns index, category, word."""

    columns: tuple[str, ...] = ("", "category", "word")  # category and word must be there
    empty: Literal["refuse", "keep", "skip"] = "refuse"  # a row without a word or a category

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Labelled
    task: ClassVar[str] = "classification"

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Labelled]:
        """The words; the places of the columns come from the header."""
        rows = lines.lines(path)
        _, header = next(rows, (1, ""))
        names = cells(header, ",", lines.at(path, 1))
        if names.count("category") != 1 or names.count("word") != 1:
            what = f"the header {shown(header)} has not one category and one word"
            raise FirthError(what, where=lines.at(path, 1), do="begin with the line ,category,word")
        found = going.parsed(lambda unit: self._member(*unit, names, path), rows, report)
        return (word for word in found if self.empty != "skip" or (word.text and word.labels[0]))

    def _member(self, line: int, text: str, names: list[str], path: str | Path) -> Labelled:
        found = cells(text, ",", lines.at(path, line))
        same_count(len(found), len(names), lines.at(path, line), names)
        word, category = found[names.index("word")], found[names.index("category")]
        if self.empty == "refuse" and not (word and category):
            raise FirthError("an empty word or category", where=lines.at(path, line), do="fill both, or set empty=skip")
        return Labelled(word, (category,), line)

    def rows(self, records: Iterable[Labelled]) -> Iterator[str]:
        """The lines of a file with these words, counted from 0 in the other columns."""
        yield ",".join(self.columns)
        for n, record in enumerate(records):
            told = {"category": record.labels[0], "word": record.text}
            yield ",".join([_quoted(told.get(name, str(n))) for name in self.columns])


def _quoted(text: str) -> str:
    line_safe(text, "\n")
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _is_name(score: str) -> bool:
    """Whether this is the name of a column, not a score that somebody has written badly."""
    text = score.strip().lower()
    return text not in MISSING and any(map(str.isalpha, text)) and not any(map(str.isdigit, text))


def _split(line: str, separator: str) -> list[str]:
    return line.split() if separator == " " else line.split(separator)


def _plain(score: float) -> str:
    return str(int(score)) if score.is_integer() and abs(score) < 1e15 else repr(score)


def _stem(path: str | Path) -> str:
    path = Path(path)
    return (path.with_suffix("") if path.suffix in PACKED else path).stem
