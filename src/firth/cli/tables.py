"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

WIDE = 1000  # columns of a file or pipe


def show(rows: Sequence[Mapping[str, str]], file: TextIO | None = None, whole: bool = False) -> None:
    """Print rows under their keys, to standard output if no file is given; the terminal's width is respected.

    `whole` tables are as wide as they need be where there is no terminal.
    """
    from rich.console import Console
    from rich.table import Table

    if not rows:
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for key in rows[0]:
        table.add_column(key, overflow="fold", no_wrap=all(len(row[key]) <= 20 for row in rows) and len(key) <= 20)
    for row in rows:
        table.add_row(*(row[key] for key in rows[0]))
    console = Console(file=file, highlight=False, markup=False)
    if whole and not console.is_terminal:
        console.width = WIDE
    console.print(table)
