"""Words as they stand in running text."""

from __future__ import annotations


def write(line: str, mark: str = "") -> str:
    """A sentence from words with spaces between: a capital, commas and full stop closed up, a mark at the end."""
    line = line[0].upper() + line[1:] + mark
    if " ," in line:
        line = line.replace(" ,", ",")
    return line[:-2] + "." if line.endswith(" .") else line
