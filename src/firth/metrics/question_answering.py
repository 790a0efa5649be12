"""Exact match and F1 of answers as SQuAD 1.1 and 2.0 count them (Rajpurkar et al. 2016, 2018), and the best threshold
for not answering."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.metrics.corpus_metric import CorpusStatistics, digest, percentage
from firth.metrics.score import signature

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)  # ASCII alone, as in the official scripts


class AnswerScores(NamedTuple):
    """Scores of each question, from 0 to 1."""

    exact_match: np.ndarray  # (questions,)
    f1: np.ndarray
    answerable: np.ndarray  # whether the question has an answer
    signature: str

    def statistics(self) -> list[CorpusStatistics]:
        """Exact match and F1 in percent, over all questions; their details are those with and without an answer."""
        kinds = [self.answerable, ~self.answerable]
        both = [("exact_match", self.exact_match), ("f1", self.f1)]
        return [_statistics(name, values, kinds, self.signature) for name, values in both]


class Threshold(NamedTuple):
    """Questions with a probability of no answer above `value` are left unanswered."""

    value: float
    score: float  # the mean of the scores at this threshold, in percent


def normalise_answer(text: str) -> str:
    """Lower case without ASCII punctuation and English articles, words separated by one blank."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(answer: str, gold: str) -> float:
    """1 if both are equal when normalised."""
    return float(normalise_answer(answer) == normalise_answer(gold))


def answer_f1(answer: str, gold: str) -> float:
    """F1 of the words that both have, normalised; an empty answer is right only for an empty gold answer."""
    return _f1(normalise_answer(answer).split(), normalise_answer(gold).split())


def score_answers(answers: Sequence[str], references: Sequence[Sequence[str]]) -> AnswerScores:
    """Each answer against the best of its references. A question without references has no answer (SQuAD 2.0): right
    is the empty one."""
    if len(answers) != len(references):
        raise FirthError(f"{len(answers):,} answers to {len(references):,} questions", do="pass one for each question")
    exact, f1 = [], []
    for answer, given in zip(answers, references, strict=True):
        words = normalise_answer(answer).split()
        golds = [gold for gold in (normalise_answer(text).split() for text in given) if gold] or [[]]
        exact.append(max(float(words == gold) for gold in golds))
        f1.append(max(_f1(words, gold) for gold in golds))
    answerable = np.array([len(given) > 0 for given in references], bool)
    version = "1.1" if answerable.all() else "2.0"
    fields = {"squad": version, "data": digest([[text for given in references for text in [*given, ""]]])}
    return AnswerScores(np.array(exact, float), np.array(f1, float), answerable, signature(fields))


def apply_threshold(scores: AnswerScores, no_answer: np.ndarray, threshold: float) -> AnswerScores:
    """The scores if questions whose probability of no answer is above the threshold are left unanswered."""
    abstains, empty = np.asarray(no_answer) > threshold, (~scores.answerable).astype(float)
    return scores._replace(
        exact_match=np.where(abstains, empty, scores.exact_match), f1=np.where(abstains, empty, scores.f1)
    )


def best_threshold(values: np.ndarray, answerable: np.ndarray, no_answer: np.ndarray) -> Threshold:
    """The threshold with the highest mean: values (questions,) are exact match or F1 of the answers given, `no_answer`
    the probabilities that there is none (or any scores of it).

    Choose it on validation data. Among equals it is the lowest. −inf: nothing is answered."""
    values, no_answer = np.asarray(values, float), np.asarray(no_answer, float)
    if not len(values):
        raise FirthError("no questions to choose a threshold on")
    order = np.argsort(no_answer, kind="stable")
    empty = (~np.asarray(answerable, bool)).astype(float)
    totals = empty.sum() + np.concatenate([[0.0], np.cumsum((values - empty)[order])])  # answering the first so many
    # questions of equal probability are answered together
    possible = np.concatenate([[True], np.diff(no_answer[order]) > 0, [True]])
    best = int(np.argmax(np.where(possible, totals, -np.inf)))
    value = float(no_answer[order[best - 1]]) if best else -np.inf
    return Threshold(value, 100.0 * float(totals[best]) / len(values))


def _f1(words: list[str], gold: list[str]) -> float:
    if not words or not gold:
        return float(words == gold)
    shared = sum((Counter(words) & Counter(gold)).values())
    return 2 * shared / (len(words) + len(gold))


def _statistics(name: str, values: np.ndarray, kinds: list[np.ndarray], text: str) -> CorpusStatistics:
    columns = [values, *(part for kind in kinds for part in (values * kind, kind)), np.ones(len(values))]

    def details(sums: np.ndarray) -> dict[str, float]:
        return {"answerable": percentage(sums[1:3]), "unanswerable": percentage(sums[3:5])}

    return CorpusStatistics(name, np.stack(columns, 1).astype(float), percentage, text, details)
