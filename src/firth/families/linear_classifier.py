"""The family of linear classifiers: reads labelled texts, extracts features, trains, calibrates. An interrupted run
starts again, with the same result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numba
import numpy as np
import scipy

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.records import Pair
from firth.datasets.text_dataset import make_tokenizer
from firth.errors import FirthError
from firth.families import pass_training as shared
from firth.linear import model_selection, targets
from firth.linear.linear_model import LinearModel, damaged
from firth.linear.model_selection import Candidate, Texts
from firth.linear.pair_features import PairVectorizer
from firth.linear.vectorizer import Vectorizer
from firth.pipelines.linear_predictions import LinearRegressor, LinearTextClassifier
from firth.report.charts import Series, line_chart
from firth.report.run_page import write_report
from firth.runs.run_folder import Log, Record, Run, TrainRequest
from firth.tokenizers.tokenizer import Tokenizer

REPORT_EXAMPLES = 12
DETERMINISTIC = "deterministic: the same examples give the same bytes, with any number of threads"
VECTORIZERS: Mapping[int, Any] = {1: Vectorizer, 2: PairVectorizer}  # by the texts of an example
estimate = shared.estimate


@dataclass(frozen=True)
class Prepared:
    """The examples, their tokenizer, and what is predicted of them."""

    config: schema.LinearClassifier
    tokenizer: Tokenizer
    splits: Mapping[str, labelled_dataset.Split]
    problem: Any  # of firth.linear.targets

    @property
    def parts(self) -> int:
        """Texts of an example."""
        return len(labelled_dataset.texts_of(self.splits["train"].examples[0]))


# --- training -----------------------------------------------------------------------------------------------------


def fit(request: TrainRequest) -> LinearTextClassifier:
    """Train in the run folder, if it has no model; then score held-out examples and write the report."""
    with shared.lock_run(request):
        prepared = _prepare(request)
        if not request.run.exists:
            _begin(request, prepared)
        if not _is_done(request.run):
            _train(request, prepared)
        return _finish(request, prepared)


def _prepare(request: TrainRequest) -> Prepared:
    run, say = request.run, request.progress.say
    resumed = run.exists
    config = run.record.config if resumed else request.config
    _check(config)
    request.progress.stage(f"reading {', '.join(config.data.text)}")
    splits = labelled_dataset.read(config.data, config.seed, say)
    if resumed:
        shared.require_same_text(run, splits)
    problem = _problem(config, splits["train"])
    if not resumed:
        for note in targets.notes(problem, splits):
            say(f"note: {note}")
    ready = run.tokenizer("text") if resumed else request.tokenizers.get("text")
    tokenizer = ready or make_tokenizer(config.tokenizer, _fitted(config, splits).texts)
    return Prepared(config, tokenizer, splits, problem)


def _fitted(config: schema.LinearClassifier, splits: Mapping[str, labelled_dataset.Split]) -> labelled_dataset.Split:
    """The examples that the final model is trained on."""
    train, valid = splits["train"], splits.get("valid")
    if not config.refit or valid is None:
        return train
    return labelled_dataset.make_split("train", [*train.examples, *valid.examples])


def _check(config: schema.LinearClassifier) -> None:
    """Settings that do not go together."""
    shared.refuse_calibration(config, "set calibration=temperature, which linear models have already")
    method = config.method
    bernoulli = isinstance(method, schema.NaiveBayes) and method.event_model == "bernoulli"
    if bernoulli and config.features.weighting != "binary":
        what = f"features.weighting={config.features.weighting}: Bernoulli naive Bayes knows only presence and absence"
        raise FirthError(what, do="set features.weighting=binary")


def _problem(config: schema.LinearClassifier, train: labelled_dataset.Split) -> Any:
    """What is predicted: a label, several, or a value."""
    where = ", ".join(config.data.text)
    scored = isinstance(train.examples[0], Pair) and train.examples[0].label is None
    if isinstance(config.method, schema.RidgeRegression):
        if not scored:
            do = "set data.tasks=similarity, or choose a classifier"
            raise FirthError("ridge regression needs pairs with a score", where=where, do=do)
        return targets.Value()
    if scored:
        raise FirthError("pairs without a label", where=where, do="train ridge-regression on pairs with scores")
    kind = {"single-label": targets.SingleLabel, "multi-label": targets.MultiLabel}[config.problem_type]
    return kind(targets.label_names(train.labels, config.problem_type, where))


def _begin(request: TrainRequest, prepared: Prepared) -> None:
    """Write the tokenizer and the record; with the record the run exists."""
    run = request.run
    run.write_tokenizer("text", prepared.tokenizer)
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": [],  # only language models have them
        "labels": list(prepared.problem.names),
        "parts": prepared.parts,
        "training": DETERMINISTIC,
    }
    hashes = {"text": prepared.tokenizer.hash}
    machine = {"numpy": np.__version__, "scipy": scipy.__version__, "numba": numba.__version__}
    run.write_record(Record(request.preset, request.request_digest, prepared.config, hashes, data, machine))


def weights_metadata(run: Run) -> dict[str, Any]:
    """The metadata of the weights file: the run's configuration and tokenizers."""
    return {"config": run.config_digest(), "tokenizers": dict(run.record.tokenizers)}


