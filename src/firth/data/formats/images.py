"""Pictures with captions or labels: arrays (npz) and a table, a folder and a table, IDX files.

Nothing a header says is believed before the bytes are there; pictures are read one at a time.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Literal

from firth.data import lines, packed
from firth.data.formats import going, pictures
from firth.data.formats.values import line_safe, same_count, shown, whole
from firth.data.records import Image
from firth.errors import FirthError
from firth.runs import files

if TYPE_CHECKING:
    import numpy as np

Paths = str | Path | Sequence[str | Path]
MOST = pictures.MOST  # bytes of one picture
LONGEST = 10_000  # bytes of an array's header
HEADER = re.compile(
    rb"\{'descr': '(?P<type>[ -&(-~]{1,20})', 'fortran_order': (?P<by_column>True|False), "
    rb"'shape': \((?P<shape>(?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\),? ?\}\s*"
)


@dataclass(frozen=True)
class About:
    """What a table says of one picture."""

    name: str = ""
    label: str | None = None
    captions: dict[int, str] = field(default_factory=dict)
    line: int = 0


def _one_or_two(path: Paths, wanted: str) -> Sequence[str | Path]:
    """The paths, if they are not more than the format reads."""
    paths = (path,) if isinstance(path, (str, Path)) else tuple(path)
    if not 1 <= len(paths) <= 2:
        what = f"{len(paths)} files, but pictures come in one or two: {wanted}"
        raise FirthError(what, where=", ".join(map(str, paths)), do="give each set by itself")
    return paths


# --- arrays -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrays:
    """An array of pictures in an npz file, and a table of row, file name, caption number and caption."""

    key: str = "images"

    endings: ClassVar[tuple[str, ...]] = ("npz",)
    holds: ClassVar[type] = Image

    def read(self, path: Paths, report: going.Report | None = None) -> Iterator[Image]:
        """The pictures in their order; `path` is the npz file, or it and the table."""
        array, *table = _one_or_two(path, "the npz file, and the table")
        with _opened(Path(array)), zipfile.ZipFile(array) as archive, _member(archive, self.key, array) as content:
            shape = _npy_shape(content, array)
            told = _captions(table[0], shape[0]) if table else {}
            for row in range(shape[0]):
                pixels = _next(content, shape, row, array)
                about = told.get(row, About())
                captions = tuple(about.captions[number] for number in sorted(about.captions))
                yield Image(pixels, captions, about.label, about.name, about.line)
            _at_end(content, shape, array)

    def rows(self, records: Iterable[Image]) -> Iterator[str]:
        """The lines of the table."""
        for row, image in enumerate(records):
            for number, caption in enumerate(image.captions):
                yield f"{row}\t{line_safe(image.name)}\t{number}\t{line_safe(caption)}"

    def save(self, path: str | Path, table: str | Path, records: Iterable[Image]) -> None:
        """Write both files."""
        import numpy as np

        records = list(records)
        one_size(records)
        content = io.BytesIO()
        np.savez_compressed(content, **{self.key: np.stack([image.pixels for image in records])})
        files.replace_file(Path(path), content.getvalue())
        lines.save(table, self.rows(records))


def _opened(path: Path) -> ExitStack:
    """A context in which what can go wrong with an archive is an error of ours."""
    lines.one_file(path)
    stack = ExitStack()
    stack.enter_context(packed.reading(str(path)))
    stack.push(lambda kind, error, _: _explain(error, path) if kind else None)
    return stack


def _explain(error: BaseException, path: Path) -> None:
    wrong = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, OverflowError, struct.error)
    if isinstance(error, wrong) and not isinstance(error, FirthError):
        raise FirthError(f"not a whole npz file ({error})", where=path, do="make it again with numpy.savez") from error


def _member(archive: zipfile.ZipFile, key: str, path: str | Path) -> BinaryIO:
    if f"{key}.npy" not in archive.namelist():
        keys = ", ".join(name.removesuffix(".npy") for name in archive.namelist()[:10])
        raise FirthError(f"no array {key!r} in it", where=path, do=f"it has: {keys or 'nothing'}; set key=NAME")
    return archive.open(f"{key}.npy")


def _npy_shape(content: BinaryIO, path: str | Path) -> tuple[int, ...]:
    """The shape that the array's header declares: (pictures, y, x[, channels]) of bytes, row by row.

    NumPy would run Python's own parser over the header of whatever file this is; one pattern is enough for pictures.
    """
    magic, version = content.read(6), content.read(2)
    wide = 2 if version == b"\1\0" else 4
    length = int.from_bytes(content.read(wide), "little")
    header = HEADER.fullmatch(content.read(length)) if magic == b"\x93NUMPY" and length <= LONGEST else None
    shape = tuple(int(side) for side in header["shape"].split(b",") if side.strip()) if header else ()
    if not header or header["type"] != b"|u1" or header["by_column"] != b"False" or len(shape) not in (3, 4):
        kind = f"an array of type {header['type'].decode()}, {len(shape)} axes" if header else "something else"
        what = f"not pictures, but {kind}{' in Fortran order' if header and header['by_column'] == b'True' else ''}"
        raise FirthError(what, where=path, do="save bytes (uint8) of shape (pictures, y, x, channels) in C order")
    return _sane(shape, path)


def _sane(shape: tuple[int, ...], path: str | Path) -> tuple[int, ...]:
    size = 1
    for side in shape[1:]:
        size *= side
    if not 0 < size <= MOST or min(shape) < 0:
        raise FirthError(f"pictures of size {_size(shape[1:])}", where=path, do=f"give 1 to {MOST >> 20} MB a picture")
    return shape


def _next(content: BinaryIO, shape: tuple[int, ...], row: int, path: str | Path) -> np.ndarray:
    """The next picture of a stream, (y, x, channels)."""
    import numpy as np

    wanted, data = 1, bytearray()
    for side in shape[1:]:
        wanted *= side
    while len(data) < wanted and (block := content.read(min(wanted - len(data), 1 << 20))):
        data += block
    if len(data) < wanted:
        what = f"it declares {shape[0]} pictures of {_size(shape[1:])} and ends in number {row + 1}"
        raise FirthError(what, where=path, do="get the whole file")
    pixels = np.frombuffer(data, np.uint8).reshape(shape[1:])
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def _at_end(content: BinaryIO, shape: tuple[int, ...], path: str | Path) -> None:
    if content.read(1):
        what = f"more bytes than the {shape[0]} pictures of {_size(shape[1:])} it declares"
        raise FirthError(what, where=path, do="make it again")


def _captions(path: str | Path, count: int) -> dict[int, About]:
    """What the table says of each row of the array."""
    told: dict[int, About] = {}
    for line, text in lines.lines(path):
        where, found = lines.at(path, line), text.split("\t")
        same_count(len(found), 4, where, ("row", "file name", "caption number", "caption"))
        row, number = whole(found[0]), whole(found[2])
        if row is None or number is None or not 0 <= row < count:
            what = f"row {shown(found[0])}, caption number {shown(found[2])}"
            raise FirthError(what, where=where, do=f"both are counted from 0, and there are {count} pictures")
        about = told.setdefault(row, About(found[1], line=line))
        if about.name != found[1] or number in about.captions:
            what = f"row {row} is {shown(about.name)} at line {about.line}, and has that caption number or another name"
            raise FirthError(what, where=where, do="give each caption of a picture its own number")
        about.captions[number] = found[3]
    return told


# --- IDX ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Idx:
    """MNIST's way: a file of pictures, and another of labels (numbers, or their places in `names`)."""

    names: tuple[str, ...] = ()

    endings: ClassVar[tuple[str, ...]] = ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte")
    holds: ClassVar[type] = Image

    def read(self, path: Paths, report: going.Report | None = None) -> Iterator[Image]:
        """The pictures in their order; `path` is their file, or it and that of the labels; both may be packed."""
        paths = [Path(part) for part in _one_or_two(path, "that of pictures, and that of labels")]
        with ExitStack() as stack:
            streams = [_idx(part, stack) for part in paths]
            shapes = [_idx_shape(*pair) for pair in zip(streams, paths, (True, False), strict=False)]
            if len(paths) > 1 and shapes[0][0] != shapes[1][0]:
                what = f"{shapes[1][0]} labels for {shapes[0][0]} pictures"
                raise FirthError(what, where=paths[1], do=f"take the labels that belong to {paths[0]}")
            for row in range(shapes[0][0]):
                pixels = _next(streams[0], shapes[0], row, paths[0])
                yield Image(pixels, label=self._label(streams[1], row, paths[1]) if len(paths) > 1 else None)
            for stream, shape, part in zip(streams, shapes, paths, strict=True):
                _at_end(stream, shape, part)

    @staticmethod
    def beside(path: Path) -> Path | tuple[Path, Path]:
        """The file of pictures, and that of their labels if it has the usual name."""
        labels = path.with_name(path.name.replace("images-idx3", "labels-idx1").replace("images.idx3", "labels.idx1"))
        return (path, labels) if labels != path and labels.exists() else path

    def _label(self, content: BinaryIO, row: int, path: Path) -> str:
        byte = content.read(1)
        if not byte:
            raise FirthError(f"it ends after {row} labels", where=path, do="get the whole file")
        if self.names and byte[0] >= len(self.names):
            what = f"label {byte[0]} of picture {row + 1}, but {len(self.names)} names"
            raise FirthError(what, where=path, do="set names=… with all of them")
        return self.names[byte[0]] if self.names else str(byte[0])


