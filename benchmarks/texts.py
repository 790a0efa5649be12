"""Texts of the data folder, or built-in ones where it has none."""

from __future__ import annotations

import gzip
import itertools
import lzma
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Options, note

UNPACK = {".gz": gzip.decompress, ".xz": lzma.decompress}


def find(options: Options, name: str) -> Path | None:
    """A file of the data folder; None, and a note, if it is not there."""
    path = options.data / name
    if path.exists():
        return path
    if options.data.is_dir():  # else the note is about the folder
        note(f"no {name} in {options.data}; name the data folder with --data FOLDER")
    return None


def read(path: Path) -> str:
    """The text of a file, plain or compressed."""
    return UNPACK.get(path.suffix, bytes)(path.read_bytes()).decode()


def decompress(options: Options, name: str) -> Path | None:
    """A plain copy of a file of the data folder; None if it is not there."""
    path = find(options, name)
    if path is None:
        return None
    copy = options.folder / name.replace("/", "-").removesuffix(".gz").removesuffix(".xz")
    if not copy.exists():
        copy.write_bytes(UNPACK.get(path.suffix, bytes)(path.read_bytes()))
    return copy


def english(options: Options) -> Iterator[str]:
    """English documents without end: Wikipedia articles, else python-docs; from the start again when they end."""
    path = find(options, "wiki-text/wiki.txt.xz")
    while True:
        if path is None:
            yield from python_docs()
            continue
        with lzma.open(path, "rt", encoding="utf-8") as file:
            for empty, lines in itertools.groupby(file, lambda line: not line.strip()):
                if not empty:
                    yield "".join(lines).rstrip("\n")


def python_docs() -> tuple[str, ...]:
    """The documents that come with Python."""
    from firth.datasets.python_docs import documents

    return tuple(documents())


def write_english(options: Options, size: int) -> Path:
    """A file of about so many bytes of English documents, with empty lines between them."""
    path, written = options.folder / f"english-{size}.txt", 0
    with path.open("w", encoding="utf-8") as file:
        for document in english(options):
            written += file.write(document + "\n\n")
            if written >= size:
                return path
    raise AssertionError("the documents have no end")


def write_lines(options: Options, name: str, repeat: int = 1) -> Path | None:
    """A file of the data folder without empty lines, so many times over; None if it is not there."""
    path = find(options, name)
    if path is None:
        return None
    copy = options.folder / f"lines-{repeat}-{name.replace('/', '-').removesuffix('.gz')}"
    lines = [line for line in read(path).split("\n") if line.split()]
    copy.write_text("\n".join(lines * repeat) + "\n", encoding="utf-8")
    return copy


def write_words(options: Options, words: int) -> Path:
    """A file of about so many words of English, lower case, letters only, a paragraph a line."""
    path = options.folder / f"words-{words}.txt"
    with path.open("w", encoding="utf-8") as file:
        for document in english(options):
            for line in document.splitlines():
                found = re.findall("[a-z]+", line.lower())[:words]
                if len(found) > 4:
                    words -= len(found)
                    file.write(" ".join(found) + "\n")
                if words <= 4:
                    return path
    raise AssertionError("the documents have no end")
