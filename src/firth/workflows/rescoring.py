"""Rescoring of n-best lists: a recogniser's hypotheses (speech, handwriting, keyboard) are ordered anew by a log-linear
model of its own scores, the log-probabilities of language models, and a bonus for each word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firth.config.core import bounded
from firth.datasets.records import Hypothesis, NBest
from firth.errors import FirthError
from firth.linear.minimum_error_rate import CandidateList, train_weights
from firth.metrics import bootstrap
from firth.metrics.bootstrap import PairedBootstrap
from firth.metrics.score import Score
from firth.metrics.word_error_rate import ERROR_RATES, ErrorCounts, error_statistics
from firth.pipelines.continuations import ContinuationScorer
from firth.types import generator

AUTO, LENGTH, TOTAL = "auto", "length", "total"
IMPOSSIBLE = 50.0  # nats by which a text of probability zero is below the least probable of its list
Weight = float | Literal["auto"]
ErrorRate = Literal["word_error_rate", "sentence_error_rate", "character_error_rate"]


@dataclass(frozen=True)
class RescoringConfig:
    """Settings of rescoring."""

    weights: tuple[Weight, ...] = (AUTO,)  # of each language model, of one for all; auto: fitted
    length_bonus: Weight = 0.0  # for each word; auto: fitted
    metric: ErrorRate = "word_error_rate"  # whose errors the fitted weights minimise
    whole: bool = True  # hypotheses are whole documents; else they may go on
    context: bool = True  # the text before an utterance counts, where a list has it
    costs: bool = False  # the recogniser's scores are costs: lower is better
    folds: int = bounded(5, least=2)  # of cross-validation
    seed: int = bounded(0, least=0)


@dataclass(frozen=True)
class ErrorRates:
    """One error rate: of the first hypotheses, of the best ones after rescoring, and the lowest possible (oracle)."""

    before: Score
    after: Score
    oracle: Score
    test: PairedBootstrap  # of the difference, after minus before


@dataclass(frozen=True)
class Rescoring:
    """The lists in their new order, the weights, and the error rates where references are known."""

    lists: tuple[NBest, ...]
    weights: Mapping[str, float]  # by feature; the recogniser's first score has 1
    fitted: str  # how: on development lists, by cross-validation, or not at all
    fold_weights: tuple[Mapping[str, float], ...]  # of each fold of a cross-validation
    rates: tuple[ErrorRates, ...]
    changed: int  # lists with another best hypothesis than before
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, without the lists."""
        rates = [
            {
                "name": each.before.name,
                "before": each.before.value,
                "after": each.after.value,
                "oracle": each.oracle.value,
                **each.test._asdict(),
                "interval": list(each.test.interval),
                "signature": each.before.signature,
            }
            for each in self.rates
        ]
        about = {"utterances": len(self.lists), "changed": self.changed, "fitted": self.fitted}
        folds = [dict(weights) for weights in self.fold_weights]
        return {**about, "weights": dict(self.weights), "fold_weights": folds, "rates": rates, "notes": self.notes}


def rescore(
    models: Mapping[str, ContinuationScorer],
    lists: Sequence[NBest],
    *,
    dev: Sequence[NBest] | None = None,
    config: RescoringConfig = RescoringConfig(),
    add_scores: bool = False,
) -> Rescoring:
    """Order the hypotheses of each list by the weighted sum of all scores, best first; of equal ones the earlier.

    Weights that are `auto` minimise the errors of `dev` exactly along each line of weights (minimum error rate
    training); without it those of the lists themselves, by cross-validation. With `add_scores`, hypotheses also have
    the models' log-probabilities and the sum."""
    if not lists:
        raise FirthError("no n-best lists", do="give at least one")
    names, start, free = _initial_weights(models, lists, config)
    features = _scored(models, lists, config)
    if free and dev is not None:
        _check_scores(dev, lists)
        candidates = _candidates(_scored(models, dev, config), dev, config.metric)
        weights, folds = [train_weights(candidates, start, free, config.seed)[0]] * len(lists), []
        final, fitted = weights[0], f"fitted on {len(dev):,} development lists"
    elif free:
        candidates = _candidates(features, lists, config.metric)
        weights, folds = _cross_validate(candidates, start, free, config)
        final = train_weights(candidates, start, free, config.seed)[0]
        fitted = f"fitted by {len(folds)}-fold cross-validation on these lists"
    else:
        weights, folds, final, fitted = [start] * len(lists), [], start, "given"
    sums = [each @ weight for each, weight in zip(features, weights, strict=True)]
    orders = [np.argsort(-each, kind="stable") for each in sums]
    added = (*models, TOTAL) if add_scores else ()
    ordered = tuple(map(_reordered, lists, orders, features, sums, [added] * len(lists)))
    return Rescoring(
        ordered,
        dict(zip(names, map(float, final), strict=True)),
        fitted,
        tuple(dict(zip(names, map(float, weight), strict=True)) for weight in folds),
        tuple(_error_rates(lists, orders, config.seed)),
        sum(int(order[0]) != 0 for order in orders),
        tuple(_notes(models, lists)),
    )


