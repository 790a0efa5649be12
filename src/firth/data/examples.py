"""Labelled examples for classifiers: files in any format that holds them, sets by name, and how they are split."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from firth.config.schema import Examples
from firth.data import formats, lines, sets, spool
from firth.data.formats.labels import Labels
from firth.data.packed import missing
from firth.data.records import Labelled, Record
from firth.data.sources import KEPT
from firth.data.splits import assign
from firth.data.tasks import Converter
from firth.errors import FirthError

TASK = "classification"
NAMES = ("train", "valid", "test")
PARTS = {"train": ("train", "all"), "valid": ("valid", "dev"), "test": ("test",)}  # what sets call their splits


@dataclass(frozen=True, eq=False)
class Split:
    """The examples of one split, in memory."""

    name: str
    key: str  # a digest of texts and labels: the same content gives the same key, on every machine
    examples: list[Labelled]

    @property
    def texts(self) -> list[str]:
        """What is to be labelled."""
        return [example.text for example in self.examples]

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """What is right."""
        return [example.labels for example in self.examples]


def read(config: Examples, seed: int) -> dict[str, Split]:
    """The splits: own files or the set's own parts where there are any, else shares of the examples."""
    if not config.text:
        raise FirthError("no examples are named", where="data.text", do="name a file or a set that firth data lists")
    text = list(_named(config.text, config, "train"))
    if not text:
        raise FirthError("no examples in it", where=", ".join(config.text), do="give a file with labelled texts")
    held = {name: list(_held_out(name, config)) for name in NAMES[1:]}
    shares = [0.0 if held["valid"] else config.valid_share, 0.0 if held["test"] else config.test_share]
    if any(shares) and len(text) < 3:
        what = f"{len(text)} example{'s' * (len(text) != 1)}, too few to split three ways"
        raise FirthError(what, where=", ".join(config.text), do="give more, or --valid and --test")
    drawn = assign(0, len(text), len(text), *shares, seed)
    found = {name: held.get(name) or _chosen(text, drawn == number) for number, name in enumerate(NAMES)}
    return {name: make(name, examples) for name, examples in found.items() if examples}


def make(name: str, examples: Iterable[Labelled]) -> Split:
    """A split of these examples."""
    examples, seen = list(examples), hashlib.sha256()
    for example in examples:
        seen.update(json.dumps([example.text, *example.labels]).encode() + b"\n")
    return Split(name, seen.hexdigest(), examples)


def named(name: str, config: Examples) -> Iterator[Labelled]:
    """The examples of a file or of a set; of a set its test part, if it has one."""
    found = list(_held_out("test", Examples(text=(name,), encoding=config.encoding)))
    return iter(found or _named((name,), config, "train"))


def _chosen(examples: list[Labelled], chosen: Iterable[bool]) -> list[Labelled]:
    return [example for example, taken in zip(examples, chosen, strict=True) if taken]


def _held_out(name: str, config: Examples) -> Iterator[Labelled]:
    """What is given apart for validation or test: files, else the parts that the sets of the text have for it."""
    given = {"valid": config.valid, "test": config.test}[name]
    if given:
        yield from _named(given, config, name)
        return
    for text in config.text:
        base, _, split = text.partition(":")
        if not split and not _is_file(text) and (found := _part(sets.find(base), name)):
            yield from _of_set(sets.find(base), found)


def _named(names: Iterable[str], config: Examples, split: str) -> Iterator[Labelled]:
    for name in names:
        if name.startswith(KEPT):
            yield from _of_python(Path(name.removeprefix(KEPT)))
        elif _is_file(name):
            yield from _of_file(name, config)
        else:
            base, _, part = name.partition(":")
            found = sets.find(base)
            yield from _of_set(found, part or _part(found, split) or _part(found, "train") or next(iter(found.parts)))


def _is_file(name: str) -> bool:
    """Whether this is a file or should be one, not the name of a set (`sst2`) or of its split (`sst2:dev`)."""
    if name.startswith(KEPT) or (name and Path(name).exists()):
        return True
    base = name.partition(":")[0]
    if base in sets.all_sets() or base in sets.own_sets()[1]:
        return False
    if "/" in name or "." in name or not name:
        raise missing(name)
    sets.find(base)  # says what is near
    return False


def _part(found: sets.DataSet, split: str) -> str:
    return next((name for name in PARTS[split] if name in found.parts), "")


# --- where they come from -------------------------------------------------------------------------------------------


def _of_set(found: sets.DataSet, split: str) -> Iterator[Labelled]:
    yield from _converted(found.records(split), Converter(TASK, found.columns), found.name)


def _of_file(name: str, config: Examples) -> Iterator[Labelled]:
    path = lines.encoded(name, config.encoding) if config.encoding != "utf-8" else Path(name)
    form = formats.named(config.format) if config.format else formats.guess(path)
    columns = dict(_column(setting) for setting in config.columns)
    yield from _converted(form.read(path), Converter(TASK, columns), name)


def _column(setting: str) -> tuple[str, str]:
    role, equals, name = setting.partition("=")
    if not (role and equals and name):
        what = f"cannot read {setting!r}"
        raise FirthError(what, where="data.columns", do="write the part and the column: text=body,label=class")
    return role, name


def _of_python(path: Path) -> Iterator[Labelled]:
    """Documents from Python are lines with their labels before them."""
    shown = "Python documents"
    if not path.is_file():
        raise FirthError("the documents kept for this run are gone", where=path, do="train again from the documents")
    for number, document in enumerate(spool.Spooled(path, shown), 1):
        yield Labels().parse(number, document, shown)


def _converted(records: Iterable[Record], convert: Converter, where: str) -> Iterator[Labelled]:
    """The records as examples; an error names the place."""
    for record in records:
        try:
            example = convert(record)
            if not all(example.labels):
                raise FirthError("an empty label", do="fill it in")
        except FirthError as error:
            place = lines.at(where, getattr(record, "line", 0))
            raise FirthError(error.what, where=error.where or place, do=error.do) from None
        yield example
