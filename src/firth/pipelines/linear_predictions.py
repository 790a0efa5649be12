"""Linear models in use: labels and values of texts and text pairs, their explanation, the most informative features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.arguments import as_list, as_texts
from firth.config import schema
from firth.config.core import bounded
from firth.datasets import labelled_dataset
from firth.datasets.records import Pair
from firth.display import Table
from firth.errors import FirthError, unknown
from firth.linear.linear_model import LinearModel
from firth.linear.pair_features import PairVectorizer
from firth.linear.vectorizer import Vectorizer
from firth.metrics import classification
from firth.metrics.correlation import pearson, spearman
from firth.metrics.error_analysis import ErrorAnalysis
from firth.metrics.score import Score
from firth.pipelines.file_inputs import text_cells
from firth.pipelines.label_errors import analyse_values
from firth.pipelines.label_predictions import BaseClassifier, ClassifyOptions
from firth.runs.run_folder import Run
from firth.runs.trained_model import read_options
from firth.tokenizers.tokenizer import Tokenizer

SEPARATOR = "\t"  # between the two texts of a pair in one line
THRESHOLD = 0.5  # probability from which a label of a multi-label text is predicted
INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class LinearOptions(ClassifyOptions):
    """The options of `firth run` for linear models."""

    features: bool = False  # the most informative features instead of labels
    explain: bool = False  # the features that decided
    min_documents: int = bounded(3, least=1)  # of --features: training texts that have the feature


@dataclass(frozen=True)
class Contribution:
    """What a feature adds to the score of a label; in a text, its weight times its value."""

    feature: str
    weight: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return dict(vars(self))


class LinearTextClassifier(BaseClassifier):
    """A trained linear classifier of texts or text pairs: what `firth.load` returns for one."""

    tokenizer: Tokenizer

    def __init__(
        self, run: Run, tokenizer: Tokenizer, model: LinearModel, features: Vectorizer | PairVectorizer
    ) -> None:
        self.run, self.tokenizer, self.model, self.features = run, tokenizer, model, features
        self.config: schema.LinearClassifier = run.record.config

    @property
    def labels(self) -> tuple[str, ...]:
        """All classes, from frequent to rare."""
        return self.model.labels

    @property
    def independent_labels(self) -> bool:
        """Whether the probabilities of labels are independent of each other (multi-label)."""
        return self.config.problem_type == "multi-label"

    @property
    def texts_per_example(self) -> int:
        """Texts per example: 1, or 2 of a text pair."""
        return int(self.run.record.data["parts"])

    def is_single(self, texts: Any) -> bool:
        """Whether this is one text or one text pair (a tuple of two strings)."""
        is_pair = isinstance(texts, tuple) and self.texts_per_example == 2 and len(texts) == 2
        return isinstance(texts, str) or (is_pair and all(isinstance(text, str) for text in texts))

    def predict_proba(self, texts: str | Iterable[str] | Iterable[tuple[str, str]]) -> np.ndarray:
        """The probability of every label for a text or pair (labels,) or for each of a list (texts, labels), in the
        order of `labels`."""
        return self._outputs(texts)

    def _outputs(self, texts: Any) -> np.ndarray:
        """Probabilities or values (texts, labels); of a single text (labels,)."""
        if self.is_single(texts):
            return self._outputs([texts])[0]
        return self.model.probabilities(self.features.transform(self._sides(as_list(texts))))

    def _sides(self, texts: Sequence[Any]) -> Any:
        """Texts, or pairs of them, as the features want them."""
        sides = [(text,) if isinstance(text, str) else tuple(as_texts(text)) for text in texts]
        if any(len(each) != self.texts_per_example for each in sides):
            pairs = self.texts_per_example == 2
            what = f"this model takes {'text pairs' if pairs else 'single texts'}"
            raise FirthError(what, do="give two texts, with a tab between them" if pairs else "give one at a time")
        return sides if self.texts_per_example == 2 else [text for (text,) in sides]

    # --- explanation ----------------------------------------------------------------------------------------------

    def explain(self, text: Any, label: str = "", count: int = 10) -> Table[Contribution]:
        """The features of a text that speak most for a label (by default the most probable) or against it.

        The weights of all of them and of the intercept sum to the label's score, less the mean score of all labels."""
        (inputs,) = self._sides([text])
        column = self._number(label or self.predict(text)[0][0])
        values = self.features.transform([inputs])
        of_column = dict(zip(values.indices.tolist(), values.data.tolist(), strict=True))
        weights = self.model.preferences[:, column]
        named = {feature.column: feature.name for feature in self.features.find(inputs)}
        rows = [Contribution(named[at], float(weights[at]) * value) for at, value in of_column.items() if at in named]
        return _largest([Contribution(INTERCEPT, self._intercept(column)), *rows], count)

    def _intercept(self, column: int) -> float:
        intercept = self.model.intercept
        return float(intercept[column] - (intercept.mean() if self.model.link == "softmax" else 0.0))

    def most_informative(self, label: str, count: int = 20, min_documents: int = 3) -> Table[Contribution]:
        """The features with the largest weights for a label, among those of so many training texts."""
        weights = self.model.preferences[:, self._number(label)]
        (usual,) = np.nonzero((self.features.documents >= min_documents) & (weights > 0))
        order = usual[np.argsort(-weights[usual], kind="stable")][:count]
        return Table(Contribution(self.features.name(int(column)), float(weights[column])) for column in order)

    def _number(self, label: str) -> int:
        if label not in self.labels:
            raise unknown("label", label, self.labels)
        return self.labels.index(label)

    # --- evaluation -----------------------------------------------------------------------------------------------

    def load_examples(
        self, text: str | Iterable[labelled_dataset.Example] | None, split: str
    ) -> labelled_dataset.Split:
        """Examples to score."""
        if text is None and split == "valid" and self.config.refit:
            what = "the final model was trained on the validation examples too (refit)"
            raise FirthError(what, where=self.run.path, do="evaluate it on the test examples")
        return super().load_examples(text, split)

    def scores(self, split: labelled_dataset.Split) -> list[Score]:
        """Accuracy (or precision and recall at 1) and macro F1; of multi-label texts that of the labels above the
        threshold."""
        scores = super().scores(split)
        if self.config.problem_type != "multi-label" or scores[0].name == "accuracy":
            return scores
        predictions = self.predict(self.inputs(split), len(self.labels), THRESHOLD)
        predicted = [[label for label, _ in labels] for labels in predictions]
        signed = self.signed(split, f"from/{THRESHOLD}")
        return Table([*scores[:-1], Score("macro_f1", classification.macro_f1(split.labels, predicted), signed)])

    # --- the command line -----------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        example = "$'TEXT\\tTEXT'" if self.texts_per_example == 2 else '"TEXT"'
        return f"firth run {self.run.path} {example}"

    def parse_input(self, line: str) -> str | tuple[str, ...]:
        """A text, or two with a tab between them."""
        return line if self.texts_per_example == 1 or SEPARATOR not in line else tuple(line.split(SEPARATOR))

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The labels of a text, with what decided if that is wanted; or the most informative features of each label."""
        parsed = read_options(LinearOptions, options)
        if parsed.features:
            count = parsed.count if "count" in options else 10
            of_label = {name: self.most_informative(name, count, parsed.min_documents) for name in self.labels}
            return {"features": {name: [[*vars(row).values()] for row in rows] for name, rows in of_label.items()}}
        (answer,) = self.answer_inputs([self.parse_input(line)], options)
        return answer | {"input": line}

    def answer_inputs(self, inputs: Sequence[Any], options: Mapping[str, object]) -> list[dict[str, Any]]:
        """The labels of each input, with what decided if that is wanted."""
        parsed = read_options(LinearOptions, options)
        if parsed.features:
            raise FirthError("the features of labels need no input", where="--features", do="leave out the input")
        answers = self._answers(inputs, parsed)
        return [answer | self._reasons(each, parsed.explain) for each, answer in zip(inputs, answers, strict=True)]

    def _answers(self, inputs: Sequence[Any], options: LinearOptions) -> list[dict[str, Any]]:
        predictions = zip(inputs, self.predict(inputs, options.count, options.threshold), strict=True)
        return [{"input": each, "labels": [[label, p] for label, p in labels]} for each, labels in predictions]

    def _reasons(self, text: Any, explain: bool) -> dict[str, Any]:
        """What decided, if it is wanted; and whether nothing of the text is known."""
        known = bool(self.features.find(self._sides([text])[0])) or not self.features.documents.any()
        reasons = {"explanation": [[*vars(row).values()] for row in self.explain(text)]} if explain else {}
        return reasons | ({} if known else {"note": "no word of it is known"})

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        if "features" in answer:
            of_label = answer["features"].items()
            return "\n".join(f"{weight:.4f}\t{label}\t{name}" for label, rows in of_label for name, weight in rows)
        return "\n".join([*self._format_predictions(answer), *_format_reasons(answer)])

    def _format_predictions(self, answer: Mapping[str, Any]) -> list[str]:
        note = f"\t({answer['note']})" if "note" in answer else ""
        return [f"{probability:.4f}\t{label}{note}" for label, probability in answer["labels"]]


class LinearRegressor(LinearTextClassifier):
    """A trained linear regression of texts or text pairs: what `firth.load` returns for one."""

    def predict(self, texts: Any, count: int = 1, threshold: float = 0.0) -> Any:
        """The value of a text or pair, or an array of them for a list."""
        values = self._outputs(texts)[..., 0]
        return float(values) if values.ndim == 0 else values

    def predict_proba(self, texts: Any) -> np.ndarray:
        """Refused: a regression has no probabilities."""
        raise FirthError("a regression model has values, not probabilities", where=self.run.path, do="call predict")

    def explain(self, text: Any, label: str = "", count: int = 10) -> Table[Contribution]:
        """The features that change the value of a text most. The weights of all of them and of the intercept sum to
        the value."""
        return super().explain(text, label or self.labels[0], count)

    def scores(self, split: labelled_dataset.Split) -> list[Score]:
        """Spearman and Pearson correlation with the gold values."""
        gold, values, signed = self._gold(split), self.predict(self.inputs(split)), self.signed(split)
        return Table(
            [Score("spearman", spearman(values, gold), signed), Score("pearson", pearson(values, gold), signed)]
        )

    def error_analysis(self, text: Any = None, split: str = "test") -> ErrorAnalysis:
        """Mean errors of the values of what `evaluate` scores, and its examples by their squared error."""
        examples = self.load_examples(text, split)
        return analyse_values(examples, self._gold(examples), self.predict(self.inputs(examples)))

    def _gold(self, split: labelled_dataset.Split) -> list[float]:
        gold = [example.score for example in split.examples if isinstance(example, Pair) and example.score is not None]
        if not gold or len(gold) < len(split.examples):
            raise FirthError("no pairs with a score to compare with", where=split.name, do="give pairs with scores")
        return gold

    def score(self, texts: Any, labels: Iterable[Any]) -> float:
        """The coefficient of determination (R²) of the values, as scikit-learn's `score` of a regressor."""
        values, gold = np.asarray(self.predict(list(texts))), np.asarray(list(labels), np.float64)
        if values.shape != gold.shape or not len(gold):
            raise FirthError(f"{len(values)} texts and {len(gold)} values", do="give a value for each text")
        return float(1.0 - ((gold - values) ** 2).sum() / ((gold - gold.mean()) ** 2).sum())

    def _answers(self, inputs: Sequence[Any], options: LinearOptions) -> list[dict[str, Any]]:
        values = zip(inputs, self.predict(inputs).tolist(), strict=True)
        return [{"input": each, "value": value} for each, value in values]

    def table_rows(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A row with the value of an answer."""
        return [text_cells(answer["input"]) | {"value": answer["value"]}]

    def _format_predictions(self, answer: Mapping[str, Any]) -> list[str]:
        return [f"{answer['value']:.4f}" + (f"\t({answer['note']})" if "note" in answer else "")]

    def report_examples(self, split: labelled_dataset.Split, count: int) -> list[str]:
        """Some examples for the report: gold value, predicted value, the texts."""
        examples = split.examples[:count]
        values = self.predict(self.inputs(labelled_dataset.make_split(split.name, examples)))
        return [
            f"{example.score:.2f} | {value:.2f} | {labelled_dataset.describe(example)[:300]}"
            for example, value in zip(examples, values, strict=True)
        ]


def _largest(rows: Iterable[Contribution], count: int) -> Table[Contribution]:
    """The contributions of the largest magnitude, the largest first."""
    return Table(sorted(rows, key=lambda each: -abs(each.weight))[:count])


def _format_reasons(answer: Mapping[str, Any]) -> list[str]:
    return [f"  {weight:+.4f}\t{name}" for name, weight in answer.get("explanation", [])]
