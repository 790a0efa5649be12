"""Error analysis of each kind of labelled task: what the model predicts for every example, and how likely the truth is
to it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from firth.datasets import labelled_dataset
from firth.datasets.examples import Example, TaggedSentence
from firth.datasets.readers.tag_schemes import tags_to_spans
from firth.display import Table
from firth.generation.structured.span_marginals import TagDistribution
from firth.metrics import error_analysis as metrics
from firth.metrics.error_analysis import AnalysedExample, ErrorAnalysis, Mark, Tables, negative_log

SHOWN_LABELS = 5  # with their probabilities, of an example
THRESHOLD = 0.5  # from which an independent label is predicted


# --- labels and values of texts -----------------------------------------------------------------------------------


def analyse_labels(
    split: labelled_dataset.Split, probabilities: np.ndarray, labels: Sequence[str], independent: bool
) -> ErrorAnalysis:
    """Labelled examples and their probabilities (examples, labels), which in a multi-label model are independent."""
    predicted = [_predicted(row, labels, independent) for row in probabilities]
    tables = metrics.label_tables(split.labels, predicted, probabilities, labels, independent)
    rows = zip(split.examples, predicted, probabilities, strict=True)
    examples = [_labelled(example, guess, row, labels, independent) for example, guess, row in rows]
    return metrics.analysis(split.name, tables, examples)


def _predicted(row: np.ndarray, labels: Sequence[str], independent: bool) -> list[str]:
    order = np.argsort(-row, kind="stable")
    return [labels[at] for at in (order[row[order] >= THRESHOLD] if independent else order[:1])]


def _labelled(
    example: Example, predicted: Sequence[str], row: np.ndarray, labels: Sequence[str], independent: bool
) -> AnalysedExample:
    gold = labelled_dataset.labels_of(example)
    best = np.argsort(-row, kind="stable")[:SHOWN_LABELS]
    return AnalysedExample(
        loss=_label_loss(gold, row, labels, independent),
        correct=set(gold) == set(predicted) if independent else bool(set(gold) & set(predicted)),
        gold=", ".join(sorted(gold)),
        predicted=", ".join(sorted(predicted)),
        texts=_texts(example),
        probabilities=tuple((labels[at], float(row[at])) for at in best),
        where=line_of(example),
    )


def _label_loss(gold: Collection[str], row: np.ndarray, labels: Sequence[str], independent: bool) -> float:
    """The negative log-likelihood of the gold labels: of the mean over several of a softmax, of the sum of yes and no
    of a multi-label model; infinite if one cannot be predicted."""
    if not set(gold) <= set(labels):
        return np.inf
    truth = np.array([label in gold for label in labels])
    if not independent:
        return float(np.mean([negative_log(float(p)) for p in row[truth]])) if truth.any() else 0.0
    return sum(negative_log(float(p if yes else 1.0 - p)) for p, yes in zip(row, truth, strict=True))


def analyse_values(split: labelled_dataset.Split, gold: Sequence[float], values: np.ndarray) -> ErrorAnalysis:
    """Gold and predicted values of a regression."""
    errors = np.asarray(values, float) - np.asarray(gold, float)
    row = {"examples": len(errors), "mean absolute error": float(np.abs(errors).mean()),
           "root mean square error": float(np.sqrt((errors**2).mean())), "bias": float(errors.mean())}  # fmt: skip
    examples = [
        AnalysedExample(float(error**2), False, f"{true:.4g}", f"{value:.4g}", _texts(example), where=line_of(example))
        for example, true, value, error in zip(split.examples, gold, values, errors, strict=True)
    ]
    return metrics.analysis(split.name, {"errors": Table([row])}, examples, loss="squared error")


# --- tags ---------------------------------------------------------------------------------------------------------


def analyse_tags(
    split: labelled_dataset.Split,
    layers: dict[str, Sequence[TagDistribution]],
    span_layers: Collection[str],
    training_words: Collection[str] | None,
) -> ErrorAnalysis:
    """Tagged sentences and the distribution over the taggings of each, by layer."""
    known = [[word in training_words for word in each.words] for each in split.examples] if training_words else []
    tables: Tables = {}
    examples: list[AnalysedExample] = []
    for number, (layer, results) in enumerate(layers.items()):
        gold, best = [each.tags[number] for each in split.examples], [result.best_tags() for result in results]
        marginals = [result.marginals for result in results]
        prefix = f"{layer}: " if len(layers) > 1 else ""
        of_layer = metrics.tag_tables(gold, best, marginals, results[0].tags, known, layer in span_layers)
        tables |= {prefix + name: table for name, table in of_layer.items()}
        rows = zip(split.examples, gold, best, results, strict=True)
        examples += [_tagged(*row, layer in span_layers, prefix) for row in rows]
    return metrics.analysis(split.name, tables, examples)


def _tagged(
    sentence: TaggedSentence,
    gold: Sequence[str],
    best: Sequence[str],
    result: TagDistribution,
    spans: bool,
    prefix: str,
) -> AnalysedExample:
    edges = np.cumsum([0, *(len(word) + 1 for word in sentence.words)]).tolist()
    marks = _span_marks(gold, best) if spans else _word_marks(gold, best)
    wrong = [f"{true}→{guess}" for true, guess in zip(gold, best, strict=True) if true != guess]
    kinds = ", ".join(dict.fromkeys(wrong))
    return AnalysedExample(
        loss=-result.log_probability(gold),
        correct=not wrong,
        gold=prefix + " ".join(gold),
        predicted=prefix + (kinds if wrong else "right"),
        texts=(" ".join(sentence.words),),
        probabilities=(("the gold tagging", float(np.exp(result.log_probability(gold)))),
                       ("the best tagging", float(np.exp(result.log_probability(best))))),
        marks=tuple(mark._replace(start=edges[mark.start], end=edges[mark.end] - 1) for mark in marks),
        where=sentence.place(),
    )  # fmt: skip


def _span_marks(gold: Sequence[str], best: Sequence[str]) -> Iterator[Mark]:
    """The spans of both taggings, in words."""
    true, guess = set(tags_to_spans(gold)), set(tags_to_spans(best))
    for span in sorted(true | guess):
        side = "both" if span in true & guess else "gold" if span in true else "predicted"
        yield Mark(span.start, span.end, span.label, side)


def _word_marks(gold: Sequence[str], best: Sequence[str]) -> Iterator[Mark]:
    """The words that are tagged wrongly."""
    for at, (true, guess) in enumerate(zip(gold, best, strict=True)):
        if true != guess:
            yield Mark(at, at + 1, true, "gold")
            yield Mark(at, at + 1, guess, "predicted")


def _texts(example: Example) -> tuple[str, ...]:
    return labelled_dataset.texts_of(example) or (labelled_dataset.describe(example),)


def line_of(example: Any) -> str:
    """The line of an example in its file."""
    line = getattr(example, "line", 0)
    return f"line {line:,}" if line else ""
