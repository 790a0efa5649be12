"""Prompt templates for few-shot (in-context) evaluation: text with {columns} of a table, and {label} for the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, NamedTuple

from firth.datasets import numbered_lines
from firth.datasets.readers.values import Json
from firth.datasets.records import Labelled, Pair, Record, Row, Tree
from firth.datasets.tasks import COLUMN_NAMES, Converter
from firth.errors import FirthError, unknown

LABEL = "label"
_BRACES = "write {{ and }} for braces that are text"


class Example(NamedTuple):
    """A record as a template needs it: the values of its columns by the template's names, and the label."""

    values: Mapping[str, str]
    label: str


@dataclass(frozen=True)
class Template:
    """A text with placeholders; after {label} there is only plain text."""

    parts: tuple[tuple[str, str], ...]  # before {label}: a text, and the column after it (none after the last)
    tail: str  # after {label}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its placeholders except the label, each once."""
        return tuple(dict.fromkeys(name for _, name in self.parts if name))

    @property
    def cue(self) -> str:
        """The cue for the label: the text between the last column and it."""
        return self.parts[-1][0].lstrip()

    def prompt(self, example: Example) -> str:
        """The prompt: the text up to the label."""
        return "".join(text + (example.values[name] if name else "") for text, name in self.parts)

    def with_label(self, example: Example, words: str) -> str:
        """The whole text with these words for the label: a demonstration in a few-shot prompt."""
        return self.prompt(example) + words + self.tail


def parse_template(text: str) -> Template:
    """The template in a text: {name} is a column, {{ and }} are braces."""
    try:
        fields = [(literal, *_placeholder(*rest)) for literal, *rest in Formatter().parse(text)]
    except ValueError:
        raise FirthError("the template has a { or } without its other half", do=_BRACES) from None
    names = [name for _, name, is_placeholder in fields if is_placeholder]
    if names.count(LABEL) != 1:
        what = "no {label}" if LABEL not in names else "{label} more than once"
        raise FirthError(f"{what} in the template", do=r'write it as "Review: {text}\nFeeling: {label}"')
    if names[-1] != LABEL:
        what = f"{{{names[-1]}}} after {{label}}: a causal language model cannot attend to it"
        raise FirthError(what, where="template", do="put {label} last")
    return _joined(fields)


def _placeholder(name: str | None, style: str | None, conversion: str | None) -> tuple[str, bool]:
    if name is None:
        return "", False
    if not name.strip() or style or conversion:
        shown = f"{{{name}{f'!{conversion}' if conversion else ''}{f':{style}' if style else ''}}}"
        raise FirthError(f"cannot read {shown} in the template", do=f"write the name of a column; {_BRACES}")
    return name, True


def _joined(fields: list[tuple[str, str, bool]]) -> Template:
    """The template of parsed fields; the parser cuts the text at literal braces too, and such parts are joined."""
    parts, text = [], ""
    for literal, name, is_placeholder in fields:
        text += literal
        if is_placeholder:
            parts.append((text, "" if name == LABEL else name))
            text = ""
    return Template(tuple(parts), text)


# --- examples -----------------------------------------------------------------------------------------------------


def examples(
    records: Iterable[Record | Mapping[str, str] | Example],
    template: Template,
    column_names: Mapping[str, str] | None = None,
    where: str = "",
) -> list[Example]:
    """Records as examples for a template; `column_names` maps names of the template to columns. Examples stay as they
    are."""
    names, mapping = (*template.columns, LABEL), dict(column_names or {})
    for name in mapping:
        if name not in names:
            raise unknown("name in the template", name, names)
    converted = []
    for number, record in enumerate(records, 1):
        location = numbered_lines.at(where, getattr(record, "line", 0)) or f"example {number}"
        try:
            converted.append(record if isinstance(record, Example) else _example(_values(record), names, mapping))
        except FirthError as error:
            raise FirthError(error.what, where=location, do=error.do) from None
    if not converted:
        raise FirthError("no examples in it", where=where, do="give a table with at least one row")
    return converted


def _example(values: Mapping[str, str], names: Iterable[str], mapping: Mapping[str, str]) -> Example:
    columns = {name: values[_column(name, mapping.get(name, ""), values)] for name in names}
    label = columns.pop(LABEL)
    if not label.strip():
        raise FirthError("an empty label", do="fill it in")
    return Example(columns, label)


def _column(name: str, mapped: str, values: Mapping[str, str]) -> str:
    """The column for a name: the mapped one, else of this name, else of a usual name for it."""
    lowercase = {column.lower(): column for column in reversed(list(values))}
    for column in (mapped,) if mapped else (name, name.lower(), *COLUMN_NAMES.get(name, ())):
        if column in values or column.lower() in lowercase:
            return column if column in values else lowercase[column.lower()]
    do = f"use one of them in the template, or map it with --column {name}=NAME"
    raise FirthError(f"no column {mapped or name!r} (there are {', '.join(values)})", do=do)


def _values(record: Any) -> Mapping[str, str]:
    if isinstance(record, Mapping):
        return {str(name): str(value) for name, value in record.items()}
    if type(record) not in _VALUES:
        kinds = ", ".join(kind.__name__ for kind in _VALUES)
        do = f"prompts need {kinds}: choose another file or --format"
        raise FirthError(f"{type(record).__name__} has no columns", do=do)
    return _VALUES[type(record)](record)


def _row_values(row: Row) -> dict[str, str]:
    names = row.names or tuple(str(number) for number in range(1, len(row.values) + 1))
    cells = zip(names, row.values, strict=False)  # values beyond the names cannot be named
    return {name: str(cell) for name, cell in cells if not (isinstance(cell, Json) and cell == "null")}


def _labelled_values(record: Labelled) -> dict[str, str]:
    if len(record.labels) != 1:
        raise FirthError(f"{len(record.labels)} labels, but a prompt needs one", do="give each text one label")
    return {"text": record.text, LABEL: record.labels[0]}


def _pair_values(pair: Pair) -> dict[str, str]:
    return {"left": pair.left, "right": pair.right, **({LABEL: pair.label} if pair.label is not None else {})}


_VALUES: dict[type, Callable[[Any], dict[str, str]]] = {
    Row: _row_values,
    Labelled: _labelled_values,
    Pair: _pair_values,
    Tree: lambda tree: _labelled_values(Converter("classification")(tree)),
}
