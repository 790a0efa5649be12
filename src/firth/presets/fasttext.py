"""Classifiers of texts."""

from dataclasses import replace

from firth.config.schema import EpochTraining, FastText, FastTextClassifier, System

_BAG = FastTextClassifier(method=FastText(word_ngrams=2, learning_rate=0.5), train=EpochTraining(epochs=10))
FAST_TEXT: dict[str, System] = {
    "tiny": replace(_BAG, method=replace(_BAG.method, width=10), train=EpochTraining(epochs=25)),  # for little text
    "small": _BAG,
    "large": replace(_BAG, method=replace(_BAG.method, width=300, word_ngrams=3, buckets=10_000_000)),
}
