"""Frozen dataclasses <-> plain dictionaries, TOML and JSON; dotted overrides; errors that name the nearest key.

A field may hold a number, a string, a tuple of them, another dataclass, one of several dataclasses told apart by their
class variable `kind`, or `Streams` of such dataclasses; the metadata of such a field has a function `offered` from a
configuration to the streams that it may have, with the dataclass that each begins with. Limits are declared with
`bounded` and checked wherever a value comes in.
"""

from __future__ import annotations

import json
import math
import tomllib
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from firth.arguments import read_file
from firth.config.streams import Streams
from firth.errors import FirthError, unknown

Config = TypeVar("Config")
_INTEGERS = 1 << 63  # integers of 64 bits: what arrays are counted by


def bounded(
    default: float, *, least: float | None = None, most: float | None = None, above: float | None = None
) -> Any:
    """A numeric field with limits: `least` and `most` are allowed values, `above` is not."""
    return field(default=default, metadata={"least": least, "most": most, "above": above})


def several(default: tuple[float, ...], *, least: float, most: float) -> Any:
    """A field of as many numbers as its default has, each within the limits."""
    return field(default=default, metadata={"least": least, "most": most, "count": len(default)})


def to_dict(config: Any) -> dict[str, Any]:
    """The whole configuration as JSON values; a dataclass of a union says its kind."""
    if isinstance(config, Streams):
        return {stream: to_dict(group) for stream, group in config.items()}
    result = {"kind": config.kind} if hasattr(config, "kind") else {}
    for f in fields(config):
        value = getattr(config, f.name)
        is_group = is_dataclass(value) or isinstance(value, Streams)
        result[f.name] = to_dict(value) if is_group else list(value) if isinstance(value, tuple) else value
    return result


def from_dict(expected: type[Config] | Any, values: Mapping[str, Any], path: str = "") -> Config:
    """A configuration of the expected type (or union of types, by `kind`), every value checked."""
    created: Config = _merge(expected, None, values, path)
    return created


def merge(config: Config, values: Mapping[str, Any]) -> Config:
    """The configuration with the values of a nested dictionary put over it."""
    merged: Config = _merge(type(config), config, values, "")
    return merged


def override(config: Config, settings: Iterable[str]) -> Config:
    """The configuration with settings like `backbone.width=256` put over it, in their order; those of streams last,
    since the others decide which streams there are."""
    for setting in sorted(settings, key=lambda setting: _stream_order(config, setting)):
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise FirthError(f"cannot read setting {setting!r}", do="write it as key=value, such as backbone.width=256")
        nested: Any = _Text(text.strip())
        for name in reversed(key.strip().split(".")):
            nested = {name: nested}
        config = merge(config, nested)
    return config


def _stream_order(config: Any, setting: str) -> int:
    """0 for a setting of no stream, 1 for one of a stream that the configuration has, 2 for one of a new stream."""
    name, _, rest = setting.partition("=")[0].strip().partition(".")
    groups = getattr(config, name, None)
    return 0 if not isinstance(groups, Streams) else 1 if rest.partition(".")[0] in groups else 2


def has(config: Any, path: str) -> bool:
    """Whether there is such a setting, by its full name."""
    for name in path.split("."):
        groups = config if isinstance(config, Streams) else _groups(config)
        if name not in groups:
            return False
        config = groups[name]
    return True


def _groups(config: Any) -> dict[str, Any]:
    kind: type = type(config)
    return {name: getattr(config, name) for name in _fields_of(kind)} if is_dataclass(kind) else {}


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a nested dictionary."""
    try:
        return tomllib.loads(read_file(path).decode())
    except RecursionError:
        raise FirthError("not TOML: nested too deeply", where=path) from None
    except ValueError as error:  # also a number of thousands of digits
        raise FirthError(f"not TOML: {str(error).partition(';')[0]}", where=path) from None


def as_text(value: str) -> str:
    """A value from the command line, which is read as its field's type."""
    return _Text(value)


class _Text(str):
    """A value that came as text from the command line and must be read as its field's type."""


