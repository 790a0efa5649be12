"""The family of word alignment: read pairs of texts, count by EM, link the words of other pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np

from firth.config import schema
from firth.counts import alignment
from firth.data import examples, written
from firth.data.corpus import make_tokenizer
from firth.families import passes as shared
from firth.families.linker import Linker
from firth.families.order import Order
from firth.metrics.language import perplexity
from firth.report.page import write_report
from firth.report.svg import bar_chart
from firth.runs.folder import Record, Run
from firth.text.tokenizer import Tokenizer
from firth.training import passes
from firth.vectors.learner import Loss

SHOWN = 12  # pairs of the report
SAME = "the same text gives the same bytes, with any number of threads"
foresee = shared.foresee


@dataclass(frozen=True)
class Prepared:
    """Pairs of texts as tokens, ready for the passes."""

    config: schema.AlignmentModel
    tokenizer: Tokenizer
    splits: Mapping[str, examples.Split]
    learner: Learner


class Learner:
    """A model in training; see `firth.vectors.learner.Learner`. An epoch is one piece: a pass over all pairs."""

    predicts, pieces = True, 1

    def __init__(self, training: alignment.Training, threads: int) -> None:
        self.training, self.threads = training, threads
        self.size = len(training.bitext.left.ids) + len(training.bitext.right.ids)

    @property
    def arrays(self) -> dict[str, Any]:
        """All that passes change."""
        return self.training.arrays

    @property
    def both(self) -> alignment.Both:
        """The model as it is."""
        return alignment.Both(*self.training.models)

    def work(self, epoch: int, piece: int) -> Loss:
        """One pass of EM; the loss before it."""
        return Loss(*self.training.work(epoch, self.threads))

    def held_out(self, bitext: alignment.Bitext) -> Loss:
        """The loss of other pairs, both directions together."""
        return sum((Loss(*loss) for loss in self.both.losses(bitext, self.threads)), Loss(0, 0.0))


# --- training -----------------------------------------------------------------------------------------------------


def fit(order: Order) -> Linker:
    """Train into the run folder, or go on with what is there; then score what was held out and write the report."""
    with shared.alone(order):
        prepared = _prepare(order)
        if not order.run.exists:
            _begin(order, prepared)
        passes.train(_job(order, prepared))
        return _finish(order, prepared)


def _prepare(order: Order) -> Prepared:
    run, say = order.run, order.progress.say
    config = run.record.config if run.exists else order.config
    say(f"reading {', '.join((*config.data.source, *config.data.target) or config.data.text)}")
    splits = written.pairs(config.data, config.seed)
    if run.exists:
        shared.require_same_text(run, splits)
    train = splits["train"]
    tokenizer = run.tokenizer("text") if run.exists else make_tokenizer(config.tokenizer, train.texts)
    training = alignment.begin(_bitext(train, tokenizer), tokenizer.size, config.method)
    left_out = len(train.examples) - len(training.bitext)
    if left_out and not run.exists:
        say(f"note: {left_out:,} pairs with more than {config.method.longest} tokens on a side teach nothing")
    return Prepared(config, tokenizer, splits, Learner(training, passes.threads(config.train)))


def _bitext(split: examples.Split, tokenizer: Tokenizer) -> alignment.Bitext:
    return alignment.encode([(pair.left, pair.right) for pair in split.examples], tokenizer)


def _epochs(config: schema.AlignmentModel) -> schema.Passes:
    """All passes, those of Model 1 too."""
    return replace(config.train, epochs=config.method.first + config.train.epochs)


def _begin(order: Order, prepared: Prepared) -> None:
    """Everything that is decided once; then the run exists."""
    run, config, learner = order.run, prepared.config, prepared.learner
    run.write_tokenizer("text", prepared.tokenizer)
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": [],  # of language models
        "steps": _epochs(config).epochs,
        "training": SAME,
    }
    tokenizers = {"text": prepared.tokenizer.hash}
    machine = {"numpy": np.__version__, "numba": numba.__version__}
    run.write_record(Record(order.preset, order.asked, config, tokenizers, data, machine))
    pairs = ", ".join(f"{name} {len(split.examples):,}" for name, split in prepared.splits.items())
    cells = sum(len(model.lexicon.targets) for model in learner.both)
    order.progress.say(f"pairs: {pairs}; {learner.size:,} words, {cells:,} pairs of words in both directions; {SAME}")


def _job(order: Order, prepared: Prepared) -> passes.Job:
    learner, valid = prepared.learner, prepared.splits.get("valid")
    bitext = _bitext(valid, prepared.tokenizer) if valid else None

    def keep(note: Mapping[str, Any]) -> None:
        alignment.save(learner.both, order.run.weights, note)

    held_out = (lambda: learner.held_out(bitext)) if bitext else lambda: None
    return replace(shared.make_job(order, _epochs(prepared.config), learner, held_out, keep), told=_told)


def _told(loss: Loss) -> dict[str, Any]:
    return {"loss": loss.mean, "metric": "perplexity", "value": perplexity(loss.total, loss.count)}


def _finish(order: Order, prepared: Prepared) -> Linker:
    model, shown, pictures = load(order.run), [], []
    for name in ("valid", "test"):
        if name in prepared.splits:
            split = prepared.splits[name]
            order.run.add_scores([score.to_dict() for score in model.scores(split)])
            shown, pictures = model.told(split, SHOWN), [_fertility(model, split)]
    write_report(order.run, shown, "Pairs: which words belong together", [picture for picture in pictures if picture])
    return model


def _fertility(model: Linker, split: examples.Split) -> str:
    found = model.fertility(split.examples)
    if found is None:
        return ""
    labels = "links of a word (3: or more)", f"% of the words of the {split.name} texts"
    return bar_chart("How many words a word becomes", *labels, range(len(found.left)), [100 * x for x in found.left])


def load(run: Run) -> Linker:
    """The trained model of a run, memory-mapped."""
    shared.require_trained(run, "links")
    shared.require_own(run, alignment.read_note(run.weights), "links")
    return Linker(run, run.tokenizer("text"), alignment.load(run.weights, run.record.config.method))
