"""Spool files: what can be read only once (standard input, Python iterators) is written to a file to be read again."""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from firth.errors import FirthError
from firth.runs import atomic_files

LENGTH = struct.Struct("<Q")
BLOCK = 1 << 20


@dataclass(frozen=True)
class SpooledDocuments:
    """Documents in a file, each preceded by its length in bytes."""

    path: Path
    shown: str

    def __iter__(self) -> Iterator[str]:
        """The documents in their order."""
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            while head := file.read(LENGTH.size):
                length = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else 0
                body = file.read(length) if length <= size else b""
                if len(body) < max(1, length):
                    raise FirthError("the spool file is damaged", where=self.path, do="delete it and start again")
                yield body.decode()

    def digest(self) -> bytes:
        """The sha256 of the documents and their lengths."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()


def write_documents(documents: Iterable[str], folder: Path) -> Path:
    """Write the documents that are not blank to a file in the folder, named by their hash; length-delimited."""
    return _write(_delimited(documents), folder, ".documents")


def write_bytes(stream: BinaryIO, folder: Path) -> Path:
    """Write all bytes of a stream to a file in the folder, named by their hash."""
    return _write(iter(lambda: stream.read(BLOCK), b""), folder, ".bytes")


def _delimited(documents: Iterable[str | tuple[str, ...]]) -> Iterator[bytes]:
    for index, document in enumerate(documents):
        if isinstance(document, tuple):
            document = _row(document, index)
        if not isinstance(document, str):
            what = f"document {index} is {type(document).__name__}, not str"
            raise FirthError(what, where="Python documents", do="give an iterable of strings")
        try:
            body = document.encode()
        except UnicodeEncodeError as error:
            what = f"document {index} has a lone surrogate at character {error.start}"
            raise FirthError(what, where="Python documents", do='decode its bytes with errors="replace"') from error
        if document and not document.isspace():
            yield LENGTH.pack(len(body)) + body


def _row(values: tuple[str, ...], index: int) -> str:
    """The texts of one example, separated by tabs."""
    if not all(isinstance(value, str) and "\t" not in value for value in values):
        what = f"document {index} has values that are no strings, or have tabs in them"
        raise FirthError(what, where="Python documents", do="give strings without tabs")
    return "\t".join(values)


def _write(chunks: Iterable[bytes], folder: Path, suffix: str) -> Path:
    """Write to a temporary file, then rename, so that a file with the final name is always complete."""
    atomic_files.make_folder(folder)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".spool-")
    digest = hashlib.sha256()
    try:
        with atomic_files.explain_errors(folder), os.fdopen(handle, "wb") as file:
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
        return Path(name).replace(folder / (digest.hexdigest() + suffix))
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
