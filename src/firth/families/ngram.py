"""The family of n-gram models: read the text, count, smooth. A run that was stopped begins anew, to the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numba
import numpy as np

from firth.config import schema
from firth.counts import ngram
from firth.counts.ngram.model import read_note
from firth.data.cache import Split
from firth.data.corpus import read_text
from firth.errors import FirthError, unknown
from firth.families import passes as shared
from firth.families.language import LanguageModel
from firth.families.ngram_engine import CONTEXT, NgramEngine, draw
from firth.families.order import Order
from firth.metrics.language import perplexity
from firth.metrics.score import Score
from firth.report.page import write_report
from firth.report.svg import bar_chart
from firth.runs.folder import Record, Run
from firth.runs.log import Log
from firth.text.tokenizer import Tokenizer

SAMPLES = {"count": 3, "length": 60, "temperature": 0.8}  # of the report
foresee = shared.foresee


@dataclass(frozen=True)
class Prepared:
    """Text as tokens."""

    config: schema.NgramModel
    tokenizer: Tokenizer
    splits: dict[str, Split]


# --- training -----------------------------------------------------------------------------------------------------


def fit(order: Order) -> NgramLanguageModel:
    """Estimate the model into the run folder, if it is not there; then score what was held out and write the report."""
    with shared.alone(order):
        prepared = _prepare(order)
        if not order.run.exists:
            _begin(order, prepared)
        if not _is_done(order.run):
            _estimate(order, prepared)
        return _finish(order, prepared)


def _prepare(order: Order) -> Prepared:
    run, began = order.run, order.run.exists
    config, say = (run.record.config, lambda _: None) if began else (order.config, order.progress.say)
    if began and not run.record.data["splits"]:
        raise FirthError("this model was imported, not trained", where=run.path, do="firth import makes it anew")
    tokenizer, splits = read_text(config, run.tokenizer("text") if began else None, order.cache, say)
    if began:
        shared.require_same_text(run, splits)
    return Prepared(config, tokenizer, splits)


def _begin(order: Order, prepared: Prepared) -> None:
    """The tokenizer and the record; then the run exists."""
    order.run.write_tokenizer("text", prepared.tokenizer)
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": list(prepared.splits["train"].tally.histogram),
        "training": "worked out at once: the same text gives the same model",
    }
    hashes, machine = {"text": prepared.tokenizer.hash}, {"numpy": np.__version__, "numba": numba.__version__}
    order.run.write_record(Record(order.preset, order.asked, prepared.config, hashes, data, machine))


def proof(run: Run) -> dict[str, Any]:
    """What the weights say of whose they are."""
    return {"config": run.config_digest(), "tokenizers": dict(run.record.tokenizers)}


def _is_done(run: Run) -> bool:
    """Whether the weights are there, whole, and this run's own: they are written last."""
    try:
        return run.is_trained and read_note(run.weights) == proof(run)
    except FirthError:
        return False


def _estimate(order: Order, prepared: Prepared) -> None:
    train, tokenizer, progress = prepared.splits["train"], prepared.tokenizer, order.progress
    progress.start(1, 0)
    few = train.starts[: min(3, len(train.starts))]
    for ids, starts in ((train.ids[: few[-1]], few), (train.ids, train.starts)):  # first to have the kernels at hand
        began = perf_counter()
        made = ngram.fit(ids, starts, tokenizer.size, tokenizer.special, prepared.config.method)
    seconds = round(perf_counter() - began, 3)
    notes = [*made.notes, *_impossible(made.model, prepared)]
    for note in notes:
        progress.say(f"note: {note}")
    progress.say(f"{len(made.model.words):,} n-grams: {_listed(made.model.sizes)}; {seconds:.1f} s")
    about = {"tokens": train.tally.tokens, "ngrams": made.model.sizes, "notes": notes}
    lines = [{"step": 1, **about, "seconds": seconds}, *_evaluated(made.model, prepared, seconds)]
    log = Log(order.run.path / "log.jsonl", keep_to=0)
    for line in lines:
        log.add(line)
        if "split" in line:
            progress.evaluation(line)
    log.close()
    progress.stop()
    ngram.save(made.model, order.run.weights, proof(order.run))


