"""Numbers and JSON out of files nobody has checked: the value, or one clear error with its place."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from firth.data import lines
from firth.errors import FirthError

SHOWN = 40  # characters of a bad value that a message shows


class Json(str):
    """A value that is no string in its file (a number, null, a list), as its JSON text."""

    __slots__ = ()


class Literal(float):
    """A number of JSON that knows how it is written: 1.50 is not 1.5."""

    __slots__ = ("text",)


# Half of a surrogate pair: JSON can write it, UTF-8 cannot.
HALF = re.compile(r"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]")


def parse_json(text: str, path: str | Path, line: int = 1, pairs: Callable[[list], Any] | None = None) -> Any:
    """The value of a JSON text that begins at this line of the file; NaN and infinities are refused."""
    try:
        found = _decoder(pairs).decode(text)
        if "\\u" in text and HALF.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg} (column {error.colno})"
        raise FirthError(what, where=lines.at(path, line + error.lineno - 1), do="mend the file") from None
    except UnicodeEncodeError:
        what, at = "half of a surrogate pair, which is no character", HALF.search(text).start()
        raise FirthError(what, where=lines.at(path, line + text.count("\n", 0, at)), do="mend the text") from None
    except RecursionError:
        what = "JSON nested too deeply"
        raise FirthError(what, where=lines.at(path, line), do="make it flatter") from None
    except ValueError as error:  # a number of thousands of digits, or what _refuse raises
        what = f"not JSON: {str(error).partition(';')[0][:80]}"
        raise FirthError(what, where=lines.at(path, line), do="mend the file") from None
    return found


@cache
def _decoder(pairs: Callable[[list], Any] | None) -> json.JSONDecoder:
    """Made once: that takes longer than reading a line."""
    return json.JSONDecoder(
        parse_constant=_refuse, parse_float=_literal, parse_int=_whole_literal, object_pairs_hook=pairs
    )


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _literal(text: str) -> Literal:
    found = Literal(text)
    if math.isinf(found):
        raise ValueError(f"{text[:SHOWN]} is too large for a number")
    found.text = text
    return found


def _whole_literal(text: str) -> int | Literal:
    return _literal(text) if text == "-0" else int(text)  # all others are written as they were


def json_text(value: Any) -> str:
    """A value out of a JSON file as text: a string as it is, anything else as `Json`."""
    if isinstance(value, str):
        return value
    return Json(value.text if isinstance(value, Literal) else json.dumps(value, ensure_ascii=False))


def number(text: str) -> float | None:
    """A finite number in plain ASCII, or None."""
    try:
        found = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def whole(text: str, digits: int = 18) -> int | None:
    """A whole number of not too many ASCII digits, with or without a sign, or None."""
    plain = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if plain.isascii() and plain.isdigit() and len(plain) <= digits else None


def shown(value: object) -> str:
    """A value as messages show it: quoted, not too long."""
    text = value[: SHOWN + 1] if isinstance(value, str) else str(value)[: SHOWN + 1]
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def cells(line: str, separator: str, where: str) -> list[str]:
    """The cells of a line of CSV, in which quotes may protect separators but not line ends."""
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [""])
    except csv.Error as error:
        raise FirthError(f"not CSV: {error}", where=where, do="close every quote on its line") from None


def same_count(found: int, wanted: int, where: str, names: Sequence[str] = ()) -> None:
    """Raise unless a row has as many columns as it should."""
    if found != wanted:
        called = f" ({', '.join(names)})" if names else ""
        what = f"{found} column{'s' * (found != 1)}, expected {wanted}{called}"
        raise FirthError(what, where=where, do="mend the line")


def line_safe(text: str, forbidden: str = "\n\t") -> str:
    """The text, if it can stand in one cell of a line; an error of writing otherwise."""
    bad = next((mark for mark in forbidden if mark in text), None)
    if bad is None:
        return text
    name = {"\n": "a line end", "\t": "a tab"}.get(bad, repr(bad))
    raise FirthError(f"{shown(text)} has {name} in it, which this format cannot hold", do="write another format")
