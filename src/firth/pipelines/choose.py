"""Multiple choice: the probability that each choice is the answer to a question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from firth.datasets import labelled_dataset
from firth.datasets.choice_dataset import encode_choices
from firth.datasets.collators.sentence_pairs import build_input_sequence, pad_examples
from firth.datasets.records import Choices, Record
from firth.display import Table
from firth.errors import FirthError
from firth.metrics.error_analysis import ErrorAnalysis
from firth.metrics.score import Score, signature
from firth.models.build import System
from firth.models.heads.choice import CHOICE
from firth.pipelines.answer_errors import analyse_choices
from firth.pipelines.encode_texts import group_by_length
from firth.pipelines.file_inputs import read_choices
from firth.pipelines.label_predictions import checked_examples, run_examples
from firth.runs.run_folder import Run
from firth.runs.trained_model import TrainedModel, given_text, read_options
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch

SEPARATOR = "\t"  # between context, question and choices in one line
REPORT_QUESTIONS = 12


@dataclass(frozen=True)
class ChoiceOptions:
    """The options of `firth run` for multiple choice: none."""


class ChoiceModel(TrainedModel):
    """A trained multiple-choice model: what `firth.load` returns for one."""

    metric = "accuracy"

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        self.run, self.tokenizer, self.system = run, tokenizer, system
        self.config = run.record.config

    @staticmethod
    def metric_value(total: float, count: float) -> float:
        """The metric that is logged during training, from its sum and count."""
        return total / count

    def choose(self, question: str, choices: Sequence[str], context: str = "") -> list[tuple[str, float]]:
        """The choices with their probabilities, the most probable first."""
        (probabilities,) = self.choice_probabilities([Choices(context, question, tuple(choices))])
        order = np.argsort(-probabilities, kind="stable")
        return [(choices[number], float(probabilities[number])) for number in order]

    @torch.no_grad()
    def choice_probabilities(self, questions: Sequence[Choices]) -> list[np.ndarray]:
        """The probability of each choice of every question (choices,)."""
        for question in questions:
            if len(question.choices) < 2 or not all(choice.strip() for choice in question.choices):
                raise FirthError("fewer than two choices, or an empty one", do="give at least two texts to choose from")
        special, batching = self.tokenizer.special, self.config.batching
        examples = [
            [build_input_sequence(texts, batching, special) for texts in question]
            for question in encode_choices(questions, self.tokenizer, batching)
        ]
        probabilities: list[np.ndarray] = [np.zeros(0)] * len(questions)
        lengths = [sum(len(sequence.ids) for sequence in example) for example in examples]
        for indices in group_by_length(lengths):
            text = pad_examples([examples[index] for index in indices], special, segments=True)
            with autocast(self.config.train):
                rows = self.system.head.scores(self.system.encode(Batch({"text": text}, {}).to()))[CHOICE].numpy()
            for index, row in zip(indices, rows, strict=True):
                probabilities[index] = row[: len(examples[index])]
        return probabilities

    # --- evaluation -------------------------------------------------------------------------------------------

    def evaluate(self, text: str | Iterable[Choices] | None = None, split: str = "test", **_: Any) -> Table[Score]:
        """Accuracy on a split of the run's own questions, on a file or set, or on questions from Python; beside it
        that of chance."""
        questions = self.load_examples(text, split)
        known = [each for each in questions.examples if each.answer is not None]
        if not known:
            raise FirthError("no question has an answer", where=questions.name, do="say which choice is correct")
        best = [int(row.argmax()) for row in self.choice_probabilities(known)]
        right = sum(guess == each.answer for guess, each in zip(best, known, strict=True))
        chance = sum(1 / len(each.choices) for each in known) / len(known)
        signed = signature({**self.signature_fields(), **questions.signed_fields})
        return Table([Score("accuracy", right / len(known), signed, note=f"chance {chance:.3f}")])

    def error_analysis(self, text: Any = None, split: str = "test") -> ErrorAnalysis:
        """Accuracy by the number of choices, calibration, and the questions by their loss."""
        questions = self.load_examples(text, split)
        known = [each for each in questions.examples if each.answer is not None]
        if not known:
            raise FirthError("no question has an answer", where=questions.name, do="say which choice is correct")
        return analyse_choices(questions.name, known, self.choice_probabilities(known))

    def load_examples(self, text: Any, split: str) -> labelled_dataset.Split:
        """Questions to score; those that are loaded already are returned."""
        if isinstance(text, labelled_dataset.Split):
            return text
        if text is None:
            return run_examples(self, split)
        text = given_text(text)
        examples = labelled_dataset.read_named(text, self.config.data) if isinstance(text, str) else text
        return labelled_dataset.make_split("given", checked_examples(examples, Choices))

    def signature_fields(self) -> dict[str, object]:
        """The tokenizer and context, for signatures."""
        tokenizer = f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}"
        return {"tok": tokenizer, "ctx": f"choices/{self.config.batching.length}"}

    def sample(self) -> str:
        """Nothing: a choice needs a question."""
        return ""

    def samples(self, seed: int) -> list[str]:
        """Held-out questions with the right and the chosen answer."""
        split = run_examples(self, "test" if "test" in self.run.record.data["splits"] else "valid")
        shown = replace(split, examples=split.examples[:REPORT_QUESTIONS]).examples
        rows = zip(shown, self.choice_probabilities(shown), strict=True)
        return [
            f"{each.question} | {each.choices[each.answer or 0]} | {each.choices[int(row.argmax())]} {row.max():.2f}"
            for each, row in rows
        ]

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
        read_options(ChoiceOptions, options)
        questions = [_parse_line(each) if isinstance(each, str) else each for each in inputs]
        answers = []
        for each, row in zip(questions, self.choice_probabilities(questions), strict=True):
            choices = [[each.choices[at], float(row[at])] for at in np.argsort(-row, kind="stable")]
            answers.append({"context": each.context, "question": each.question, "choices": choices})
        return answers

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


def _parse_line(line: str) -> Choices:
    """A question from one line: context (may be empty), question, and choices, with tabs between."""
    context, *rest = line.split(SEPARATOR)
    if len(rest) < 3:
        do = "give the context (it may be empty), the question and two or more choices, with tabs between them"
        raise FirthError("a question without choices", do=do)
    return Choices(context, rest[0], tuple(rest[1:]))
