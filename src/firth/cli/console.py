"""Output to the terminal and input from it: tables, JSON, scored words, lines of standard input."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from firth.cli.busy_line import stop_line
from firth.errors import FirthError, printable

_FILE_WIDTH = 1000  # columns of a table that goes to a file or pipe
_MAX_UNWRAPPED, _LEAST_WRAPPED = 20, 12  # columns of a cell that is not wrapped, and of one that is, at least


def print_json(value: Any) -> None:
    """Print one line of JSON; NaN and infinity, which JSON lacks, become null."""
    print(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    return [_finite(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def print_table(rows: Sequence[Mapping[str, str]], file: TextIO | None = None, full_width: bool = False) -> None:
    """Print rows under their keys, wrapped to the terminal's width; on a terminal too narrow for that the rows are
    columns, or come one below the other.

    With `full_width`, a table that does not go to a terminal is as wide as its contents."""
    from rich.console import Console

    if not rows:
        return
    console = Console(file=file, highlight=False, markup=False)
    if full_width and not console.is_terminal:
        console.width = _FILE_WIDTH
    rows = [{key: "\n".join(map(printable, cell.split("\n"))) for key, cell in row.items()} for row in rows]
    lines = [list(rows[0]), *([row[key] for key in rows[0]] for row in rows)]
    if console.is_terminal and _least_width(lines) > console.width:
        lines = [list(line) for line in zip(*lines, strict=True)]
        if _least_width(lines) > console.width:
            for number, row in enumerate(rows):
                console.print(*[""] * (number > 0), _grid([(key, cell) for key, cell in row.items() if cell]), sep="\n")
            return
    console.print(_grid(lines[1:], lines[0]))


def _grid(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> Any:
    """A table without lines, the long cells of which are wrapped."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, show_header=bool(heads))
    for number, cells in enumerate(zip(*([heads] if heads else []), *rows, strict=True)):
        no_wrap = all(len(cell) <= _MAX_UNWRAPPED for cell in cells) and bool(heads or not number)
        table.add_column(heads[number] if heads else "", overflow="fold", no_wrap=no_wrap)
    for row in rows:
        table.add_row(*row)
    return table


def _least_width(lines: Sequence[Sequence[str]]) -> int:
    """The columns that a table needs: short cells are not wrapped, long ones keep some width."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return sum(width if width <= _MAX_UNWRAPPED else _LEAST_WRAPPED for width in widths) + 2 * (len(widths) - 1)


def print_with_details(lines: Iterable[tuple[str, str]]) -> None:
    """Print lines with their details: beside them, or below them where the terminal is too narrow."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _FILE_WIDTH
    for line, details in lines:
        if len(line) + 2 + len(details) <= width or not sys.stdout.isatty():
            print(f"{line}  {details}")
        else:
            print(line.rstrip())
            print(textwrap.fill(details, width, initial_indent="    ", subsequent_indent="    "))


def print_scores(rows: Iterable[tuple[str, float]], notes: Iterable[str] = ()) -> None:
    """Print words with their scores, and a note on each if there are notes."""
    rows, notes = [(sanitise(word), score) for word, score in rows], list(notes)
    width = max((len(word) for word, _ in rows), default=0)
    for number, (word, score) in enumerate(rows):
        note = f"  {notes[number]}" if notes and notes[number] else ""
        print(f"  {word:<{width}}  {score:z.4f}{note}")


def sanitise(text: str) -> str:
    """The text without control characters, which could steer the terminal."""
    from firth.corpus.display_width import sanitise

    return sanitise(text)


def read_words(words: list[str], what: str = "word") -> Iterator[str]:
    """The words given as arguments, or with - those of standard input, one per line."""
    empty = True
    for word in stdin_lines() if words == ["-"] else words:
        empty = False
        yield word
    if empty:
        raise FirthError(f"no {what}", do=f"give at least one {what}, or - to read one per line")


def stdin_lines() -> Iterator[str]:
    """The non-empty lines of standard input."""
    stop_line()
    sys.stdin.reconfigure(errors="replace")
    return (line.strip() for line in sys.stdin if line.strip())


def read_inputs(text: str) -> Iterator[str]:
    """The text itself, or with - the lines of standard input."""
    if text != "-":
        yield text
        return
    stop_line()
    sys.stdin.reconfigure(errors="replace")
    for line in sys.stdin:
        yield line.rstrip("\n")


def split_commas(text: str) -> list[str]:
    """The parts between commas, without blanks around them."""
    return [part.strip() for part in text.split(",") if part.strip()]


def progress_line(what: str) -> Any:
    """A function that shows how many megabytes are done, on a terminal only."""
    if not sys.stderr.isatty():
        return lambda done: None
    shown = [0]

    def show(done: int) -> None:
        if done >= shown[0] + (8 << 20):
            shown[0] = done
            print(f"\r{what} … {done >> 20} MB ", end="", file=sys.stderr, flush=True)

    return show


def require_writable(path: Any) -> None:
    """Refuse before the work what could not be written after it; nothing if there is no path."""
    from firth.runs import atomic_files

    if path:
        atomic_files.destination(path)
