"""A linear-chain CRF on features of words beside CRFsuite, for the same features, penalty and end of the search.

Training begins with the features, which CRFsuite has as strings in its own memory. Tagging begins with words for ours,
and with features that are given for CRFsuite.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import Measurement, Options, Row, Settings, make_row, memory_row, speed_row
from benchmarks.processes import Comparison, Program
from benchmarks.tasks_tagging import TASKS, read_sentences, score, title, write_splits

L2 = 1.0  # CRFsuite's c2 is half of it
TASK = "ner"
SETTINGS = Settings(1, clock="cpu")


def make_method() -> Any:
    """The settings of ours."""
    from firth.config import schema

    return schema.ConditionalRandomField(l2=(L2,), threads=SETTINGS.threads)


class CRFWork:
    """A tagger on features; a round is `train`, `predict` or `loss`."""

    def __init__(self, files: str) -> None:
        from firth.linear.tag_features import TagFeatures

        self.method = make_method()
        train, test = read_sentences(files, "train"), read_sentences(files, "test")
        self.words, self.gold = [words for words, _ in train], [tags for _, tags in train]
        self.test = [words for words, _ in test]
        self.features = TagFeatures.fit(self.words, self.method.window, self.method.affixes, self.method.min_count)
        self.matrix = self.features.transform(self.words)

    def __call__(self, action: str) -> Any:
        return getattr(self, action)()


class OurCRF(CRFWork):
    """Ours."""

    def __init__(self, files: str) -> None:
        import numpy as np

        super().__init__(files)
        self.names = sorted({tag for tags in self.gold for tag in tags})
        numbers = {name: number for number, name in enumerate(self.names)}
        self.tags = [np.array([numbers[tag] for tag in tags]) for tags in self.gold]

    def train(self) -> None:
        """From features to weights."""
        from firth.linear.crf_training import CRFTrainer

        self.fitted = CRFTrainer(self.matrix, self.tags, len(self.names), self.method).fit(L2)

    def predict(self) -> list[list[str]]:
        """From words to tags."""
        import numpy as np

        from firth.linear.tagger_models import FeatureTagger

        model = FeatureTagger(self.features, self.fitted.weights.astype(np.float32), self.fitted.chain)
        return [[self.names[tag] for tag in model.decode(each)] for each in model.emissions(self.test)]

    def loss(self) -> float:
        """The penalised loss per word."""
        chain = self.fitted.chain
        arrays = (self.fitted.weights.data, chain.transitions, chain.start, chain.end)
        squares = sum(float((array**2).sum()) for array in arrays)
        return self.fitted.loss + L2 / 2 * squares / self.matrix.shape[0]


class TheirCRF(CRFWork):
    """CRFsuite."""

    def __init__(self, files: str) -> None:
        import pycrfsuite

        super().__init__(files)
        self.path = str(Path(tempfile.mkdtemp(), "crf.model"))
        self.trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
        options = {"c1": 0.0, "c2": L2 / 2, "max_iterations": self.method.max_iterations, "period": 10}
        options |= {"delta": self.method.delta, "num_memories": self.method.memory}
        self.trainer.set_params({**options, "feature.possible_transitions": True})
        for features, tags in zip(self.strings(self.matrix, self.words), self.gold, strict=True):
            self.trainer.append(features, tags)
        given = self.strings(self.features.transform(self.test), self.test)
        self.given = [pycrfsuite.ItemSequence(each) for each in given]

    def strings(self, matrix: Any, sentences: Sequence[Sequence[str]]) -> Iterator[list[list[str]]]:
        """The features of each word by name, sentence by sentence."""
        names = list(self.features.names())
        rows, columns, word = matrix.indptr.tolist(), matrix.indices.tolist(), 0
        for sentence in sentences:
            places = range(word, word + len(sentence))
            yield [[names[column] for column in columns[rows[at] : rows[at + 1]]] for at in places]
            word += len(sentence)

    def train(self) -> None:
        """From features to weights."""
        self.trainer.train(self.path)

    def predict(self) -> list[list[str]]:
        """From features to tags."""
        import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open(self.path)
        return [tagger.tag(each) for each in self.given]

    def loss(self) -> float:
        """The penalised loss per word, of which CRFsuite has the sum."""
        return float(self.trainer.logparser.last_iteration["loss"]) / self.matrix.shape[0]


def our_crf(settings: Settings, files: str) -> Callable[[str], Any]:
    """Ours."""
    return OurCRF(files)


def their_crf(settings: Settings, files: str) -> Callable[[str], Any]:
    """CRFsuite's."""
    return TheirCRF(files)


def crf_on_features(options: Options) -> Iterator[Row]:
    """Training, tagging, loss and F1."""
    files = write_splits(options, TASK)
    programs = {"ours": Program(our_crf, SETTINGS), "peer": Program(their_crf, SETTINGS, "pycrfsuite")}
    train, test = read_sentences(str(files), "train"), read_sentences(str(files), "test")
    what, rounds = f"CRF on features, {title(TASK, files)}: CRFsuite", options.choose(3, 5)
    with Comparison(programs, files=str(files)) as comparison:
        trained = _pair(comparison.measure(rounds, action="train"))
        yield speed_row(f"{what}, training", *trained, len(train), "sentences/s", 1.0)
        tagged = _pair(comparison.measure(rounds, action="predict"))
        words = sum(len(tags) for _, tags in test)
        yield speed_row(f"{what}, tagging", *tagged, words, "words/s")
        scores = [each and score(TASKS[TASK], test, each.result) for each in tagged]
        yield make_row(f"{what}, F1", *scores, "%", quality=True)  # type: ignore[arg-type]
        losses = [each and each.result for each in _pair(comparison.measure(0, action="loss"))]
        yield make_row(f"{what}, penalised loss", *losses, "nats", lower_is_better=True, quality=True)
        yield memory_row(what, *trained)


def _pair(measured: dict[str, Measurement]) -> tuple[Measurement, Measurement | None]:
    return measured["ours"], measured.get("peer")
