"""Validation of labelled files against a task: all problems of one pass, not only the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from firth.datasets import numbered_lines
from firth.datasets.leakage import Overlap, audit
from firth.datasets.readers import Format, format_name, guess, tag_schemes, trees
from firth.datasets.records import (
    Choices,
    Dialogue,
    Image,
    Labelled,
    NBest,
    Pair,
    Passage,
    Question,
    Record,
    Row,
    Sentence,
    Tagged,
    Tree,
    WordSense,
)
from firth.datasets.tasks import Converter, UnfitError
from firth.errors import FirthError

MAX_PROBLEMS = 20  # problems shown
IDS = ("id", "index", "pair_id", "guid")
LAYER = "BIESLU"
MAX_BEHIND = 50  # faults more than the best tagging scheme, after which a scheme is no longer counted


@dataclass(frozen=True)
class Problem:
    """Something to correct; a warning may be intended."""

    where: str
    what: str
    do: str = ""
    warning: bool = False

    def __str__(self) -> str:
        return str(FirthError(self.what, where=self.where, do=self.do))


@dataclass(frozen=True)
class Report:
    """The result of a check."""

    file: str
    task: str
    format: str
    records: int
    problems: tuple[Problem, ...]
    truncated: bool  # stopped at the limit: there may be more problems
    labels: Mapping[str, int]
    lengths: tuple[int, float, int] | None  # minimum, mean and maximum words of an example

    @property
    def faults(self) -> list[Problem]:
        """The problems that are no warnings."""
        return [problem for problem in self.problems if not problem.warning]


class _Enough(Exception):
    """The limit of problems is reached."""


@dataclass
class _Tally:
    """Counts while reading."""

    file: str
    max_problems: int
    problems: list[Problem] = field(default_factory=list)
    records: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)  # the line where a label first occurs
    words: list[int] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    seen: dict[int, tuple[int, int]] = field(default_factory=dict)  # hash of an example -> its number and line
    repeated: list[tuple[int, str]] = field(default_factory=list)  # the line, and where the same occurred before
    tags: list[_Layer] = field(default_factory=list)

    def add(self, problem: Problem) -> None:
        if len(self.problems) >= self.max_problems:
            raise _Enough
        self.problems.append(problem)

    def fault(self, error: FirthError, line: int = 0) -> None:
        self.add(Problem(error.where or numbered_lines.at(self.file, line), error.what, error.do))


def check(
    path: str | Path | Sequence[str | Path],
    task: str,
    format_: Format | None = None,
    columns: Mapping[str, str] | None = None,
    max_problems: int = MAX_PROBLEMS,
) -> Report:
    """Read a file (or parallel files) as examples of a task and report up to `max_problems` problems."""
    format_ = format_ or guess(path)
    tally = _Tally(str(path) if isinstance(path, (str, Path)) else str(path[0]), max_problems)
    convert, truncated = Converter(task, columns), False
    try:
        try:
            for record in format_.read(path, tally.fault):
                _check_record(record, convert, tally, task)
        except FirthError as error:
            if not tally.problems or error.what != "no rows in it":  # all rows have been reported
                tally.fault(error)
        for problem in _afterwards(tally, task):
            tally.add(problem)
    except _Enough:
        truncated = True
    lengths = (min(tally.words), sum(tally.words) / len(tally.words), max(tally.words)) if tally.words else None
    problems, labels = tuple(tally.problems), dict(tally.labels.most_common())
    return Report(tally.file, task, format_name(format_), tally.records, problems, truncated, labels, lengths)


def compare(train: Report, other: Report) -> list[Problem]:
    """Warnings for labels of another file that the training file never has: they cannot be learned."""
    missing = [label for label in other.labels if label not in train.labels] if train.labels else []
    return [
        Problem(other.file, f"label {label!r} is never seen in {train.file}", warning=True) for label in sorted(missing)
    ]


def read_examples(
    path: str | Path | Sequence[str | Path],
    task: str,
    format_: Format | None = None,
    columns: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, str]]:
    """Where each example of a task stands in a file, and its texts; those with faults are left out."""
    format_, convert = format_ or guess(path), Converter(task, columns)
    file = str(path) if isinstance(path, (str, Path)) else str(path[0])
    for record in format_.read(path, lambda *_: None):
        with suppress(FirthError):
            example = convert(record)
            if get_texts_and_labels := TEXTS_AND_LABELS.get(type(example)):
                texts = "\n".join(get_texts_and_labels(example)[0])
                yield numbered_lines.at(file, getattr(record, "line", 0)), texts


def read_documents(source: Iterable[str], name: str) -> Iterator[tuple[str, str]]:
    """The number of each document of a plain text, and its text."""
    return ((f"{name}, document {number}", text) for number, text in enumerate(source, 1))


def check_leakage(
    train: Iterable[tuple[str, str]], other: Iterable[tuple[str, str]], name: str, max_problems: int = MAX_PROBLEMS
) -> tuple[Overlap, list[Problem]]:
    """What a held-out file shares with the training file of this name: the overlap, and a warning for each text."""
    places = []

    def texts() -> Iterator[str]:
        for place, text in other:
            places.append(place)
            yield text

    overlap = audit((text for _, text in train), {"": texts()}, shown=max_problems)[""]
    warnings = [Problem(places[at], f'also in {name}: "{text}"', warning=True) for at, text in overlap.examples]
    return overlap, warnings


def _check_record(record: Record, convert: Converter, tally: _Tally, task: str) -> None:
    line = getattr(record, "line", 0)
    tally.records += 1
    if isinstance(record, Row):
        _check_id(record, tally)
    try:
        example = convert(record)
    except UnfitError:
        raise
    except FirthError as error:
        tally.fault(error, line)
        return
    get_texts_and_labels = TEXTS_AND_LABELS.get(type(example))
    if get_texts_and_labels is None:
        return
    texts, labels = get_texts_and_labels(example)
    for label in labels:
        tally.labels[label] += 1
        tally.first.setdefault(label, line)
    tally.words.append(sum(len(text.split()) for text in texts))
    if task != "language":
        if not all(text.strip() for text in texts):
            tally.add(
                Problem(numbered_lines.at(tally.file, line), "an empty text", "fill it in, or remove the example")
            )
        _check_repeated(_key(example, texts, labels), line, tally)
    if isinstance(example, Tagged):
        _check_tags(example, tally)


def _check_id(row: Row, tally: _Tally) -> None:
    column = next((column for column, name in enumerate(row.names) if name.lower() in IDS), None)
    if column is None or column >= len(row.values):
        return
    before = tally.ids.setdefault(row.values[column], row.line)
    if before != row.line:
        what = f"{row.names[column]} {row.values[column][:40]!r} occurs before (line {before})"
        tally.add(Problem(numbered_lines.at(tally.file, row.line), what, "give every row an id of its own"))


def _key(example: Record, texts: Sequence[str], labels: Sequence[str]) -> int:
    return hash((texts, tuple(labels), example.pixels.tobytes() if isinstance(example, Image) else b""))


def _check_repeated(key: int, line: int, tally: _Tally) -> None:
    """Count a repeated example; several examples may share a line, as in most files of SQuAD."""
    number, before = tally.seen.setdefault(key, (tally.records, line))
    if number != tally.records:
        tally.repeated.append((line, f"line {before}" if before != line else f"record {number}"))


# --- the texts and labels of an example -------------------------------------------------------------------------------

TextsAndLabels = tuple[tuple[str, ...], Sequence[str]]
TEXTS_AND_LABELS: dict[type, Callable[..., TextsAndLabels]] = {
    Labelled: lambda example: ((example.text,), example.labels),
    Pair: lambda example: ((example.left, example.right), [example.label] if example.label is not None else []),
    Tagged: lambda example: ((" ".join(example.words),), _span_labels(example)),
    Sentence: lambda example: ((" ".join(row[1] for row in example.words),), [row[7] for row in example.words]),
    Tree: lambda example: ((" ".join(trees.leaves(example)),), [label for _, _, label in trees.spans(example)]),
    Question: lambda example: ((example.text, example.context), []),
    Choices: lambda example: (tuple(filter(None, (example.context, example.question, *example.choices))), []),
    Dialogue: lambda example: (tuple([turn.text for turn in example.turns]), []),
    WordSense: lambda example: ((f"{' '.join(example.words)} ({example.position})",), [example.sense]),
    NBest: lambda example: ((example.context + example.reference,), []),
    Passage: lambda example: ((f"{example.title} {example.text}",), []),
    Image: lambda example: (example.captions, [example.label] if example.label is not None else []),
}


def _span_labels(example: Tagged) -> list[str]:
    """The labels of the last layer: of spans, if its tags have them."""
    tags = example.layers[-1] if example.layers else ()
    if all(_is_span_tag(tag) for tag in tags):
        return [span.label for span in tag_schemes.tags_to_spans(tags)]
    return list(tags)


def _is_span_tag(tag: str) -> bool:
    return tag == tag_schemes.OUTSIDE or (tag[0] in LAYER and tag[1:2] == "-")


# --- tagging schemes: which one a layer follows is known at the end ------------------------------------------------


@dataclass
class _Layer:
    """A layer of tags so far."""

    tags: int = 0
    spans: int = 0  # tags that look like a part of a span
    odd: list[Problem] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=lambda: dict.fromkeys(tag_schemes.SCHEMES, 0))
    shown: dict[str, list[Problem]] = field(default_factory=lambda: {name: [] for name in tag_schemes.SCHEMES})


def _check_tags(example: Tagged, tally: _Tally) -> None:
    while len(tally.tags) < len(example.layers):
        tally.tags.append(_Layer())
    for layer, tags in zip(tally.tags, example.layers, strict=False):
        layer.tags += len(tags)
        layer.spans += sum(map(_is_span_tag, tags))
        if layer.spans * 2 < layer.tags:  # parts of speech and the like
            continue
        fewest = min(layer.faults.values())
        for name in [name for name, count in layer.faults.items() if count <= fewest + MAX_BEHIND]:
            faults = tag_schemes.faults(tags, name)
            layer.faults[name] += len(faults)
            for position, what in faults[: tally.max_problems - len(layer.shown[name])]:
                where = numbered_lines.at(tally.file, example.line + position)
                layer.shown[name].append(Problem(where, what, "correct the tag"))


def _wrong_tags(layer: _Layer) -> Iterator[Problem]:
    """The faults under the scheme with the fewest, if the layer holds spans at all."""
    if layer.spans * 10 >= layer.tags * 9:
        yield from layer.shown[min(layer.faults, key=layer.faults.__getitem__)]


def _afterwards(tally: _Tally, task: str) -> Iterator[Problem]:
    for layer in tally.tags:
        yield from _wrong_tags(layer)
    if not tally.records and not tally.problems:
        yield Problem(tally.file, "no records in it", "give a file with at least one")
    if task in ("classification", "pairs", "tagging", "chunking", "ner", "images"):
        for label, count in tally.labels.items():
            if count == 1 and tally.records > 1:
                where = numbered_lines.at(tally.file, tally.first[label])
                yield Problem(where, f"label {label[:40]!r} occurs once", "check its spelling", warning=True)
    if tally.repeated:
        line, before = tally.repeated[0]
        count = len(tally.repeated)
        what = f"a duplicate of {before}; {count} duplicate{'s' * (count > 1)} in all"
        yield Problem(numbered_lines.at(tally.file, line), what, warning=True)
