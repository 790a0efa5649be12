"""Parsing of numbers, JSON and CSV cells from unchecked files: the value, or an error with file and line."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from firth.datasets import numbered_lines
from firth.errors import FirthError

SHOWN = 40  # characters of a bad value that a message shows


class Json(str):
    """A JSON value other than a string (a number, null, a list), as its JSON text."""

    __slots__ = ()


class JsonNumber(float):
    """A JSON number with its original text: 1.50 is not written as 1.5."""

    __slots__ = ("text",)


# A lone surrogate: JSON can encode it, UTF-8 cannot.
LONE_SURROGATE = re.compile(r"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]")


def parse_json(text: str, path: str | Path, line: int = 1, pairs: Callable[[list], Any] | None = None) -> Any:
    """The value of a JSON text that begins at this line of the file; NaN and infinities are refused."""
    try:
        value = _decoder(pairs).decode(text)
        if "\\u" in text and LONE_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg} (column {error.colno})"
        raise FirthError(what, where=numbered_lines.at(path, line + error.lineno - 1), do="correct the file") from None
    except UnicodeEncodeError:
        what, at = (
            "half of a surrogate pair (a lone surrogate), which is not a character",
            LONE_SURROGATE.search(text).start(),
        )
        raise FirthError(
            what, where=numbered_lines.at(path, line + text.count("\n", 0, at)), do="correct the text"
        ) from None
    except RecursionError:
        what = "JSON nested too deeply"
        raise FirthError(what, where=numbered_lines.at(path, line), do="make it flatter") from None
    except ValueError as error:  # a number of thousands of digits, or what _refuse raises
        what = f"not JSON: {str(error).partition(';')[0][:80]}"
        raise FirthError(what, where=numbered_lines.at(path, line), do="correct the file") from None
    return value


@cache
def _decoder(pairs: Callable[[list], Any] | None) -> json.JSONDecoder:
    """Cached: building a decoder takes longer than decoding a line."""
    return json.JSONDecoder(
        parse_constant=_refuse, parse_float=_literal, parse_int=_int_literal, object_pairs_hook=pairs
    )


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _literal(text: str) -> JsonNumber:
    value = JsonNumber(text)
    if math.isinf(value):
        raise ValueError(f"{text[:SHOWN]} is too large for a number")
    value.text = text
    return value


def _int_literal(text: str) -> int | JsonNumber:
    return _literal(text) if text == "-0" else int(text)  # all others are written as they were


def json_text(value: Any) -> str:
    """A value of a JSON file as text: a string as it is, anything else as `Json`."""
    if isinstance(value, str):
        return value
    return Json(value.text if isinstance(value, JsonNumber) else json.dumps(value, ensure_ascii=False))


def parse_number(text: str) -> float | None:
    """A finite number in plain ASCII, or None."""
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def parse_int(text: str, digits: int = 18) -> int | None:
    """An integer of at most `digits` ASCII digits, with or without a sign, or None."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if unsigned.isascii() and unsigned.isdigit() and len(unsigned) <= digits else None


def quote(value: object) -> str:
    """A value for a message: quoted and truncated."""
    text = value[: SHOWN + 1] if isinstance(value, str) else str(value)[: SHOWN + 1]
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def split_cells(line: str, separator: str, where: str) -> list[str]:
    """The cells of a line of CSV, in which quotes may enclose separators but not line ends."""
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [""])
    except csv.Error as error:
        raise FirthError(f"not CSV: {error}", where=where, do="close every quote on its line") from None


def check_column_count(count: int, expected: int, where: str, names: Sequence[str] = ()) -> None:
    """Raise unless a row has the expected number of columns."""
    if count != expected:
        listed = f" ({', '.join(names)})" if names else ""
        what = f"{count} column{'s' * (count != 1)}, expected {expected}{listed}"
        raise FirthError(what, where=where, do="correct the line")


def require_cell(text: str, forbidden: str = "\n\t") -> str:
    """The text, if it fits into one cell of a line; an error otherwise."""
    bad = next((character for character in forbidden if character in text), None)
    if bad is None:
        return text
    name = {"\n": "a line end", "\t": "a tab"}.get(bad, repr(bad))
    raise FirthError(f"{quote(text)} has {name} in it, which this format cannot hold", do="write another format")
