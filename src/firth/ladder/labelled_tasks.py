"""The labelled tasks that have a ladder: their data, metrics and rungs, in one literal table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.config.schema import LabelledExamples, TaggedWords, TaskExamples
from firth.datasets import labelled_dataset, tagged_sentences
from firth.datasets.labelled_dataset import Split
from firth.metrics import tagging
from firth.metrics.label_counts import count_labels
from firth.metrics.ladder_metric import ACCURACY, CHUNK_F1, MACRO_F1, LadderMetric

Outputs = Sequence[Any]  # of each held-out item: a set of labels, or the tags of its words


@dataclass(frozen=True)
class Scoring:
    """A metric of a task, and its counts (items, statistics) from gold, predicted and all known outputs."""

    metric: LadderMetric
    count: Callable[[Outputs, Outputs, Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class TaskRung:
    """A preset on a ladder. `cost` is the time of training, relative to averaged vectors, that it needs; 0: it trains
    without a budget. `tuned` starts from the run that --init-from names, and is left out without one."""

    preset: str
    description: str  # in plain words
    cost: float = 0.0
    settings: tuple[str, ...] = ()
    size: str = ""  # empty: by the budget
    tuned: bool = False


@dataclass(frozen=True)
class LadderTask:
    """A task with a ladder."""

    item: str  # what has a label or tags
    data: LabelledExamples  # as it is read; of the user's settings only where the examples are
    read: Callable[[Any, int, Callable[[str], None]], dict[str, Split]]
    gold: Callable[[Split], Outputs]
    predict: Callable[[Any, Split], Outputs]  # of a trained model
    scorings: Mapping[str, Scoring]  # the first is the default
    rungs: Mapping[str, TaskRung]


# --- labels of texts and pairs --------------------------------------------------------------------------------------


def _gold_labels(split: Split) -> Outputs:
    return split.labels


def _predict_labels(model: Any, split: Split) -> Outputs:
    return [tuple(label for label, _ in labels[:1]) for labels in model.predict(model.inputs(split))]


def _count_right(gold: Outputs, predicted: Outputs, labels: Sequence[str]) -> np.ndarray:
    """Right ones, all: of several gold labels any is right."""
    return np.array([(bool({*true} & {*guess}), 1) for true, guess in zip(gold, predicted, strict=True)], float)


def _count_by_label(gold: Outputs, predicted: Outputs, labels: Sequence[str]) -> np.ndarray:
    """Correct, predicted and gold items of each label, the same columns for all rungs."""
    return count_labels(gold, predicted).statistics("macro", labels).counts


# --- tags of words --------------------------------------------------------------------------------------------------


def _read_tags(config: TaggedWords, seed: int, say: Callable[[str], None]) -> dict[str, Split]:
    return tagged_sentences.read(config, seed, say).splits


def _gold_tags(split: Split) -> Outputs:
    return [sentence.tags[0] for sentence in split.examples]


def _predict_tags(model: Any, split: Split) -> Outputs:
    return model.tags_of(split)[model.layer]


def _count_tokens(gold: Outputs, predicted: Outputs, labels: Sequence[str]) -> np.ndarray:
    return tagging.token_accuracy(gold, predicted).counts


def _count_chunks(gold: Outputs, predicted: Outputs, labels: Sequence[str]) -> np.ndarray:
    """Counted as seqeval does, which reads every scheme: a rung may tag in another one than the file."""
    return tagging.chunk_f1(gold, predicted, "seqeval").counts


_LABELS = {"accuracy": Scoring(ACCURACY, _count_right), "macro-f1": Scoring(MACRO_F1, _count_by_label)}
_TOKENS = Scoring(ACCURACY, _count_tokens)
_CHUNKS = Scoring(CHUNK_F1, _count_chunks)

_BAGS = {
    "majority-class": TaskRung("majority-class", "the most frequent label, whatever the text"),
    "naive-bayes": TaskRung("naive-bayes", "naive Bayes on words"),
    "logistic-regression": TaskRung("logistic-regression", "logistic regression on word n-grams"),
}
_NETWORKS = {
    "averaged-vectors": TaskRung("averaged-vectors", "a network over the mean of word vectors", 1.0),
    "text-cnn": TaskRung("text-cnn", "a convolutional network", 2.0),
    "bilstm-classifier": TaskRung("bilstm-classifier", "a bidirectional LSTM", 3.0),
    "classifier": TaskRung("classifier", "a small Transformer, trained from scratch", 3.0),
    "fine-tuned": TaskRung("bert-classifier", "the pre-trained run, fine-tuned", 4.0, size="mini", tuned=True),
}
_TAG_COUNTS = {
    "most-frequent-tag": TaskRung("most-frequent-tag", "the most frequent tag of each word"),
    "hmm-tagger": TaskRung("hmm-tagger", "a hidden Markov model"),
    "crf-tagger": TaskRung("crf-tagger", "a conditional random field on features of words"),
}
_TUNED_TAGGER = TaskRung("bert-tagger", "the pre-trained run, fine-tuned", 4.0, size="mini", tuned=True)

TASKS: Mapping[str, LadderTask] = {
    "classification": LadderTask(
        item="text",
        data=TaskExamples(text=("world",), tasks=("classification",)),
        read=labelled_dataset.read,
        gold=_gold_labels,
        predict=_predict_labels,
        scorings=_LABELS,
        rungs={**_BAGS, "fasttext-classifier": TaskRung("fasttext-classifier", "fastText's classifier"), **_NETWORKS},
    ),
    "pairs": LadderTask(
        item="text pair",
        data=TaskExamples(text=("world",), tasks=("pairs",)),
        read=labelled_dataset.read,
        gold=_gold_labels,
        predict=_predict_labels,
        scorings=_LABELS,
        rungs={**_BAGS, **_NETWORKS},
    ),
    "tagging": LadderTask(
        item="sentence",
        data=TaggedWords(tasks=("tagging",)),
        read=_read_tags,
        gold=_gold_tags,
        predict=_predict_tags,
        scorings={"accuracy": _TOKENS},
        rungs={
            **_TAG_COUNTS,
            "pos-tagger": TaskRung("pos-tagger", "a bidirectional LSTM over words and characters", 2.0),
            "fine-tuned": _TUNED_TAGGER,
        },
    ),
    "ner": LadderTask(
        item="sentence",
        data=TaggedWords(tasks=("ner",)),
        read=_read_tags,
        gold=_gold_tags,
        predict=_predict_tags,
        scorings={"chunk-f1": _CHUNKS, "accuracy": _TOKENS},
        rungs={
            **_TAG_COUNTS,
            "bilstm": TaskRung(
                "ner", "a bidirectional LSTM over words and characters", 2.0, ("head.decoder=softmax",)
            ),
            "ner": TaskRung("ner", "a bidirectional LSTM with a conditional random field", 3.0),
            "fine-tuned": _TUNED_TAGGER,
        },
    ),
}
