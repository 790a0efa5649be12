"""Extrinsic evaluation of word vectors: text classification by logistic regression on averaged word vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from firth.datasets.records import Labelled
from firth.embeddings.lookup import EvaluationOptions, Result, VocabularyLookup, sif_weights
from firth.errors import FirthError
from firth.metrics.score import Score
from firth.tokenizers.split import split_words

if TYPE_CHECKING:
    from firth.embeddings.word_vectors import WordVectors


class LogisticRegression(NamedTuple):
    """Multinomial logistic regression on standardised features."""

    weights: np.ndarray  # (classes, features + 1); the last column is the bias
    classes: tuple[str, ...]
    mean: np.ndarray
    std: np.ndarray

    def logits(self, features: np.ndarray) -> np.ndarray:
        """The logits (texts, classes)."""
        return (features - self.mean) / self.std @ self.weights[:, :-1].T + self.weights[:, -1]

    def predict(self, features: np.ndarray) -> list[str]:
        """The class of each text."""
        return [self.classes[index] for index in self.logits(features).argmax(1)]


def fit_logistic_regression(
    features: np.ndarray, labels: Sequence[str], l2_penalty: float = 1.0, max_iter: int = 500
) -> LogisticRegression:
    """Fit by L-BFGS: the summed cross-entropy plus l2_penalty/2 times the squared weights, biases not penalised."""
    from scipy.optimize import minimize

    classes = tuple(sorted(set(labels)))
    if len(classes) < 2:
        raise FirthError(f"{len(classes)} label in the training data", do="give texts of at least two labels")
    features = np.asarray(features, np.float64)
    mean, std = features.mean(0), features.std(0)
    std[std == 0] = 1.0
    inputs = np.c_[(features - mean) / std, np.ones(len(features))]
    class_ids = {name: index for index, name in enumerate(classes)}
    gold = np.array([class_ids[label] for label in labels])
    weights = np.zeros(len(classes) * inputs.shape[1])
    options = {"maxiter": max_iter, "ftol": 1e-12}
    solution = minimize(
        logistic_loss, weights, (inputs, gold, l2_penalty), method="L-BFGS-B", jac=True, options=options
    )
    return LogisticRegression(solution.x.reshape(len(classes), -1), classes, mean, std)


def logistic_loss(
    flat: np.ndarray, inputs: np.ndarray, gold: np.ndarray, l2_penalty: float
) -> tuple[float, np.ndarray]:
    """The penalised cross-entropy and its gradient; the last input is the constant 1, its weights are the biases."""
    weights = flat.reshape(-1, inputs.shape[1])
    logits = inputs @ weights.T
    logits -= logits.max(1, keepdims=True)
    probabilities = np.exp(logits)
    sums = probabilities.sum(1)
    probabilities /= sums[:, None]
    rows = np.arange(len(gold))
    loss = (np.log(sums) - logits[rows, gold]).sum() + l2_penalty / 2.0 * (weights[:, :-1] ** 2).sum()
    probabilities[rows, gold] -= 1.0
    gradient = probabilities.T @ inputs
    gradient[:, :-1] += l2_penalty * weights[:, :-1]
    return float(loss), gradient.ravel()


def mean_vectors(
    lookup: VocabularyLookup, texts: Iterable[Sequence[str]], weighting: Literal["none", "sif"] = "none"
) -> tuple[np.ndarray, np.ndarray]:
    """The (SIF-weighted) mean of the unit vectors of each text's words, and how many of its words have a vector."""
    width, rows, counts = lookup.vectors.vectors.shape[1], [], []
    weights = sif_weights(lookup.vectors) if weighting == "sif" else None
    for text in texts:
        indices = [index for word in text if (index := lookup.index(word)) >= 0]
        counts.append(len(indices))
        if not indices:
            rows.append(np.zeros(width, np.float32))
            continue
        vectors = lookup.rows(indices)
        if weights is None:
            rows.append(vectors.mean(0))
        else:
            weight = weights[indices if lookup.selected is None else lookup.selected[indices]]
            rows.append(weight @ vectors / weight.sum())
    return np.array(rows, np.float32).reshape(-1, width), np.array(counts, np.int64)


def evaluate_classification(
    vectors: WordVectors,
    train: Iterable[Labelled],
    test: Iterable[Labelled],
    name: str = "classification",
    options: EvaluationOptions | None = None,
    l2_penalty: float = 1.0,
) -> Result:
    """The test accuracy of logistic regression on mean vectors, and the accuracy of the majority class as a
    baseline."""
    lookup, train, test = VocabularyLookup(vectors, options), list(train), list(test)
    if not train or not test:
        raise FirthError("no training texts or no test texts", where=name, do="give both")
    train_features, _ = mean_vectors(lookup, (split_words(text.text) for text in train))
    labels = [text.labels[0] for text in train]
    model = fit_logistic_regression(train_features, labels, l2_penalty)
    test_features, known_words = mean_vectors(lookup, (split_words(text.text) for text in test))
    gold = [text.labels[0] for text in test]
    data = [text[:2] for text in (*train, *test)]
    signature = lookup.signature(name, data, l2_penalty=l2_penalty, features="mean")
    majority = max(sorted(set(labels)), key=labels.count)
    predicted = model.predict(test_features)
    accuracy = np.mean([guess == label for guess, label in zip(predicted, gold, strict=True)])
    baseline = Score("majority class", gold.count(majority) / len(gold), signature)
    scores = (Score("accuracy", float(accuracy), signature), baseline)
    return Result(name, "classification", scores, len(test), int((known_words > 0).sum()), lookup.list_oov_words())
