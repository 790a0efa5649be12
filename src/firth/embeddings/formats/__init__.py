"""File formats of word vectors (word2vec, GloVe, fastText, TensorBoard projector, our own), detected by their
content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from firth.arguments import as_path
from firth.datasets import compression, numbered_lines
from firth.embeddings.formats.vector_lines import is_number, parse_header
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError, unknown

# format -> its module, the function that reads an opened file, the function that writes
FORMATS = {
    "firth": ("safetensors_store", "", "write"),
    "word2vec": ("word2vec_files", "read_binary", "write_binary"),
    "word2vec-text": ("word2vec_files", "read_text", "write_text"),
    "glove": ("glove_text", "read", "write"),
    "fasttext": ("fasttext_bin", "read_vectors", "write"),
    "projector": ("projector", "read", "write"),
}
_EXTENSIONS = {".safetensors": "firth", ".txt": "word2vec-text", ".vec": "word2vec-text", ".bin": "word2vec"}
_GIVE = "give vectors of word2vec, GloVe, fastText or firth, or a folder for TensorBoard's projector"
_HEAD_BYTES = 1 << 16  # bytes read to detect the format
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def read(path: Path | str) -> WordVectors:
    """The word vectors of a file or folder of any format, plain or compressed."""
    path = Path(path)
    file = path / "vectors.tsv" if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise FirthError("no vectors in it", where=path, do=_GIVE)
    numbered_lines.single_file(file)
    kind = detect_format(file)
    if kind == "firth":
        return _module(kind).read(file)
    with compression.explain_read_errors(str(file)), file.open("rb") as raw, compression.decompress(raw) as content:
        size = file.stat().st_size if content is raw else None
        with _seekable(content) as content:
            return getattr(_module(kind), FORMATS[kind][1])(content, str(file), size)


def write(store: WordVectors, path: Path | str, format: str = "") -> None:
    """Write a format; without one the extension decides (.safetensors, .txt, .vec, .bin; a folder: the projector)."""
    path = as_path(path)
    format = format or _format_by_extension(store, path)
    if format not in FORMATS:
        raise unknown("format", format, FORMATS, where=path)
    getattr(_module(format), FORMATS[format][2])(store, path)


def detect_format(path: Path) -> str:
    """The format of a file, from its content alone."""
    with compression.explain_read_errors(str(path)), path.open("rb") as raw, compression.decompress(raw) as content:
        start = _read(content, _HEAD_BYTES)
    if not start.strip():
        raise FirthError("the file is empty", where=path, do=_GIVE)
    if start[:4] == b"\xba\x16\x4f\x2f":
        return "fasttext"
    if len(start) > 8 and start[8:9] == b"{" and start[6:8] == b"\0\0":
        return "firth"
    first, _, rest = start.partition(b"\n")
    if parse_header(first):
        return "word2vec" if _is_binary(rest, parse_header(first).width) else "word2vec-text"
    if _CONTROL.search(start):
        pickled = start[:1] == b"\x80" or start[:2] == b"PK"
        do = "save it with save_word2vec_format: its own files can execute code" if pickled else _GIVE
        raise FirthError("not a file of word vectors", where=path, do=do)
    return "projector" if all(map(is_number, first.split())) and b"\t" in first else "glove"


def _is_binary(rest: bytes, width: int) -> bool:
    """Whether the header is followed by binary data: no numbers in the next line, and bytes that no text has."""
    line = rest.partition(b"\n")[0].split()
    if len(line) > width and all(map(is_number, line[-width:] if width else [])):
        return False
    try:
        rest.decode()
    except UnicodeDecodeError as error:
        if error.start < len(rest) - 4:  # not just a character truncated at the end
            return True
    return bool(_CONTROL.search(rest))


def _read(file: BinaryIO, size: int) -> bytes:
    """Read `size` bytes, or all there are: a compressed file may return fewer at a time."""
    data = b""
    while len(data) < size and (block := file.read(size - len(data))):
        data += block
    return data


@contextmanager
def _seekable(file: BinaryIO) -> Iterator[BinaryIO]:
    """The file, or a temporary copy that can be read twice."""
    if file.seekable():
        yield file
        return
    with TemporaryFile() as copy:
        while block := file.read(_HEAD_BYTES):
            copy.write(block)
        copy.seek(0)
        yield copy


def _format_by_extension(store: WordVectors, path: Path) -> str:
    ending = path.with_suffix("").suffix if path.suffix in compression.COMPRESSORS else path.suffix
    if path.is_dir():
        return "projector"
    if ending not in _EXTENSIONS:
        do = f"use an extension of {', '.join(_EXTENSIONS)}, or name a format: {', '.join(FORMATS)}"
        raise FirthError("no known extension, so the format is unclear", where=path, do=do)
    return "fasttext" if ending == ".bin" and store.subwords is not None else _EXTENSIONS[ending]


def _module(format: str):
    return import_module(f"{__name__}.{FORMATS[format][0]}")
