"""Options that set configuration fields: type and choices from the fields, help from the table of short names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from firth.cli.options import choice
from firth.config.short_names import ShortName
from firth.config.streams import Streams


@dataclass(frozen=True)
class ConfigOptions:
    """Options that set fields of configurations: short names, by section of the help."""

    sections: Mapping[str, Mapping[str, ShortName]]
    configs: tuple[type, ...]

    @property
    def names(self) -> dict[str, ShortName]:
        """The options of all sections."""
        return {name: entry for section in self.sections.values() for name, entry in section.items()}

    def add_to(self, command: Callable[..., None]) -> Callable[..., None]:
        """The command with these options; it receives those that were given as `values`, as text."""
        names = self.names

        def wrapped(**arguments: Any) -> None:
            options = {name: arguments.pop(name.replace("-", "_")) for name in names}
            values = {name: _as_text(value) for name, value in options.items() if value is not None}
            command(values=values, **arguments)

        own = inspect.signature(command, eval_str=True).parameters
        first = [p for name, p in own.items() if name != "values" and p.default is p.empty]
        last = [p for name, p in own.items() if name != "values" and p.default is not p.empty]
        parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in (*first, *map(self._parameter, names), *last)]
        wrapped.__signature__ = inspect.Signature(parameters)
        wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
        wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
        wrapped.command_class = _sectioned(self.sections)
        return wrapped

    def _parameter(self, name: str) -> inspect.Parameter:
        entry, kind = self.names[name], self.type(name)
        flags = f"--{name}/--no-{name}" if kind is bool else f"--{name}"
        is_list = any(get_origin(hint) is tuple for _, hint in self._fields(name))
        metavar = entry.metavar or ("A,B,…" if is_list else None)
        text = f"{entry.help} [{', '.join(dict.fromkeys(self._paths(name)))}]"
        annotation = Annotated[kind | None, typer.Option(flags, metavar=metavar, help=text, show_default=False)]
        python_name = name.replace("-", "_")
        return inspect.Parameter(python_name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)

    def type(self, name: str) -> Any:
        """The type that the fields of an option have in common; lists are read as text with commas."""
        hints = [hint for _, hint in self._fields(name)]
        if all(get_origin(hint) is Literal for hint in hints):
            return choice(dict.fromkeys(value for hint in hints for value in get_args(hint)))
        kinds = {str if get_origin(hint) in (tuple, Literal) else hint for hint in hints}
        return kinds.pop() if len(kinds) == 1 else str

    def _paths(self, name: str) -> Iterator[str]:
        return (path for alternative in self.names[name].names for path in alternative.split("+"))

    def _fields(self, name: str) -> list[tuple[type, Any]]:
        return [entry for path in self._paths(name) for entry in _fields_at(path, self.configs)]


def _sectioned(sections: Mapping[str, Iterable[str]]) -> type[TyperCommand]:
    titles = {name: title for title, names in sections.items() for name in names}

    class Command(TyperCommand):
        """A command whose help shows its options section by section."""

        def format_options(self, ctx: Any, formatter: Any) -> None:
            """The arguments, the sections, then the options of no section."""
            records: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{title: [] for title in sections}}
            for parameter in self.get_params(ctx):
                if record := parameter.get_help_record(ctx):
                    title = titles.get(parameter.name.replace("_", "-"), "Options")
                    is_argument = parameter.param_type_name == "argument"
                    records.setdefault("Arguments" if is_argument else title, []).append(record)
            for title, rows in records.items():
                if rows:
                    with formatter.section(title):
                        formatter.write_dl(rows)

    return Command


def _fields_at(path: str, configs: Iterable[type]) -> Iterator[tuple[type, Any]]:
    """The dataclasses that have a field of this dotted name, in any of the configurations, and its type."""
    owners = list(configs)
    *groups, name = path.split(".")
    for group in groups:
        hints = [hint for owner in owners for hint in _hint(owner, group)]
        owners = list(dict.fromkeys(kind for hint in hints for kind in _members(hint) if _is_group(kind)))
    return ((owner, hint) for owner in owners for hint in _hint(owner, name))


def _is_group(kind: Any) -> bool:
    return is_dataclass(kind) or get_origin(kind) is Streams


def _hint(owner: Any, name: str) -> tuple[Any, ...]:
    """The type of a field; none if there is no such field. Every stream has that of all."""
    if get_origin(owner) is Streams:
        return get_args(owner)
    return (_hints(owner)[name],) if name in _names(owner) else ()


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


@cache
def _hints(config: type) -> dict[str, Any]:
    return get_type_hints(config)


@cache
def _names(config: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(config))


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
