"""The family of taggers without networks: reads tagged sentences, counts or trains, tags. An interrupted run starts
again, with the same result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numba
import numpy as np
import scipy

from firth.config import schema
from firth.datasets.labelled_dataset import Split
from firth.datasets.tagged_sentences import TaggedData
from firth.embeddings import array_bundle
from firth.errors import FirthError
from firth.families import pass_training as shared
from firth.linear.crf_training import CRFTrainer
from firth.linear.tag_features import TagFeatures
from firth.linear.tagger_models import MODELS, FeatureTagger, TaggerModel
from firth.metrics import tagging
from firth.metrics.score import Score
from firth.pipelines.linear_tagging import LinearTagger, layer_chain, predict_layer, read_sentences
from firth.report.run_page import write_report
from firth.runs.run_folder import Log, Record, Run, TrainRequest
from firth.runs.weights import not_finite, require_finite

KIND = "a tagger"
DETERMINISTIC = "deterministic: the same sentences give the same bytes, with any number of threads"
Labels = Mapping[str, tuple[str, ...]]
estimate = shared.estimate


@dataclass(frozen=True)
class Prepared:
    """The sentences, and the tags of each layer, from frequent to rare."""

    config: schema.LinearTagger
    data: TaggedData
    labels: Labels


# --- training -----------------------------------------------------------------------------------------------------


def fit(request: TrainRequest) -> LinearTagger:
    """Train in the run folder, if it has no model; then score held-out sentences and write the report."""
    with shared.lock_run(request):
        prepared = _prepare(request)
        if not request.run.exists:
            _begin(request, prepared)
        if not _is_done(request.run):
            _train(request, prepared)
        return _finish(request, prepared)


def _prepare(request: TrainRequest) -> Prepared:
    run, resumed = request.run, request.run.exists
    config = run.record.config if resumed else request.config
    shared.refuse_calibration(config)
    request.progress.stage(f"reading {', '.join(config.data.text)}")
    data = read_sentences(config, request.progress.say)
    if resumed:
        shared.require_same_text(run, data.splits)
    train = data.splits["train"].examples
    counts = [Counter(tag for sentence in train for tag in sentence.tags[number]) for number in range(len(data.layers))]
    names = [tuple(sorted(each, key=lambda tag: (-each[tag], tag))) for each in counts]
    prepared = Prepared(config, data, dict(zip(data.layers, names, strict=True)))
    if not resumed:
        for line in _about(prepared):
            request.progress.say(line)
    return prepared


def _about(prepared: Prepared) -> Iterator[str]:
    """The sizes, the tags, and the first tag of each held-out split that training does not have."""
    splits = prepared.data.splits
    words = {name: sum(len(sentence.words) for sentence in split.examples) for name, split in splits.items()}
    sizes = (f"{name} {len(split.examples):,} ({words[name]:,} words)" for name, split in splits.items())
    yield f"sentences: {', '.join(sizes)}"
    for number, (layer, names) in enumerate(prepared.labels.items()):
        scheme = f" ({prepared.data.schemes[layer]})" if layer in prepared.data.schemes else ""
        shown = ", ".join(names[:8]) + ", …" * (len(names) > 8)
        yield f"{layer}{scheme}: {len(names):,} tag{'s' * (len(names) != 1)}: {shown}"
        for name, split in splits.items():
            unseen = [
                (sentence, word)
                for sentence in split.examples
                for word, tag in enumerate(sentence.tags[number])
                if tag not in names
            ]
            if unseen:
                sentence, word = unseen[0]
                what = f"no training sentence has the {layer} tag {sentence.tags[number][word]!r}"
                yield f"note: {sentence.place(word)}: {what}; {len(unseen):,} such words in {name} count as wrong"


def _begin(request: TrainRequest, prepared: Prepared) -> None:
    """Write the record; with it the run exists."""
    data = {
        "splits": {name: split.key for name, split in prepared.data.splits.items()},
        "byte_counts": [],  # only language models have them
        "labels": {layer: list(names) for layer, names in prepared.labels.items()},
        "schemes": dict(prepared.data.schemes),
        "training": DETERMINISTIC,
    }
    machine = {"numpy": np.__version__, "scipy": scipy.__version__, "numba": numba.__version__}
    request.run.write_record(Record(request.preset, request.request_digest, prepared.config, {}, data, machine))


def _is_done(run: Run) -> bool:
    """Whether the weights, which are written last, are complete and of this run."""
    try:
        return run.is_trained and array_bundle.read(run.weights, KIND)[0].get("config") == run.config_digest()
    except FirthError:
        return False


def _train(request: TrainRequest, prepared: Prepared) -> None:
    run, progress = request.run, request.progress
    log = Log(run.path / "log.jsonl", keep_to=0)
    trainer = _Trainer(request, prepared, log)
    arrays: dict[str, np.ndarray] = {}
    for number, layer in enumerate(prepared.labels):
        progress.stage(f"training on {layer}")
        model = trainer.train(number, layer)
        arrays |= {f"{number}.{name}": array for name, array in model.arrays().items()}
    log.close()
    progress.stop()
    parameters = sum(array.size for array in arrays.values() if array.dtype.kind == "f")
    array_bundle.write(run.weights, KIND, {"config": run.config_digest(), "parameters": parameters}, arrays)


class _Trainer:
    """Trains a model for each layer, and logs it."""

    def __init__(self, request: TrainRequest, prepared: Prepared, log: Log) -> None:
        self.request, self.prepared, self.log = request, prepared, log
        self.began, self.step = perf_counter(), 0

    def train(self, number: int, layer: str) -> TaggerModel:
        """The model of a layer."""
        names, method = self.prepared.labels[layer], self.prepared.config.method
        train = self.prepared.data.splits["train"]
        sentences = [sentence.words for sentence in train.examples]
        tags = _encode(train, number, names)
        if isinstance(method, schema.ConditionalRandomField):
            return self._train_crf(sentences, tags, layer)
        model: TaggerModel = MODELS[type(method)].fit(sentences, tags, len(names), method)
        self._record(layer, {"words": sum(map(len, tags))}, self._quality(layer, model))
        return model

    def _train_crf(self, sentences: list[Any], tags: list[np.ndarray], layer: str) -> TaggerModel:
        """The model of the penalty with the best validation score, the first of several."""
        method, say = self.prepared.config.method, self.request.progress.say
        settings = sorted({*method.l2}, reverse=True)
        if not settings:
            raise FirthError("no value to try", where="method.l2", do="give at least one")
        features = TagFeatures.fit(sentences, method.window, method.affixes, method.min_count, len(method.given))
        trainer = CRFTrainer(features.transform(sentences), tags, len(self.prepared.labels[layer]), method)
        say(f"{layer}: {features.size:,} features, {trainer.pattern.size:,} weights")
        best: tuple[float, TaggerModel] | None = None
        for l2 in settings:
            result = trainer.fit(l2)
            model = FeatureTagger(features, result.weights.astype(np.float32), result.chain)
            quality = self._quality(layer, model) if "valid" in self.prepared.data.splits else None
            entry = {"l2": l2, "train_loss": result.loss, "iterations": result.iterations}
            self._record(layer, entry, quality)
            if not result.converged:
                say(f"note: no convergence in {result.iterations:,} iterations; raise method.max_iterations")
            value = quality.value if quality and quality.value is not None else 0.0
            if best is None or value > best[0]:
                best = value, model
        assert best is not None
        return best[1]

    def _quality(self, layer: str, model: TaggerModel) -> Score | None:
        """F1 of spans or accuracy of the validation sentences; None without any."""
        data = self.prepared.data
        if "valid" not in data.splits:
            return None
        sentences, number = data.splits["valid"].examples, data.layers.index(layer)
        gold = [sentence.tags[number] for sentence in sentences]
        names, scheme = self.prepared.labels[layer], data.schemes.get(layer, "")
        chain = layer_chain(names, scheme, self.prepared.config.method)
        predicted = predict_layer(model, [sentence.words for sentence in sentences], names, chain)
        metric = tagging.chunk_f1 if scheme else tagging.token_accuracy
        return metric(gold, predicted).score()

    def _record(self, layer: str, fields: Mapping[str, Any], quality: Score | None) -> None:
        self.step += 1
        entry = {"step": self.step, "layer": layer, **fields}
        if quality is not None:
            entry |= {"split": "valid", "metric": quality.name, "value": quality.value or 0.0}
        entry["seconds"] = round(perf_counter() - self.began, 3)
        self.log.add(entry)
        if quality is not None:
            self.request.progress.evaluation(entry)


def _encode(split: Split, number: int, names: tuple[str, ...]) -> list[np.ndarray]:
    """The numbers of the tags of a layer, sentence by sentence."""
    numbers = {name: at for at, name in enumerate(names)}
    return [np.array([numbers[tag] for tag in sentence.tags[number]], np.int64) for sentence in split.examples]


def _finish(request: TrainRequest, prepared: Prepared) -> LinearTagger:
    request.progress.stage("scoring the held-out sentences and writing the report")
    model = load(request.run)
    for name in ("valid", "test"):
        if name in prepared.data.splits:
            split = prepared.data.splits[name]
            request.run.add_scores([score.to_dict() for score in model.scores(split, model.tags_of(split))])
    held_out = {"valid", "test"} & prepared.data.splits.keys()
    write_report(request.run, model.samples(prepared.config.seed) if held_out else [], "Tagged sentences")
    return model


# --- using --------------------------------------------------------------------------------------------------------


def load(run: Run) -> LinearTagger:
    """The trained tagger of a run."""
    shared.require_trained(run, "weights")
    about, arrays = array_bundle.read(run.weights, KIND)
    shared.require_matching_config(run, about, "weights")
    _require_numbers(arrays, run.weights)
    method, models = run.record.config.method, {}
    try:
        for number, (layer, names) in enumerate(run.record.data["labels"].items()):
            own = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{number}.")}
            models[layer] = MODELS[type(method)].from_arrays(own, len(names), method)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        do = "restore it, or train again"
        raise FirthError("damaged: its arrays do not fit", where=run.weights, do=do) from None
    return LinearTagger(run, models)


def _require_numbers(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Refuse NaN and infinity; the logarithm of 0 is allowed where tags follow each other."""
    transitions = {name: array for name, array in arrays.items() if name.endswith(".transitions")}
    require_finite({name: array for name, array in arrays.items() if name not in transitions}, path)
    for name, array in transitions.items():
        if (
            array.dtype.kind == "f" and not array.max(initial=-np.inf) < np.inf
        ):  # the maximum of numbers with NaN is NaN
            raise not_finite(name, path)
