"""Folders of pictures, told apart by what is in them: a table, or a folder for each label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from firth.data import lines
from firth.data.formats import going, pictures
from firth.data.formats.images import Folder
from firth.data.records import Image
from firth.errors import FirthError

ENDINGS = (".png", ".jpg", ".jpeg", ".ppm", ".pgm")
TABLES = {"labels.tsv": ("name", "label"), "captions.tsv": ("name", "caption")}


@dataclass(frozen=True)
class ClassFolders:
    """A folder for each label, named by it, with picture files in it or below it."""

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Image

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Image]:
        """The pictures, by label and by name; `path` is the folder that the others are in."""
        root, found = lines.one_path(path), False
        if not root.is_dir():
            raise FirthError("no such folder", where=path, do="name a folder that has one for each label")
        for folder in sorted(part for part in root.iterdir() if part.is_dir() and not part.name.startswith(".")):
            for file in sorted(part for part in folder.rglob("*") if part.suffix.lower() in ENDINGS):
                found = True
                yield Image(pictures.load(file), label=folder.name, name=file.relative_to(root).as_posix())
        if not found:
            do = f"put {', '.join(ENDINGS)} files into a folder for each label, or name them in {next(iter(TABLES))}"
            raise FirthError("no pictures in folders named by their labels", where=path, do=do)


def folder_format(path: Path) -> Folder | ClassFolders:
    """How a folder of pictures is read: by the table in it, else by the folders in it."""
    for table, columns in TABLES.items():
        if (path / table).is_file():
            return replace(Folder(), table=table, columns=columns, size="any")
    return ClassFolders()
