"""What every multiple-choice model can do with the probabilities of choices, whatever they come from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.datasets import labelled_dataset
from firth.datasets.records import Choices, Record
from firth.display import Table
from firth.errors import FirthError
from firth.metrics.error_analysis import ErrorAnalysis
from firth.metrics.score import Score, signature
from firth.pipelines.answer_errors import analyse_choices
from firth.pipelines.file_inputs import read_choices
from firth.pipelines.label_predictions import checked_examples
from firth.runs.trained_model import TrainedModel, given_text, read_options

SEPARATOR = "\t"  # between context, question and choices in one line


@dataclass(frozen=True)
class ChoiceOptions:
    """The options of `firth run` for multiple choice: none."""


class ChoiceAnswers(TrainedModel):
    """A model that gives each choice of a question a probability."""

    options: type = ChoiceOptions
    metric = "accuracy"

    @abstractmethod
    def choice_probabilities(self, questions: Sequence[Choices]) -> list[np.ndarray]:
        """The probability of each choice of every question (choices,)."""

    @abstractmethod
    def signature_fields(self) -> dict[str, object]:
        """The tokenizer and context, for signatures."""

    def choose(self, question: str, choices: Sequence[str], context: str = "") -> list[tuple[str, float]]:
        """The choices with their probabilities, the most probable first."""
        (probabilities,) = self.choice_probabilities([Choices(context, question, tuple(choices))])
        order = np.argsort(-probabilities, kind="stable")
        return [(choices[number], float(probabilities[number])) for number in order]

    # --- evaluation -------------------------------------------------------------------------------------------

    def evaluate(self, text: str | Iterable[Choices] | None = None, split: str = "test", **_: Any) -> Table[Score]:
        """Accuracy on a split of the run's own questions, on a file or set, or on questions from Python; beside it
        that of chance."""
        questions = self.load_examples(text, split)
        known = known_answers(questions)
        return Table([self._accuracy("accuracy", self.choice_probabilities(known), known, questions)])

    def _accuracy(
        self, name: str, rows: Sequence[np.ndarray], known: Sequence[Choices], split: labelled_dataset.Split,
        **fields: object,
    ) -> Score:  # fmt: skip
        """The accuracy of the choices with the greatest value; beside it that of chance."""
        right = sum(int(row.argmax()) == each.answer for row, each in zip(rows, known, strict=True))
        chance = sum(1 / len(each.choices) for each in known) / len(known)
        signed = signature({**self.signature_fields(), **fields, **split.signed_fields})
        return Score(name, right / len(known), signed, note=f"chance {chance:.3f}")

    def error_analysis(self, text: Any = None, split: str = "test") -> ErrorAnalysis:
        """Accuracy by the number of choices, calibration, and the questions by their loss."""
        questions = self.load_examples(text, split)
        known = known_answers(questions)
        return analyse_choices(questions.name, known, self.choice_probabilities(known))

    def load_examples(self, text: Any, split: str) -> labelled_dataset.Split:
        """Questions to score; those that are loaded already are returned."""
        if isinstance(text, labelled_dataset.Split):
            return text
        if text is None:
            return self.own_questions(split)
        text = given_text(text)
        examples = self.read_named(text) if isinstance(text, str) else text
        return labelled_dataset.make_split("given", checked_examples(examples, Choices))

    @abstractmethod
    def own_questions(self, split: str) -> labelled_dataset.Split:
        """The questions of a split of the run's own data."""

    @abstractmethod
    def read_named(self, name: str) -> Iterable[Any]:
        """The questions of a file or set."""

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f"firth run {self.run.path} $'CONTEXT\\tQUESTION\\tCHOICE\\tCHOICE'"

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The choices of a question in one line: context (may be empty), question, and choices, with tabs between."""
        (answer,) = self.answer_inputs([line], options)
        return {"input": line, "choices": answer["choices"]}

    def answer_inputs(self, inputs: Sequence[Any], options: Mapping[str, object]) -> list[dict[str, Any]]:
        """The choices of each question, the most probable first; questions as records or as lines."""
        parsed = read_options(self.options, options)
        questions = [parse_line(each) if isinstance(each, str) else each for each in inputs]
        answers = []
        for each, row in zip(questions, self.answer_probabilities(questions, parsed), strict=True):
            choices = [[each.choices[at], float(row[at])] for at in np.argsort(-row, kind="stable")]
            answers.append({"context": each.context, "question": each.question, "choices": choices})
        return answers

    def answer_probabilities(self, questions: Sequence[Choices], options: Any) -> list[np.ndarray]:
        """The probabilities of choices, with these options of `firth run`."""
        return self.choice_probabilities(questions)

    def read_input(self, record: Record, columns: Mapping[str, str]) -> Any:
        """A question with its choices, from a record of a file."""
        return read_choices(record)

    def table_rows(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A row for each question with its most probable choice."""
        choice, probability = answer["choices"][0]
        return [{"question": answer["question"], "choice": choice, "probability": probability}]

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        return "\n".join(f"{probability:.4f}\t{choice}" for choice, probability in answer["choices"])


def check_choices(questions: Iterable[Choices]) -> None:
    """Refuse questions without a choice to make."""
    for question in questions:
        if len(question.choices) < 2 or not all(choice.strip() for choice in question.choices):
            raise FirthError("fewer than two choices, or an empty one", do="give at least two texts to choose from")


def known_answers(questions: labelled_dataset.Split) -> list[Choices]:
    """The questions whose answers are known; an error without any."""
    known = [each for each in questions.examples if each.answer is not None]
    if not known:
        raise FirthError("no question has an answer", where=questions.name, do="say which choice is correct")
    return known


def parse_line(line: str) -> Choices:
    """A question from one line: context (may be empty), question, and choices, with tabs between."""
    context, *rest = line.split(SEPARATOR)
    if len(rest) < 3:
        do = "give the context (it may be empty), the question and two or more choices, with tabs between them"
        raise FirthError("a question without choices", do=do)
    return Choices(context, rest[0], tuple(rest[1:]))
