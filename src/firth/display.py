"""Tables from Python: rows that print as text, show as HTML in a notebook and become a pandas frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

from firth.errors import FirthError

Item = TypeVar("Item")
_MAX_ROWS = 60  # that are shown; a longer table is cut in its middle


class Table(list[Item]):
    """A list of rows: dictionaries, or values with a method `to_dict`."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(row) if isinstance(row, Mapping) else row.to_dict() for row in self]

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise FirthError("pandas is not installed", do="pip install pandas, or use the rows as they are") from None
        return pandas.DataFrame(self.to_dicts())

    def __repr__(self) -> str:
        return text_table(self.to_dicts()) or "[]"

    def _repr_html_(self) -> str:
        return html_table(self.to_dicts())


def text_table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows under their keys, numbers right-aligned; a key that a row lacks is left empty."""
    keys, lines = _columns(rows), [{key: _cell(row.get(key, "")) for key in _columns(rows)} for row in _shorten(rows)]
    widths = {key: max([len(key), *(len(line[key]) for line in lines)]) for key in keys}
    numbers = {key for key in keys if all(isinstance(row.get(key), (int, float, type(None))) for row in rows)}
    shown = [{key: key for key in keys}, *lines]
    return "\n".join(
        "  ".join((str.rjust if key in numbers else str.ljust)(line[key], widths[key]) for key in keys).rstrip()
        for line in shown
    )


def html_table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as an HTML table, everything escaped."""
    keys = _columns(rows)
    head = "".join(f"<th>{escape(key)}</th>" for key in keys)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(row.get(key, str())))}</td>' for key in keys)}</tr>"
        for row in _shorten(rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_facts(title: str, facts: Mapping[str, object]) -> str:
    """A title and named values as an HTML table, everything escaped."""
    left = ' style="text-align:left"'
    rows = "".join(
        f"<tr><th{left}>{escape(name)}</th><td{left}>{escape(_cell(value))}</td></tr>"
        for name, value in facts.items()
        if value not in (None, "", [], ())
    )
    return f"<div><strong>{escape(title)}</strong><table><tbody>{rows}</tbody></table></div>"


def _columns(rows: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _shorten(rows: Sequence[Mapping[str, object]]) -> Sequence[Mapping[str, object]]:
    if len(rows) <= _MAX_ROWS:
        return rows
    return [*rows[: _MAX_ROWS // 2], dict.fromkeys(_columns(rows), "…"), *rows[-_MAX_ROWS // 2 :]]


def _cell(value: object) -> str:
    """A value for people: thousands separators, four digits of a fraction, one line."""
    if value is None:
        return "n/a"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return " ".join(", ".join(map(str, value)).split() if isinstance(value, (list, tuple)) else str(value).split())
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
