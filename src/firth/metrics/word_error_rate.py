"""Word error rate: the edits (insertions, deletions, substitutions) that turn a hypothesis into the reference, per word
of the reference; the same for characters, and the fraction of sentences with any error."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from firth.metrics.corpus_metric import CorpusStatistics, digest, ratio
from firth.metrics.score import signature

Units = Sequence[Hashable]


class ErrorCounts(NamedTuple):
    """The errors of each hypothesis, and the units of the reference that they are divided by."""

    errors: np.ndarray  # (hypotheses,)
    size: int


def edit_distances(reference: Units, hypotheses: Sequence[Units]) -> np.ndarray:
    """The Levenshtein distance of each of many sequences to one (hypotheses,)."""
    codes = {unit: number for number, unit in enumerate(dict.fromkeys(reference))}
    lengths = np.array([len(each) for each in hypotheses], np.int64)
    width = int(lengths.max(initial=0))
    others = np.full((len(hypotheses), width), -1, np.int64)  # a unit that the reference lacks equals none of its own
    for row, each in zip(others, hypotheses, strict=True):
        row[: len(each)] = [codes.get(unit, -1) for unit in each]
    columns = np.arange(width + 1)
    row = np.broadcast_to(columns, (len(hypotheses), width + 1))
    for unit in reference:
        deleted = row + 1
        substituted = row[:, :-1] + (others != codes[unit])
        best = np.concatenate([deleted[:, :1], np.minimum(deleted[:, 1:], substituted)], 1)
        row = np.minimum.accumulate(best - columns, 1) + columns  # insertions: one more for each step to the right
    return row[np.arange(len(hypotheses)), lengths]


def _words(reference: str, hypotheses: Sequence[str]) -> ErrorCounts:
    words = reference.split()
    return ErrorCounts(edit_distances(words, [text.split() for text in hypotheses]), len(words))


def _characters(reference: str, hypotheses: Sequence[str]) -> ErrorCounts:
    joined = " ".join(reference.split())
    return ErrorCounts(edit_distances(joined, [" ".join(text.split()) for text in hypotheses]), len(joined))


def _sentences(reference: str, hypotheses: Sequence[str]) -> ErrorCounts:
    return ErrorCounts(np.array([text.split() != reference.split() for text in hypotheses], np.int64), 1)


# Words are what blanks separate; case and punctuation count; a series of blanks is one character.
ERROR_RATES: dict[str, Callable[[str, Sequence[str]], ErrorCounts]] = {
    "word_error_rate": _words,
    "sentence_error_rate": _sentences,
    "character_error_rate": _characters,
}


def count_error_rate(name: str, hypotheses: Sequence[str], references: Sequence[str]) -> CorpusStatistics:
    """The statistics of an error rate over texts with one reference each; lower is better."""
    pairs = zip(references, hypotheses, strict=True)
    counted = [ERROR_RATES[name](reference, [text]) for reference, text in pairs]
    return error_statistics(name, [(int(each.errors[0]), each.size) for each in counted], references)


def error_statistics(name: str, counts: Sequence[tuple[int, int]], references: Sequence[str]) -> CorpusStatistics:
    """The statistics of an error rate from the errors and the sizes of texts."""
    signed = signature({"case": "mixed", "data": digest([references])})
    return CorpusStatistics(name, np.array(counts, float).reshape(-1, 2), ratio, signed)
