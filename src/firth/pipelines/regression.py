"""Regression of texts and sentence pairs with a network: values instead of labels (similarity, relevance, ratings)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.label_ids import VALUE, example_targets
from firth.datasets.records import Pair
from firth.display import Table
from firth.errors import FirthError
from firth.metrics.correlation import pearson, spearman
from firth.metrics.error_analysis import ErrorAnalysis
from firth.metrics.score import Score
from firth.models.build import System
from firth.pipelines.classify import ImageClassifier, NeuralClassifier, TextClassifier
from firth.pipelines.file_inputs import text_cells
from firth.pipelines.label_errors import analyse_values
from firth.runs.run_folder import Run
from firth.runs.trained_model import read_options
from firth.tokenizers.tokenizer import Tokenizer

_PAIRS = schema.TaskExamples(tasks=("similarity",))


@dataclass(frozen=True)
class RegressionOptions:
    """The options of `firth run` for regression models: none."""


class TextRegressor(TextClassifier):
    """A text regression model, such as a cross-encoder: what `firth.load` returns for one."""

    def predict(self, texts: Any, count: int = 1, threshold: float = 0.0) -> Any:
        """The value of a text or sentence pair, or an array of them for a list; with several labels an array of values
        for each."""
        values = self.outputs(texts, self.label_scores)
        values = values[..., 0] if len(self.labels) == 1 else values
        return float(values) if values.ndim == 0 else values

    def predict_proba(self, texts: Any) -> np.ndarray:
        """Refused: a regression has no probabilities."""
        raise FirthError("a regression model has values, not probabilities", where=self.run.path, do="call predict")

    # --- evaluation -------------------------------------------------------------------------------------------

    def scores(self, split: labelled_dataset.Split) -> list[Score]:
        """Spearman and Pearson correlation with the gold values, and the mean squared error."""
        if len(self.labels) > 1:
            raise FirthError("several values", where=split.name, do="score a model of one value")
        gold, values, signed = self._gold(split), self.predict(self.inputs(split)), self.signed(split)
        correlations = {"spearman": spearman(values, gold), "pearson": pearson(values, gold)}
        named = correlations | {"mean_squared_error": float(((values - gold) ** 2).mean())}
        return Table([Score(name, value, signed) for name, value in named.items()])

    def error_analysis(self, text: Any = None, split: str = "test") -> ErrorAnalysis:
        """Mean errors of the values of what `evaluate` scores, and its examples by their squared error."""
        examples = self.load_examples(text, split)
        return analyse_values(examples, self._gold(examples), self.predict(self.inputs(examples)))

    def _gold(self, split: labelled_dataset.Split) -> np.ndarray:
        """The gold values of pairs with scores, or of texts whose labels are numbers."""
        if not split.examples or any(isinstance(each, Pair) and each.score is None for each in split.examples):
            do = "give texts or pairs with scores to a model of values"
            raise FirthError("no scores to compare with", where=split.name, do=do)
        return np.asarray(example_targets(split, (VALUE,), "regression").values, np.float64)

    def report_examples(self, split: labelled_dataset.Split, count: int) -> list[str]:
        """Some examples for the report: the gold value, the predicted value, the text."""
        shown = labelled_dataset.make_split(split.name, split.examples[:count])
        rows = zip(self._gold(shown), self.predict(self.inputs(shown)), shown.examples, strict=True)
        return [f"{gold:g} | {value:.3f} | {labelled_dataset.describe(example)[:300]}" for gold, value, example in rows]

    def load_examples(
        self, text: str | Iterable[labelled_dataset.Example] | None, split: str
    ) -> labelled_dataset.Split:
        """Texts or sentence pairs with scores."""
        if not isinstance(text, str) or "similarity" in self.config.data.tasks:
            return super().load_examples(text, split)
        return labelled_dataset.make_split("given", labelled_dataset.read_named(text, _PAIRS))

    def score(self, texts: Any, labels: Iterable[Any]) -> float:
        """The coefficient of determination (R²) of the values, as scikit-learn's `score` of a regressor."""
        values, gold = np.asarray(self.predict(list(texts))), np.asarray(list(labels), np.float64)
        if values.shape != gold.shape or not len(gold):
            raise FirthError(f"{len(values)} texts and {len(gold)} values", do="give a value for each text")
        return float(1.0 - ((gold - values) ** 2).sum() / ((gold - gold.mean(0)) ** 2).sum())

    # --- the command line -------------------------------------------------------------------------------------

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The values of a text."""
        (answer,) = self.answer_inputs([self.parse_input(line)], options)
        return answer | {"input": line}

    def answer_inputs(self, inputs: Sequence[Any], options: Mapping[str, object]) -> list[dict[str, Any]]:
        """The values of each input."""
        read_options(RegressionOptions, options)
        rows = zip(inputs, self.outputs(list(inputs), self.label_scores).tolist(), strict=True)
        return [{"input": each, "values": [[*pair] for pair in zip(self.labels, row, strict=True)]}
                for each, row in rows]  # fmt: skip

    def table_rows(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A row with all values of an answer."""
        return [text_cells(answer["input"]) | dict(answer["values"])]

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        return "\n".join(f"{value:.4f}\t{label}" for label, value in answer["values"])


def make_classifier(run: Run, tokenizer: Tokenizer | None, system: System) -> NeuralClassifier:
    """The classifier for the network's kind of input, or the regression model."""
    config = run.record.config
    if "pixels" in config.streams.values():
        return ImageClassifier(run, tokenizer, system)
    kind = TextRegressor if config.head.problem_type == "regression" else TextClassifier
    return kind(run, tokenizer, system)
