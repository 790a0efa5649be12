"""Data sets: public ones, found in a data folder, and the user's own, each a TOML file in a folder of theirs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firth.config import core
from firth.config.toml import to_toml
from firth.data import formats, lines, tasks
from firth.data.records import Record
from firth.errors import FirthError, unknown
from firth.runs import files

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Part:
    """A split: its files (several that belong together line by line), and what it has of its own."""

    files: tuple[str, ...]
    records: int | None = None  # as published
    words: int | None = None  # or steps of a series
    format: str = ""  # empty: that of the set
    settings: tuple[str, ...] = ()  # after those of the set


@dataclass(frozen=True)
class DataSet:
    """Files in one format for one task; `{folder}` in a setting stands for the set's folder."""

    name: str
    task: str
    format: str
    parts: Mapping[str, Part]
    settings: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)  # role of the task -> name of a column
    about: str = ""
    licence: str = ""
    folder: str = ""  # where its files are; of a public set, within the data folder

    def part(self, split: str) -> Part:
        """The split of this name."""
        if split not in self.parts:
            raise unknown("split", split, self.parts, where=self.name)
        return self.parts[split]

    def form(self, split: str) -> formats.Format:
        """The format of a split, with its settings."""
        part = self.part(split)
        name = part.format or self.format
        shared = self.settings if name == self.format else ()
        return formats.named(name, [text.replace("{folder}", self.folder) for text in (*shared, *part.settings)])

    def paths(self, split: str) -> tuple[Path, ...]:
        """The files of a split."""
        return tuple(Path(self.folder, name) for name in self.part(split).files)

    def source(self, split: str) -> Path | tuple[Path, ...]:
        """What the format reads: one file, or several."""
        paths = self.paths(split)
        return paths[0] if len(paths) == 1 else paths

    def present(self) -> bool:
        """Whether all files are there."""
        return bool(self.folder) and all(path.exists() for split in self.parts for path in self.paths(split))

    def records(self, split: str) -> Iterator[Record]:
        """The records of a split."""
        return self.form(split).read(self.source(split))

    def examples(self, split: str) -> Iterator[Record]:
        """The records of a split as examples of the task."""
        return tasks.examples(self.records(split), self.task, self.columns)


# --- where sets are -------------------------------------------------------------------------------------------------


def data_folder(folder: str | Path | None = None) -> Path | None:
    """The folder of the public sets: the one given, else $FIRTH_DATA."""
    found = folder or os.environ.get("FIRTH_DATA")
    return Path(found).expanduser() if found else None


def own_folder() -> Path:
    """The folder of the user's own sets."""
    if os.environ.get("FIRTH_SETS"):
        return Path(os.environ["FIRTH_SETS"]).expanduser()
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "firth" / "sets"


def all_sets(folder: str | Path | None = None) -> dict[str, DataSet]:
    """Every set by its name; a user's own comes before any other of the same name."""
    from firth.data.made import MADE
    from firth.data.public import PUBLIC

    root = data_folder(folder)
    found = {name: replace(known, folder=str(root / known.folder) if root else "") for name, known in PUBLIC.items()}
    own, broken = own_sets()
    every = MADE | dict(sorted((found | own).items()))
    return {name: known for name, known in every.items() if name not in broken}


def own_sets() -> tuple[dict[str, DataSet], dict[str, FirthError]]:
    """The user's own sets, and what is wrong with those that cannot be read: one must not hide the others."""
    found, broken = {}, {}
    for path in sorted(own_folder().glob("*.toml")):
        try:
            found[path.stem] = load(path)
        except FirthError as error:
            broken[path.stem] = error
    return found, broken


def find(name: str, folder: str | Path | None = None) -> DataSet:
    """The set of this name, its files in place."""
    own = own_folder() / f"{name}.toml"
    if NAME.fullmatch(name) and own.is_file():
        found = load(own)
    else:
        known = all_sets(folder)
        if name not in known:
            raise unknown("data set", name, known)
        found = known[name]
    if found.present():
        return found
    if not found.folder:
        raise FirthError("a public set, whose files are in a data folder", where=name, do="give --data or FIRTH_DATA")
    for split in found.parts:
        for path in found.paths(split):
            if not path.exists():
                raise FirthError("no such file", where=path, do=f"put the set {name} there, or give another --data")
    raise AssertionError("a set that is not there lacks a file")


def open_set(name: str, split: str = "train", folder: str | Path | None = None) -> Iterator[Record]:
    """The examples of a split of a set."""
    return find(name, folder).examples(split)


# --- the user's own sets ---------------------------------------------------------------------------------------------

KEYS = {"task": str, "format": str, "settings": list, "about": str, "licence": str, "columns": dict, "files": dict}


def save(found: DataSet, overwrite: bool = False) -> Path:
    """Write a set of the user's into their folder; its name must be new, and the first record of each split fit."""
    if not NAME.fullmatch(found.name):
        raise FirthError(f"{found.name!r} is no name for a set", do="use letters, digits, dots and dashes")
    if not overwrite and (found.name in all_sets() or found.name in own_sets()[1]):
        do = "choose another name, or give --replace"
        raise FirthError("there is a set of this name already", where=found.name, do=do)
    _try_out(found)
    values: dict[str, Any] = {"task": found.task, "format": found.format, "settings": list(found.settings)}
    values |= {"about": found.about, "licence": found.licence}
    values["columns"] = dict(found.columns)
    values["files"] = {split: [str(path.resolve()) for path in found.paths(split)] for split in found.parts}
    path = own_folder() / f"{found.name}.toml"
    files.make_folder(path.parent)
    files.replace_file(path, to_toml(values).encode())
    return path


def _try_out(found: DataSet) -> None:
    """Raise if the first record of a split cannot be read, or is no example of the task."""
    convert = tasks.Converter(found.task, found.columns)
    for split in found.parts:
        path, first = found.paths(split)[0], next(found.records(split), None)
        if first is None:
            raise FirthError("no records in it", where=path, do="give a file with at least one")
        try:
            convert(first)
        except FirthError as error:
            raise FirthError(error.what, where=lines.at(path, getattr(first, "line", 0)), do=error.do) from error


def load(path: Path) -> DataSet:
    """A set out of its TOML file; files in it are looked for beside it."""
    values = core.read_toml(path)
    for key, value in values.items():
        if key not in KEYS:
            raise unknown("key", key, KEYS, where=path)
        if not isinstance(value, KEYS[key]):
            raise FirthError(f"{key} is not a {KEYS[key].__name__}", where=path, do="see docs/formats.md")
    for key in ("task", "format", "files"):
        if not values.get(key):
            raise FirthError(f"no {key}", where=path, do="add it")
    parts = {split: Part(_names(names, split, path)) for split, names in values["files"].items()}
    columns = {role: str(name) for role, name in values.get("columns", {}).items()}
    settings = tuple(map(str, values.get("settings", ())))
    about, licence = values.get("about", ""), values.get("licence", "")
    folder = str(path.parent)
    return DataSet(path.stem, values["task"], values["format"], parts, settings, columns, about, licence, folder)


def _names(value: Any, split: str, path: Path) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise FirthError(f"files.{split} is not a file or a list of files", where=path, do="mend it")
    return tuple(names)
