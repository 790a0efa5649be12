"""Training of a linear model: one for each penalty (or smoothing), the best on validation texts, calibrated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from firth.config.schema import LogisticRegression, MajorityClass, NaiveBayes, RidgeRegression
from firth.errors import FirthError
from firth.linear.linear_model import LinearFit, LinearModel

FEW = 20  # validation texts, below which probabilities are not calibrated


class Texts(NamedTuple):
    """Features of texts, and what is to be predicted of each."""

    matrix: csr_array
    gold: np.ndarray

    def part(self, first: int) -> Texts:
        """Every second text."""
        return Texts(self.matrix[first::2], self.gold[first::2])


class Candidate(NamedTuple):
    """A trained model: its penalty or smoothing, its training, and its loss and quality on validation texts."""

    setting: float
    fit: LinearFit
    train_loss: float | None
    loss: float | None = None
    quality: float | None = None


def settings(method: Any) -> tuple[float, ...]:
    """The penalties, from the largest, or the smoothings to try."""
    if isinstance(method, (LogisticRegression, RidgeRegression)):
        return _given(tuple(sorted({*method.l2}, reverse=True)), "method.l2")
    return _given(method.alpha, "method.alpha") if isinstance(method, NaiveBayes) else (0.0,)


def _given(values: tuple[float, ...], where: str) -> tuple[float, ...]:
    if not values:
        raise FirthError("no value to try", where=where, do="give at least one")
    return values


def train(problem: Any, texts: Texts, selection: Texts | None, method: Any, calibrated: bool) -> Iterator[Candidate]:
    """A model for each setting, with its loss on the validation texts, at the best temperature if it is calibrated."""
    trainer = problem.trainer(*texts, method)
    for setting in settings(method):
        fit = trainer(setting)
        train_loss = problem.loss(_scores(fit, texts), texts.gold)
        if selection is None:
            yield Candidate(setting, fit, train_loss)
            continue
        scores = _scores(fit, selection)
        temperature = problem.temperature(scores, selection.gold) if calibrated else 1.0
        loss, quality = problem.loss(scores / temperature, selection.gold), problem.quality(scores, selection.gold)
        yield Candidate(setting, fit, train_loss, loss, quality)


def best(candidates: list[Candidate]) -> Candidate:
    """The candidate with the lowest validation loss, the first of several."""
    return min(candidates, key=lambda candidate: np.inf if candidate.loss is None else candidate.loss)


def parts(valid: Texts | None, method: Any, calibration: str, is_value: bool) -> tuple[Texts | None, Texts | None]:
    """The validation texts that choose among settings, and those that calibrate: halves, if both are needed."""
    if valid is None:
        if len(settings(method)) > 1:
            do = "give some with --valid, or a single value: --set method.l2=1"
            raise FirthError("no validation texts to choose among several penalties", do=do)
        return None, None
    if calibration == "none" or is_value or isinstance(method, MajorityClass) or len(valid.gold) < FEW:
        return valid, None
    return (valid, valid) if len(settings(method)) == 1 else (valid.part(0), valid.part(1))


def finish(problem: Any, candidate: Candidate, calibration: Texts | None) -> LinearModel:
    """The model of a candidate, calibrated if there are texts for it."""
    fit = candidate.fit
    model = LinearModel(problem.names, fit.weights.astype(np.float32), fit.intercept, problem.link)
    if calibration is None:
        return model
    return replace(model, temperature=problem.temperature(model.scores(calibration.matrix), calibration.gold))


def _scores(fit: LinearFit, texts: Texts) -> np.ndarray:
    return csr_array(texts.matrix, dtype=np.float64) @ fit.weights + fit.intercept
