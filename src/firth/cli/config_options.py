"""Options derived from configuration fields: type and choices from the field, help from the comment beside it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from firth.cli.options import choice


@dataclass(frozen=True)
class ConfigOptions:
    """Options that set fields of a configuration: names without dashes -> dotted names of fields.

    Of several alternatives the first that a configuration has is set; fields joined by + are set together."""

    names: Mapping[str, Sequence[str]]
    configs: tuple[type, ...]

    def add_to(self, command: Callable[..., None]) -> Callable[..., None]:
        """The command with these options; it receives those that were given as `values`, as text."""

        def wrapped(**arguments: Any) -> None:
            options = {name: arguments.pop(name.replace("-", "_")) for name in self.names}
            values = {name: _as_text(value) for name, value in options.items() if value is not None}
            command(values=values, **arguments)

        own = inspect.signature(command, eval_str=True).parameters
        first = [p for name, p in own.items() if name != "values" and p.default is p.empty]
        last = [p for name, p in own.items() if name != "values" and p.default is not p.empty]
        parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in (*first, *map(self._parameter, self.names), *last)]
        wrapped.__signature__ = inspect.Signature(parameters)
        wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
        wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
        wrapped.command_class = _with_help(self)
        return wrapped

    def _parameter(self, name: str) -> inspect.Parameter:
        kind = self.type(name)
        flags = f"--{name}/--no-{name}" if kind is bool else f"--{name}"
        metavar = "A,B,…" if any(get_origin(hint) is tuple for _, hint in self._fields(name)) else None
        annotation = Annotated[kind | None, typer.Option(flags, metavar=metavar, show_default=False)]
        python_name = name.replace("-", "_")
        return inspect.Parameter(python_name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)

    def type(self, name: str) -> Any:
        """The type that the fields of an option have in common; lists are read as text with commas."""
        hints = [hint for _, hint in self._fields(name)]
        if all(get_origin(hint) is Literal for hint in hints):
            return choice(dict.fromkeys(value for hint in hints for value in get_args(hint)))
        kinds = {str if get_origin(hint) in (tuple, Literal) else hint for hint in hints}
        return kinds.pop() if len(kinds) == 1 else str

    def help(self, name: str) -> str:
        """The name of the option's first field and the comment beside it, and the full names of all its fields."""
        paths = list(dict.fromkeys(self._paths(name)))
        field = paths[0].rpartition(".")[2]
        owner, _ = next(_fields_at(paths[0], self.configs))
        comment = field_comments(owner).get(field, "").strip("….; ")
        title = "" if comment and field.replace("_", "-") == name else field.replace("_", " ")
        text = ": ".join(filter(None, (title, comment)))
        return f"{text[:1].upper()}{text[1:]}. [{', '.join(paths)}]"

    def _paths(self, name: str) -> Iterator[str]:
        return (path for alternative in self.names[name] for path in alternative.split("+"))

    def _fields(self, name: str) -> list[tuple[type, Any]]:
        return [entry for path in self._paths(name) for entry in _fields_at(path, self.configs)]


def _with_help(options: ConfigOptions) -> type[TyperCommand]:
    class Command(TyperCommand):
        """A command whose help texts are read from the source of the configuration only when help is asked for."""

        def format_help(self, ctx: Any, formatter: Any) -> None:
            for parameter in self.params:
                if (name := parameter.name.replace("_", "-")) in options.names:
                    parameter.help = options.help(name)
            super().format_help(ctx, formatter)

    return Command


@cache
def field_comments(config: type) -> dict[str, str]:
    """The comment above and beside each field of a dataclass, read from its source."""
    import ast
    import re

    comments = {}
    for parent in filter(is_dataclass, reversed(config.__mro__)):
        source = inspect.getsource(parent)
        lines = source.split("\n")
        for item in ast.parse(source).body[0].body:
            if isinstance(item, ast.AnnAssign):
                beside = re.search(r"  # (.*)$", lines[item.end_lineno - 1])
                above, row = [], item.lineno - 2
                while lines[row].strip().startswith("# "):
                    above.insert(0, lines[row].strip()[2:])
                    row -= 1
                text = " ".join([*above, *([beside[1]] if beside else [])])
                comments[item.target.id] = re.sub(r"\btype: ignore\S*( # )?", "", text).strip()
    return comments


def _fields_at(path: str, configs: Iterable[type]) -> Iterator[tuple[type, Any]]:
    """The dataclasses that have a field of this dotted name, in any of the configurations, and its type."""
    owners = list(configs)
    *groups, name = path.split(".")
    for group in groups:
        hints = [_hints(owner)[group] for owner in owners if group in _names(owner)]
        owners = list(dict.fromkeys(kind for hint in hints for kind in _members(hint) if is_dataclass(kind)))
    return ((owner, _hints(owner)[name]) for owner in owners if name in _names(owner))


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
