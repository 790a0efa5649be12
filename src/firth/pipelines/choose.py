"""Multiple choice with a trained head: the probability that each choice is the answer to a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from firth.datasets import labelled_dataset
from firth.datasets.choice_dataset import encode_choices
from firth.datasets.collators.sentence_pairs import build_input_sequence, pad_examples
from firth.datasets.records import Choices
from firth.models.build import System
from firth.models.heads.choice import CHOICE
from firth.pipelines.choice_answers import ChoiceAnswers, check_choices
from firth.pipelines.encode_texts import group_by_length
from firth.pipelines.label_predictions import run_examples
from firth.runs.run_folder import Run
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch

REPORT_QUESTIONS = 12


class ChoiceModel(ChoiceAnswers):
    """A trained multiple-choice model: what `firth.load` returns for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        self.run, self.tokenizer, self.system = run, tokenizer, system
        self.config = run.record.config

    @staticmethod
    def metric_value(total: float, count: float) -> float:
        """The metric that is logged during training, from its sum and count."""
        return total / count

    @torch.no_grad()
    def choice_probabilities(self, questions: Sequence[Choices]) -> list[np.ndarray]:
        """The probability of each choice of every question (choices,)."""
        check_choices(questions)
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

    def own_questions(self, split: str) -> labelled_dataset.Split:
        """The questions of a split of the run's own data."""
        return run_examples(self, split)

    def read_named(self, name: str) -> Iterable[Any]:
        """The questions of a file or set."""
        return labelled_dataset.read_named(name, self.config.data)

    def signature_fields(self) -> dict[str, object]:
        """The tokenizer and context, for signatures."""
        tokenizer = f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}"
        return {"tok": tokenizer, "ctx": f"choices/{self.config.batching.length}"}

    # --- samples during training ------------------------------------------------------------------------------

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
