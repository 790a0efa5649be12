"""The n-gram family: reads the text, counts n-grams, smooths. An interrupted run starts again, with the same result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numba
import numpy as np

from firth import ngram
from firth.config import schema
from firth.datasets.text_dataset import read_text
from firth.datasets.token_cache import Split
from firth.errors import FirthError, unknown
from firth.families import pass_training as shared
from firth.metrics.perplexity import perplexity
from firth.metrics.score import Score
from firth.ngram.ngram_model import read_metadata
from firth.pipelines.language_model import LanguageModel
from firth.pipelines.ngram_lm import CONTEXT, NgramEngine, sample_texts
from firth.report.charts import bar_chart
from firth.report.run_page import write_report
from firth.runs.progress import Quiet
from firth.runs.run_folder import Log, Record, Run, TrainRequest
from firth.tokenizers.tokenizer import Tokenizer

REPORT_SAMPLES = {"count": 3, "length": 60, "temperature": 0.8}
estimate = shared.estimate


@dataclass(frozen=True)
class Prepared:
    """The tokenised text."""

    config: schema.NgramModel
    tokenizer: Tokenizer
    splits: dict[str, Split]


# --- training -----------------------------------------------------------------------------------------------------


def fit(request: TrainRequest) -> NgramLanguageModel:
    """Estimate the model, if the run folder has none; then score held-out text and write the report."""
    with shared.lock_run(request):
        prepared = _prepare(request)
        if not request.run.exists:
            _begin(request, prepared)
        if not _is_done(request.run):
            _estimate(request, prepared)
        return _finish(request, prepared)


def _prepare(request: TrainRequest) -> Prepared:
    run, resumed = request.run, request.run.exists
    config, progress = (run.record.config, Quiet()) if resumed else (request.config, request.progress)
    if resumed and not run.record.data["splits"]:
        raise FirthError("this model was imported, not trained", where=run.path, do="import it again with firth import")
    ready = run.tokenizer("text") if resumed else request.tokenizers.get("text")
    tokenizer, splits = read_text(config, ready, request.cache, progress)
    if resumed:
        shared.require_same_text(run, splits)
    return Prepared(config, tokenizer, splits)


def _begin(request: TrainRequest, prepared: Prepared) -> None:
    """Write the tokenizer and the record; with the record the run exists."""
    request.run.write_tokenizer("text", prepared.tokenizer)
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": list(prepared.splits["train"].tally.histogram),
        "training": "computed at once: the same text gives the same model",
    }
    hashes, machine = {"text": prepared.tokenizer.hash}, {"numpy": np.__version__, "numba": numba.__version__}
    request.run.write_record(Record(request.preset, request.request_digest, prepared.config, hashes, data, machine))


def weights_metadata(run: Run) -> dict[str, Any]:
    """The metadata of the weights file: the run's configuration and tokenizers."""
    return {"config": run.config_digest(), "tokenizers": dict(run.record.tokenizers)}


def _is_done(run: Run) -> bool:
    """Whether the weights, which are written last, are complete and of this run."""
    try:
        return run.is_trained and read_metadata(run.weights) == weights_metadata(run)
    except FirthError:
        return False


def _estimate(request: TrainRequest, prepared: Prepared) -> None:
    train, tokenizer, progress = prepared.splits["train"], prepared.tokenizer, request.progress
    progress.stage("counting n-grams")
    few = train.starts[: min(3, len(train.starts))]
    for ids, starts in ((train.ids[: few[-1]], few), (train.ids, train.starts)):  # a few first, to compile the kernels
        started = perf_counter()
        fitted = ngram.fit(ids, starts, tokenizer.vocab_size, tokenizer.special, prepared.config.method)
    seconds = round(perf_counter() - started, 3)
    progress.stage("evaluating on the validation text")
    notes = [*fitted.notes, *_score_warnings(fitted.model, prepared)]
    for note in notes:
        progress.say(f"note: {note}")
    progress.say(f"{len(fitted.model.words):,} n-grams: {_format_sizes(fitted.model.sizes)}; {seconds:.1f} s")
    entry = {"step": 1, "tokens": train.tally.tokens, "ngrams": fitted.model.sizes, "notes": notes, "seconds": seconds}
    lines = [entry, *_validation_entries(fitted.model, prepared, seconds)]
    log = Log(request.run.path / "log.jsonl", keep_to=0)
    for line in lines:
        log.add(line)
        if "split" in line:
            progress.evaluation(line)
    log.close()
    progress.stop()
    ngram.save(fitted.model, request.run.weights, weights_metadata(request.run))


