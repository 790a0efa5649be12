"""Shared by the formats: reading vocabulary files as text, lines or JSON, and the result of an export."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from firth.arguments import read_file
from firth.errors import FirthError


class ExportedFiles(NamedTuple):
    """A tokenizer in another format."""

    contents: dict[str, bytes]  # file name -> content, in a folder; a single file has the name ""
    warnings: list[str]  # where the other program differs from firth


def read_text(path: Path) -> str:
    """The file's text; an error if it cannot be read or is not UTF-8."""
    content = read_file(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FirthError("not a tokenizer file: not UTF-8 text", where=f"{path}:{line}") from None


def read_lines(path: Path) -> list[str]:
    """The file's lines, split at line feeds only: other line ends are tokens in some vocabularies."""
    lines = [line.removesuffix("\r") for line in read_text(path).split("\n")]
    return lines[:-1] if lines and not lines[-1] else lines


def read_json(path: Path) -> dict[str, Any]:
    """The file's JSON object; an error names the malformed line."""
    try:
        value = json.loads(read_text(path))
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise FirthError("damaged or cut short: not whole JSON", where=f"{path}:{line}", do="fetch it again") from None
    except RecursionError:
        raise FirthError("not a tokenizer file", where=path) from None
    if not isinstance(value, dict):
        raise FirthError("not a tokenizer file: a JSON object is missing", where=path)
    return value


def read_tokenizer_config(path: Path) -> Mapping[str, Any]:
    """The `tokenizer_config.json` in the same folder; empty if there is none."""
    config = path.with_name("tokenizer_config.json")
    return read_json(config) if config.is_file() else {}


def added_tokens_of(vocabulary: Mapping[str, int], names: Iterable[str]) -> list[dict[str, Any]]:
    """The `added_tokens` of a `tokenizer.json`: the given special tokens, as far as the vocabulary has them."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokens = sorted({vocabulary[name]: name for name in names if name in vocabulary}.items())
    return [{"id": i, "content": name, **flags, "special": True} for i, name in tokens]


def tokens_by_id(vocabulary: Mapping[str, int]) -> list[str]:
    """The tokens in the order of their ids, which must run from 0 without gaps."""
    order = sorted(vocabulary, key=vocabulary.get)
    if [vocabulary[token] for token in order] != list(range(len(order))):
        raise FirthError("the token ids have gaps", do="this format needs every id from 0")
    return order
