"""Multiple choice by a language model that was not trained for it: the choice that the model finds most likely after
context and question, by causal log-likelihood or masked pseudo-log-likelihood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.records import Choices
from firth.display import Table
from firth.errors import FirthError
from firth.metrics.score import Score, parse_signature
from firth.pipelines.answer_scores import SCORING, Scores
from firth.pipelines.choice_answers import ChoiceAnswers, check_choices, known_answers
from firth.pipelines.continuations import join_context

_DATA = schema.ChoiceQuestions()


@dataclass(frozen=True)
class ChoiceScoringOptions:
    """The options of `firth run` for multiple choice by likelihood."""

    scoring: Literal["total", "token", "byte", "calibrated"] = "total"


class LikelihoodChoices(ChoiceAnswers):
    """A language model that chooses by likelihood."""

    options = ChoiceScoringOptions

    def __init__(self, model: Any) -> None:
        self.model, self.run, self.tokenizer = model, model.run, model.tokenizer

    def scores(self, questions: Sequence[Choices]) -> dict[str, list[np.ndarray]]:
        """For each scoring the values of the choices of every question (choices,)."""
        check_choices(questions)
        questioned = [(join_context(each.context, each.question), each.choices) for each in questions]
        # what the choices are worth by themselves: after the question alone, or after nothing
        alone = [(each.question if each.context else "", each.choices) for each in questions]
        likelihoods = self.model.continuation_scores([*questioned, *alone])
        values: dict[str, list[np.ndarray]] = {name: [] for name in SCORING}
        for number, each in enumerate(questions):
            given, unconditional = likelihoods[number], likelihoods[len(questions) + number].log_likelihoods
            sizes = np.array([len(choice.encode()) for choice in each.choices])
            scores = Scores(given.log_likelihoods, given.token_counts, sizes, unconditional)
            for name, score in SCORING.items():
                values[name].append(score(scores))
        return values

    def choice_probabilities(self, questions: Sequence[Choices]) -> list[np.ndarray]:
        """The shares of the choices in their common probability given the question (choices,)."""
        return self.answer_probabilities(questions, ChoiceScoringOptions())

    def answer_probabilities(self, questions: Sequence[Choices], options: Any) -> list[np.ndarray]:
        """The softmax of the values of the choices by one scoring."""
        return [_softmax(row) for row in self.scores(questions)[options.scoring]]

    def evaluate(self, text: str | Iterable[Choices] | None = None, split: str = "test", **_: Any) -> Table[Score]:
        """Accuracy by each scoring on a file or set, or on questions from Python; beside it that of chance."""
        questions = self.load_examples(text, split)
        known = known_answers(questions)
        rows = self.scores(known).items()
        return Table(
            [self._accuracy(f"accuracy ({name})", values, known, questions, scoring=name) for name, values in rows]
        )

    def own_questions(self, split: str) -> labelled_dataset.Split:
        """An error: the data of a language model are no questions."""
        do = "name a file or set of them: --text world-multiple-choice"
        raise FirthError("this language model has no questions of its own", where=self.run.path, do=do)

    def read_named(self, name: str) -> Iterable[Any]:
        """The questions of a file or set."""
        return labelled_dataset.read_named(name, _DATA)

    def signature_fields(self) -> dict[str, object]:
        """The tokenizer and context, for signatures."""
        return {name: value for name, value in parse_signature(self.model.signed()).items() if name != "firth"}


def choose_by_likelihood(model: Any) -> ChoiceAnswers:
    """A language model as a multiple-choice model; one that is a multiple-choice model already stays."""
    if isinstance(model, ChoiceAnswers):
        return model
    if not hasattr(model, "continuation_scores"):
        do = "give a causal, masked or n-gram language model"
        raise FirthError("this model gives no probability of texts", where=model.run.path, do=do)
    return LikelihoodChoices(model)


def _softmax(values: np.ndarray) -> np.ndarray:
    highest = values.max()
    if np.isneginf(highest):
        return np.full(len(values), 1 / len(values))
    shares = np.exp(values - highest)
    return shares / shares.sum()
