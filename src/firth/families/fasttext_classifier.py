"""The fastText classifier family (Joulin et al. 2017): reads labelled texts, trains, classifies other texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.arguments import as_count, batched
from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.text_dataset import make_tokenizer
from firth.display import Table
from firth.embeddings import fasttext_supervised
from firth.embeddings.fasttext_features import FeatureOptions, build_features, build_vocabulary, word_splitter
from firth.embeddings.fasttext_model import Classifier
from firth.embeddings.method import Loss
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.families import pass_training as shared
from firth.metrics import classification
from firth.metrics.score import Score
from firth.pipelines.label_predictions import BaseClassifier
from firth.report.run_page import write_report
from firth.runs.run_folder import Record, Run, TrainRequest
from firth.tokenizers.tokenizer import Tokenizer
from firth.training import pass_loop

REPORT_EXAMPLES = 12
THRESHOLD = 0.5  # probability from which a label is predicted with the one-vs-all loss
estimate = shared.estimate

# --- training -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prepared:
    """Labelled texts as features, and the model to train."""

    config: schema.FastTextClassifier
    tokenizer: Tokenizer
    splits: Mapping[str, labelled_dataset.Split]
    trainer: fasttext_supervised.FastTextTrainer
    counts: Any  # of the words


def fit(request: TrainRequest) -> FastTextClassifier:
    """Train in the run folder, from its newest checkpoint if any; then score held-out data and write the report."""
    with shared.lock_run(request):
        prepared = _prepare(request)
        if not request.run.exists:
            _begin(request, prepared)
        pass_loop.train(_task(request, prepared))
        return _finish(request, prepared)


def _prepare(request: TrainRequest) -> Prepared:
    run, say = request.run, request.progress.say
    resumed = run.exists
    config = run.record.config if resumed else request.config
    shared.refuse_calibration(config)
    request.progress.stage(f"reading {', '.join(config.data.text)}")
    splits = labelled_dataset.read(config.data, config.seed, say)
    if resumed:
        shared.require_same_text(run, splits)
    train = splits["train"]
    _require_labels(train, ", ".join(config.data.text))
    tokenizer = run.tokenizer("text") if resumed else make_tokenizer(config.tokenizer, train.texts)
    special = tokenizer.special.ids
    known = (name for name, token in tokenizer.vocabulary().items() if token not in special)
    request.progress.stage("building the vocabulary")
    words, counts, lines = build_vocabulary(word_splitter(tokenizer)(train.texts), known)
    method = config.method
    options = FeatureOptions(method.word_ngrams, method.min_n, method.max_n, method.buckets)
    features = build_features(words, lines, options)
    trainer = fasttext_supervised.FastTextTrainer(
        features, lines, train.labels, method, config.train.epochs, config.seed
    )
    return Prepared(config, tokenizer, splits, trainer, counts)


def _require_labels(train: labelled_dataset.Split, where: str) -> None:
    names = {label for labels in train.labels for label in labels}
    if len(names) < 2:
        what = f"{len(names)} label in the training examples" + "".join(f" ({name})" for name in names)
        raise FirthError(what, where=where, do="give texts of at least two labels")


def _begin(request: TrainRequest, prepared: Prepared) -> None:
    """Write the tokenizer and the record; with the record the run exists."""
    run, config, trainer = request.run, prepared.config, prepared.trainer
    config = replace(config, train=replace(config.train, threads=pass_loop.thread_count(config.train)))
    run.write_tokenizer("text", prepared.tokenizer)
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": [],  # only language models have them
        "steps": config.train.epochs * trainer.chunks,
        "training": shared.reproducibility(config.train, trainer),
    }
    tokenizers, machine = {"text": prepared.tokenizer.hash}, shared.machine_info(config.train)
    run.write_record(Record(request.preset, request.request_digest, config, tokenizers, data, machine))
    texts = ", ".join(f"{name} {len(split.examples):,}" for name, split in prepared.splits.items())
    features = f"{len(trainer.features.words):,} words, {len(trainer.features.used_buckets):,} buckets"
    labels = f"{len(trainer.labels.names):,} labels"
    request.progress.say(f"texts: {texts}; {labels}; {features}, width {config.method.width}")
    request.progress.say(shared.reproducibility(config.train, trainer))


def _task(request: TrainRequest, prepared: Prepared) -> pass_loop.PassTask:
    trainer, split_words, valid = prepared.trainer, word_splitter(prepared.tokenizer), prepared.splits.get("valid")
    lines = trainer.features.encode(split_words(valid.texts)) if valid else None

    def validation_loss() -> Loss | None:
        return trainer.held_out(lines, valid.labels) if valid else None

    def save(metadata: Mapping[str, Any]) -> None:
        trainer.classifier(prepared.counts, split_words).write(request.run.weights, metadata)

    return shared.make_task(request, prepared.config.train, trainer, validation_loss, save)


def _finish(request: TrainRequest, prepared: Prepared) -> FastTextClassifier:
    request.progress.stage("scoring the held-out text and writing the report")
    model, examples = load(request.run), []
    for name in ("valid", "test"):
        if name in prepared.splits:
            split = prepared.splits[name]
            request.run.add_scores([score.to_dict() for score in model.scores(split)])
            examples = model.report_examples(split, REPORT_EXAMPLES)
    write_report(request.run, examples, "Texts: gold labels, predicted labels")
    return model


# --- using --------------------------------------------------------------------------------------------------------


class FastTextClassifier(BaseClassifier):
    """A trained fastText classifier: what `firth.load` returns for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, classifier: Classifier) -> None:
        self.run, self.tokenizer, self.classifier = run, tokenizer, classifier
        self.config: schema.FastTextClassifier = run.record.config

    @property
    def labels(self) -> tuple[str, ...]:
        """All classes, from frequent to rare."""
        return self.classifier.labels

    @property
    def independent_labels(self) -> bool:
        """Whether the probabilities of labels are independent of each other (multi-label)."""
        return self.config.method.loss == "one-vs-all"

    @property
    def vectors(self) -> WordVectors:
        """Its word vectors."""
        return self.classifier.vectors()

    def predict(self, texts: str | Iterable[str], count: int = 1, threshold: float = 0.0) -> Any:
        """The `count` most probable labels of a text with their probabilities, none below the threshold; of a list of
        texts, a list of these."""
        return batched(texts, lambda texts: self.classifier.predict(texts, as_count(count), threshold))

    def predict_proba(self, texts: str | Iterable[str]) -> np.ndarray:
        """The probability of every label for a text (labels,) or for each of a list (texts, labels), in the order of
        `labels`; independent probabilities with the one-vs-all loss."""
        return batched(texts, self.classifier.probabilities)

    def export(self, path: str | Path) -> None:
        """Write a .bin that fastText loads; it splits words at blanks only, so give it texts split by the tokenizer."""
        self.classifier.export(path, self.config.train.epochs)

    def scores(self, split: labelled_dataset.Split) -> list[Score]:
        """Precision, recall and macro F1; with the one-vs-all loss, macro F1 of the labels above the threshold."""
        scores = super().scores(split)
        if self.config.method.loss != "one-vs-all" or scores[0].name == "accuracy":
            return scores
        predictions = self.predict(split.texts, len(self.labels), THRESHOLD)
        predicted = [[label for label, _ in labels] for labels in predictions]
        signed = self.signed(split, f"from/{THRESHOLD}")
        return Table([*scores[:-1], Score("macro_f1", classification.macro_f1(split.labels, predicted), signed)])


def load(run: Run) -> FastTextClassifier:
    """The trained classifier of a run."""
    shared.require_trained(run, "weights")
    tokenizer = run.tokenizer("text")
    classifier, metadata = Classifier.read(run.weights, word_splitter(tokenizer))
    shared.require_matching_config(run, metadata, "weights")
    return FastTextClassifier(run, tokenizer, classifier)
