"""Models without networks: logistic regression and naive Bayes beside scikit-learn, a CRF on features beside CRFsuite.

Texts are cut into words at blanks by all; features are which unigrams and bigrams a text has. Training is measured from
lists of texts to a model, prediction from texts to labels. Of scikit-learn's solvers the fastest counts, of those whose
penalised loss is hardly above the lowest. CRFsuite has the features of ours, as strings, and both begin with them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import texts
from benchmarks.harness import Measurement, Options, Row, Settings, is_installed, make_row, memory_row, speed_row
from benchmarks.processes import Comparison, Program
from benchmarks.tasks_crf_features import crf_on_features

if TYPE_CHECKING:
    import numpy as np

REGRESSION, BAYES = "logistic regression", "naive Bayes"  # methods
L2 = 1.0  # penalty; scikit-learn's C is its inverse, CRFsuite's c2 half of it
SOLVERS = ("lbfgs", "liblinear", "saga")
EQUAL_LOSS = 1.001  # a solver's penalised loss, relative to the lowest
SETTINGS = Settings(1, clock="cpu")


class TextSet(NamedTuple):
    """Texts with labels 0 and 1: the files of both splits, the columns, and how many of each split are used."""

    files: tuple[str, str]
    text: int
    label: int
    most: int


TEXTS = {
    "SST-2": TextSet(("sst2/train.tsv", "sst2/test.tsv"), 0, 1, 6920),
    "IMDb, 3,000 reviews": TextSet(("imdb/train.tsv.xz", "imdb/test.tsv.xz"), 3, 0, 3000),
}


class Labelled(NamedTuple):
    """Texts and their labels, 0 or 1."""

    texts: list[str]
    labels: list[int]


def read_split(data: str, path: str) -> Labelled:
    """The first examples of a table without header."""
    columns = TEXTS[data]
    rows = [line.split("\t") for line in texts.read(Path(path)).split("\n") if line][: columns.most]
    return Labelled([row[columns.text] for row in rows], [int(row[columns.label]) for row in rows])


# --- classifiers of texts ---


class Classifier(ABC):
    """A classifier of one data set; a round is `train`, `predict` or `loss`."""

    def __init__(self, data: str, paths: Sequence[str], method: str) -> None:
        self.train_split, self.test_split = (read_split(data, path) for path in paths)
        self.is_bayes = method == BAYES

    def __call__(self, action: str) -> Any:
        return getattr(self, action)()

    @abstractmethod
    def train(self) -> None:
        """From texts to a model."""

    @abstractmethod
    def predict(self) -> list[int]:
        """From texts to labels."""

    @abstractmethod
    def parts(self) -> tuple[Any, np.ndarray, float]:
        """The matrix of the training texts, the weights for the second label, and the intercept."""

    def loss(self) -> float:
        """The penalised mean loss of the training texts."""
        import numpy as np

        matrix, weights, intercept = self.parts()
        signs = np.where(np.array(self.train_split.labels) == 1, -1.0, 1.0)
        losses = np.logaddexp(0.0, signs * (matrix.astype(np.float64) @ weights + intercept))
        return float(losses.sum() + L2 / 2 * weights @ weights) / len(signs)


class OurClassifier(Classifier):
    """Ours: tokenizer, features, and the model with one penalty."""

    def train(self) -> None:
        import numpy as np

        from firth.config import schema
        from firth.datasets.text_dataset import make_tokenizer
        from firth.linear import naive_bayes
        from firth.linear.linear_model import LinearModel
        from firth.linear.logistic_regression import LogisticTrainer
        from firth.linear.vectorizer import Vectorizer

        given, labels = self.train_split.texts, np.array(self.train_split.labels)
        words = schema.Tokenizer(model="word", vocabulary_size=1_000_000, split="whitespace")
        features = schema.NgramFeatures(word_ngrams=2, weighting="binary")
        self.features, self.matrix = Vectorizer.fit(given, make_tokenizer(words, given), features)
        if self.is_bayes:
            fitted = naive_bayes.fit(self.matrix, labels, 2, "multinomial", 1.0)
        else:
            method = schema.LogisticRegression(threads=SETTINGS.threads)
            fitted = LogisticTrainer(self.matrix, labels, 2, method).fit(L2)[:2]
        self.model = LinearModel(("0", "1"), fitted[0].astype(np.float32), fitted[1])

    def predict(self) -> list[int]:
        scores = self.model.probabilities(self.features.transform(self.test_split.texts))
        return list(scores.argmax(1).tolist())

    def parts(self) -> tuple[Any, np.ndarray, float]:
        weights, intercept = self.model.weights.astype("float64"), self.model.intercept
        return self.matrix, weights[:, 1] - weights[:, 0], float(intercept[1] - intercept[0])


class TheirClassifier(Classifier):
    """scikit-learn's: a vectorizer, and the model of one solver."""

    def __init__(self, data: str, paths: Sequence[str], method: str, solver: str) -> None:
        super().__init__(data, paths, method)
        self.solver = solver

    def train(self) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import MultinomialNB

        self.features = CountVectorizer(
            binary=True, ngram_range=(1, 2), lowercase=False, tokenizer=str.split, token_pattern=None
        )
        self.matrix = self.features.fit_transform(self.train_split.texts)
        regression = LogisticRegression(C=1 / L2, solver=self.solver, max_iter=2000)
        self.model = MultinomialNB(alpha=1.0) if self.is_bayes else regression
        self.model.fit(self.matrix, self.train_split.labels)

    def predict(self) -> list[int]:
        return list(self.model.predict(self.features.transform(self.test_split.texts)).tolist())

    def parts(self) -> tuple[Any, np.ndarray, float]:
        return self.matrix, self.model.coef_[0], float(self.model.intercept_[0])