# --- features ---------------------------------------------------------------------------------------------------------


def _initial_weights(
    models: Mapping[str, ContinuationScorer], lists: Sequence[NBest], config: RescoringConfig
) -> tuple[list[str], np.ndarray, list[int]]:
    """The names of the features, their weights before fitting, and which are fitted."""
    given = config.weights * len(models) if len(config.weights) == 1 else config.weights
    if len(given) != len(models):
        what = f"{len(given)} weights for {len(models)} language model{'s' * (len(models) != 1)}"
        raise FirthError(what, do="give one for each, or one for all")
    scores = lists[0].names
    _check_scores(lists, lists)
    clash = next((name for name in models if name in (*scores, LENGTH, TOTAL)), None)
    if clash:
        raise FirthError(f"a model has the name of a score: {clash}", do="rename the column, or the run")
    others = [AUTO if AUTO in given else 1.0] * (len(scores) - 1)  # further scores of the recogniser
    weights = [1.0, *others, *given, config.length_bonus]
    names = [*scores, *models, LENGTH]
    free = [at for at, weight in enumerate(weights) if weight == AUTO]
    if free and all(len(each.hypotheses) == 1 for each in lists):
        what = "every list has a single hypothesis, so there is nothing to choose"
        raise FirthError(what, where=f"list {lists[0].id}", do="give the n best hypotheses of each utterance")
    return names, np.array([1.0 if weight == AUTO else weight for weight in weights]), free


def _check_scores(lists: Sequence[NBest], others: Sequence[NBest]) -> None:
    expected = others[0].names
    for each in lists:
        if each.names != expected:
            what = f"scores {', '.join(each.names)}, where others have {', '.join(expected)}"
            raise FirthError(what, where=f"list {each.id}", do="give all lists the same scores")


def _scored(
    models: Mapping[str, ContinuationScorer], lists: Sequence[NBest], config: RescoringConfig
) -> list[np.ndarray]:
    """The features of each list (hypotheses, features): the recogniser's scores, those of the models, the length."""
    sign = -1.0 if config.costs else 1.0
    groups = [
        (each.context if config.context else "", [hypothesis.text for hypothesis in each.hypotheses]) for each in lists
    ]
    by_model = [model.continuation_scores(groups, whole=config.whole) for model in models.values()]
    features = []
    for number, each in enumerate(lists):
        scores = sign * np.array([hypothesis.scores for hypothesis in each.hypotheses], np.float64)
        columns = [_floor(scored[number].log_likelihoods) for scored in by_model]
        lengths = [len(hypothesis.text.split()) for hypothesis in each.hypotheses]
        features.append(np.column_stack([scores, *columns, lengths]))
    return features


def _floor(log_probabilities: np.ndarray) -> np.ndarray:
    """The log-probabilities; −∞ as a number below all others of the list."""
    finite = log_probabilities[np.isfinite(log_probabilities)]
    lowest = float(finite.min()) if len(finite) else 0.0
    return np.where(np.isfinite(log_probabilities), log_probabilities, lowest - IMPOSSIBLE)


# --- fitting ----------------------------------------------------------------------------------------------------------


