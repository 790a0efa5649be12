"""How a model is scored for a learning curve: the metric of its task, and its counts on test items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets import labelled_dataset, tagged_sentences
from firth.datasets.labelled_dataset import Split
from firth.errors import FirthError
from firth.ladder.labelled_tasks import TASKS
from firth.metrics import question_answering
from firth.metrics.ladder_metric import ACCURACY, ANSWER_F1, CHUNK_F1, LadderMetric
from firth.pipelines.linear_tagging import read_sentences


@dataclass(frozen=True)
class CurveScoring:
    """The items of a task, and the counts of its metric for each (items, statistics)."""

    item: str
    read: Callable[[Any], dict[str, Split]]  # the splits of a configuration
    metric: Callable[[Any], LadderMetric]  # of a trained model
    count: Callable[[Any, Split], np.ndarray]


def _read_examples(config: Any) -> dict[str, Split]:
    return labelled_dataset.read(config.data, config.seed)


def _read_tags(config: Any) -> dict[str, Split]:
    if isinstance(config, schema.LinearTagger):
        return read_sentences(config).splits
    return tagged_sentences.read(config.data, config.seed).splits


def _count_labels(model: Any, split: Split) -> np.ndarray:
    task = TASKS["classification"]
    return task.scorings["accuracy"].count(task.gold(split), task.predict(model, split), ())


def _tag_metric(model: Any) -> LadderMetric:
    return CHUNK_F1 if model.layer in model.schemes else ACCURACY


def _count_tags(model: Any, split: Split) -> np.ndarray:
    task = TASKS["ner"]
    name = {CHUNK_F1: "chunk-f1", ACCURACY: "accuracy"}[_tag_metric(model)]
    return task.scorings[name].count(task.gold(split), task.predict(model, split), ())


def _count_answers(model: Any, split: Split) -> np.ndarray:
    """F1 of each question's answer, at the model's threshold."""
    results = model.candidates([(each.text, each.context) for each in split.examples])
    answers = [each.answers[0].text if each.answers else "" for each in results]
    references = [[answer.text for answer in each.answers or ()] for each in split.examples]
    scores = question_answering.score_answers(answers, references)
    no_answer = np.array([each.no_answer for each in results])
    scores = question_answering.apply_threshold(scores, no_answer, model.threshold)
    return np.stack([scores.f1, np.ones(len(scores.f1))], 1)


def find_scoring(config: schema.System) -> CurveScoring:
    """The scoring of a configuration's task; an error for a task without one."""
    data = config.data
    if isinstance(data, schema.TaggedWords):
        return CurveScoring("sentence", _read_tags, _tag_metric, _count_tags)
    if isinstance(data, schema.Questions):
        return CurveScoring("question", _read_examples, lambda model: ANSWER_F1, _count_answers)
    is_labels = isinstance(config, (schema.LinearClassifier, schema.FastTextClassifier)) or (
        isinstance(config, schema.Neural) and config.head.predicts == "labels"
    )
    is_value = isinstance(getattr(config, "method", None), schema.RidgeRegression) or (
        isinstance(config, schema.Neural) and config.head.problem_type == "regression"
    )
    if is_labels and not is_value and isinstance(data, schema.LabelledExamples):
        return CurveScoring("text", _read_examples, lambda model: ACCURACY, _count_labels)
    what = "a learning curve is of classifiers, taggers and question answering"
    raise FirthError(what, where="--learning-curve", do="choose such a preset, or leave the option out")
