"""The splits as a small table before training, with warnings about parts that are too small or too large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

MIN_DOCUMENTS = 20  # of a held-out split; with fewer, or with fewer tokens, its scores are imprecise
MIN_TOKENS = 2000
LARGE = 10_000_000  # bytes of a held-out split, above which every score takes long
SHOWN = 60  # characters of an example


class Part(NamedTuple):
    """A split in numbers, and its first text."""

    name: str
    documents: int
    tokens: int
    bytes: int
    example: str
    own_files: bool = False  # not a fraction of the text


def report(parts: Sequence[Part], say: Callable[[str], None], unit: str = "documents") -> None:
    """Say the table, then the warnings."""
    for line in (*table(parts, unit), *warnings(parts, unit)):
        say(line)


def table(parts: Sequence[Part], unit: str = "documents") -> list[str]:
    """A line per split: its size, and how its first text begins."""
    width = max(len(part.name) for part in parts)
    units = (unit, "tokens", "bytes")
    columns = [[f"{part[number]:,}" for part in parts] for number in (1, 2, 3)]
    widths = [max(map(len, column)) for column in columns]
    return [
        f"{part.name:<{width}}  "
        + "  ".join(f"{column[row]:>{size}} {name}" for column, size, name in zip(columns, widths, units, strict=True))
        + f"  {shorten(part.example)}"
        for row, part in enumerate(parts)
    ]


def shorten(text: str) -> str:
    """The beginning of a text on one line, in quotes."""
    line = " ".join(text[: 4 * SHOWN].split())
    return f'"{line}"' if len(line) <= SHOWN else f'"{line[: SHOWN - 1]}…"'


def warnings(parts: Sequence[Part], unit: str = "documents") -> list[str]:
    """What makes scores imprecise or slow, and what to do about it."""
    train, held_out = parts[0], parts[1:]
    min_tokens = MIN_TOKENS if unit == "documents" else 0
    small = [part for part in held_out if part.documents < MIN_DOCUMENTS or part.tokens < min_tokens]
    result = [_small(small, unit)] if small else []
    if train.tokens < min_tokens:
        result.append(f"warning: only {train.tokens:,} tokens to train on; give more text")
    for part in held_out:
        do = f"give a smaller --{part.name}" if part.own_files else f"lower data.{part.name}_fraction"
        if part.bytes > LARGE:
            limit = "" if part.own_files else " or data.max_heldout"
            result.append(
                f"warning: {part.name} is large ({part.bytes:,} bytes), so every score takes long; {do}{limit}"
            )
        elif part.bytes > train.bytes:
            result.append(f"warning: {part.name} is larger than the training text; {do}")
    return result


def _small(parts: Sequence[Part], unit: str) -> str:
    names = " and ".join(part.name for part in parts)
    one = len(parts) == 1
    sizes = ", ".join(f"{part.documents:,} {unit} with {part.tokens:,} tokens" for part in parts)
    fractions = " and ".join(f"data.{part.name}_fraction" for part in parts if not part.own_files)
    files = " and ".join(f"--{part.name}" for part in parts)
    raised = f"raise {fractions}, or " if fractions else ""
    verb, whose = ("is", "its") if one else ("are", "their")
    return f"warning: {names} {verb} small ({sizes}): {whose} scores are imprecise; give more text, {raised}use {files}"