@cache
def _fields_of(kind: type) -> dict[str, tuple[Field[Any], Any]]:
    hints = get_type_hints(kind)
    return {f.name: (f, hints[f.name]) for f in fields(kind)}


def _options(expected: Any) -> tuple[Any, ...]:
    return get_args(expected) if get_origin(expected) in (Union, types.UnionType) else (expected,)


def _choose(expected: Any, current: Any, values: Mapping[str, Any], path: str) -> type:
    """Which dataclass of a union the values are for: by `kind`, else the one that stands there, else the usual one."""
    table: dict[str, type] = {getattr(option, "kind", option.__name__): option for option in _options(expected)}
    name = values.get("kind")
    if name is not None:
        if not isinstance(name, str) or name not in table:
            raise unknown("kind", _shown(name), table, where=path or "configuration")
        return table[str(name)]
    if current is not None:
        return type(current)
    if len(table) > 1:
        plain = [option for option in table.values() if not hasattr(option, "kind")]
        if len(plain) == 1:  # the usual one, which need not be named
            return plain[0]
        raise FirthError(f"needs a kind: one of {', '.join(table)}", where=path or "configuration")
    return next(iter(table.values()))


def _merge(expected: Any, current: Any, values: Mapping[str, Any], path: str) -> Any:
    chosen = _choose(expected, current, values, path)
    start = current if type(current) is chosen else None
    known, changed, streams = _fields_of(chosen), {}, {}
    for name, value in values.items():
        if name == "kind" and hasattr(chosen, "kind"):
            continue
        if name not in known:
            raise _unknown_key(known, start, name, value, path)
        described, hint = known[name]
        if get_origin(hint) is Streams:
            streams[name] = value
        else:
            present = getattr(start, name) if start is not None else None
            changed[name] = _value(hint, present, value, _join(path, name), described)
    missing = [n for n, (f, _) in known.items() if f.default is MISSING and f.default_factory is MISSING]
    for name in missing:
        if start is None and name not in changed:
            raise FirthError(f"missing key {_join(path, name)!r}")
    begun: Any = start
    merged = chosen(**changed) if start is None else replace(begun, **changed)
    for name, value in streams.items():  # last, since the rest decides which streams there are
        groups = {} if start is None else dict(getattr(start, name))
        merged = replace(merged, **{name: _merge_streams(merged, name, groups, value, _join(path, name))})
    return merged


def _merge_streams(config: Any, name: str, groups: dict[str, Any], values: Any, path: str) -> Streams[Any]:
    """The groups of a configuration by stream with values put over them. Where none are there yet, the values are
    those of a whole configuration, and every stream with a kind is taken."""
    kind: type = type(config)
    described, hint = _fields_of(kind)[name]
    (kinds,) = get_args(hint)
    if not isinstance(values, Mapping):
        raise FirthError(f"{path} has groups of settings by stream", do=f"set a key of one, as {path}.text.kind")
    is_whole = not groups
    for stream, value in sorted(values.items(), key=lambda item: item[0] not in groups):
        begins = groups.get(stream)
        if begins is None and not (is_whole and isinstance(value, Mapping) and "kind" in value):
            offered = described.metadata["offered"](replace(config, **{name: Streams(groups)}))
            if stream not in offered:
                raise _unknown_stream(stream, {**groups, **offered}, path)
            begins = offered[stream]
        groups[stream] = _value(kinds, begins, value, _join(path, stream), described)
    return Streams(groups)


def _unknown_key(known: Mapping[str, Any], current: Any, name: str, value: Any, path: str) -> FirthError:
    """The error for a key that no field has; where the nearest field has streams, it offers a key of theirs."""
    near = get_close_matches(name, known, n=1)
    groups = getattr(current, near[0], None) if near else None
    if isinstance(groups, Streams) and isinstance(value, Mapping):
        for key in value:
            if keys := _keys_of_streams(groups, key, _join(path, near[0])):
                return unknown("key", f"{_join(path, name)}.{key}", keys)
    return unknown("key", _join(path, name), [_join(path, n) for n in known])


