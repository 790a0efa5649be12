"""The family of fastText's classifier: read labelled texts, train, label other texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firth.config import schema
from firth.data import examples
from firth.data.corpus import make_tokenizer
from firth.errors import FirthError
from firth.families import passes as shared
from firth.families.labels import Labeller
from firth.families.order import Order
from firth.metrics import classification
from firth.metrics.score import Score
from firth.report.page import write_report
from firth.runs.folder import Record, Run
from firth.text.tokenizer import Tokenizer
from firth.training import passes
from firth.vectors import bags
from firth.vectors.bag_classifier import Classifier
from firth.vectors.features import Shape, learn_features, learn_words, spelling
from firth.vectors.learner import Loss
from firth.vectors.store import WordVectors

SHOWN = 12  # texts of the report
SURE = 0.5  # from here on a label that is asked by itself is guessed
foresee = shared.foresee

# --- training -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prepared:
    """Labelled texts as rows, ready for the passes."""

    config: schema.BagClassifier
    tokenizer: Tokenizer
    splits: Mapping[str, examples.Split]
    learner: bags.Model
    counts: Any  # of the words


def fit(order: Order) -> ClassifierModel:
    """Train into the run folder, or go on with what is there; then score what was held out and write the report."""
    with shared.alone(order):
        prepared = _prepare(order)
        if not order.run.exists:
            _begin(order, prepared)
        passes.train(_job(order, prepared))
        return _finish(order, prepared)


def _prepare(order: Order) -> Prepared:
    run, say = order.run, order.progress.say
    began = run.exists
    config = run.record.config if began else order.config
    say(f"reading {', '.join(config.data.text)}")
    splits = examples.read(config.data, config.seed)
    if began:
        shared.require_same_text(run, splits)
    train = splits["train"]
    _require_labels(train, ", ".join(config.data.text))
    tokenizer = run.tokenizer("text") if began else make_tokenizer(config.tokenizer, train.texts)
    special = tokenizer.special.ids
    known = (name for name, token in tokenizer.vocabulary().items() if token not in special)
    words, counts, lines = learn_words(spelling(tokenizer)(train.texts), known)
    method = config.method
    shape = Shape(method.word_ngrams, method.least_part, method.most_part, method.buckets)
    features = learn_features(words, lines, shape)
    learner = bags.Model(features, lines, train.labels, method, config.train.epochs, config.seed)
    return Prepared(config, tokenizer, splits, learner, counts)


def _require_labels(train: examples.Split, where: str) -> None:
    names = {label for labels in train.labels for label in labels}
    if len(names) < 2:
        what = f"{len(names)} label in the training examples" + "".join(f" ({name})" for name in names)
        raise FirthError(what, where=where, do="give texts of at least two labels")


def _begin(order: Order, prepared: Prepared) -> None:
    """Everything that is decided once; then the run exists."""
    run, config, learner = order.run, prepared.config, prepared.learner
    config = replace(config, train=replace(config.train, threads=passes.threads(config.train)))
    run.write_tokenizer("text", prepared.tokenizer)
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": [],  # of language models
        "steps": config.train.epochs * learner.pieces,
        "training": shared.mode(config.train, learner),
    }
    tokenizers = {"text": prepared.tokenizer.hash}
    run.write_record(Record(order.preset, order.asked, config, tokenizers, data, shared.machine(config.train)))
    texts = ", ".join(f"{name} {len(split.examples):,}" for name, split in prepared.splits.items())
    rows = f"{len(learner.features.words):,} words, {len(learner.features.used):,} buckets, width {config.method.width}"
    order.progress.say(f"texts: {texts}; {len(learner.labels.names):,} labels; {rows}")
    order.progress.say(shared.mode(config.train, learner))


def _job(order: Order, prepared: Prepared) -> passes.Job:
    learner, spell, valid = prepared.learner, spelling(prepared.tokenizer), prepared.splits.get("valid")
    lines = learner.features.lines(spell(valid.texts)) if valid else None

    def held_out() -> Loss | None:
        return learner.held_out(lines, valid.labels) if valid else None

    def keep(note: Mapping[str, Any]) -> None:
        learner.classifier(prepared.counts, spell).write(order.run.weights, note)

    return shared.make_job(order, prepared.config.train, learner, held_out, keep)


def _finish(order: Order, prepared: Prepared) -> ClassifierModel:
    model, shown = load(order.run), []
    for name in ("valid", "test"):
        if name in prepared.splits:
            split = prepared.splits[name]
            order.run.add_scores([score.to_dict() for score in model.scores(split)])
            shown = model.told(split, SHOWN)
    write_report(order.run, shown, "Texts: their labels, what the model says")
    return model


# --- using --------------------------------------------------------------------------------------------------------


class ClassifierModel(Labeller):
    """A trained classifier: what `firth.load` gives for a run of one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, classifier: Classifier) -> None:
        self.run, self.tokenizer, self.classifier = run, tokenizer, classifier
        self.config: schema.BagClassifier = run.record.config

    @property
    def labels(self) -> tuple[str, ...]:
        """All that it can say, from frequent to rare."""
        return self.classifier.labels

    @property
    def vectors(self) -> WordVectors:
        """Those of its words."""
        return self.classifier.vectors()

    def predict(
        self, texts: str | Sequence[str], count: int = 1, threshold: float = 0.0
    ) -> list[list[tuple[str, float]]]:
        """The `count` most probable labels of each text with their probabilities, none below the threshold."""
        return self.classifier.predict(texts, count, threshold)

    def export(self, path: str | Path) -> None:
        """A .bin that fastText loads; it cuts words at blanks only, so give it texts as the tokenizer cuts them."""
        self.classifier.export(path, self.config.train.epochs)

    def scores(self, split: examples.Split) -> list[Score]:
        """How well the model labels these examples; where they have several labels, those that it is sure of count."""
        found = super().scores(split)
        if self.config.method.predict != "ova" or found[0].name == "accuracy":
            return found
        guessed = self.predict(split.texts, len(self.labels), SURE)
        sure = [[label for label, _ in labels] for labels in guessed]
        told = self.signed(split, f"from/{SURE}")
        return [*found[:-1], Score("macro_f1", classification.macro_f1(split.labels, sure), told)]


def load(run: Run) -> ClassifierModel:
    """The trained classifier of a run."""
    shared.require_trained(run, "weights")
    tokenizer = run.tokenizer("text")
    classifier, note = Classifier.read(run.weights, spelling(tokenizer))
    shared.require_own(run, note, "weights")
    return ClassifierModel(run, tokenizer, classifier)
