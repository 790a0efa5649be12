"""Checks of a file against a task: all that can be found in one reading, not only the first fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from firth.data import lines
from firth.data.formats import Format, guess, name_of, schemes, trees
from firth.data.records import Image, Labelled, Pair, Passage, Question, Record, Row, Sentence, Tagged, Tree
from firth.data.tasks import Converter, UnfitError
from firth.errors import FirthError

MOST = 20  # problems shown
IDS = ("id", "index", "pair_id", "guid")
LAYER = "BIESLU"
PLENTY = 50  # faults more than another scheme has, after which one is out of the race


@dataclass(frozen=True)
class Problem:
    """Something to mend; a warning may be as it should."""

    where: str
    what: str
    do: str = ""
    warning: bool = False

    def __str__(self) -> str:
        return str(FirthError(self.what, where=self.where, do=self.do))


@dataclass(frozen=True)
class Report:
    """What a check found."""

    file: str
    task: str
    format: str
    records: int
    problems: tuple[Problem, ...]
    cut: bool  # there may be more problems
    labels: Mapping[str, int]
    lengths: tuple[int, float, int] | None  # least, mean and most words of an example

    @property
    def faults(self) -> list[Problem]:
        """The problems that are no warnings."""
        return [problem for problem in self.problems if not problem.warning]


class _Enough(Exception):
    """So many problems that no more are wanted."""


@dataclass
class _Tally:
    """What is counted while reading."""

    file: str
    most: int
    problems: list[Problem] = field(default_factory=list)
    records: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)  # the line where a label is first seen
    words: list[int] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    seen: dict[int, tuple[int, int]] = field(default_factory=dict)  # hash of an example -> its number and line
    repeated: list[tuple[int, str]] = field(default_factory=list)  # the line, and where the same was before
    tags: list[_Layer] = field(default_factory=list)

    def add(self, problem: Problem) -> None:
        if len(self.problems) >= self.most:
            raise _Enough
        self.problems.append(problem)

    def fault(self, error: FirthError, line: int = 0) -> None:
        self.add(Problem(error.where or lines.at(self.file, line), error.what, error.do))


def check(
    path: str | Path | Sequence[str | Path],
    task: str,
    form: Format | None = None,
    columns: Mapping[str, str] | None = None,
    most: int = MOST,
) -> Report:
    """Read a file (or parallel files) as examples of a task and report what is wrong, up to `most` problems."""
    form = form or guess(path)
    tally = _Tally(str(path) if isinstance(path, (str, Path)) else str(path[0]), most)
    convert, cut = Converter(task, columns), False
    try:
        try:
            for record in form.read(path, tally.fault):
                _take(record, convert, tally, task)
        except FirthError as error:
            if not tally.problems or error.what != "no rows in it":  # all of its rows were reported
                tally.fault(error)
        for problem in _afterwards(tally, task):
            tally.add(problem)
    except _Enough:
        cut = True
    lengths = (min(tally.words), sum(tally.words) / len(tally.words), max(tally.words)) if tally.words else None
    problems, labels = tuple(tally.problems), dict(tally.labels.most_common())
    return Report(tally.file, task, name_of(form), tally.records, problems, cut, labels, lengths)


def compare(train: Report, other: Report) -> list[Problem]:
    """Labels of another file that the train file never has: nobody can learn them."""
    missing = [label for label in other.labels if label not in train.labels] if train.labels else []
    return [
        Problem(other.file, f"label {label!r} is never seen in {train.file}", warning=True) for label in sorted(missing)
    ]


def _take(record: Record, convert: Converter, tally: _Tally, task: str) -> None:
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
    about = LOOK.get(type(example))
    if about is None:
        return
    texts, labels = about(example)
    for label in labels:
        tally.labels[label] += 1
        tally.first.setdefault(label, line)
    tally.words.append(sum(len(text.split()) for text in texts))
    if task != "language":
        if not all(text.strip() for text in texts):
            tally.add(Problem(lines.at(tally.file, line), "an empty text", "fill it in, or remove the example"))
        _check_repeated(_key(example, texts, labels), line, tally)
    if isinstance(example, Tagged):
        _take_tags(example, tally)


def _check_id(row: Row, tally: _Tally) -> None:
    place = next((place for place, name in enumerate(row.names) if name.lower() in IDS), None)
    if place is None or place >= len(row.values):
        return
    before = tally.ids.setdefault(row.values[place], row.line)
    if before != row.line:
        what = f"{row.names[place]} {row.values[place][:40]!r} was there before (line {before})"
        tally.add(Problem(lines.at(tally.file, row.line), what, "give every row an id of its own"))


def _key(example: Record, texts: Sequence[str], labels: Sequence[str]) -> int:
    return hash((texts, tuple(labels), example.pixels.tobytes() if isinstance(example, Image) else b""))


def _check_repeated(key: int, line: int, tally: _Tally) -> None:
    """Count an example that was there before; several may share a line, as in most files of SQuAD."""
    number, before = tally.seen.setdefault(key, (tally.records, line))
    if number != tally.records:
        tally.repeated.append((line, f"line {before}" if before != line else f"record {number}"))


# --- what is looked at in an example: its texts and its labels --------------------------------------------------------

Looked = tuple[tuple[str, ...], Sequence[str]]
LOOK: dict[type, Callable[..., Looked]] = {
    Labelled: lambda example: ((example.text,), example.labels),
    Pair: lambda example: ((example.left, example.right), [example.label] if example.label is not None else []),
    Tagged: lambda example: ((" ".join(example.words),), _span_labels(example)),
    Sentence: lambda example: ((" ".join(row[1] for row in example.words),), [row[7] for row in example.words]),
    Tree: lambda example: ((" ".join(trees.leaves(example)),), [label for _, _, label in trees.spans(example)]),
    Question: lambda example: ((example.text, example.context), []),
    Passage: lambda example: ((f"{example.title} {example.text}",), []),
    Image: lambda example: (example.captions, [example.label] if example.label is not None else []),
}


def _span_labels(example: Tagged) -> list[str]:
    """The labels of the last layer: of spans, if its tags have them."""
    tags = example.layers[-1] if example.layers else ()
    if all(_is_span_tag(tag) for tag in tags):
        return [span.label for span in schemes.spans(tags)]
    return list(tags)


def _is_span_tag(tag: str) -> bool:
    return tag == schemes.OUTSIDE or (tag[0] in LAYER and tag[1:2] == "-")


# --- schemes of tagging: which one a layer follows is known at the end ---------------------------------------------


@dataclass
class _Layer:
    """A layer of tags so far."""

    tags: int = 0
    spans: int = 0  # tags that look like a part of a span
    odd: list[Problem] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=lambda: dict.fromkeys(schemes.SCHEMES, 0))
    shown: dict[str, list[Problem]] = field(default_factory=lambda: {name: [] for name in schemes.SCHEMES})


def _take_tags(example: Tagged, tally: _Tally) -> None:
    while len(tally.tags) < len(example.layers):
        tally.tags.append(_Layer())
    for layer, tags in zip(tally.tags, example.layers, strict=False):
        layer.tags += len(tags)
        layer.spans += sum(map(_is_span_tag, tags))
        if layer.spans * 2 < layer.tags:  # parts of speech and the like
            continue
        least = min(layer.faults.values())
        for name in [name for name, count in layer.faults.items() if count <= least + PLENTY]:
            found = schemes.faults(tags, name)
            layer.faults[name] += len(found)
            for place, what in found[: tally.most - len(layer.shown[name])]:
                where = lines.at(tally.file, example.line + place)
                layer.shown[name].append(Problem(where, what, "mend the tag"))


def _wrong_tags(layer: _Layer) -> Iterator[Problem]:
    """The faults under the scheme that has fewest, if the layer holds spans at all."""
    if layer.spans * 10 >= layer.tags * 9:
        yield from layer.shown[min(layer.faults, key=layer.faults.__getitem__)]


def _afterwards(tally: _Tally, task: str) -> Iterator[Problem]:
    for layer in tally.tags:
        yield from _wrong_tags(layer)
    if not tally.records and not tally.problems:
        yield Problem(tally.file, "no records in it", "give a file with at least one")
    if task in ("classification", "pairs", "tagging", "images"):
        for label, count in tally.labels.items():
            if count == 1 and tally.records > 1:
                where = lines.at(tally.file, tally.first[label])
                yield Problem(where, f"label {label[:40]!r} is seen once", "a slip, perhaps", warning=True)
    if tally.repeated:
        line, before = tally.repeated[0]
        what = f"the same as {before}; {len(tally.repeated)} such in all"
        yield Problem(lines.at(tally.file, line), what, warning=True)
