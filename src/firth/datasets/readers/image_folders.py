"""Image folders: one folder per class, or a folder with a table of labels or captions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report, image_files
from firth.datasets.readers.images import Folder
from firth.datasets.records import Image
from firth.errors import FirthError

ENDINGS = (".png", ".jpg", ".jpeg", ".ppm", ".pgm")
TABLES = {"labels.tsv": ("name", "label"), "captions.tsv": ("name", "caption")}


@dataclass(frozen=True)
class ClassFolders:
    """One folder per class, named by its label, with image files in it or below it (torchvision's ImageFolder)."""

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Image

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Image]:
        """The images, sorted by label and name; `path` is the folder of the class folders."""
        root, empty = numbered_lines.single_path(path), True
        if not root.is_dir():
            raise FirthError("no such folder", where=path, do="name a folder with one folder per class")
        for folder in sorted(part for part in root.iterdir() if part.is_dir() and not part.name.startswith(".")):
            for file in sorted(part for part in folder.rglob("*") if part.suffix.lower() in ENDINGS):
                empty = False
                yield Image(image_files.load(file), label=folder.name, name=file.relative_to(root).as_posix())
        if empty:
            do = f"put {', '.join(ENDINGS)} files into one folder per class, or list them in {next(iter(TABLES))}"
            raise FirthError("no images in class folders", where=path, do=do)


def folder_format(path: Path) -> Folder | ClassFolders:
    """The format of an image folder: by the table in it, else by its class folders."""
    for table, columns in TABLES.items():
        if (path / table).is_file():
            return replace(Folder(), table=table, columns=columns, size="any")
    return ClassFolders()
