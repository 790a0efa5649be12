"""Classifiers of texts."""

from dataclasses import replace

from firth.config.schema import Bag, BagClassifier, Passes, System

_BAG = BagClassifier(method=Bag(word_ngrams=2, rate=0.5), train=Passes(epochs=10))
FAST_TEXT: dict[str, System] = {
    "small": _BAG,
    "tiny": replace(_BAG, method=replace(_BAG.method, width=10), train=Passes(epochs=25)),  # for little text
    "large": replace(_BAG, method=replace(_BAG.method, width=300, word_ngrams=3, buckets=10_000_000)),
}
