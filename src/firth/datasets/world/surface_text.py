"""Surface realisation: words as running text."""

from __future__ import annotations


def realise(line: str, mark: str = "") -> str:
    """A sentence from space-separated words: capitalised, punctuation attached, `mark` appended."""
    line = line[0].upper() + line[1:] + mark
    if " ," in line:
        line = line.replace(" ,", ",")
    return line[:-2] + "." if line.endswith(" .") else line