def _format_sizes(sizes: Iterable[int]) -> str:
    return ", ".join(f"{size:,} of {order}" for order, size in enumerate(sizes, 1))


def _validation_entries(model: ngram.Model, prepared: Prepared, seconds: float) -> list[dict[str, Any]]:
    """The log entry of the validation text; none where its loss is not finite."""
    split = prepared.splits.get("valid")
    if split is None or not model.normalised:
        return []
    nll, tokens = float(NgramEngine(model).surprisals(split).sum(dtype=np.float64)), split.tally.tokens
    fields = {"loss": nll / tokens, "metric": "perplexity", "value": perplexity(nll, tokens)}
    return [{"step": 1, "split": "valid", **fields, "seconds": seconds}] if np.isfinite(nll) else []


def _score_warnings(model: ngram.Model, prepared: Prepared) -> list[str]:
    """Warnings about scores that are not probabilities, or infinite."""
    split = prepared.splits.get("valid")
    if not model.normalised:
        return ["these are scores, not probabilities: perplexity and bits per byte are n/a"]
    count = 0 if split is None else int(np.isinf(NgramEngine(model).surprisals(split)).sum())
    what = f"{count:,} tokens of the validation text have probability 0, so the perplexity is infinite"
    return [f"{what}; choose another smoothing"] if count else []


def _finish(request: TrainRequest, prepared: Prepared) -> NgramLanguageModel:
    request.progress.stage("scoring the held-out text")
    model = load(request.run)
    for name in ("valid", "test"):
        if name in prepared.splits:
            request.run.add_scores([score.to_dict() for score in model.evaluate(split=name, cache=request.cache)])
    request.progress.stage("writing the report")
    texts = sample_texts(model.counted, prepared.tokenizer.special, **REPORT_SAMPLES, seed=prepared.config.seed)
    figures = [_plot_orders(model.counted, prepared.splits["valid"])] if "valid" in prepared.splits else []
    write_report(request.run, [prepared.tokenizer.decode(ids) for ids in texts], figures=figures)
    return model


def _plot_orders(model: ngram.Model, split: Split) -> str:
    """A bar chart of the n-gram order that each token was scored with: whether the order is too high or too low."""
    orders = ngram.score(model, split.ids, split.starts).orders
    percentages = 100 * np.bincount(orders, minlength=model.order + 1)[1:] / max(1, len(orders))
    labels = "tokens of the longest known n-gram", "% of the validation text"
    return bar_chart("Longest matching n-gram", *labels, range(1, model.order + 1), percentages.tolist())


# --- using --------------------------------------------------------------------------------------------------------


def load(run: Run) -> NgramLanguageModel:
    """The model of a run, memory-mapped."""
    shared.require_trained(run, "n-grams")
    shared.require_matching_config(run, read_metadata(run.weights), "n-grams")
    return NgramLanguageModel(run, run.tokenizer("text"), ngram.load(run.weights))


class NgramLanguageModel(LanguageModel):
    """A trained n-gram language model: what `firth.load` returns for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, counted: ngram.Model) -> None:
        super().__init__(run, tokenizer, NgramEngine(counted), CONTEXT)
        self.counted = counted

    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Perplexity and bits per byte; n/a where the scores are not probabilities (stupid backoff)."""
        scores = super().evaluate(text, split, cache)
        note = "its scores are not probabilities"
        return scores if self.normalised else [replace(score, value=None, note=note) for score in scores]

    @property
    def normalised(self) -> bool:
        """Whether the probabilities of all texts sum to one: not with stupid backoff."""
        return self.counted.normalised

    def export(self, kind: str, path: str | Path) -> None:
        """Write the model for other programs: `arpa` (a path that ends in .gz is compressed)."""
        if kind not in EXPORTS:
            raise unknown("kind of export", kind, EXPORTS)
        names = {number: name for name, number in self.tokenizer.vocabulary().items()}
        EXPORTS[kind](self.counted, [names.get(i, f"[{i}]") for i in range(self.tokenizer.vocab_size)], path)


EXPORTS: Mapping[str, Any] = {"arpa": ngram.write_arpa}