def _idx(path: Path, stack: ExitStack) -> BinaryIO:
    lines.one_file(path)
    stack.enter_context(packed.reading(str(path)))
    return stack.enter_context(packed.unpacked(stack.enter_context(path.open("rb"))))


def _idx_shape(content: BinaryIO, path: Path, pictures: bool) -> tuple[int, ...]:
    head = content.read(4)
    count = head[3] if len(head) == 4 else 0
    if head[:3] != b"\0\0\x08" or count not in ((3, 4) if pictures else (1,)):
        what = f"no IDX file of {'pictures' if pictures else 'labels'} in bytes"
        raise FirthError(what, where=path, do="give such as train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz")
    sizes = content.read(4 * count)
    if len(sizes) < 4 * count:
        raise FirthError("it ends inside its header", where=path, do="get the whole file")
    return _sane(struct.unpack(f">{count}I", sizes), path)


# --- folders ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Folder:
    """A folder of picture files, and a table that names them; a name may come again with another caption."""

    columns: tuple[str, ...] = ("name", "caption")  # of the table: name, and caption, label or both
    table: str = "captions.tsv"  # its name in the folder, where no other is given
    size: Literal["same", "any"] = "same"

    endings: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[type] = Image

    def read(self, path: Paths, report: going.Report | None = None) -> Iterator[Image]:
        """The pictures in the order of the table; `path` is the folder, or it and the table."""
        folder, *table = _one_or_two(path, "the folder, and the table")
        table = table[0] if table else Path(folder, self.table)
        first: tuple[str, tuple[int, ...]] | None = None
        for about in self._told(table).values():
            where = lines.at(table, about.line)
            pixels = pictures.load(_inside(Path(folder), about.name, where))
            first = first or (about.name, pixels.shape)
            if self.size == "same" and pixels.shape != first[1]:
                what = f"{about.name} is an image of another size: {_size(pixels.shape)}, {first[0]} {_size(first[1])}"
                raise FirthError(what, where=where, do="make them one size, or set size=any")
            yield Image(pixels, tuple(about.captions.values()), about.label, about.name, about.line)

    def _told(self, table: str | Path) -> dict[str, About]:
        self._check()
        told: dict[str, About] = {}
        for line, text in lines.lines(table):
            found = text.split("\t")
            same_count(len(found), len(self.columns), lines.at(table, line), self.columns)
            row = dict(zip(self.columns, found, strict=True))
            about = told.setdefault(row["name"], About(row["name"], row.get("label"), line=line))
            if about.label != row.get("label"):
                what = f"{shown(about.name)} has label {shown(about.label)} at line {about.line}"
                raise FirthError(what, where=lines.at(table, line), do="give a picture one label")
            if "caption" in row:
                about.captions[len(about.captions)] = row["caption"]
        return told

    def _check(self) -> None:
        allowed = len(set(self.columns)) == len(self.columns) and set(self.columns) <= {"name", "caption", "label"}
        if not allowed or "name" not in self.columns:
            what = f"columns = {','.join(self.columns)}: expected name, and caption or label"
            raise FirthError(what, do="such as columns=name,caption")

    def rows(self, records: Iterable[Image]) -> Iterator[str]:
        """The lines of the table."""
        for image in records:
            for caption in image.captions if "caption" in self.columns else ("",):
                told = {"name": image.name, "label": image.label or "", "caption": caption}
                yield "\t".join([line_safe(told[name]) for name in self.columns])

    def save(self, folder: str | Path, records: Iterable[Image]) -> None:
        """Write the pictures, as PPM or PGM under their names, and the table."""
        folder, records = Path(folder), list(records)
        for number, image in enumerate(records, 1):
            path = _inside(folder, image.name, f"picture {number}")
            files.make_folder(path.parent)
            files.replace_file(path, pictures.encode(image.pixels))
        lines.save(folder / self.table, self.rows(records))


def _inside(folder: Path, name: str, where: str) -> Path:
    """The file of a name; names lead neither out of the folder nor to strange places."""
    path = Path(name)
    if not name or len(name) > 255 or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise FirthError(f"{shown(name)} is no name of a file in the folder", where=where, do="write names like a.png")
    return folder / path


def one_size(images: Sequence[Image]) -> None:
    """Raise if the pictures are not all of one size, or there is none."""
    shapes = {image.pixels.shape: number for number, image in reversed(list(enumerate(images, 1)))}
    if len(shapes) != 1:
        found = ", ".join(f"{_size(shape)} (picture {number})" for shape, number in sorted(shapes.items()))
        raise FirthError(f"images of other sizes: {found or 'none'}", do="make them one size first")


def _size(shape: Sequence[int]) -> str:
    return "×".join(str(side)[:20] for side in shape)
