"""Prompts from a template: text with {columns} of a table in it, and {label} where the answer stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, NamedTuple

from firth.data import lines
from firth.data.formats.values import Json
from firth.data.records import Labelled, Pair, Record, Row, Tree
from firth.data.tasks import NAMES, Converter
from firth.errors import FirthError, unknown

LABEL = "label"
_BRACES = "write {{ and }} for braces that are text"


class Example(NamedTuple):
    """What a template needs of a record: the values of its columns by the template's names, and the label."""

    values: Mapping[str, str]
    label: str


@dataclass(frozen=True)
class Template:
    """A text with places; after {label} there is only plain text."""

    parts: tuple[tuple[str, str], ...]  # before {label}: a text, and the column after it (none after the last)
    tail: str  # after {label}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its places but for the label, each once."""
        return tuple(dict.fromkeys(name for _, name in self.parts if name))

    @property
    def cue(self) -> str:
        """What asks for the label: the text between the last column and it."""
        return self.parts[-1][0].lstrip()

    def before(self, example: Example) -> str:
        """The text up to the label."""
        return "".join(text + (example.values[name] if name else "") for text, name in self.parts)

    def whole(self, example: Example, words: str) -> str:
        """The text with the label as these words: an example that is shown."""
        return self.before(example) + words + self.tail


def template(text: str) -> Template:
    """The template that a text says: {name} is a column, {{ and }} are braces."""
    try:
        found = [(literal, *_place(*rest)) for literal, *rest in Formatter().parse(text)]
    except ValueError:
        raise FirthError("the template has a { or } without its other half", do=_BRACES) from None
    names = [name for _, name, is_place in found if is_place]
    if names.count(LABEL) != 1:
        what = "no {label}" if LABEL not in names else "{label} stands more than once"
        raise FirthError(f"{what} in the template", do=r'write it as "Review: {text}\nFeeling: {label}"')
    if names[-1] != LABEL:
        what = f"{{{names[-1]}}} stands after {{label}}, which a model that reads from the left has not seen yet"
        raise FirthError(what, where="template", do="put {label} last")
    return _joined(found)


def _place(name: str | None, style: str | None, conversion: str | None) -> tuple[str, bool]:
    if name is None:
        return "", False
    if not name.strip() or style or conversion:
        shown = f"{{{name}{f'!{conversion}' if conversion else ''}{f':{style}' if style else ''}}}"
        raise FirthError(f"cannot read {shown} in the template", do=f"write the name of a column; {_BRACES}")
    return name, True


def _joined(found: list[tuple[str, str, bool]]) -> Template:
    """The parser cuts the text at braces that are text too: such pieces are put together."""
    parts, text = [], ""
    for literal, name, is_place in found:
        text += literal
        if is_place:
            parts.append((text, "" if name == LABEL else name))
            text = ""
    return Template(tuple(parts), text)


# --- examples -----------------------------------------------------------------------------------------------------


def examples(
    records: Iterable[Record | Mapping[str, str] | Example],
    form: Template,
    columns: Mapping[str, str] | None = None,
    where: str = "",
) -> list[Example]:
    """What a template needs of records; `columns` says which column a name of the template means. An example that was
    made so stays as it is."""
    wanted, chosen = (*form.columns, LABEL), dict(columns or {})
    for name in chosen:
        if name not in wanted:
            raise unknown("name in the template", name, wanted)
    found = []
    for number, record in enumerate(records, 1):
        place = lines.at(where, getattr(record, "line", 0)) or f"example {number}"
        try:
            found.append(record if isinstance(record, Example) else _example(_values(record), wanted, chosen))
        except FirthError as error:
            raise FirthError(error.what, where=place, do=error.do) from None
    if not found:
        raise FirthError("no examples in it", where=where, do="give a table with at least one row")
    return found


def _example(values: Mapping[str, str], wanted: Iterable[str], chosen: Mapping[str, str]) -> Example:
    taken = {name: values[_column(name, chosen.get(name, ""), values)] for name in wanted}
    label = taken.pop(LABEL)
    if not label.strip():
        raise FirthError("an empty label", do="fill it in")
    return Example(taken, label)


def _column(name: str, chosen: str, values: Mapping[str, str]) -> str:
    """The column that is meant: the chosen one, else of this name, else of a name that is often used for it."""
    small = {column.lower(): column for column in reversed(list(values))}
    for column in (chosen,) if chosen else (name, name.lower(), *NAMES.get(name, ())):
        if column in values or column.lower() in small:
            return column if column in values else small[column.lower()]
    do = f"use one of them in the template, or say which is meant with --column {name}=NAME"
    raise FirthError(f"no column {chosen or name!r} (there are {', '.join(values)})", do=do)


def _values(record: Any) -> Mapping[str, str]:
    if isinstance(record, Mapping):
        return {str(name): str(value) for name, value in record.items()}
    if type(record) not in _VALUES:
        kinds = ", ".join(kind.__name__ for kind in _VALUES)
        do = f"prompts are made of {kinds}: choose another file or --format"
        raise FirthError(f"{type(record).__name__} has no columns", do=do)
    return _VALUES[type(record)](record)


def _of_row(row: Row) -> dict[str, str]:
    names = row.names or tuple(str(place) for place in range(1, len(row.values) + 1))
    cells = zip(names, row.values, strict=False)  # values beyond the names cannot be named
    return {name: str(cell) for name, cell in cells if not (isinstance(cell, Json) and cell == "null")}


def _of_labelled(record: Labelled) -> dict[str, str]:
    if len(record.labels) != 1:
        raise FirthError(f"{len(record.labels)} labels, where one is asked for", do="give each text one label")
    return {"text": record.text, LABEL: record.labels[0]}


def _of_pair(pair: Pair) -> dict[str, str]:
    return {"left": pair.left, "right": pair.right, **({LABEL: pair.label} if pair.label is not None else {})}


_VALUES: dict[type, Callable[[Any], dict[str, str]]] = {
    Row: _of_row,
    Labelled: _of_labelled,
    Pair: _of_pair,
    Tree: lambda tree: _of_labelled(Converter("classification")(tree)),
}
