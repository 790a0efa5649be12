"""Names of texts (files, folders, built-ins, standard input) and Python iterables as documents to read and re-read."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from firth.config.schema import Text
from firth.data import python_docs, spool
from firth.data.packed import missing, reading
from firth.data.reading import TextFile, check_encoding, checked, no_text
from firth.data.world import World
from firth.errors import FirthError

WORLD_DOCUMENTS = 20_000
WORLD_SAMPLE = 200  # documents that stand for all in the fingerprint


class Part(Protocol):
    """What a source is made of: documents that can be read again and again."""

    def __iter__(self) -> Iterator[str]: ...
    def digest(self) -> bytes: ...


@dataclass(frozen=True)
class Source:
    """Documents in a fixed order, read anew by every `iter`, never all in memory."""

    parts: tuple[Part, ...]
    config: Text
    shown: tuple[str, ...]  # one entry per name
    skipped: tuple[str, ...] = ()  # files of folders that are not text

    def __iter__(self) -> Iterator[str]:
        """The documents, none of them empty; an error if there is none."""
        found = False
        for part in self.parts:
            for document in part:
                found = True
                yield document
        if not found:
            raise no_text(self.describe())

    def fingerprint(self) -> str:
        """The sha256 of the raw content and of the settings that change the documents, taken once."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        settings = (self.config.document, self.config.encoding, self.config.errors, self.config.long_lines)
        seen = hashlib.sha256(json.dumps(settings).encode())
        for part in self.parts:
            seen.update(hashlib.sha256(part.digest()).digest())
        return seen.hexdigest()

    def describe(self) -> str:
        """The source in a few words, for messages."""
        skipped = f" ({len(self.skipped)} files skipped that are not text)" if self.skipped else ""
        return ", ".join(self.shown) + skipped


def open_source(names: Iterable[str], config: Text, folder: Path) -> Source:
    """The texts of these names, in their order; `folder` keeps what can be read only once."""
    check_encoding(config.encoding)
    parts, shown, skipped = [], [], []
    for name in (names,) if isinstance(names, str) else names:
        found, description, passed_over = _open(name, config, folder)
        parts += found
        shown.append(description)
        skipped += passed_over
    if not parts:
        raise FirthError("no text is named", where="data.text", do="name a file, a folder or python-docs")
    return Source(tuple(parts), config, tuple(shown), tuple(skipped))


KEPT = "documents:"  # before the path of a file of kept documents, in a list of names


def settled(names: Iterable[str], folder: Path) -> tuple[str, ...]:
    """The same texts by names that can be opened again, from anywhere: standard input is read now and kept."""
    return tuple(_settled(name, folder) for name in names)


def _settled(name: str, folder: Path) -> str:
    if name == "-":
        return str(spool.keep_bytes(_standard_input(), folder))
    is_path = name.partition(":")[0] not in BUILT_IN and not name.startswith(KEPT)
    return os.path.abspath(name) if is_path and name and Path(name).exists() else name  # noqa: PTH100 - keeps links


def kept(documents: Iterable[str], folder: Path) -> str:
    """A name that `open_source` takes for documents from Python, which are kept in `folder`."""
    return f"{KEPT}{spool.keep_documents(documents, folder)}"


# --- built in -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PythonDocs:
    """The English text of the running Python."""

    def __iter__(self) -> Iterator[str]:
        return iter(python_docs.documents())

    def digest(self) -> bytes:
        return json.dumps(python_docs.documents()).encode()


@dataclass(frozen=True)
class WorldText:
    """So many documents of the default world."""

    count: int

    def __iter__(self) -> Iterator[str]:
        return World().documents(self.count)

    def digest(self) -> bytes:
        # Every document is made by the same rules, so a change of the rules shows in the first few of them.
        return json.dumps([self.count, *World().documents(min(self.count, WORLD_SAMPLE))]).encode()


def _world(count: str) -> WorldText:
    if count and not (count.isascii() and count.isdigit() and int(count)):
        raise FirthError(f"{count!r} is no number of documents", where=f"world:{count}", do="write world:50000")
    return WorldText(int(count or WORLD_DOCUMENTS))


def _python_docs(option: str) -> PythonDocs:
    if option:
        raise FirthError("it takes no number", where=f"python-docs:{option}", do="write python-docs")
    return PythonDocs()


BUILT_IN: dict[str, Callable[[str], Part]] = {"python-docs": _python_docs, "world": _world}

# --- files and folders --------------------------------------------------------------------------------------------


def _open(name: str, config: Text, folder: Path) -> tuple[list[Part], str, list[str]]:
    """The parts behind one name, how to call them, and the files passed over."""
    built_in, _, option = name.partition(":")
    if built_in in BUILT_IN:
        return [BUILT_IN[built_in](option)], name, []
    if name.startswith(KEPT):
        return [_kept(Path(name.removeprefix(KEPT)))], "Python documents", []
    if name == "-":
        return [_spooled(_standard_input(), "standard input", config, folder)], "standard input", []
    path = Path(name)
    if not _exists(name):
        raise missing(name, BUILT_IN)
    if path.is_dir():
        return _open_folder(path, config)
    if path.is_file():
        return [checked(TextFile(path, name, config))], name, []
    with reading(name), path.open("rb") as stream:  # a pipe, such as the shell's <(command)
        return [_spooled(stream, name, config, folder)], name, []


def _exists(name: str) -> bool:
    with reading(name):
        try:
            return bool(name) and Path(name).exists()
        except ValueError:  # a NUL in the name
            return False


def _kept(path: Path) -> spool.Spooled:
    if not path.is_file():
        raise FirthError("the documents kept for this run are gone", where=path, do="train again from the documents")
    if not path.stat().st_size:
        raise no_text("Python documents")
    return spool.Spooled(path, "Python documents")


def _standard_input():
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise FirthError("it is closed", where="standard input", do="pipe text into the command, or name a file")
    return stream


def _spooled(stream, shown: str, config: Text, folder: Path) -> TextFile:
    return checked(TextFile(spool.keep_bytes(stream, folder), shown, config))


def _open_folder(root: Path, config: Text) -> tuple[list[Part], str, list[str]]:
    """All text files of a folder; empty ones do not count, and those that are not text are passed over."""
    files = [TextFile(path, str(path), config, alone=False) for path in _walk(root)]
    verdicts = [file.verdict() for file in files]
    texts = [file for file, verdict in zip(files, verdicts, strict=True) if verdict == "text"]
    skipped = [file.shown for file, verdict in zip(files, verdicts, strict=True) if verdict == "binary"]
    if not texts:
        binary = f" ({len(skipped)} binary)" if skipped else ""
        what = f"no text file in this folder{binary}"
        raise FirthError(what, where=root, do="give a folder with text files (hidden ones do not count)")
    if len(texts) == 1:
        texts = [TextFile(texts[0].path, texts[0].shown, config)]
    return texts, f"{root} ({len(texts)} file{'s' * (len(texts) > 1)})", skipped


def _walk(root: Path) -> Iterator[Path]:
    """The regular files under a folder in sorted order, hidden ones left out, each folder entered once."""
    entered = set()
    for folder, inside, names in os.walk(root, followlinks=True, onerror=_cannot_list):
        status = Path(folder).stat()
        if (status.st_dev, status.st_ino) in entered:  # links can make circles
            inside.clear()
            continue
        entered.add((status.st_dev, status.st_ino))
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        paths = (Path(folder, name) for name in sorted(names) if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def _cannot_list(error: OSError) -> None:
    do = "change its permissions or owner"
    raise FirthError(f"cannot list the folder ({error.strerror})", where=error.filename, do=do) from error