def _unknown_stream(stream: str, groups: Mapping[str, Any], path: str) -> FirthError:
    """The error for a stream that a configuration cannot have; it may be a key of those that it has."""
    keys = _keys_of_streams(groups, stream, path)
    return unknown("key", f"{path}.{stream}", keys) if keys else unknown("stream", stream, groups, where=path)


def _keys_of_streams(groups: Mapping[str, Any], key: str, path: str) -> list[str]:
    """The full names of a key in the groups that have it."""
    return [f"{path}.{stream}.{key}" for stream, group in groups.items() if key == "kind" or key in _groups(group)]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _value(hint: Any, present: Any, value: Any, path: str, described: Field[Any]) -> Any:
    if any(is_dataclass(option) for option in _options(hint)):
        if isinstance(value, str):  # positions = "rotary" is short for positions.kind = "rotary"
            value = {"kind": str(value)}
        if not isinstance(value, Mapping):
            raise FirthError(f"{path} is a group of settings", do=f"set {path}.kind or one of its keys")
        return _merge(hint, present, value, path)
    parsed = _plain(hint, value, path)
    _check(parsed, described.metadata, path)
    return parsed


def _plain(hint: Any, value: Any, path: str) -> Any:
    """One number, string, choice or tuple, read from text where it came from the command line."""
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        if value not in choices:
            raise FirthError(f"{path} = {_shown(value)}: not one of {', '.join(map(str, choices))}")
        return next(choice for choice in choices if choice == value)
    if get_origin(hint) is tuple:
        items = value.split(",") if isinstance(value, _Text) else value
        if not isinstance(items, (list, tuple)):
            raise FirthError(f"{path} = {_shown(value)}: expected a list")
        return tuple(_plain(get_args(hint)[0], _Text(v) if isinstance(value, _Text) else v, path) for v in items)
    try:
        return _scalar(hint, value)
    except (ValueError, TypeError, OverflowError):
        raise FirthError(f"{path} = {_shown(value)}: expected {hint.__name__}") from None


def _shown(value: Any) -> str:
    """A wrong value in a message, cut."""
    try:
        return str(value)[:40]
    except ValueError:  # Python refuses to write out an integer of thousands of digits
        return "a huge number"


def _scalar(hint: type, value: Any) -> Any:
    if hint is bool:
        text = {True: "true", False: "false"}.get(value, value)
        return (
            {"true": True, "false": False, "yes": True, "no": False}[text]
            if text in ("true", "false", "yes", "no")
            else _refuse()
        )
    if hint is str:
        return str(value) if isinstance(value, str) else _refuse()
    if isinstance(value, bool) or (isinstance(value, str) and not isinstance(value, _Text)):
        _refuse()
    if hint is int and isinstance(value, float) and value != int(value):
        _refuse()
    return hint(value)


def _refuse() -> Any:
    raise ValueError


def _check(value: Any, limits: Mapping[str, Any], path: str) -> None:
    least, most, above = (limits.get(name) for name in ("least", "most", "above"))
    if "count" in limits and len(value) != limits["count"]:
        raise FirthError(f"{path}: expected {limits['count']} numbers, found {len(value)}")
    for item in value if isinstance(value, tuple) else ():
        _check(item, {name: limit for name, limit in limits.items() if name != "count"}, path)
    if not isinstance(value, (int, float)):
        return
    if isinstance(value, int) and not -_INTEGERS <= value < _INTEGERS:
        raise FirthError(f"{path} = {_shown(value)}: too large")
    if not math.isfinite(value):
        raise FirthError(f"{path} = {value}: not a finite number")
    if least is not None and value < least:
        raise FirthError(f"{path} = {value}: must be at least {least}")
    if above is not None and value <= above:
        raise FirthError(f"{path} = {value}: must be above {above}")
    if most is not None and value > most:
        raise FirthError(f"{path} = {value}: must be at most {most}")


def to_json(config: Any) -> str:
    """The configuration as it is written into a run folder."""
    return json.dumps(to_dict(config), indent=2, ensure_ascii=False) + "\n"
