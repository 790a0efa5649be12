"""Error analysis of question answering and of multiple choice: the answers or choices of every question, and how likely
the right one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from firth.datasets import labelled_dataset
from firth.datasets.records import Choices, Question
from firth.display import Table
from firth.metrics import error_analysis as metrics
from firth.metrics import question_answering
from firth.metrics.error_analysis import AnalysedExample, ErrorAnalysis, Mark, negative_log
from firth.pipelines.label_errors import SHOWN_LABELS, line_of

if TYPE_CHECKING:
    from firth.pipelines.answer_questions import Candidates

ANALYSED_ANSWERS = 20  # of a question: a gold answer that is not among them is at most as probable as the last
NO_ANSWER = "(no answer)"


def analyse_answers(
    split: labelled_dataset.Split,
    results: Sequence[Candidates],
    references: Sequence[Sequence[str]],
    threshold: float,
) -> ErrorAnalysis:
    """Questions, their most probable answers, and the threshold from which on there is none."""
    answers = ["" if _abstains(each, threshold) else each.answers[0].text for each in results]
    scores = question_answering.score_answers(answers, references)
    rows = zip(split.examples, results, references, answers, scores.exact_match, strict=True)
    examples = [_answered(*row) for row in rows]
    confidence = [each.no_answer if not text else each.answers[0].probability
                  for each, text in zip(results, answers, strict=True)]  # fmt: skip
    tables = {"answers": _answer_table(scores, answers)}
    tables |= metrics.calibration_of(np.array(confidence), scores.exact_match)
    return metrics.analysis(split.name, tables, examples)


def _abstains(result: Candidates, threshold: float) -> bool:
    return not result.answers or result.no_answer > threshold


def _answer_table(scores: question_answering.AnswerScores, answers: Sequence[str]) -> Table[dict[str, object]]:
    """Exact match and F1 of the questions with an answer, of those without one, and of all."""
    empty = np.array([not text for text in answers])
    parts = {"with an answer": scores.answerable, "without one": ~scores.answerable, "all": scores.answerable | True}
    rows = []
    for name, part in parts.items():
        exact, f1 = ((100 * float(values[part].mean()) if part.any() else None)
                     for values in (scores.exact_match, scores.f1))  # fmt: skip
        rows.append({"questions": name, "count": int(part.sum()), "left unanswered": int((part & empty).sum()),
                     "exact match": exact, "F1": f1})  # fmt: skip
    return Table(rows)


def _answered(
    question: Question, result: Candidates, references: Sequence[str], answer: str, exact: float
) -> AnalysedExample:
    best = [(each.text, each.probability) for each in result.answers[: SHOWN_LABELS - 1]]
    return AnalysedExample(
        loss=negative_log(gold_probability(result, references)),
        correct=bool(exact),
        gold=" / ".join(dict.fromkeys(references)) or NO_ANSWER,
        predicted=answer or NO_ANSWER,
        texts=(question.text, question.context),
        probabilities=(*best, (NO_ANSWER, result.no_answer)),
        marks=tuple(_answer_marks(question, result, answer)),
        where=line_of(question),
    )


def gold_probability(result: Candidates, references: Sequence[str]) -> float:
    """The probability of the gold answers among the most probable ones; if none is, that of the last of these, which
    none exceeds."""
    if not references:
        return result.no_answer
    gold = {question_answering.normalise_answer(text) for text in references}
    same = [each.probability for each in result.answers if question_answering.normalise_answer(each.text) in gold]
    if same:
        return min(1.0, sum(same))
    return result.answers[-1].probability if result.answers else 0.0


def _answer_marks(question: Question, result: Candidates, answer: str) -> Iterator[Mark]:
    gold = {(each.start, each.start + len(each.text)) for each in question.answers or ()}
    guess = {(result.answers[0].start, result.answers[0].end)} if answer else set()
    for start, end in sorted(gold | guess):
        both = (start, end) in gold & guess
        yield Mark(start, end, "answer", "both" if both else "gold" if (start, end) in gold else "predicted")


def analyse_choices(split: str, questions: Sequence[Choices], probabilities: Sequence[np.ndarray]) -> ErrorAnalysis:
    """Questions whose answer is known, and the probability of each choice."""
    right = np.array([int(row.argmax()) == each.answer for each, row in zip(questions, probabilities, strict=True)])
    confidence = np.array([row.max() for row in probabilities])
    sizes = np.array([len(each.choices) for each in questions])
    rows = [{"choices": int(size), "count": int((sizes == size).sum()), "correct": int(right[sizes == size].sum()),
             "accuracy": float(right[sizes == size].mean()), "chance": 1 / int(size)}
            for size in np.unique(sizes)]  # fmt: skip
    examples = [_chosen(*row) for row in zip(questions, probabilities, strict=True)]
    return metrics.analysis(split, {"choices": Table(rows), **metrics.calibration_of(confidence, right)}, examples)


def _chosen(question: Choices, row: np.ndarray) -> AnalysedExample:
    best = int(row.argmax())
    assert question.answer is not None
    return AnalysedExample(
        loss=negative_log(float(row[question.answer])),
        correct=best == question.answer,
        gold=question.choices[question.answer],
        predicted=question.choices[best],
        texts=tuple(text for text in (question.context, question.question) if text),
        probabilities=tuple((question.choices[at], float(row[at])) for at in np.argsort(-row, kind="stable")),
        where=line_of(question),
    )
