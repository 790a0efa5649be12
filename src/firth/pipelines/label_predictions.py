"""The base of classifiers of texts or images: predicted labels, accuracy, macro F1, the command line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from firth.arguments import as_count, as_list, as_texts
from firth.config.core import bounded
from firth.datasets import labelled_dataset
from firth.datasets.records import Record
from firth.display import Table
from firth.errors import FirthError, unknown
from firth.metrics import classification
from firth.metrics.error_analysis import ErrorAnalysis
from firth.metrics.score import Score, signature
from firth.pipelines.file_inputs import read_texts, text_cells
from firth.pipelines.label_errors import analyse_labels
from firth.runs.run_folder import Run
from firth.runs.trained_model import TrainedModel, given_text, read_options
from firth.tokenizers.tokenizer import Tokenizer

LabelPredictions = list[list[tuple[str, float]]]  # for each input the most probable labels with their probabilities


@dataclass(frozen=True)
class ClassifyOptions:
    """The options of `firth run` for classifiers."""

    count: int = bounded(1, least=1)
    threshold: float = bounded(0.0, least=0.0, most=1.0)


class BaseClassifier(TrainedModel, ABC):
    """A trained classifier with its run and its tokenizer."""

    run: Run
    tokenizer: Tokenizer | None
    config: Any

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """All classes, from frequent to rare."""

    def predict(self, texts: Any, count: int = 1, threshold: float = 0.0) -> Any:
        """The `count` most probable labels of an input with their probabilities, none below the threshold; of a list
        of inputs, a list of these."""
        if self.is_single(texts):
            return self.predict([texts], count, threshold)[0]
        count = as_count(count)
        probabilities, labels = self.predict_proba(texts), self.labels
        best = np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
        rows = zip(best.tolist(), probabilities, strict=True)
        return [[(labels[n], float(row[n])) for n in numbers if row[n] >= threshold] for numbers, row in rows]

    @abstractmethod
    def predict_proba(self, texts: Any) -> np.ndarray:
        """The probability of every label for an input (labels,) or for each of a list (inputs, labels), in the order
        of `labels`."""

    def is_single(self, texts: Any) -> bool:
        """Whether this is one input, not a list of them."""
        return isinstance(texts, str)

    # --- evaluation -------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[labelled_dataset.Example] | None = None, split: str = "test", **_: Any
    ) -> list[Score]:
        """Signed scores on a split of the run's own examples, on a file or set, or on examples from Python."""
        return self.scores(self.load_examples(text, split))

    def load_examples(
        self, text: str | Iterable[labelled_dataset.Example] | None, split: str
    ) -> labelled_dataset.Split:
        """Examples to score; those that are loaded already are returned."""
        if isinstance(text, labelled_dataset.Split):
            return text
        if text is None:
            return run_examples(self, split)
        text = given_text(text)
        examples = labelled_dataset.read_named(text, self.config.data) if isinstance(text, str) else text
        return labelled_dataset.make_split("given", checked_examples(examples))

    def scores(self, split: labelled_dataset.Split) -> list[Score]:
        """Accuracy (or precision and recall at 1, where examples have several labels) and macro F1."""
        gold = split.labels
        if not gold:
            raise FirthError("no examples to score", where=split.name, do="give at least one")
        predicted = [[label for label, _ in labels] for labels in self.predict(self.inputs(split))]
        names = ["accuracy"] if all(len(labels) == 1 for labels in gold) else ["precision@1", "recall@1"]
        values = [classification.precision(gold, predicted), classification.recall(gold, predicted)][: len(names)]
        signed, note = self.signed(split), unseen_note(gold, self.labels)
        scores = [Score(name, value, signed, note) for name, value in zip(names, values, strict=True)]
        return Table([*scores, Score("macro_f1", classification.macro_f1(gold, predicted), signed)])

    def score(self, texts: Any, labels: Iterable[str]) -> float:
        """The accuracy of the most probable labels, as scikit-learn's `score`."""
        predictions, gold = self.predict(as_list(texts)), as_texts(labels)
        if len(predictions) != len(gold) or not gold:
            raise FirthError(f"{len(predictions)} texts and {len(gold)} labels", do="give a label for each text")
        return sum(row[0][0] == label for row, label in zip(predictions, gold, strict=True)) / len(gold)

    @property
    def independent_labels(self) -> bool:
        """Whether the probabilities of labels are independent of each other (multi-label)."""
        return False

    def error_analysis(self, text: Any = None, split: str = "test") -> ErrorAnalysis:
        """Scores by class, confusions and calibration of what `evaluate` scores, and its examples by their loss."""
        examples = self.load_examples(text, split)
        if not examples.examples:
            raise FirthError("no examples to score", where=examples.name, do="give at least one")
        probabilities = np.asarray(self.predict_proba(self.inputs(examples)))
        return analyse_labels(examples, probabilities, self.labels, self.independent_labels)

    def inputs(self, split: labelled_dataset.Split) -> list[Any]:
        """The inputs to classify: texts, or sentence pairs."""
        texts = [labelled_dataset.texts_of(example) for example in split.examples]
        return [text for (text,) in texts] if texts and len(texts[0]) == 1 else texts

    def signed(self, split: labelled_dataset.Split, guess: str = "first") -> str:
        """The signature of a score."""
        fields = {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "guess": guess}
        return signature({**fields, **split.signed_fields})

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f'firth run {self.run.path} "TEXT"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The labels of a text."""
        (answer,) = self.answer_inputs([self.parse_input(line)], options)
        return answer | {"input": line}

    def answer_inputs(self, inputs: Sequence[Any], options: Mapping[str, object]) -> list[dict[str, Any]]:
        """The labels of each input."""
        parsed = read_options(ClassifyOptions, options)
        predictions = zip(inputs, self.predict(inputs, parsed.count, parsed.threshold), strict=True)
        return [{"input": each, "labels": [[label, p] for label, p in labels]} for each, labels in predictions]

    def parse_input(self, line: str) -> Any:
        """The input to classify, from a line of `firth run`."""
        return line

    def read_input(self, record: Record, columns: Mapping[str, str]) -> Any:
        """The input to classify, from a record of a file."""
        return read_texts(record, getattr(self, "texts_per_example", 1), columns)

    def table_rows(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A row for each label of an answer, one without a label if there is none."""
        rows = [{"label": label, "probability": probability} for label, probability in answer["labels"]]
        return [text_cells(answer["input"]) | row for row in rows or [{"label": "", "probability": ""}]]

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        return "\n".join(f"{probability:.4f}\t{label}" for label, probability in answer["labels"])

    def report_examples(self, split: labelled_dataset.Split, count: int) -> list[str]:
        """Some examples for the report: gold labels, predicted labels, the text."""
        examples = labelled_dataset.make_split(split.name, split.examples[:count])
        predictions = zip(examples.examples, self.predict(self.inputs(examples)), strict=True)
        return [_example_line(example, labels) for example, labels in predictions]


def unseen_note(gold: Iterable[Collection[str]], labels: Collection[str]) -> str:
    """The note on scores where some examples have labels that cannot be predicted; empty where none has."""
    known = set(labels)
    unseen = [label for each in gold for label in each if label not in known]
    names = ", ".join(list(dict.fromkeys(unseen))[:5])
    several = f"{len(unseen):,} of the labels are" if len(unseen) > 1 else "1 of the labels is"
    return f"{several} not in the training examples: {names}" if unseen else ""


def run_examples(
    model: TrainedModel,
    split: str,
    read: Callable[[Any, int], dict[str, labelled_dataset.Split]] = labelled_dataset.read,
) -> labelled_dataset.Split:
    """A split of the examples of a model's run, or a sample of it; refused if they have changed since training."""
    run = model.run
    known, config = run.record.data["splits"], run.record.config
    if not known:
        raise FirthError("an imported model has no examples of its own", where=run.path, do="give some with --text")
    if split not in known:
        raise unknown("split", split, known)
    examples = read(config.data, config.seed)[split]
    if examples.key != known[split]:
        what, do = f"the {split} text has changed since this run began", "restore it, or choose another --out"
        raise FirthError(what, where=run.path, do=do)
    if model.sample_every == 1:
        return examples
    sample = labelled_dataset.make_split(model.sampled(split), examples.examples[:: model.sample_every])
    return replace(sample, overlap=examples.overlap)


def checked_examples(examples: Iterable[Any], *kinds: type) -> list[labelled_dataset.Example]:
    """Examples from Python, each of these kinds of record (of any kind, if none is named); others are refused."""
    examples, kinds = list(examples), kinds or get_args(labelled_dataset.Example)
    for number, example in enumerate(examples):
        if not isinstance(example, kinds):
            what = f"example {number} is a {type(example).__name__}, not a {kinds[0].__name__}"
            raise FirthError(what, do=f"make it with firth.datasets.records.{kinds[0].__name__}")
    return examples


def _example_line(example: labelled_dataset.Example, predicted: Sequence[tuple[str, float]]) -> str:
    predictions = ", ".join(f"{label} {probability:.2f}" for label, probability in predicted)
    return (
        f"{' '.join(labelled_dataset.labels_of(example))} | {predictions} | {labelled_dataset.describe(example)[:300]}"
    )
