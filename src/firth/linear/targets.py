"""What a linear model predicts: one label of a text, any number of labels, or a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from firth.config.schema import NBSVM, LogisticRegression, MajorityClass, NaiveBayes, RidgeRegression
from firth.datasets.labelled_dataset import Split
from firth.errors import FirthError
from firth.linear import naive_bayes
from firth.linear.linear_model import LinearFit, Link
from firth.linear.logistic_regression import LogisticTrainer
from firth.linear.ridge_regression import RidgeTrainer
from firth.metrics.calibration import MIN_TEMPERATURE, binary_logits, fit_temperature, mean_nll

Trainer = Callable[[float], LinearFit]  # a model with this penalty or smoothing
UNSEEN = -1  # the number of a label that the training texts do not have


# --- one label of a text --------------------------------------------------------------------------------------------


def _majority_class(matrix: csr_array, labels: np.ndarray, count: int, method: MajorityClass) -> Trainer:
    texts = np.bincount(labels, minlength=count).astype(np.float64)
    return lambda _: LinearFit(np.zeros((matrix.shape[1], count)), naive_bayes.log_priors(texts))


def _naive_bayes(matrix: csr_array, labels: np.ndarray, count: int, method: NaiveBayes) -> Trainer:
    return lambda alpha: LinearFit(*naive_bayes.fit(matrix, labels, count, method.event_model, alpha))


def _logistic_regression(matrix: csr_array, labels: np.ndarray, count: int, method: LogisticRegression) -> Trainer:
    return LogisticTrainer(matrix, labels, count, method).fit


TRAINERS: Mapping[type, Callable[..., Trainer]] = {
    MajorityClass: _majority_class,
    NaiveBayes: _naive_bayes,
    LogisticRegression: _logistic_regression,
    NBSVM: _logistic_regression,
}


@dataclass(frozen=True)
class SingleLabel:
    """One label for each text, by a softmax."""

    names: tuple[str, ...]
    link: ClassVar[Link] = "softmax"
    metric: ClassVar[str] = "accuracy"

    def encode(self, labels: Sequence[Sequence[str]]) -> np.ndarray:
        """The number of each text's label (texts,)."""
        numbers = {name: number for number, name in enumerate(self.names)}
        return np.array([numbers.get(each[0], UNSEEN) if each else UNSEEN for each in labels], np.int64)

    def trainer(self, matrix: csr_array, gold: np.ndarray, method: Any) -> Trainer:
        """Trains on these texts."""
        return TRAINERS[type(method)](matrix, gold, len(self.names), method)

    def loss(self, scores: np.ndarray, gold: np.ndarray) -> float | None:
        """The mean negative log-likelihood of the labels that the training texts have; None without any."""
        known = gold != UNSEEN
        scores, gold = scores[known], gold[known]
        if not len(gold):
            return None
        return mean_nll(scores, gold)

    def temperature(self, scores: np.ndarray, gold: np.ndarray) -> float:
        """The temperature with the lowest loss; 1 if there is nothing to fit it to."""
        known = gold != UNSEEN
        return _temperature(scores[known], gold[known])

    def quality(self, scores: np.ndarray, gold: np.ndarray) -> float:
        """The accuracy."""
        return float((scores.argmax(1) == gold).mean())


# --- several labels of a text ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MultiLabel:
    """Any number of labels for each text, each predicted by itself against all others (one versus rest)."""

    names: tuple[str, ...]
    link: ClassVar[Link] = "sigmoid"
    metric: ClassVar[str] = "accuracy"  # of single decisions

    def encode(self, labels: Sequence[Sequence[str]]) -> np.ndarray:
        """Whether each text has each label (texts, labels)."""
        numbers = {name: number for number, name in enumerate(self.names)}
        gold = np.zeros((len(labels), len(self.names)), bool)
        for row, each in enumerate(labels):
            gold[row, [numbers[label] for label in each if label in numbers]] = True
        return gold

    def trainer(self, matrix: csr_array, gold: np.ndarray, method: Any) -> Trainer:
        """Trains on these texts, label by label."""
        of_label = [_one_versus_rest(matrix, column.astype(np.int64), method) for column in gold.T]

        def fit(setting: float) -> LinearFit:
            fits = [fit_label(setting) for fit_label in of_label]
            weights = np.stack([fit.weights[:, 1] - fit.weights[:, 0] for fit in fits], 1)
            intercept = np.array([fit.intercept[1] - fit.intercept[0] for fit in fits])
            return LinearFit(weights, intercept, sum(fit.iterations for fit in fits), all(f.converged for f in fits))

        return fit

    def loss(self, scores: np.ndarray, gold: np.ndarray) -> float | None:
        """The mean negative log-likelihood of the decisions about all labels; None without any."""
        return mean_nll(binary_logits(scores), gold.ravel().astype(np.int64)) if gold.size else None

    def temperature(self, scores: np.ndarray, gold: np.ndarray) -> float:
        """The temperature with the lowest loss; 1 if there is nothing to fit it to."""
        return _temperature(binary_logits(scores), gold.ravel().astype(np.int64))

    def quality(self, scores: np.ndarray, gold: np.ndarray) -> float:
        """The accuracy of the decisions."""
        return float(((scores > 0) == gold).mean())


