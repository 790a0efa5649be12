"""Analogies: a is to b as c is to what? Many questions at once, in blocks of words and of questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firth.data.formats.wordlists import answers
from firth.data.records import Analogy, Pair
from firth.metrics.score import Score
from firth.vectors.asking import Asking, Known, Result

if TYPE_CHECKING:
    from firth.vectors.store import WordVectors

EPSILON = 1e-6  # keeps the multiplicative rule finite (Levy and Goldberg, 2014), as in the store
WORDS, QUESTIONS = 4096, 128  # a block: 2 MB of scores
SYNTACTIC = re.compile(r"gram|[ID]\d\d\b")  # Google's sections; BATS's inflection and derivation


class Question(NamedTuple):
    """a is to b as c is to any of the answers."""

    section: str
    a: str
    b: str
    c: str
    answers: tuple[str, ...]


def google_questions(records: Iterable[Analogy]) -> list[Question]:
    """Google's questions, each with one answer."""
    return [Question(record.section, *record.words[:3], record.words[3:]) for record in records]


def bats_questions(pairs: Iterable[Pair]) -> list[Question]:
    """BATS's: every two pairs of a category, in both orders; any answer of the second pair is right."""
    by_category: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_category.setdefault(pair.label or "", []).append(pair)
    return [
        Question(category, one.left, answers(one)[0], other.left, answers(other))
        for category, members in by_category.items()
        for one in members
        for other in members
        if one.left != other.left
    ]


def is_syntactic(section: str) -> bool:
    """Whether a section asks for forms of words, rather than for what they mean."""
    return SYNTACTIC.match(section) is not None


def evaluate_analogies(
    vectors: WordVectors, questions: Iterable[Question], name: str = "analogy", asking: Asking | None = None
) -> Result:
    """The share of right answers in all, among semantic and syntactic questions, and by section."""
    known = Known(vectors, asking)
    questions = list(questions)
    triples = np.array([[known.index(word) for word in q[1:4]] for q in questions], np.int64).reshape(-1, 3)
    accepted = [{place for word in q.answers if (place := known.index(word)) >= 0} for q in questions]
    able = (triples >= 0).all(1) & np.array([bool(places) for places in accepted], bool)
    guesses = best(known, triples[able])
    right = np.zeros(len(questions), bool)
    right[able] = [g in accepted[n] for g, n in zip(guesses, np.flatnonzero(able), strict=True)]
    sections = np.array([q.section for q in questions], object)
    told = known.signature(name, questions, how=known.asking.how)

    def count(part: str, kind: str, where: np.ndarray) -> Result:
        return _counted(part, kind, told if kind == "analogy" else f"part:{part}|{told}", right[where], able[where])

    syntactic = np.array([is_syntactic(section) for section in sections], bool)
    totals = [("semantic", ~syntactic), ("syntactic", syntactic)]
    parts = [count(part, "total", where) for part, where in totals if where.any()]
    parts += [count(part or name, "section", sections == part) for part in dict.fromkeys(sections)]
    whole = count(name, "analogy", np.ones(len(questions), bool))
    return Result(whole.name, whole.kind, whole.scores, whole.asked, whole.answered, known.report(), tuple(parts))


def _counted(name: str, kind: str, told: str, right: np.ndarray, able: np.ndarray) -> Result:
    hits, answered, asked = int(right.sum()), int(able.sum()), len(right)
    of_answered = Score("accuracy", hits / answered if answered else None, f"of:answered|{told}")
    of_all = Score("accuracy of all", hits / asked if asked else None, f"of:all|{told}")
    return Result(name, kind, (of_answered, of_all), asked, answered)


def best(known: Known, triples: np.ndarray, words: int = WORDS, block: int = QUESTIONS) -> np.ndarray:
    """The place of the best answer to each (a, b, c), itself none of the three; -1 where there is no other word.

    Both rules are sums of one term for each of the three words: cosines, or logarithms of shifted cosines. So a
    question costs two additions a word, and only the different words of all questions cost a product of matrices.
    """
    named, at = np.unique(triples, return_inverse=True)
    at = at.reshape(triples.shape)
    asked = known.rows(named)
    top, found = np.full(len(triples), -np.inf, np.float32), np.full(len(triples), -1, np.int64)
    for low in range(0, known.limit if len(triples) else 0, words):
        high = min(low + words, known.limit)
        plus, minus = _terms(asked @ known.rows(np.arange(low, high)).T, known.asking.how)  # (named, words)
        for first in range(0, len(triples), block):
            some = slice(first, first + block)
            scores = plus[at[some, 1]]
            scores += plus[at[some, 2]]
            scores -= minus[at[some, 0]]
            _leave_out(scores, triples[some] - low)
            place = scores.argmax(1)
            value = scores[np.arange(len(scores)), place]
            better = value > top[some]
            top[some][better], found[some][better] = value[better], place[better] + low
    return found


def _terms(cosines: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray]:
    """What b and c add to a word's score, and what a takes away."""
    if how == "additive":
        return cosines, cosines
    shifted = np.clip((1.0 + cosines) / 2.0, 1e-7, 1.0)
    return np.log(shifted), np.log(shifted + np.float32(EPSILON))


def _leave_out(scores: np.ndarray, places: Sequence[Sequence[int]] | np.ndarray) -> None:
    """The words of the question are no answers to it; done in place."""
    row, which = np.nonzero((places >= 0) & (places < scores.shape[1]))
    scores[row, np.asarray(places)[row, which]] = -np.inf
