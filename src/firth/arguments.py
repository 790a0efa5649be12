"""Arguments of the Python functions, checked where they come in: a text or a list of texts, a path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from os import PathLike, fspath, fstat
from pathlib import Path
from typing import Any

from firth.errors import FirthError

MAX_FILE = 1 << 30  # bytes of a file that is read whole


def as_text(value: object, name: str = "text") -> str:
    """The value, a string; anything else is refused."""
    if isinstance(value, str):
        return value
    do = "read it first: Path(...).read_text()" if isinstance(value, PathLike) else "give a string"
    raise FirthError(f"{name}: {_kind(value)}, not a string", do=do)


def as_list(values: Any, what: str = "texts") -> list[Any]:
    """The values of any iterable as a list; what is none is refused."""
    if isinstance(values, (str, bytes, PathLike, Mapping)) or not isinstance(values, Iterable):
        do = "read it first: Path(...).read_text()" if isinstance(values, PathLike) else "give a string or a list"
        raise FirthError(f"{what}: {_kind(values)}, not a string or a list of strings", do=do)
    return list(values)


def as_count(value: Any, name: str = "count", least: int = 1) -> int:
    """The value, a whole number that is not below the least; anything else is refused."""
    try:
        count = index(value)
    except TypeError:
        raise FirthError(f"{name}: {_kind(value)}, not a whole number", do=f"write {name}={max(5, least)}") from None
    if count < least:
        raise FirthError(f"{name}: {count}, less than {least}", do=f"write {name}={max(5, least)}")
    return count


def as_texts(values: Any) -> list[str]:
    """The values of any iterable of strings as a list."""
    return [as_text(value, f"text {number}") for number, value in enumerate(as_list(values))]


def for_each(texts: Any, answer: Callable[[str], Any]) -> Any:
    """The answer to a text, or a list of answers to a list of texts."""
    return answer(texts) if isinstance(texts, str) else [answer(text) for text in as_texts(texts)]


def batched(texts: Any, answer: Callable[[list[str]], Sequence[Any] | Any]) -> Any:
    """The answers of a function of many texts; of one text, given as a string, its answer alone."""
    return answer([texts])[0] if isinstance(texts, str) else answer(as_texts(texts))


def as_path(value: Any, what: str = "path") -> Path:
    """The value as a path; what is neither a string nor a path is refused."""
    if not isinstance(value, (str, PathLike)):
        raise FirthError(f"{what}: {_kind(value)}, not a path", do="give a string or a Path")
    if "\0" in fspath(value):
        raise FirthError(f"{what}: {value!r} has a NUL in it, which no file's name has", do="give the name of a file")
    return Path(value)


def read_file(path: Path, do: str = "check the path") -> bytes:
    """The content of a file that is read whole; devices and pipes, which may never end, are refused, and huge files."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise FirthError("a device or a pipe, not a file", where=path, do="put its content into a file first")
        with path.open("rb") as file:
            if fstat(file.fileno()).st_size > MAX_FILE:
                raise FirthError(f"larger than {MAX_FILE >> 20} MB", where=path, do=do)
            return file.read()
    except OSError as error:
        raise FirthError(f"cannot read: {error.strerror}", where=path, do=do) from None
    except ValueError:  # a NUL in the name
        raise FirthError("no such file", where=path, do=do) from None


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