def _is_done(run: Run) -> bool:
    """Whether the weights, which are written last, are complete and of this run."""
    try:
        return run.is_trained and LinearModel.read(run.weights)[2]["note"] == weights_metadata(run)
    except FirthError:
        return False


def _train(request: TrainRequest, prepared: Prepared) -> None:
    progress, config, problem = request.progress, prepared.config, prepared.problem
    progress.stage("extracting the features")
    vectorizer, texts, valid = _features(prepared)
    _say_sizes(request, prepared, vectorizer)
    is_value = isinstance(problem, targets.Value)
    selection, calibration = model_selection.parts(valid, config.method, config.calibration, is_value)
    progress.stage("training")
    candidates = _candidates(request, prepared, texts, selection)
    chosen = model_selection.best(candidates)
    if len(candidates) > 1:
        progress.say(f"chosen: {_setting_name(config.method)} {chosen.setting:g}")
    model = model_selection.finish(problem, chosen, calibration)
    if config.refit and valid is not None:
        progress.stage("training on the validation examples too")
        vectorizer, model = _refit(prepared, model, chosen.setting)
    progress.stop()
    run = request.run
    model.write(run.weights, vectorizer.arrays(), vectorizer.about(), weights_metadata(run))


def _refit(prepared: Prepared, model: LinearModel, setting: float) -> tuple[Any, LinearModel]:
    """The model of a setting, trained on the training and the validation examples, at the same temperature."""
    config, problem, split = prepared.config, prepared.problem, _fitted(prepared.config, prepared.splits)
    vectorizer, matrix = VECTORIZERS[prepared.parts].fit(_inputs(split), prepared.tokenizer, config.features)
    fit = problem.trainer(matrix, _gold(problem, split), config.method)(setting)
    return vectorizer, replace(model, weights=fit.weights.astype(np.float32), intercept=fit.intercept)


def _features(prepared: Prepared) -> tuple[Any, Texts, Texts | None]:
    """The features, and the matrices of the training and the validation examples."""
    kind, splits = VECTORIZERS[prepared.parts], prepared.splits
    train, valid = splits["train"], splits.get("valid")
    vectorizer, matrix = kind.fit(_inputs(train), prepared.tokenizer, prepared.config.features)
    texts = Texts(matrix, _gold(prepared.problem, train))
    if valid is None:
        return vectorizer, texts, None
    return vectorizer, texts, Texts(vectorizer.transform(_inputs(valid)), _gold(prepared.problem, valid))


def _inputs(split: labelled_dataset.Split) -> list[Any]:
    """The texts of a split, or its pairs."""
    texts = [labelled_dataset.texts_of(example) for example in split.examples]
    return texts if len(texts[0]) == 2 else [text for (text,) in texts]


def _gold(problem: Any, split: labelled_dataset.Split) -> np.ndarray:
    if isinstance(problem, targets.Value):
        return np.array([example.score for example in split.examples], np.float64)
    return problem.encode(split.labels)


