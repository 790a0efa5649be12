"""Questions with a choice of answers: which word means the same (TOEFL), which does not belong; and their files.

`enormous | huge | red | late | warm`: a word, the right answer, the wrong ones. `apple pear plum | hammer`: words that
belong together, and the one that does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firth.data import lines
from firth.errors import FirthError
from firth.metrics.score import Score
from firth.vectors.asking import Asking, Known, Result

if TYPE_CHECKING:
    from firth.vectors.store import WordVectors


class Choice(NamedTuple):
    """Words to choose among, the right one first; without a stem the right one is the odd one out."""

    words: tuple[str, ...]
    stem: str = ""
    line: int = 0


def read_choices(path: str | Path) -> Iterator[Choice]:
    """The questions of a file; blank lines and those that begin with # do not count."""
    for number, line in lines.lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        together = cells[0].split()
        if len(cells) == 2 and len(together) >= 2 and cells[1]:
            yield Choice((cells[1], *together), line=number)
        elif len(cells) >= 3 and all(cells):
            yield Choice(tuple(cells[1:]), cells[0], number)
        else:
            do = "write word | answer | other | other, or together together | odd"
            raise FirthError("no question with a choice", where=lines.at(path, number), do=do)


def evaluate_choices(
    vectors: WordVectors, choices: Iterable[Choice], name: str = "choice", asking: Asking | None = None
) -> Result:
    """The share of questions whose right word is chosen; a tie counts as wrong."""
    known, choices = Known(vectors, asking), list(choices)
    right = answered = 0
    for choice in choices:
        given = (*choice.words, choice.stem) if choice.stem else choice.words
        rows, places = known.matrix(given)
        if len(places) < len(given):
            continue
        answered += 1
        right += _chosen(rows, bool(choice.stem)) == 0
    told = known.signature(name, [choice[:2] for choice in choices])
    scores = (
        Score("accuracy", right / answered if answered else None, f"of:answered|{told}"),
        Score("accuracy of all", right / len(choices) if choices else None, f"of:all|{told}"),
    )
    kind = "choice" if any(choice.stem for choice in choices) else "odd one out"
    return Result(name, kind, scores, len(choices), answered, known.report())


def _chosen(rows: np.ndarray, has_stem: bool) -> int:
    """The word nearest to the stem, or the one farthest from the mean of all; -1 if two are."""
    if has_stem:
        scores = rows[:-1] @ rows[-1]
    else:
        scores = -(rows @ rows.mean(0))
    best = np.flatnonzero(scores == scores.max())
    return int(best[0]) if len(best) == 1 else -1
