"""The word alignment family: reads sentence pairs, trains IBM models or HMM by EM in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np

from firth import alignment
from firth.config import schema
from firth.datasets import labelled_dataset, seq2seq_dataset
from firth.datasets.text_dataset import make_tokenizer
from firth.embeddings.method import Loss
from firth.families import pass_training as shared
from firth.metrics.perplexity import perplexity
from firth.pipelines.align_words import WordAligner
from firth.report.charts import bar_chart
from firth.report.run_page import write_report
from firth.runs.run_folder import Record, Run, TrainRequest
from firth.tokenizers.tokenizer import Tokenizer
from firth.training import pass_loop

REPORT_PAIRS = 12
DETERMINISTIC = "deterministic: the same text gives the same bytes, with any number of threads"
estimate = shared.estimate


@dataclass(frozen=True)
class Prepared:
    """Tokenised sentence pairs, and the model to train."""

    config: schema.AlignmentModel
    tokenizer: Tokenizer
    splits: Mapping[str, labelled_dataset.Split]
    trainer: AlignmentTrainer


class AlignmentTrainer:
    """A model in training; see `firth.embeddings.method.EmbeddingTrainer`. An epoch is one chunk: EM over all pairs."""

    has_loss, chunks = True, 1

    def __init__(self, training: alignment.Training, threads: int) -> None:
        self.training, self.threads = training, threads
        self.size = len(training.bitext.source.ids) + len(training.bitext.target.ids)

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays that training changes."""
        return self.training.arrays

    @property
    def model(self) -> alignment.BidirectionalModel:
        """The model in its current state."""
        return alignment.BidirectionalModel(*self.training.models)

    def train_chunk(self, epoch: int, chunk: int) -> Loss:
        """One EM step over all pairs; the loss before it."""
        return Loss(*self.training.em_step(epoch, self.threads))

    def validation_loss(self, bitext: alignment.Bitext) -> Loss:
        """The loss of held-out pairs, both directions together."""
        return sum((Loss(*loss) for loss in self.model.losses(bitext, self.threads)), Loss(0, 0.0))


# --- training -----------------------------------------------------------------------------------------------------


def fit(request: TrainRequest) -> WordAligner:
    """Train in the run folder, from its newest checkpoint if any; then score held-out data and write the report."""
    with shared.lock_run(request):
        prepared = _prepare(request)
        if not request.run.exists:
            _begin(request, prepared)
        pass_loop.train(_task(request, prepared))
        return _finish(request, prepared)


def _prepare(request: TrainRequest) -> Prepared:
    run, say = request.run, request.progress.say
    config = run.record.config if run.exists else request.config
    request.progress.stage(f"reading {', '.join((*config.data.source, *config.data.target) or config.data.text)}")
    splits = seq2seq_dataset.read_pairs(config.data, config.seed, say)
    if run.exists:
        shared.require_same_text(run, splits)
    train = splits["train"]
    tokenizer = run.tokenizer("text") if run.exists else make_tokenizer(config.tokenizer, train.texts)
    request.progress.stage("counting word pairs")
    training = alignment.start_training(_bitext(train, tokenizer), tokenizer.vocab_size, config.method)
    skipped = len(train.examples) - len(training.bitext)
    if skipped and not run.exists:
        say(f"note: {skipped:,} pairs with more than {config.method.max_length} tokens on a side are skipped")
    return Prepared(config, tokenizer, splits, AlignmentTrainer(training, pass_loop.thread_count(config.train)))


def _bitext(split: labelled_dataset.Split, tokenizer: Tokenizer) -> alignment.Bitext:
    return alignment.encode([(pair.left, pair.right) for pair in split.examples], tokenizer)


def _epochs(config: schema.AlignmentModel) -> schema.EpochTraining:
    """All epochs, those of IBM Model 1 too."""
    return replace(config.train, epochs=config.method.model1_epochs + config.train.epochs)


def _begin(request: TrainRequest, prepared: Prepared) -> None:
    """Write the tokenizer and the record; with the record the run exists."""
    run, config, trainer = request.run, prepared.config, prepared.trainer
    run.write_tokenizer("text", prepared.tokenizer)
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": [],  # only language models have them
        "steps": _epochs(config).epochs,
        "training": DETERMINISTIC,
    }
    tokenizers = {"text": prepared.tokenizer.hash}
    machine = {"numpy": np.__version__, "numba": numba.__version__}
    run.write_record(Record(request.preset, request.request_digest, config, tokenizers, data, machine))
    pairs = ", ".join(f"{name} {len(split.examples):,}" for name, split in prepared.splits.items())
    entries = sum(len(model.table.targets) for model in trainer.model)
    sizes = f"{trainer.size:,} words, {entries:,} translation table entries in both directions"
    request.progress.say(f"pairs: {pairs}; {sizes}; {DETERMINISTIC}")


def _task(request: TrainRequest, prepared: Prepared) -> pass_loop.PassTask:
    trainer, valid = prepared.trainer, prepared.splits.get("valid")
    bitext = _bitext(valid, prepared.tokenizer) if valid else None

    def save(metadata: Mapping[str, Any]) -> None:
        alignment.save(trainer.model, request.run.weights, metadata)

    def validation_loss() -> Loss | None:
        return trainer.validation_loss(bitext) if bitext else None

    task = shared.make_task(request, _epochs(prepared.config), trainer, validation_loss, save)
    return replace(task, log_fields=_log_fields)


def _log_fields(loss: Loss) -> dict[str, Any]:
    return {"loss": loss.mean, "metric": "perplexity", "value": perplexity(loss.total, loss.count)}


def _finish(request: TrainRequest, prepared: Prepared) -> WordAligner:
    request.progress.stage("scoring the held-out text and writing the report")
    model, examples, plots = load(request.run), [], []
    for name in ("valid", "test"):
        if name in prepared.splits:
            split = prepared.splits[name]
            request.run.add_scores([score.to_dict() for score in model.scores(split)])
            examples, plots = model.report_examples(split, REPORT_PAIRS), [_plot_fertility(model, split)]
    write_report(request.run, examples, "Sentence pairs and their word alignment", [plot for plot in plots if plot])
    return model


def _plot_fertility(model: WordAligner, split: labelled_dataset.Split) -> str:
    fertility = model.fertility(split.examples)
    if fertility is None:
        return ""
    labels = "links of a word (3: or more)", f"% of the words of the {split.name} texts"
    percentages = [100 * fraction for fraction in fertility.source]
    return bar_chart("Fertility: links per word", *labels, range(len(percentages)), percentages)


def load(run: Run) -> WordAligner:
    """The trained model of a run, memory-mapped."""
    shared.require_trained(run, "links")
    shared.require_matching_config(run, alignment.read_metadata(run.weights), "links")
    return WordAligner(run, run.tokenizer("text"), alignment.load(run.weights, run.record.config.method))
