"""What the words of `firth data` name: a file, or a split of a set, and how it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.data.formats import Format
    from firth.data.records import Record
    from firth.data.sets import DataSet

Paths = Path | tuple[Path, ...]


class SetInput(NamedTuple):
    """A split of a set that the user named."""

    found: DataSet
    split: str

    @property
    def task(self) -> str:
        """That of the set."""
        return self.found.task

    @property
    def columns(self) -> Mapping[str, str]:
        """Which column plays which part in the task."""
        return self.found.columns

    @property
    def form(self) -> Format:
        """The format of the split; an error if it is in no file."""
        return self.found.form(self.split)

    @property
    def paths(self) -> Paths:
        """What the format reads."""
        return self.found.source(self.split)

    def records(self) -> Iterator[Record]:
        """The examples of the split."""
        return self.found.examples(self.split)


class FileInput(NamedTuple):
    """A file (or several that belong together) that the user named; what it is for is not known yet."""

    form: Format
    paths: Paths
    task: str = ""
    columns: Mapping[str, str] = MappingProxyType({})

    def records(self) -> Iterator[Record]:
        """The records of the file."""
        return self.form.read(self.paths)


def find(
    source: str, split: str, form: str, settings: list[str] | None, encoding: str, data: Path | None
) -> SetInput | FileInput:
    """What the user named; an option that has no meaning for it is refused."""
    from firth.data import sets

    if _is_file(source):
        if split:
            raise FirthError("a file has no splits", where=source, do="leave --split out, or name a set")
        paths = paths_of(source, encoding)
        return FileInput(_format(paths, form, settings), paths)
    for name, value in (("--format", form), ("--set", settings), ("--encoding", encoding)):
        if value:
            raise FirthError(f"{name} is for files, and this is a set", where=source, do=f"leave {name} out")
    found = sets.find(source, data)
    return SetInput(found, split or next(iter(found.parts)))


def _is_file(source: str) -> bool:
    """Whether this is a file (or should be one), not the name of a set."""
    from difflib import get_close_matches

    from firth.data import packed, sets
    from firth.data.formats.values import shown

    if any(map(_exists, several(source))):
        return True
    if "/" in source or "," in source:
        raise packed.missing(source)
    known = [*sets.all_sets(), *sets.own_sets()[1]]
    if source in known:
        return False
    beside = [path.name for path in Path().iterdir()] if "." in source else []
    near = get_close_matches(source, [*known, *beside], n=1, cutoff=0.6)
    do = f"did you mean {near[0]!r}?" if near else "give a file, or one of the sets that firth data lists"
    raise FirthError(f"unknown data set or file {shown(source)}", do=do)


def several(text: str) -> list[Path]:
    """The file of this name, or the files between its commas."""
    return [Path(text)] if _exists(Path(text)) else [Path(part) for part in text.split(",")]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def paths_of(source: str, encoding: str = "") -> Paths:
    """What a format reads: one file, or several."""
    from firth.data import lines

    found = [lines.encoded(path, encoding) if encoding else path for path in several(source)]
    return found[0] if len(found) == 1 else tuple(found)


def _format(paths: Paths, name: str, settings: list[str] | None) -> Format:
    from firth.config import core
    from firth.data import formats

    return formats.named(name, settings or []) if name else core.override(formats.guess(paths), settings or [])


def columns_of(settings: list[str] | None) -> dict[str, str]:
    """The parts that columns play, out of words such as text=body."""
    found = {}
    for setting in settings or []:
        role, equals, name = setting.partition("=")
        if not equals or not role or not name:
            raise FirthError(f"cannot read --column {setting!r}", do="write it as text=body")
        found[role] = name
    return found
