"""JSON files of a folder that anybody may have written: limited in size and depth, every value of its declared type.

A file's types are declared once, as a dataclass or a TypedDict; damage is one line that names the file and the place.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from firth.errors import FirthError
from firth.runs.gate import Gate

MAX_BYTES = 1 << 28
MAX_DEPTH = 50  # of lists and objects in each other
_MAX_INT = 1 << 63


class Limits(NamedTuple):
    """The least and the most of a number; NaN is in no limits."""

    least: float
    most: float
    name: str


_FROM_0 = Limits(0.0, math.inf, "a number from 0")
Natural = Annotated[int, _FROM_0]
Amount = Annotated[float, _FROM_0]
Finite = Annotated[float, Limits(-sys.float_info.max, sys.float_info.max, "a finite number")]


class Mismatch(ValueError):
    """A value that is not of its declared type."""


def parse(data: bytes, kind: Any, where: Path, do: str) -> Any:
    """The content of a JSON file, as values of this type; an error names the file."""
    try:
        return decode(data, kind)
    except ValueError as error:
        raise FirthError(f"damaged ({error})", where=where, do=do) from None


def read(gate: Gate, name: str, kind: Any, do: str) -> Any:
    """The same of a file in a folder."""
    try:
        return parse(gate.read(name, MAX_BYTES), kind, gate.path / name, do)
    except OSError as error:
        raise FirthError(f"cannot read: {error.strerror}", where=gate.path / name, do=do) from None


def decode(data: bytes, kind: Any) -> Any:
    """JSON as values of this type, or a ValueError that says why not."""
    try:
        value = json.loads(data)
        _check_text_and_depth(value)
    except Mismatch:
        raise
    except (ValueError, RecursionError):
        raise Mismatch("not JSON") from None
    return convert(kind, value)


def _check_text_and_depth(value: Any) -> None:
    """Refuse deep nesting, and text that is not Unicode (lone surrogates), which no terminal or file takes."""
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            raise Mismatch(f"more than {MAX_DEPTH} lists and objects in each other")
        for each in level:
            for text in each if isinstance(each, dict) else (each,):
                if isinstance(text, str) and not text.isascii():
                    text.encode()
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list)))
        level, depth = [value for values in inner for value in values], depth + 1


def convert(kind: Any, value: Any, place: str = "") -> Any:
    """A JSON value as a value of this type; Mismatch names the place."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        return _first(arguments, value, place)
    if origin in (Required, NotRequired):
        return convert(arguments[0], value, place)
    if origin is Annotated:
        number, limits = convert(arguments[0], value, place), arguments[1]
        return number if limits.least <= number <= limits.most else _refuse(place, limits.name)
    if is_dataclass(kind) or is_typeddict(kind):
        return _object(kind, value, place)
    if origin is tuple:
        return tuple(convert(arguments[0], each, _at(place, n)) for n, each in enumerate(_list(value, place)))
    if origin in (list, Sequence):
        return [convert(arguments[0], each, _at(place, n)) for n, each in enumerate(_list(value, place))]
    if origin in (dict, Mapping):
        if not isinstance(value, dict):
            _refuse(place, "an object")
        return {key: convert(arguments[1], each, _at(place, key)) for key, each in value.items()}
    return value if _is_scalar(kind, value) else _refuse(place, _NAMES[kind])


_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "null"}


def _is_scalar(kind: type, value: Any) -> bool:
    if kind is float:
        return isinstance(value, float) or _is_scalar(int, value)
    return type(value) is kind and (kind is not int or abs(value) < _MAX_INT)


def _first(kinds: Sequence[Any], value: Any, place: str) -> Any:
    """Of the first of these types that fits."""
    for kind in kinds[:-1]:
        try:
            return convert(kind, value, place)
        except Mismatch:
            continue
    return convert(kinds[-1], value, place)


def _object(kind: Any, value: Any, place: str) -> Any:
    """A dataclass, without other keys; or a TypedDict, which keeps them."""
    if not isinstance(value, dict):
        _refuse(place, "an object")
    hints = _hints(kind)
    for name in _required(kind):
        if name not in value:
            raise Mismatch(f"{_at(place, name)} is missing")
    if is_dataclass(kind) and (unknown := [name for name in value if name not in hints]):
        raise Mismatch(f"{_at(place, unknown[0])} is not known")
    values = {
        name: convert(hints[name], each, _at(place, name)) if name in hints else each for name, each in value.items()
    }
    return kind(**values) if is_dataclass(kind) else values


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: hints[f.name] for f in fields(kind)} if is_dataclass(kind) else hints


@cache
def _required(kind: Any) -> tuple[str, ...]:
    if is_typeddict(kind):  # not __required_keys__, which cannot read annotations that are text
        without = NotRequired if kind.__total__ else Required
        return tuple(name for name, hint in _hints(kind).items() if (get_origin(hint) is without) != kind.__total__)
    return tuple(f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)


def _list(value: Any, place: str) -> list[Any]:
    return value if isinstance(value, list) else _refuse(place, "a list")


def _at(place: str, name: object) -> str:
    return f"{place}.{str(name)[:40]}" if place else str(name)[:40]


def _refuse(place: str, expected: str) -> Any:
    raise Mismatch(f"{place or 'the file'}: expected {expected}")
