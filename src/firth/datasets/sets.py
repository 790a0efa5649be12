"""Data sets by name: public ones in a data folder, built-in ones, and the user's own, each described by a TOML file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firth.config import core
from firth.config.toml import to_toml
from firth.datasets import numbered_lines, readers, tasks
from firth.datasets.records import Record
from firth.errors import FirthError, unknown
from firth.runs import atomic_files

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class SplitFiles:
    """A split of a data set: its files (several that are parallel, line by line), and settings of its own."""

    files: tuple[str, ...]
    records: int | None = None  # as published
    words: int | None = None  # or steps of a series
    format: str = ""  # empty: that of the data set
    settings: tuple[str, ...] = ()  # after those of the data set


@dataclass(frozen=True)
class Dataset:
    """Files in one format for one task; `{folder}` in a setting stands for the data set's folder."""

    name: str
    task: str
    format: str
    splits: Mapping[str, SplitFiles]
    settings: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)  # role of the task -> name of a column
    about: str = ""
    licence: str = ""
    folder: str = ""  # of its files; of a public data set, within the data folder
    publisher: str = ""  # of a public data set

    def split(self, split: str) -> SplitFiles:
        """The split of this name."""
        if split not in self.splits:
            raise unknown("split", split, self.splits, where=self.name)
        return self.splits[split]

    def format_of(self, split: str) -> readers.Format:
        """The format of a split, with its settings."""
        files = self.split(split)
        name = files.format or self.format
        shared = self.settings if name == self.format else ()
        return readers.get_format(name, [text.replace("{folder}", self.folder) for text in (*shared, *files.settings)])

    def paths(self, split: str) -> tuple[Path, ...]:
        """The files of a split, compressed or not."""
        return tuple(_compressed_or_not(Path(self.folder, name)) for name in self.split(split).files)

    def source(self, split: str) -> Path | tuple[Path, ...]:
        """The input of the format: one file, or several."""
        paths = self.paths(split)
        return paths[0] if len(paths) == 1 else paths

    def is_present(self) -> bool:
        """Whether all files exist."""
        return bool(self.folder) and not self.missing()

    def missing(self) -> list[str]:
        """The names of the files that do not exist, within the data set's folder."""
        names = [name for files in self.splits.values() for name in files.files]
        names += [
            text.rpartition("{folder}/")[2] for text in self.settings if "{folder}/" in text
        ]  # files that a setting names
        if not self.folder:
            return list(dict.fromkeys(names))
        return [name for name in dict.fromkeys(names) if not _compressed_or_not(Path(self.folder, name)).exists()]

    def records(self, split: str) -> Iterator[Record]:
        """The records of a split."""
        return self.format_of(split).read(self.source(split))

    def examples(self, split: str) -> Iterator[Record]:
        """The records of a split as examples of the task."""
        return tasks.examples(self.records(split), self.task, self.columns)


# --- where sets are -------------------------------------------------------------------------------------------------


def data_folder(folder: str | Path | None = None) -> Path | None:
    """The folder of the public data sets: the one given, else $FIRTH_DATA."""
    path = folder or os.environ.get("FIRTH_DATA")
    return Path(path).expanduser() if path else None


def user_folder() -> Path:
    """The folder of the user's own data sets."""
    if os.environ.get("FIRTH_SETS"):
        return Path(os.environ["FIRTH_SETS"]).expanduser()
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "firth" / "sets"


def all_sets(folder: str | Path | None = None) -> dict[str, Dataset]:
    """Every data set by its name; a user's own overrides any other of the same name."""
    from firth.datasets.builtin import BUILTIN
    from firth.datasets.public_sets import PUBLIC

    root = data_folder(folder)
    public = {
        name: replace(dataset, folder=str(root / dataset.folder) if root else "") for name, dataset in PUBLIC.items()
    }
    own, broken = user_sets()
    every = BUILTIN | dict(sorted((public | own).items()))
    return {name: dataset for name, dataset in every.items() if name not in broken}


def user_sets() -> tuple[dict[str, Dataset], dict[str, FirthError]]:
    """The user's own data sets, and the errors of those that cannot be read: one must not hide the others."""
    readable, broken = {}, {}
    for path in sorted(user_folder().glob("*.toml")):
        try:
            readable[path.stem] = load(path)
        except FirthError as error:
            broken[path.stem] = error
    return readable, broken


def find(name: str, folder: str | Path | None = None) -> Dataset:
    """The data set of this name; an error if its files are missing."""
    own = user_folder() / f"{name}.toml"
    if NAME.fullmatch(name) and own.is_file():
        dataset = load(own)
    else:
        known = all_sets(folder)
        if name not in known:
            raise unknown("data set", name, known)
        dataset = known[name]
    if dataset.is_present():
        return dataset
    if dataset.publisher:
        raise _missing_public(known_folder(dataset), dataset)
    do = f"put the data set {name} there"
    raise FirthError("no such file", where=Path(dataset.folder, dataset.missing()[0]), do=do)


