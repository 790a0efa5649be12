"""What the formats share: text files of tokens, read whole and checked line by line, and what writing gives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from firth.errors import FirthError


class Written(NamedTuple):
    """A tokenizer in another format."""

    contents: dict[str, bytes]  # name -> content, in a folder; a single file has no name
    notes: list[str]  # what the other program will do otherwise than firth


def text_of(path: Path) -> str:
    """The file's text; refused if it cannot be read or is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FirthError(f"cannot read: {error.strerror}", where=path) from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise FirthError("not a tokenizer file: not UTF-8 text", where=f"{path}:{line}") from None


def lines_of(path: Path) -> list[str]:
    """Its lines, cut at line feeds alone: other line ends are tokens of some vocabularies."""
    lines = [line.removesuffix("\r") for line in text_of(path).split("\n")]
    return lines[:-1] if lines and not lines[-1] else lines


def json_of(path: Path) -> dict[str, Any]:
    """A JSON object; damage is told with its line."""
    try:
        found = json.loads(text_of(path))
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise FirthError("damaged or cut short: not whole JSON", where=f"{path}:{line}", do="fetch it again") from None
    except RecursionError:
        raise FirthError("not a tokenizer file", where=path) from None
    if not isinstance(found, dict):
        raise FirthError("not a tokenizer file: a JSON object is missing", where=path)
    return found


def settings_beside(path: Path) -> Mapping[str, Any]:
    """What `tokenizer_config.json` in the same folder says; nothing if there is none."""
    beside = path.with_name("tokenizer_config.json")
    return json_of(beside) if beside.is_file() else {}


def special_tokens(vocabulary: Mapping[str, int], names: Iterable[str]) -> list[dict[str, Any]]:
    """Entries of a tokenizer file for those of the names that the vocabulary has."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    found = sorted({vocabulary[name]: name for name in names if name in vocabulary}.items())
    return [{"id": i, "content": name, **flags, "special": True} for i, name in found]


def in_order(vocabulary: Mapping[str, int]) -> list[str]:
    """The tokens by their numbers, which must run from 0 without a gap."""
    order = sorted(vocabulary, key=vocabulary.get)
    if [vocabulary[token] for token in order] != list(range(len(order))):
        raise FirthError("the numbers of its tokens have gaps", do="this format needs every number from 0")
    return order