def _one_versus_rest(matrix: csr_array, gold: np.ndarray, method: Any) -> Trainer:
    """A label against its absence; one that every text has is predicted without looking at the text."""
    counts = np.bincount(gold, minlength=2)
    if counts.all():
        return TRAINERS[type(method)](matrix, gold, 2, method)
    constant = LinearFit(np.zeros((matrix.shape[1], 2)), np.log(counts + 0.5))
    return lambda _: constant


def _temperature(scores: np.ndarray, gold: np.ndarray) -> float:
    """The best temperature; 1 without texts, and where no text is wrong: any certainty would be right."""
    if not len(gold):
        return 1.0
    temperature = fit_temperature(scores, gold)
    return 1.0 if temperature == MIN_TEMPERATURE else temperature


# --- a value of a text ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Value:
    """A value for each text."""

    names: tuple[str, ...] = ("value",)
    link: ClassVar[Link] = "identity"
    metric: ClassVar[str] = "mean_squared_error"

    def trainer(self, matrix: csr_array, gold: np.ndarray, method: RidgeRegression) -> Trainer:
        """Trains on these texts."""
        return RidgeTrainer(matrix, gold, method).fit

    def loss(self, scores: np.ndarray, gold: np.ndarray) -> float | None:
        """Half the mean squared error; None without any text."""
        return float(0.5 * ((scores[:, 0] - gold) ** 2).mean()) if len(gold) else None

    def quality(self, scores: np.ndarray, gold: np.ndarray) -> float:
        """The mean squared error."""
        return float(((scores[:, 0] - gold) ** 2).mean())


# --- labels ---------------------------------------------------------------------------------------------------------


def label_names(labels: Sequence[Sequence[str]], problem_type: str, where: str) -> tuple[str, ...]:
    """The labels of the training texts, from frequent to rare; refused if they are too few, or of the other type."""
    counts = Counter(label for each in labels for label in each)
    if len(counts) < 2:
        what = f"{len(counts)} label in the training examples" + "".join(f" ({name})" for name in counts)
        raise FirthError(what, where=where, do="give texts of at least two labels")
    several = next((each for each in labels if len(each) > 1), None)
    if several and problem_type == "single-label":
        what = f"a text with {len(several)} labels ({', '.join(several)})"
        raise FirthError(what, where=where, do="set problem_type=multi-label, or give one label each")
    return tuple(sorted(counts, key=lambda label: (-counts[label], label)))


def notes(problem: Any, splits: Mapping[str, Split]) -> Iterator[str]:
    """What a person should know of the labels: those of a single training text, and held-out ones without any."""
    if isinstance(problem, Value):
        return
    counts = Counter(label for each in splits["train"].labels for label in each)
    single = [label for label in problem.names if counts[label] == 1]
    if single:
        yield f"{_labels(len(single))} one training text only ({_listed(single)}), too few to learn from"
    for name, split in splits.items():
        unseen = sorted({label for each in split.labels for label in each} - counts.keys())
        if unseen:
            yield f"{_labels(len(unseen))} no training text ({_listed(unseen)}), and cannot be right in {name}"


def _labels(count: int) -> str:
    return f"{count:,} label{'s have' if count > 1 else ' has'}"


def _listed(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + ", …" * (len(names) > most)