def _missing_public(folder: str, dataset: Dataset) -> FirthError:
    """The error for a public data set without its files: who publishes it, and where which files belong."""
    names = dataset.missing()
    settings = [text for text in dataset.settings if "{folder}" not in text]
    form = dataset.format + (f", {' '.join(settings)}" if settings else "")
    compressed = " (compressed or not)" if any(name.endswith(readers.COMPRESSED) for name in names) else ""
    do = f"put {', '.join(names)}{compressed} into {folder} (format {form})"
    if not dataset.folder:
        do += ", and name FOLDER with --data or FIRTH_DATA"
    one = len(names) == 1
    what = f"{'a file' if one else 'files'} of this public data set {'is' if one else 'are'} missing"
    return FirthError(f"{what}; it comes from {dataset.publisher}", where=dataset.name, do=do)


def known_folder(dataset: Dataset) -> str:
    """The folder of a public data set's files, for a message."""
    from firth.datasets.public_sets import PUBLIC

    return dataset.folder or f"FOLDER/{PUBLIC[dataset.name].folder}"


def _compressed_or_not(path: Path) -> Path:
    """The path, or if there is no such file, the same one compressed or decompressed, if it exists."""
    if path.exists():
        return path
    plain = path.with_name(path.name.removesuffix(path.suffix)) if path.suffix in readers.COMPRESSED else path
    others = (plain, *(plain.with_name(plain.name + suffix) for suffix in readers.COMPRESSED))
    return next((other for other in others if other.exists()), path)


def open_set(name: str, split: str = "train", folder: str | Path | None = None) -> Iterator[Record]:
    """The examples of a split of a data set."""
    return find(name, folder).examples(split)


# --- the user's own data sets ---------------------------------------------------------------------------------------

KEYS = {"task": str, "format": str, "settings": list, "about": str, "licence": str, "columns": dict, "files": dict}


def save(dataset: Dataset, overwrite: bool = False) -> Path:
    """Write a data set of the user's to their folder; its name must be new, and the first record of each split fit."""
    if not NAME.fullmatch(dataset.name):
        raise FirthError(f"{dataset.name!r} is not a name for a data set", do="use letters, digits, dots and dashes")
    if not overwrite and (dataset.name in all_sets() or dataset.name in user_sets()[1]):
        do = "choose another name, or give --replace"
        raise FirthError("a data set of this name exists already", where=dataset.name, do=do)
    _check_first_records(dataset)
    values: dict[str, Any] = {"task": dataset.task, "format": dataset.format, "settings": list(dataset.settings)}
    values |= {"about": dataset.about, "licence": dataset.licence}
    values["columns"] = dict(dataset.columns)
    values["files"] = {split: [str(path.resolve()) for path in dataset.paths(split)] for split in dataset.splits}
    path = user_folder() / f"{dataset.name}.toml"
    atomic_files.make_folder(path.parent)
    atomic_files.replace_file(path, to_toml(values).encode())
    return path


def _check_first_records(dataset: Dataset) -> None:
    """Raise if the first record of a split cannot be read, or is not an example of the task."""
    convert = tasks.Converter(dataset.task, dataset.columns)
    for split in dataset.splits:
        path, first = dataset.paths(split)[0], next(dataset.records(split), None)
        if first is None:
            raise FirthError("no records in it", where=path, do="give a file with at least one")
        try:
            convert(first)
        except FirthError as error:
            raise FirthError(
                error.what, where=numbered_lines.at(path, getattr(first, "line", 0)), do=error.do
            ) from error


def load(path: Path) -> Dataset:
    """A data set from its TOML file; relative paths in it start at its folder."""
    values = core.read_toml(path)
    for key, value in values.items():
        if key not in KEYS:
            raise unknown("key", key, KEYS, where=path)
        if not isinstance(value, KEYS[key]):
            raise FirthError(f"{key} is not a {KEYS[key].__name__}", where=path, do="see docs/formats.md")
    for key in ("task", "format", "files"):
        if not values.get(key):
            raise FirthError(f"no {key}", where=path, do="add it")
    splits = {split: SplitFiles(_names(names, split, path)) for split, names in values["files"].items()}
    columns = {role: str(name) for role, name in values.get("columns", {}).items()}
    settings = tuple(map(str, values.get("settings", ())))
    about, licence = values.get("about", ""), values.get("licence", "")
    folder = str(path.parent)
    return Dataset(path.stem, values["task"], values["format"], splits, settings, columns, about, licence, folder)


def _names(value: Any, split: str, path: Path) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise FirthError(f"files.{split} is not a file or a list of files", where=path, do="correct it")
    return tuple(names)
