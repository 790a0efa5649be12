"""Arguments of `firth data`: a file, or a split of a data set, and how it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.datasets.readers import Format
    from firth.datasets.records import Record
    from firth.datasets.sets import Dataset

Paths = Path | tuple[Path, ...]


class SetInput(NamedTuple):
    """A split of a data set."""

    dataset: Dataset
    split: str

    @property
    def task(self) -> str:
        """The data set's task."""
        return self.dataset.task

    @property
    def columns(self) -> Mapping[str, str]:
        """Role in the task -> name of the column."""
        return self.dataset.columns

    @property
    def form(self) -> Format:
        """The format of the split's files; an error if it is built in."""
        return self.dataset.format_of(self.split)

    @property
    def paths(self) -> Paths:
        """The files of the split."""
        return self.dataset.source(self.split)

    def records(self) -> Iterator[Record]:
        """The examples of the split."""
        return self.dataset.examples(self.split)

    def single_file(self, format_name: str) -> str:
        """None: the examples may come from several files."""
        return ""


class FileInput(NamedTuple):
    """A file, or several parallel ones, of a task that is not known yet."""

    form: Format
    paths: Paths
    task: str = ""
    columns: Mapping[str, str] = MappingProxyType({})

    def records(self) -> Iterator[Record]:
        """The records of the file."""
        return self.form.read(self.paths)

    def single_file(self, format_name: str) -> str | Path:
        """The file, if it is one in this format."""
        from firth.datasets import readers

        same = isinstance(self.paths, (str, Path)) and readers.format_name(self.form) == format_name
        return self.paths if same else ""


def find(
    source: str, split: str, form: str | None, settings: list[str] | None, encoding: str, data: Path | None
) -> SetInput | FileInput:
    """The file or data set of this name; options that do not apply to it are refused."""
    from firth.datasets import sets

    if is_file(source):
        if split:
            raise FirthError("a file has no splits", where=source, do="leave --split out, or give a data set")
        paths = open_paths(source, encoding)
        return FileInput(_format(paths, form, settings), paths)
    for name, value in (("--format", form), ("--set", settings), ("--encoding", encoding)):
        if value:
            raise FirthError(f"{name} is for files, and this is a data set", where=source, do=f"leave {name} out")
    dataset = sets.find(source, data)
    return SetInput(dataset, split or next(iter(dataset.splits)))


def is_file(source: str) -> bool:
    """Whether this is a file, and not the name of a data set; an error if it is neither."""
    from difflib import get_close_matches

    from firth.datasets import compression, sets
    from firth.datasets.readers.values import quote

    if any(map(_exists, split_paths(source))):
        return True
    if "/" in source or "," in source:
        raise compression.missing_file(source)
    known = [*sets.all_sets(), *sets.user_sets()[1]]
    if source in known:
        return False
    files = [path.name for path in Path().iterdir()] if "." in source else []
    near = get_close_matches(source, [*known, *files], n=1, cutoff=0.6)
    do = f"did you mean {near[0]!r}?" if near else "give a file, or a data set that firth data lists"
    raise FirthError(f"unknown data set or file {quote(source)}", do=do)


def split_paths(text: str) -> list[Path]:
    """The file of this name, or the files between the commas."""
    return [Path(text)] if _exists(Path(text)) else [Path(part) for part in text.split(",")]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def open_paths(source: str, encoding: str = "") -> Paths:
    """One file or several, to be read in this encoding."""
    from firth.datasets import numbered_lines

    paths = [numbered_lines.with_encoding(path, encoding) if encoding else path for path in split_paths(source)]
    return paths[0] if len(paths) == 1 else tuple(paths)


def _format(paths: Paths, name: str | None, settings: list[str] | None) -> Format:
    from firth.config import core
    from firth.datasets import readers

    return readers.get_format(name, settings or []) if name else core.override(readers.guess(paths), settings or [])


def parse_columns(settings: list[str] | None) -> dict[str, str]:
    """Role -> name of the column, from settings such as text=body."""
    columns = {}
    for setting in settings or []:
        role, equals, name = setting.partition("=")
        if not equals or not role or not name:
            raise FirthError(f"cannot read --column {setting!r}", do="write it as text=body")
        columns[role] = name
    return columns
