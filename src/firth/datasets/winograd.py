"""Winograd schemas (Levesque et al. 2012) in the shape of WNLI as multiple-choice questions: the readings of one
pronoun are the choices."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from firth.datasets.records import Choices, Pair
from firth.errors import FirthError

RIGHT, WRONG = ("1", "entailment"), ("0", "not_entailment")


def as_choices(pairs: Iterable[Pair]) -> list[Choices]:
    """The schemas of pairs (a sentence, and what it says with the pronoun replaced) that have several readings, of
    which exactly one is right; pairs of a sentence are put together wherever they stand."""
    grouped = groupby(sorted(enumerate(pairs), key=lambda each: (each[1].left, each[0])), key=lambda each: each[1].left)
    questions = []
    for sentence, group in grouped:
        readings = [pair for _, pair in group]
        right = [number for number, pair in enumerate(readings) if _is_right(pair)]
        texts = tuple(pair.right for pair in readings)
        if len(right) == 1 and len(set(texts)) == len(texts) > 1:
            questions.append(Choices("", sentence, texts, right[0], line=readings[0].line))
    return questions


def _is_right(pair: Pair) -> bool:
    if pair.label not in (*RIGHT, *WRONG):
        what = f"label {pair.label!r} is none of {', '.join((*RIGHT, *WRONG))}"
        raise FirthError(what, where=f"line {pair.line}", do="give pairs as in WNLI")
    return pair.label in RIGHT
