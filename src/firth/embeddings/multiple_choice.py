"""Multiple-choice test sets: synonym questions (TOEFL) and odd-one-out questions, and their files.

`enormous | huge | red | late | warm`: the stem, the correct answer, the distractors. `apple pear plum | hammer`: words
that belong together, and the odd one out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firth.datasets import numbered_lines
from firth.embeddings.lookup import EvaluationOptions, Result, VocabularyLookup
from firth.errors import FirthError
from firth.metrics.score import Score

if TYPE_CHECKING:
    from firth.embeddings.word_vectors import WordVectors


class Choice(NamedTuple):
    """Words to choose among, the correct one first; without a stem the correct one is the odd one out."""

    words: tuple[str, ...]
    stem: str = ""
    line: int = 0


def read_choices(path: str | Path) -> Iterator[Choice]:
    """The questions of a file; blank lines and lines that begin with # are skipped."""
    for number, line in numbered_lines.lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        group = cells[0].split()
        if len(cells) == 2 and len(group) >= 2 and cells[1]:
            yield Choice((cells[1], *group), line=number)
        elif len(cells) >= 3 and all(cells):
            yield Choice(tuple(cells[1:]), cells[0], number)
        else:
            do = "write word | answer | other | other, or together together | odd"
            raise FirthError("not a multiple-choice question", where=numbered_lines.at(path, number), do=do)


def evaluate_choices(
    vectors: WordVectors, choices: Iterable[Choice], name: str = "choice", options: EvaluationOptions | None = None
) -> Result:
    """The accuracy over multiple-choice questions; a tie counts as wrong."""
    lookup, choices = VocabularyLookup(vectors, options), list(choices)
    correct = answered = 0
    for choice in choices:
        words = (*choice.words, choice.stem) if choice.stem else choice.words
        rows, positions = lookup.matrix(words)
        if len(positions) < len(words):
            continue
        answered += 1
        correct += _choose(rows, bool(choice.stem)) == 0
    signature = lookup.signature(name, [choice[:2] for choice in choices])
    scores = (
        Score("accuracy", correct / answered if answered else None, f"of:answered|{signature}"),
        Score("accuracy of all", correct / len(choices) if choices else None, f"of:all|{signature}"),
    )
    kind = "choice" if any(choice.stem for choice in choices) else "odd one out"
    return Result(name, kind, scores, len(choices), answered, lookup.list_oov_words())


def _choose(rows: np.ndarray, has_stem: bool) -> int:
    """The index of the word nearest to the stem, or of the one farthest from the mean of all; -1 for a tie."""
    if has_stem:
        scores = rows[:-1] @ rows[-1]
    else:
        scores = -(rows @ rows.mean(0))
    best = np.flatnonzero(scores == scores.max())
    return int(best[0]) if len(best) == 1 else -1
