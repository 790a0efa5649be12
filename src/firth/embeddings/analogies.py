"""Analogy questions (a is to b as c is to ?) by 3CosAdd and 3CosMul, solved in batches of words and of questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firth.datasets.readers.wordlists import answers
from firth.datasets.records import Analogy, Pair
from firth.embeddings.lookup import EvaluationOptions, Result, VocabularyLookup
from firth.metrics.score import Score

if TYPE_CHECKING:
    from firth.embeddings.word_vectors import WordVectors

EPSILON = 1e-6  # keeps 3CosMul finite (Levy and Goldberg 2014), as in `WordVectors.most_similar`
WORD_BLOCK, QUESTION_BLOCK = 4096, 128  # a block: 2 MB of scores
SYNTACTIC = re.compile(r"gram|[ID]\d\d\b")  # Google's sections; BATS's inflection and derivation


class Question(NamedTuple):
    """a is to b as c is to any of the answers."""

    section: str
    a: str
    b: str
    c: str
    answers: tuple[str, ...]


def google_questions(records: Iterable[Analogy]) -> list[Question]:
    """The questions of the Google analogy test set, each with one answer."""
    return [Question(record.section, *record.words[:3], record.words[3:]) for record in records]


def bats_questions(pairs: Iterable[Pair]) -> list[Question]:
    """The questions of BATS: every two pairs of a category, in both orders; any answer of the second pair is
    correct."""
    by_category: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_category.setdefault(pair.label or "", []).append(pair)
    return [
        Question(category, first.left, answers(first)[0], second.left, answers(second))
        for category, members in by_category.items()
        for first in members
        for second in members
        if first.left != second.left
    ]


def is_syntactic(section: str) -> bool:
    """Whether a section is syntactic (inflection, derivation) rather than semantic."""
    return SYNTACTIC.match(section) is not None


def evaluate_analogies(
    vectors: WordVectors, questions: Iterable[Question], name: str = "analogy", options: EvaluationOptions | None = None
) -> Result:
    """The accuracy over all questions, over the semantic and the syntactic ones, and by section."""
    lookup = VocabularyLookup(vectors, options)
    questions = list(questions)
    triples = np.array([[lookup.index(word) for word in q[1:4]] for q in questions], np.int64).reshape(-1, 3)
    accepted = [{index for word in q.answers if (index := lookup.index(word)) >= 0} for q in questions]
    answerable = (triples >= 0).all(1) & np.array([bool(indices) for indices in accepted], bool)
    predictions = solve_analogies(lookup, triples[answerable])
    correct = np.zeros(len(questions), bool)
    correct[answerable] = [p in accepted[n] for p, n in zip(predictions, np.flatnonzero(answerable), strict=True)]
    section_of = np.array([q.section for q in questions], object)
    signature = lookup.signature(name, questions, method=lookup.options.method)

    def count(section: str, kind: str, where: np.ndarray) -> Result:
        signed = signature if kind == "analogy" else f"section:{section}|{signature}"
        return _accuracy(section, kind, signed, correct[where], answerable[where])

    syntactic = np.array([is_syntactic(section) for section in section_of], bool)
    totals = [("semantic", ~syntactic), ("syntactic", syntactic)]
    sections = [count(section, "total", where) for section, where in totals if where.any()]
    sections += [count(section or name, "section", section_of == section) for section in dict.fromkeys(section_of)]
    overall = count(name, "analogy", np.ones(len(questions), bool))
    return replace(overall, oov_words=lookup.list_oov_words(), sections=tuple(sections))


def _accuracy(name: str, kind: str, signature: str, correct: np.ndarray, answerable: np.ndarray) -> Result:
    hits, answered, total = int(correct.sum()), int(answerable.sum()), len(correct)
    of_answered = Score("accuracy", hits / answered if answered else None, f"of:answered|{signature}")
    of_all = Score("accuracy of all", hits / total if total else None, f"of:all|{signature}")
    return Result(name, kind, (of_answered, of_all), total, answered)


def solve_analogies(
    lookup: VocabularyLookup,
    triples: np.ndarray,
    word_block: int = WORD_BLOCK,
    question_block: int = QUESTION_BLOCK,
) -> np.ndarray:
    """The index of the best answer to each (a, b, c), itself none of the three; -1 where there is no other word.

    3CosAdd and 3CosMul are sums of one term for each of the three words: cosines, or logarithms of shifted cosines. So
    a question costs two additions per word, and only the unique words of all questions cost a matrix product.
    """
    unique, inverse = np.unique(triples, return_inverse=True)
    inverse = inverse.reshape(triples.shape)
    queries = lookup.rows(unique)
    best, answers = np.full(len(triples), -np.inf, np.float32), np.full(len(triples), -1, np.int64)
    for low in range(0, lookup.limit if len(triples) else 0, word_block):
        high = min(low + word_block, lookup.limit)
        cosines = queries @ lookup.rows(np.arange(low, high)).T  # (unique, words)
        positive, negative = _score_terms(cosines, lookup.options.method)
        for first in range(0, len(triples), question_block):
            block = slice(first, first + question_block)
            scores = positive[inverse[block, 1]]  # (questions, words)
            scores += positive[inverse[block, 2]]
            scores -= negative[inverse[block, 0]]
            _exclude_question_words(scores, triples[block] - low)
            argmax = scores.argmax(1)
            value = scores[np.arange(len(scores)), argmax]
            better = value > best[block]
            best[block][better], answers[block][better] = value[better], argmax[better] + low
    return answers


def _score_terms(cosines: np.ndarray, method: str) -> tuple[np.ndarray, np.ndarray]:
    """What b and c add to a word's score, and what a subtracts from it."""
    if method == "additive":
        return cosines, cosines
    shifted = np.clip((1.0 + cosines) / 2.0, 1e-7, 1.0)
    return np.log(shifted), np.log(shifted + np.float32(EPSILON))


def _exclude_question_words(scores: np.ndarray, positions: Sequence[Sequence[int]] | np.ndarray) -> None:
    """Set the scores of the words of each question to -inf, in place: they are no answers to it."""
    row, column = np.nonzero((positions >= 0) & (positions < scores.shape[1]))
    scores[row, np.asarray(positions)[row, column]] = -np.inf