def our_classifier(settings: Settings, data: str, paths: Sequence[str], method: str) -> Callable[[str], Any]:
    """Ours."""
    return OurClassifier(data, paths, method)


def lbfgs(settings: Settings, data: str, paths: Sequence[str], method: str) -> Callable[[str], Any]:
    """scikit-learn's L-BFGS, which is SciPy's; or its naive Bayes."""
    return TheirClassifier(data, paths, method, "lbfgs")


def liblinear(settings: Settings, data: str, paths: Sequence[str], method: str) -> Callable[[str], Any]:
    """scikit-learn's LIBLINEAR: a trust-region Newton method."""
    return TheirClassifier(data, paths, method, "liblinear")


def saga(settings: Settings, data: str, paths: Sequence[str], method: str) -> Callable[[str], Any]:
    """scikit-learn's SAGA: stochastic gradients."""
    return TheirClassifier(data, paths, method, "saga")


def fastest_solver(arguments: Mapping[str, Any]) -> str:
    """The name of scikit-learn's fastest solver, of those whose loss is hardly above the lowest."""
    programs = {name: Program(globals()[name], SETTINGS, "sklearn") for name in SOLVERS}
    with Comparison(programs, **arguments) as comparison:
        times = {name: each.warmup for name, each in comparison.measure(0, action="train").items()}
        losses = {name: each.result for name, each in comparison.measure(0, action="loss").items()}
    least = min(losses.values())
    return min((name for name in losses if losses[name] <= EQUAL_LOSS * least), key=lambda name: times[name])


def classifier_rows(name: str, method: str, paths: Sequence[str], options: Options) -> Iterator[Row]:
    """Training, prediction, loss and accuracy of one method on one data set."""
    arguments, ours = {"data": name, "paths": paths, "method": method}, Program(our_classifier, SETTINGS)
    solver, what = SOLVERS[0], f"{name}, {method}: scikit-learn"
    if method != BAYES and is_installed("sklearn"):
        solver = fastest_solver(arguments)
        what += f" ({solver})"
    programs = {"ours": ours, "peer": Program(globals()[solver], SETTINGS, "sklearn")}
    train, test = (read_split(name, path) for path in paths)
    rounds = options.choose(3, 5)
    with Comparison(programs, **arguments) as comparison:
        trained = comparison.measure(rounds, action="train")
        yield speed_row(f"{what}, training", *_pair(trained), len(train.texts), "texts/s", 1.0)
        predicted = comparison.measure(rounds, action="predict")
        yield speed_row(f"{what}, prediction", *_pair(predicted), len(test.texts), "texts/s", 1.0)
        right = [_accuracy(each, test.labels) for each in _pair(predicted)]
        assert right[0] is not None
        yield make_row(f"{what}, accuracy", right[0], right[1], "%", quality=True)
        if method != BAYES:
            losses = [each and each.result for each in _pair(comparison.measure(0, action="loss"))]
            yield make_row(f"{what}, penalised loss", *losses, "nats", lower_is_better=True, quality=True)
        yield memory_row(what, *_pair(predicted))


def _pair(measured: Mapping[str, Measurement]) -> tuple[Measurement, Measurement | None]:
    return measured["ours"], measured.get("peer")


def _accuracy(measured: Measurement | None, labels: Sequence[int]) -> float | None:
    if measured is None:
        return None
    return 100 * sum(map(int.__eq__, measured.result, labels)) / len(labels)


def classifiers(options: Options) -> Iterator[Row]:
    """Logistic regression and naive Bayes; quick runs have short texts alone."""
    for name in options.choose(("SST-2",), tuple(TEXTS)):
        paths = [texts.find(options, file) for file in TEXTS[name].files]
        if not all(paths):
            continue
        for method in (REGRESSION, BAYES):
            yield from classifier_rows(name, method, [str(path) for path in paths], options)


def linear(options: Options) -> Iterator[Row]:
    """Classifiers of texts, and a tagger."""
    yield from classifiers(options)
    yield from crf_on_features(options)
