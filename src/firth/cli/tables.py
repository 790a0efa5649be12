"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO


def show(rows: Sequence[Mapping[str, str]], file: TextIO | None = None) -> None:
    """Print rows under their keys, to standard output if no file is given; the terminal's width is respected."""
    from rich.console import Console
    from rich.table import Table

    if not rows:
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for key in rows[0]:
        table.add_column(key, overflow="fold", no_wrap=all(len(row[key]) <= 16 for row in rows) and len(key) <= 16)
    for row in rows:
        table.add_row(*(row[key] for key in rows[0]))
    Console(file=file, highlight=False, markup=False).print(table)