def _listed(sizes: Iterable[int]) -> str:
    return ", ".join(f"{size:,} of {order}" for order, size in enumerate(sizes, 1))


def _evaluated(model: ngram.Model, prepared: Prepared, seconds: float) -> list[dict[str, Any]]:
    """The line of the log for the validation text; none where it has no finite score."""
    split = prepared.splits.get("valid")
    if split is None or not model.normalised:
        return []
    nats = float(NgramEngine(model).surprises(split).sum(dtype=np.float64))
    told = {"loss": nats / split.tally.tokens, "metric": "perplexity", "value": perplexity(nats, split.tally.tokens)}
    return [{"step": 1, "split": "valid", **told, "seconds": seconds}] if np.isfinite(nats) else []


def _impossible(model: ngram.Model, prepared: Prepared) -> list[str]:
    """What to say of scores that are not what one expects."""
    split = prepared.splits.get("valid")
    if not model.normalised:
        return ["these are scores, not probabilities: perplexity and bits per byte are n/a"]
    count = 0 if split is None else int(np.isinf(NgramEngine(model).surprises(split)).sum())
    what = f"{count:,} tokens of the validation text are impossible for this model, so its perplexity is infinite"
    return [f"{what}; another smoothing has none"] if count else []


def _finish(order: Order, prepared: Prepared) -> NgramLanguageModel:
    model = load(order.run)
    for name in ("valid", "test"):
        if name in prepared.splits:
            order.run.add_scores([score.to_dict() for score in model.evaluate(split=name, cache=order.cache)])
    texts = draw(model.counted, prepared.tokenizer.special, **SAMPLES, seed=prepared.config.seed)
    pictures = [_by_order(model.counted, prepared.splits["valid"])] if "valid" in prepared.splits else []
    write_report(order.run, [prepared.tokenizer.decode(ids) for ids in texts], pictures=pictures)
    return model


def _by_order(model: ngram.Model, split: Split) -> str:
    """Whether the order is too high or too low for this text."""
    found = ngram.score(model, split.ids, split.starts).orders
    shares = 100 * np.bincount(found, minlength=model.order + 1)[1:] / max(1, len(found))
    labels = "tokens of the longest known n-gram", "% of the validation text"
    return bar_chart("How much was known of it", *labels, range(1, model.order + 1), shares.tolist())


# --- using --------------------------------------------------------------------------------------------------------


def load(run: Run) -> NgramLanguageModel:
    """The model of a run, memory-mapped."""
    shared.require_trained(run, "n-grams")
    shared.require_own(run, read_note(run.weights), "n-grams")
    return NgramLanguageModel(run, run.tokenizer("text"), ngram.load(run.weights))


class NgramLanguageModel(LanguageModel):
    """A language model of counted n-grams: what `firth.load` gives for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, counted: ngram.Model) -> None:
        super().__init__(run, tokenizer, NgramEngine(counted), CONTEXT)
        self.counted = counted

    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """As any language model; n/a where the scores are not probabilities (stupid backoff)."""
        found = super().evaluate(text, split, cache)
        return found if self.normalised else [replace(score, value=None) for score in found]

    @property
    def normalised(self) -> bool:
        """Whether what it says of all texts adds up to one: not with stupid backoff."""
        return self.counted.normalised

    def part(self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None) -> Split:
        """A split of the run's own text, or other text, tokenised; an imported model has none of its own."""
        if text is None and not self.run.record.data["splits"]:
            raise FirthError("an imported model has no text of its own", where=self.run.path, do="give it with --text")
        return super().part(text, split, cache)

    def export(self, kind: str, path: str | Path) -> None:
        """Write the model for other programs: arpa (.gz packs it)."""
        if kind not in EXPORTS:
            raise unknown("kind of export", kind, EXPORTS)
        names = {number: name for name, number in self.tokenizer.vocabulary().items()}
        EXPORTS[kind](self.counted, [names.get(i, f"[{i}]") for i in range(self.tokenizer.size)], path)


EXPORTS: Mapping[str, Any] = {"arpa": ngram.write_arpa}
