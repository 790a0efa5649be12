"""Output to the terminal and input from it: tables, JSON, scored words, lines of standard input."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from firth.cli.busy_line import stop_line
from firth.errors import FirthError, printable

_FILE_WIDTH = 1000  # columns of a table that goes to a file or pipe


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
    """Print rows under their keys, wrapped to the terminal's width.

    With `full_width`, a table that does not go to a terminal is as wide as its contents."""
    from rich.console import Console
    from rich.table import Table

    if not rows:
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for key in rows[0]:
        table.add_column(key, overflow="fold", no_wrap=all(len(row[key]) <= 20 for row in rows) and len(key) <= 20)
    for row in rows:
        table.add_row(*("\n".join(map(printable, row[key].split("\n"))) for key in rows[0]))
    console = Console(file=file, highlight=False, markup=False)
    if full_width and not console.is_terminal:
        console.width = _FILE_WIDTH
    console.print(table)


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
