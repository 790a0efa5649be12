"""What vectors are worth to a task: a linear classifier on the mean vectors of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from firth.data.records import Labelled
from firth.errors import FirthError
from firth.metrics.score import Score
from firth.text.split import words as split_words
from firth.vectors.asking import Asking, Known, Result, rarity

if TYPE_CHECKING:
    from firth.vectors.store import WordVectors


class Linear(NamedTuple):
    """A softmax classifier of standardised features."""

    weights: np.ndarray  # (classes, features + 1); the last column is the bias
    classes: tuple[str, ...]
    centre: np.ndarray
    scale: np.ndarray

    def logits(self, features: np.ndarray) -> np.ndarray:
        """The score of each class (texts, classes)."""
        return (features - self.centre) / self.scale @ self.weights[:, :-1].T + self.weights[:, -1]

    def predict(self, features: np.ndarray) -> list[str]:
        """The class of each text."""
        return [self.classes[place] for place in self.logits(features).argmax(1)]


def fit(features: np.ndarray, labels: Sequence[str], penalty: float = 1.0, steps: int = 500) -> Linear:
    """Logistic regression by L-BFGS: the summed loss plus penalty/2 times the squared weights, biases free."""
    from scipy.optimize import minimize

    classes = tuple(sorted(set(labels)))
    if len(classes) < 2:
        raise FirthError(f"{len(classes)} label in the training data", do="give texts of at least two labels")
    features = np.asarray(features, np.float64)
    centre, scale = features.mean(0), features.std(0)
    scale[scale == 0] = 1.0
    inputs = np.c_[(features - centre) / scale, np.ones(len(features))]
    places = {name: place for place, name in enumerate(classes)}
    gold = np.array([places[label] for label in labels])
    start = np.zeros(len(classes) * inputs.shape[1])
    found = minimize(
        loss, start, (inputs, gold, penalty), method="L-BFGS-B", jac=True, options={"maxiter": steps, "ftol": 1e-12}
    )
    return Linear(found.x.reshape(len(classes), -1), classes, centre, scale)


def loss(flat: np.ndarray, inputs: np.ndarray, gold: np.ndarray, penalty: float) -> tuple[float, np.ndarray]:
    """The loss of a softmax classifier and its gradient; the last input is the constant 1, its weights are free."""
    weights = flat.reshape(-1, inputs.shape[1])
    logits = inputs @ weights.T
    logits -= logits.max(1, keepdims=True)
    chances = np.exp(logits)
    sums = chances.sum(1)
    chances /= sums[:, None]
    each = np.arange(len(gold))
    nats = (np.log(sums) - logits[each, gold]).sum() + penalty / 2.0 * (weights[:, :-1] ** 2).sum()
    chances[each, gold] -= 1.0
    slope = chances.T @ inputs
    slope[:, :-1] += penalty * weights[:, :-1]
    return float(nats), slope.ravel()


def mean_vectors(
    known: Known, texts: Iterable[Sequence[str]], weighting: Literal["none", "rarity"] = "none"
) -> tuple[np.ndarray, np.ndarray]:
    """The (weighted) mean of each text's vectors, each word's of length 1, and how many words it has that are known."""
    width, rows, counts = known.vectors.vectors.shape[1], [], []
    weights = rarity(known.vectors) if weighting == "rarity" else None
    for text in texts:
        found = [place for word in text if (place := known.index(word)) >= 0]
        counts.append(len(found))
        if not found:
            rows.append(np.zeros(width, np.float32))
            continue
        vectors = known.rows(found)
        if weights is None:
            rows.append(vectors.mean(0))
        else:
            chosen = weights[found if known.chosen is None else known.chosen[found]]
            rows.append(chosen @ vectors / chosen.sum())
    return np.array(rows, np.float32).reshape(-1, width), np.array(counts, np.int64)


def evaluate_classification(
    vectors: WordVectors,
    train: Iterable[Labelled],
    test: Iterable[Labelled],
    name: str = "classification",
    asking: Asking | None = None,
    penalty: float = 1.0,
) -> Result:
    """The accuracy on the test texts of a classifier on mean vectors; beside it that of always the commonest label."""
    known, train, test = Known(vectors, asking), list(train), list(test)
    if not train or not test:
        raise FirthError("no texts to learn from or to test on", where=name, do="give both")
    inputs, _ = mean_vectors(known, (split_words(text.text) for text in train))
    labels = [text.labels[0] for text in train]
    model = fit(inputs, labels, penalty)
    outputs, words = mean_vectors(known, (split_words(text.text) for text in test))
    gold = [text.labels[0] for text in test]
    told = known.signature(name, [text[:2] for text in (*train, *test)], penalty=penalty, features="mean")
    commonest = max(sorted(set(labels)), key=labels.count)
    right = np.mean([guess == label for guess, label in zip(model.predict(outputs), gold, strict=True)])
    base = gold.count(commonest) / len(gold)
    scores = (Score("accuracy", float(right), told), Score("commonest label", base, told))
    return Result(name, "classification", scores, len(test), int((words > 0).sum()), known.report())