def _candidates(features: Sequence[np.ndarray], lists: Sequence[NBest], metric: str) -> list[CandidateList]:
    counted = [_count_errors(metric, each) for each in lists]
    return [CandidateList(rows, counts.errors) for rows, counts in zip(features, counted, strict=True)]


def _count_errors(metric: str, each: NBest) -> ErrorCounts:
    if not each.reference:
        where = f"line {each.line}" if each.line else f"list {each.id}"
        do = "add a column reference, name lists that have one with dev (--dev), or give a weight"
        raise FirthError(f"n-best list {each.id!r} has no reference to fit weights on", where=where, do=do)
    return ERROR_RATES[metric](each.reference, [hypothesis.text for hypothesis in each.hypotheses])


def _cross_validate(
    candidates: Sequence[CandidateList], start: np.ndarray, free: Sequence[int], config: RescoringConfig
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each list the weights of its fold, which are fitted on the other folds; and the weights of all folds."""
    if len(candidates) < 2:
        do = "give more, name others with dev (--dev), or give a weight"
        raise FirthError("a single n-best list: weights cannot be fitted and scored on it", do=do)
    count = min(config.folds, len(candidates))
    fold = generator(config.seed, "folds").permutation(len(candidates)) % count
    weights = [
        train_weights(
            [each for each, of in zip(candidates, fold, strict=True) if of != number], start, free, config.seed
        )[0]
        for number in range(count)
    ]
    return [weights[number] for number in fold], weights


# --- results ----------------------------------------------------------------------------------------------------------


def _reordered(each: NBest, order: np.ndarray, features: np.ndarray, sums: np.ndarray, added: Sequence[str]) -> NBest:
    """The list in its new order, with the scores of the models and the sum if they are `added`."""
    first = len(each.names)
    hypotheses = []
    for at in order.tolist():
        hypothesis = each.hypotheses[at]
        more = [*features[at, first : first + len(added) - 1], sums[at]] if added else []
        scores = (*hypothesis.scores, *(round(float(value), 6) for value in more))
        hypotheses.append(Hypothesis(hypothesis.text, scores))
    return each._replace(hypotheses=tuple(hypotheses), names=(*each.names, *added))


def _error_rates(lists: Sequence[NBest], orders: Sequence[np.ndarray], seed: int) -> list[ErrorRates]:
    """All error rates of the lists with a reference."""
    known = [(each, int(order[0])) for each, order in zip(lists, orders, strict=True) if each.reference]
    references = [each.reference or "" for each, _ in known]
    rates = []
    for name in ERROR_RATES if known else ():
        counts = [_count_errors(name, each) for each, _ in known]
        before, after, oracle = (
            error_statistics(name, [(int(each.errors[at]), each.size) for each, at in zip(counts, chosen, strict=True)],
                             references)
            for chosen in ([0] * len(known), [best for _, best in known], [int(c.errors.argmin()) for c in counts])
        )  # fmt: skip
        test = bootstrap.paired_bootstrap(before, after, seed)
        rates.append(ErrorRates(before.score(), after.score(), oracle.score(), test))
    return rates


def _notes(models: Mapping[str, ContinuationScorer], lists: Sequence[NBest]) -> list[str]:
    """What a reader of the rates should know."""
    missing = sum(not each.reference for each in lists)
    notes = [f"{missing:,} of {len(lists):,} lists have no reference, and do not count in the error rates"]
    notes = notes if 0 < missing < len(lists) else []
    for name, model in models.items():
        tokenizer = getattr(model, "tokenizer", None)
        unknown = [each for each in lists if tokenizer and _is_unknown(tokenizer, each)]
        if unknown:
            about = f"{len(unknown):,} lists have only unknown words in every hypothesis, such as {unknown[0].id!r}"
            notes.append(f"{name}: {about}; they are scored byte by byte")
    return notes


def _is_unknown(tokenizer: Any, each: NBest) -> bool:
    """Whether the tokenizer knows no word of any hypothesis."""
    return all(
        spans and "".join(hypothesis.text.split()) == "".join("".join(spans).split())
        for hypothesis in each.hypotheses
        for spans in [tokenizer.oov_spans(hypothesis.text)]
    )