def _say_sizes(request: TrainRequest, prepared: Prepared, vectorizer: Any) -> None:
    sizes = ", ".join(f"{name} {len(split.examples):,}" for name, split in prepared.splits.items())
    labels = "" if isinstance(prepared.problem, targets.Value) else f"; {len(prepared.problem.names):,} labels"
    request.progress.say(f"texts: {sizes}{labels}; {np.count_nonzero(vectorizer.documents):,} features")


def _candidates(request: TrainRequest, prepared: Prepared, texts: Texts, selection: Texts | None) -> list[Candidate]:
    """A model for each penalty or smoothing, each logged."""
    config, problem, progress = prepared.config, prepared.problem, request.progress
    began, candidates = perf_counter(), []
    log = Log(request.run.path / "log.jsonl", keep_to=0)
    calibrated = config.calibration != "none" and not isinstance(problem, targets.Value)
    trained = model_selection.train(problem, texts, selection, config.method, calibrated)
    for step, candidate in enumerate(trained, 1):
        if not candidate.fit.converged:
            what = f"no convergence in {candidate.fit.iterations:,} iterations"
            progress.say(f"note: {what}; raise method.max_iterations")
        entry = {"step": step, **_log_fields(config.method, problem, candidate)}
        line = {**entry, "seconds": round(perf_counter() - began, 3)}
        log.add(line)
        if "split" in line:
            progress.evaluation(line)
        candidates.append(candidate)
    log.close()
    return candidates


def _log_fields(method: Any, problem: Any, candidate: Candidate) -> dict[str, Any]:
    fields = {_setting_name(method): candidate.setting} if _setting_name(method) else {}
    fields |= {"train_loss": candidate.train_loss, "iterations": candidate.fit.iterations}
    if candidate.loss is None:
        return fields
    quality = {"metric": problem.metric, "value": candidate.quality}
    return fields | {"split": "valid", "loss": candidate.loss, **quality}


def _setting_name(method: Any) -> str:
    """The setting of which several values are tried; empty: there is none."""
    return {schema.MajorityClass: "", schema.NaiveBayes: "alpha"}.get(type(method), "l2")


def _finish(request: TrainRequest, prepared: Prepared) -> LinearTextClassifier:
    request.progress.stage("scoring the held-out texts and writing the report")
    model, examples = load(request.run), []
    for name in ("valid", "test"):
        if name in prepared.splits and not (name == "valid" and prepared.config.refit):
            split = prepared.splits[name]
            request.run.add_scores([score.to_dict() for score in model.scores(split)])
            examples = model.report_examples(split, REPORT_EXAMPLES)
    figures = [_plot_path(request.run, _setting_name(prepared.config.method))]
    write_report(request.run, examples, "Texts: gold and predicted", [figure for figure in figures if figure])
    return model


def _plot_path(run: Run, setting: str) -> str:
    """The validation loss over the values that were tried; empty text of a single one."""
    lines = [line for line in run.history() if "loss" in line and setting in line]
    if len(lines) < 2:
        return ""
    series = Series("validation", [line[setting] for line in lines], [line["loss"] for line in lines], markers=True)
    label = {"l2": "L2 penalty λ", "alpha": "additive smoothing α"}[setting]
    return line_chart("Loss of the validation texts", label, "loss", [series], log_x=True)


# --- using --------------------------------------------------------------------------------------------------------


def load(run: Run) -> LinearTextClassifier:
    """The trained model of a run."""
    shared.require_trained(run, "weights")
    model, arrays, about = LinearModel.read(run.weights)
    shared.require_matching_config(run, about["note"], "weights")
    config, tokenizer = run.record.config, run.tokenizer("text")
    try:
        kind = VECTORIZERS[run.record.data["parts"]]
        features = kind.from_arrays(arrays, about["features"], tokenizer, config.features)
    except (KeyError, ValueError, TypeError):
        raise damaged(run.weights) from None
    pipeline = LinearRegressor if model.link == "identity" else LinearTextClassifier
    return pipeline(run, tokenizer, model, features)
