"""Images with captions or labels: arrays (npz) and a table, a folder and a table, IDX files (MNIST).

Headers are not trusted before the bytes are there; images are read one at a time.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Literal

from firth.datasets import compression, numbered_lines
from firth.datasets.readers import fault_report, image_files
from firth.datasets.readers.values import check_column_count, parse_int, quote, require_cell
from firth.datasets.records import Image
from firth.errors import FirthError
from firth.runs import atomic_files

if TYPE_CHECKING:
    import numpy as np

Paths = str | Path | Sequence[str | Path]
MAX_IMAGE_BYTES = image_files.MAX_IMAGE_BYTES
MAX_HEADER_BYTES = 10_000  # of an array
HEADER = re.compile(
    rb"\{'descr': '(?P<type>[ -&(-~]{1,20})', 'fortran_order': (?P<by_column>True|False), "
    rb"'shape': \((?P<shape>(?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\),? ?\}\s*"
)


@dataclass(frozen=True)
class ImageMetadata:
    """What a table says about one image."""

    name: str = ""
    label: str | None = None
    captions: dict[int, str] = field(default_factory=dict)
    line: int = 0


def _one_or_two(path: Paths, roles: str) -> Sequence[str | Path]:
    """The one or two paths that a format reads; an error if there are more."""
    paths = (path,) if isinstance(path, (str, Path)) else tuple(path)
    if not 1 <= len(paths) <= 2:
        what = f"{len(paths)} files, but images come in one or two: {roles}"
        raise FirthError(what, where=", ".join(map(str, paths)), do="give each data set by itself")
    return paths


# --- arrays -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrays:
    """An array of images in an npz file, and a table of row, file name, caption number and caption."""

    key: str = "images"

    extensions: ClassVar[tuple[str, ...]] = ("npz",)
    record_type: ClassVar[type] = Image

    def read(self, path: Paths, report: fault_report.Report | None = None) -> Iterator[Image]:
        """The images in their order; `path` is the npz file, or it and the table."""
        array, *table = _one_or_two(path, "the npz file, and the table")
        with _open_archive(Path(array)), zipfile.ZipFile(array) as archive, _member(archive, self.key, array) as stream:
            shape = _npy_shape(stream, array)
            metadata = _read_captions(table[0], shape[0]) if table else {}
            for row in range(shape[0]):
                pixels = _next_image(stream, shape, row, array)
                entry = metadata.get(row, ImageMetadata())
                captions = tuple(entry.captions[number] for number in sorted(entry.captions))
                yield Image(pixels, captions, entry.label, entry.name, entry.line)
            _check_end(stream, shape, array)

    def rows(self, records: Iterable[Image]) -> Iterator[str]:
        """The lines of the table."""
        for row, image in enumerate(records):
            for number, caption in enumerate(image.captions):
                yield f"{row}\t{require_cell(image.name)}\t{number}\t{require_cell(caption)}"

    def save(self, path: str | Path, table: str | Path, records: Iterable[Image]) -> None:
        """Write both files."""
        import numpy as np

        records = list(records)
        check_same_size(records)
        content = io.BytesIO()
        np.savez_compressed(content, **{self.key: np.stack([image.pixels for image in records])})
        atomic_files.replace_file(Path(path), content.getvalue())
        numbered_lines.save_lines(table, self.rows(records))


def _open_archive(path: Path) -> ExitStack:
    """A context that turns the errors of an archive into errors that say what to do."""
    numbered_lines.single_file(path)
    stack = ExitStack()
    stack.enter_context(compression.explain_read_errors(str(path)))
    stack.push(lambda kind, error, _: _explain(error, path) if kind else None)
    return stack


def _explain(error: BaseException, path: Path) -> None:
    if isinstance(error, compression.ARCHIVE_FAULTS) and not isinstance(error, FirthError):
        raise FirthError(f"not a whole npz file ({error})", where=path, do="make it again with numpy.savez") from error


def _member(archive: zipfile.ZipFile, key: str, path: str | Path) -> BinaryIO:
    if f"{key}.npy" not in archive.namelist():
        keys = ", ".join(name.removesuffix(".npy") for name in archive.namelist()[:10])
        raise FirthError(f"no array {key!r} in it", where=path, do=f"it has: {keys or 'nothing'}; set key=NAME")
    return compression.bounded(archive.open(f"{key}.npy"), archive.fp)


def _npy_shape(content: BinaryIO, path: str | Path) -> tuple[int, ...]:
    """The shape that the array's header declares: (images, y, x[, channels]) of bytes in C order.

    NumPy would run Python's own parser over the header of any file; one pattern is enough for images.
    """
    magic, version = content.read(6), content.read(2)
    wide = 2 if version == b"\1\0" else 4
    length = int.from_bytes(content.read(wide), "little")
    header = HEADER.fullmatch(content.read(length)) if magic == b"\x93NUMPY" and length <= MAX_HEADER_BYTES else None
    shape = tuple(int(side) for side in header["shape"].split(b",") if side.strip()) if header else ()
    if not header or header["type"] != b"|u1" or header["by_column"] != b"False" or len(shape) not in (3, 4):
        kind = f"an array of type {header['type'].decode()}, {len(shape)} axes" if header else "something else"
        what = f"not images, but {kind}{' in Fortran order' if header and header['by_column'] == b'True' else ''}"
        raise FirthError(what, where=path, do="save bytes (uint8) of shape (images, y, x, channels) in C order")
    return _check_shape(shape, path)


def _check_shape(shape: tuple[int, ...], path: str | Path) -> tuple[int, ...]:
    size = 1
    for side in shape[1:]:
        size *= side
    if not 0 < size <= MAX_IMAGE_BYTES or min(shape) < 0:
        what = f"images of size {_size(shape[1:])}"
        raise FirthError(what, where=path, do=f"give images of 1 byte to {MAX_IMAGE_BYTES >> 20} MB")
    return shape


def _next_image(content: BinaryIO, shape: tuple[int, ...], row: int, path: str | Path) -> np.ndarray:
    """The next image of a stream, (y, x, channels)."""
    import numpy as np

    expected, data = 1, bytearray()
    for side in shape[1:]:
        expected *= side
    while len(data) < expected and (block := content.read(min(expected - len(data), 1 << 20))):
        data += block
    if len(data) < expected:
        what = f"it declares {shape[0]} images of {_size(shape[1:])} and ends in number {row + 1}"
        raise FirthError(what, where=path, do="get the whole file")
    pixels = np.frombuffer(data, np.uint8).reshape(shape[1:])
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def _check_end(content: BinaryIO, shape: tuple[int, ...], path: str | Path) -> None:
    if content.read(1):
        what = f"more bytes than the {shape[0]} images of {_size(shape[1:])} it declares"
        raise FirthError(what, where=path, do="write it again")


def _read_captions(path: str | Path, count: int) -> dict[int, ImageMetadata]:
    """The metadata of each row of the array, from the table."""
    metadata: dict[int, ImageMetadata] = {}
    for line, text in numbered_lines.lines(path):
        where, cells = numbered_lines.at(path, line), text.split("\t")
        check_column_count(len(cells), 4, where, ("row", "file name", "caption number", "caption"))
        row, number = parse_int(cells[0]), parse_int(cells[2])
        if row is None or number is None or not 0 <= row < count:
            what = f"row {quote(cells[0])}, caption number {quote(cells[2])}"
            raise FirthError(what, where=where, do=f"both are counted from 0, and there are {count} images")
        entry = metadata.setdefault(row, ImageMetadata(cells[1], line=line))
        if entry.name != cells[1] or number in entry.captions:
            what = f"row {row} is {quote(entry.name)} at line {entry.line}, and has that caption number or another name"
            raise FirthError(what, where=where, do="give each caption of an image its own number")
        entry.captions[number] = cells[3]
    return metadata


# --- IDX ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Idx:
    """IDX files (MNIST): a file of images, and another of labels (numbers, or indices into `names`)."""

    names: tuple[str, ...] = ()

    extensions: ClassVar[tuple[str, ...]] = ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte")
    record_type: ClassVar[type] = Image

    def read(self, path: Paths, report: fault_report.Report | None = None) -> Iterator[Image]:
        """The images in their order; `path` is their file, or it and the label file; both may be compressed."""
        paths = [Path(part) for part in _one_or_two(path, "that of images, and that of labels")]
        with ExitStack() as stack:
            streams = [_open_idx(part, stack) for part in paths]
            shapes = [_idx_shape(*pair) for pair in zip(streams, paths, (True, False), strict=False)]
            if len(paths) > 1 and shapes[0][0] != shapes[1][0]:
                what = f"{shapes[1][0]} labels for {shapes[0][0]} images"
                raise FirthError(what, where=paths[1], do=f"take the labels that belong to {paths[0]}")
            for row in range(shapes[0][0]):
                pixels = _next_image(streams[0], shapes[0], row, paths[0])
                yield Image(pixels, label=self._label(streams[1], row, paths[1]) if len(paths) > 1 else None)
            for stream, shape, part in zip(streams, shapes, paths, strict=True):
                _check_end(stream, shape, part)

    @staticmethod
    def with_companions(path: Path) -> Path | tuple[Path, Path]:
        """The file of images, and that of their labels if it has the usual name."""
        labels = path.with_name(path.name.replace("images-idx3", "labels-idx1").replace("images.idx3", "labels.idx1"))
        return (path, labels) if labels != path and labels.exists() else path

    def _label(self, content: BinaryIO, row: int, path: Path) -> str:
        byte = content.read(1)
        if not byte:
            raise FirthError(f"it ends after {row} labels", where=path, do="get the whole file")
        if self.names and byte[0] >= len(self.names):
            what = f"label {byte[0]} of image {row + 1}, but {len(self.names)} names"
            raise FirthError(what, where=path, do="set names=… with all of them")
        return self.names[byte[0]] if self.names else str(byte[0])


def _open_idx(path: Path, stack: ExitStack) -> BinaryIO:
    numbered_lines.single_file(path)
    stack.enter_context(compression.explain_read_errors(str(path)))
    return stack.enter_context(compression.decompress(stack.enter_context(path.open("rb"))))


def _idx_shape(content: BinaryIO, path: Path, images: bool) -> tuple[int, ...]:
    head = content.read(4)
    count = head[3] if len(head) == 4 else 0
    if head[:3] != b"\0\0\x08" or count not in ((3, 4) if images else (1,)):
        what = f"not an IDX file of {'images' if images else 'labels'} in bytes"
        raise FirthError(
            what, where=path, do="give files such as train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz"
        )
    sizes = content.read(4 * count)
    if len(sizes) < 4 * count:
        raise FirthError("it ends inside its header", where=path, do="get the whole file")
    return _check_shape(struct.unpack(f">{count}I", sizes), path)


# --- folders ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Folder:
    """A folder of image files, and a table that names them; a name may occur again with another caption."""

    columns: tuple[str, ...] = ("name", "caption")  # of the table: name, and caption, label or both
    table: str = "captions.tsv"  # its name in the folder, where no other is given
    size: Literal["same", "any"] = "same"

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Image

    def read(self, path: Paths, report: fault_report.Report | None = None) -> Iterator[Image]:
        """The images in the order of the table; `path` is the folder, or it and the table."""
        folder, *table = _one_or_two(path, "the folder, and the table")
        table = table[0] if table else Path(folder, self.table)
        first: tuple[str, tuple[int, ...]] | None = None
        for entry in self._metadata(table).values():
            where = numbered_lines.at(table, entry.line)
            pixels = image_files.load(_inside(Path(folder), entry.name, where))
            first = first or (entry.name, pixels.shape)
            if self.size == "same" and pixels.shape != first[1]:
                what = f"{entry.name} is an image of another size: {_size(pixels.shape)}, {first[0]} {_size(first[1])}"
                raise FirthError(what, where=where, do="make them one size, or set size=any")
            yield Image(pixels, tuple(entry.captions.values()), entry.label, entry.name, entry.line)

    def _metadata(self, table: str | Path) -> dict[str, ImageMetadata]:
        self._check()
        metadata: dict[str, ImageMetadata] = {}
        for line, text in numbered_lines.lines(table):
            cells = text.split("\t")
            check_column_count(len(cells), len(self.columns), numbered_lines.at(table, line), self.columns)
            row = dict(zip(self.columns, cells, strict=True))
            entry = metadata.setdefault(row["name"], ImageMetadata(row["name"], row.get("label"), line=line))
            if entry.label != row.get("label"):
                what = f"{quote(entry.name)} has label {quote(entry.label)} at line {entry.line}"
                raise FirthError(what, where=numbered_lines.at(table, line), do="give an image one label")
            if "caption" in row:
                entry.captions[len(entry.captions)] = row["caption"]
        return metadata

    def _check(self) -> None:
        allowed = len(set(self.columns)) == len(self.columns) and set(self.columns) <= {"name", "caption", "label"}
        if not allowed or "name" not in self.columns:
            what = f"columns = {','.join(self.columns)}: expected name, and caption or label"
            raise FirthError(what, do="such as columns=name,caption")

    def rows(self, records: Iterable[Image]) -> Iterator[str]:
        """The lines of the table."""
        for image in records:
            for caption in image.captions if "caption" in self.columns else ("",):
                cells = {"name": image.name, "label": image.label or "", "caption": caption}
                yield "\t".join([require_cell(cells[name]) for name in self.columns])

    def save(self, folder: str | Path, records: Iterable[Image]) -> None:
        """Write the images, as PPM or PGM under their names, and the table."""
        folder, records = Path(folder), list(records)
        for number, image in enumerate(records, 1):
            path = _inside(folder, image.name, f"image {number}")
            atomic_files.make_folder(path.parent)
            atomic_files.replace_file(path, image_files.encode(image.pixels))
        numbered_lines.save_lines(folder / self.table, self.rows(records))


def _inside(folder: Path, name: str, where: str) -> Path:
    """The file of a name; names must not lead out of the folder."""
    path = Path(name)
    if not name or len(name) > 255 or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise FirthError(
            f"{quote(name)} is not the name of a file in the folder", where=where, do="write names like a.png"
        )
    return folder / path


def check_same_size(images: Sequence[Image]) -> None:
    """Raise if the images are not all of one size, or there is none."""
    shapes = {image.pixels.shape: number for number, image in reversed(list(enumerate(images, 1)))}
    if len(shapes) != 1:
        sizes = ", ".join(f"{_size(shape)} (image {number})" for shape, number in sorted(shapes.items()))
        raise FirthError(f"images of different sizes: {sizes or 'none'}", do="make them one size first")


def _size(shape: Sequence[int]) -> str:
    return "×".join(str(side)[:20] for side in shape)
