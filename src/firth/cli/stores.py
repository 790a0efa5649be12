"""What the verbs of `firth vectors` share: how vectors, words and texts are named, and how answers are printed."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.vectors.store import WordVectors

VECTORS = Annotated[Path, typer.Argument(metavar="VECTORS", help="A file of word vectors, or a run folder.")]
JSON = Annotated[bool, typer.Option("--json", help="JSON for machines.")]
COUNT = Annotated[int, typer.Option(min=1, help="How many.")]
KIND = Annotated[str, typer.Option(help="word, context, sum or concatenated vectors; otherwise as they are kept.")]
HOW = Annotated[str, typer.Option(help="additive or multiplicative.")]
AMONG = Annotated[int, typer.Option(min=0, help="Only so many words, the first of the vocabulary; 0: all.")]
SEED = Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")]
DATA = Annotated[Path | None, typer.Option("--data", help="The folder of the public sets; else $FIRTH_DATA.")]
LEXICON = Annotated[str, typer.Option(help="Which WordNet: nltk, or a lexicon of wn such as oewn:2024.")]


def opened(path: Path, kind: str = "") -> WordVectors:
    """The vectors of a file or run, as they are kept or of another kind."""
    from firth.vectors.opening import open_vectors

    found = open_vectors(path)
    return found.kind(kind) if kind else found


def words_of(given: list[str], what: str = "word") -> Iterator[str]:
    """The words given, or with - those of standard input, one a line."""
    if given == ["-"]:
        given = lines()
    found = False
    for word in given:
        found = True
        yield word
    if not found:
        raise FirthError(f"no {what}", do=f"give at least one {what}, or - to read one a line")


def lines() -> Iterator[str]:
    """The lines of standard input that are not empty."""
    sys.stdin.reconfigure(errors="replace")
    return (line.strip() for line in sys.stdin if line.strip())


def commas(text: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def print_json(value: Any) -> None:
    """One line; what is infinite is null, which JSON has no number for."""
    print(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    return [_finite(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def plain(text: str) -> str:
    """A word or title that cannot steer the terminal."""
    from firth.counts.width import plain as safe

    return safe(text)


def list_scored(rows: Iterable[tuple[str, float]], notes: Iterable[str] = ()) -> None:
    """Words with their scores, and what else is known of each."""
    rows, notes = [(plain(word), score) for word, score in rows], list(notes)
    size = max((len(word) for word, _ in rows), default=0)
    for place, (word, score) in enumerate(rows):
        note = f"  {notes[place]}" if notes and notes[place] else ""
        print(f"  {word:<{size}}  {score:z.4f}{note}")
