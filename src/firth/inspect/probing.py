"""Probing: what a linear probe reads from each layer of a network, beside what it can memorise of words (control task;
Hewitt and Liang 2019) and what the words alone tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from firth.display import Table
from firth.errors import FirthError
from firth.inspect.linear_probe import ProbeTraining, fit_probe, fit_scalar_mix
from firth.linear.dense_matrix import standardise
from firth.metrics.bootstrap import ConfidenceInterval, bootstrap_systems, confidence_interval
from firth.metrics.ladder_metric import ACCURACY
from firth.types import generator

MIX, DEFAULT = "scalar mix", ProbeTraining()
Sentences = Sequence[tuple[Sequence[str], Sequence[str]]]  # words, and their tags
Say = Callable[[str], None]


@dataclass(frozen=True)
class LayerProbe:
    """What a probe reads from a layer: shares of the test words, with 95 % intervals over sentences."""

    layer: str  # embeddings, 1, 2, … or scalar mix
    width: int
    accuracy: float
    accuracy_interval: ConfidenceInterval
    control_accuracy: float  # on the control task, where each word type has a random tag
    selectivity: float  # accuracy minus that on the control task
    selectivity_interval: ConfidenceInterval

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self) | {name: [*getattr(self, name)] for name in ("accuracy_interval", "selectivity_interval")}


@dataclass(frozen=True)
class Probing:
    """A probe for each layer of a network, and what they are compared with."""

    about: Mapping[str, Any]  # run, task, data, words
    layers: Table[LayerProbe]  # the mix last
    majority: float  # accuracy of the most frequent tag
    word_type: float  # accuracy of the most frequent tag of each word
    mix_weights: Mapping[str, float]  # of each layer in the scalar mix

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**self.about, "majority": self.majority, "most_frequent_tag": self.word_type,
                "mix_weights": dict(self.mix_weights), "layers": self.layers.to_dicts()}  # fmt: skip

    @property
    def best(self) -> LayerProbe:
        """The single layer with the highest accuracy, the lowest of several."""
        return max((layer for layer in self.layers if layer.layer != MIX), key=lambda layer: layer.accuracy)

    def __str__(self) -> str:
        return str(self.layers)


@dataclass(frozen=True)
class Words:
    """The words of some sentences with their tags, and the sentence of each."""

    words: list[str]
    tags: list[str]
    sentence: np.ndarray

    @classmethod
    def of(cls, sentences: Sentences) -> Words:
        """All words, one after the other."""
        words = [word for own, _ in sentences for word in own]
        number = np.repeat(np.arange(len(sentences)), [len(own) for own, _ in sentences])
        return cls(words, [tag for _, tags in sentences for tag in tags], number)

    def counts(self, right: np.ndarray) -> np.ndarray:
        """Right words and all words of each sentence (sentences, 2)."""
        size = int(self.sentence[-1]) + 1
        return np.stack([np.bincount(self.sentence, right, size), np.bincount(self.sentence, minlength=size)], 1)


@dataclass(frozen=True)
class Probed:
    """Training and test words with the numbers of their tags, and of their tags in the control task."""

    train: Words
    test: Words
    seed: int = 0

    @cached_property
    def tags(self) -> dict[str, int]:
        """The number of each training tag, from frequent to rare."""
        counts = Counter(self.train.tags)
        return {tag: n for n, tag in enumerate(sorted(counts, key=lambda tag: (-counts[tag], tag)))}

    def gold(self, part: Words) -> np.ndarray:
        """The numbers of the tags; -1 for one that training lacks, which no probe can predict."""
        return np.array([self.tags.get(tag, -1) for tag in part.tags])

    @cached_property
    def _control(self) -> dict[str, int]:
        """A random tag for each word type, drawn as often as the tags occur in training."""
        types, random = sorted({*self.train.words, *self.test.words}), generator(self.seed, "control task")
        drawn = random.choice(self.gold(self.train), len(types))
        return dict(zip(types, drawn.tolist(), strict=True))

    def control(self, part: Words) -> np.ndarray:
        """The numbers of the tags of the control task."""
        return np.array([self._control[word] for word in part.words])

    def majority(self) -> float:
        """The accuracy of the most frequent training tag."""
        return float((self.gold(self.test) == 0).mean())

    def word_type(self) -> float:
        """The accuracy of the most frequent training tag of each word; of unknown words, of all."""
        seen: dict[str, Counter[int]] = {}
        for word, tag in zip(self.train.words, self.gold(self.train).tolist(), strict=True):
            seen.setdefault(word, Counter())[tag] += 1
        best = {word: min(counts, key=lambda tag: (-counts[tag], tag)) for word, counts in seen.items()}
        predicted = np.array([best.get(word, 0) for word in self.test.words])
        return float((predicted == self.gold(self.test)).mean())


def probe_layers(
    states: Callable[[Sequence[Sequence[str]]], list[np.ndarray]],
    train: Sentences,
    test: Sentences,
    about: Mapping[str, Any],
    training: ProbeTraining = DEFAULT,
    seed: int = 0,
    say: Say = lambda _: None,
) -> Probing:
    """Train a probe and its control on every layer, and on a mix of those of equal widths. `states` gives the states of
    the words of sentences in each layer."""
    if not train or not test:
        raise FirthError("no sentences to train and test a probe on", do="give training and test sentences")
    data = Probed(Words.of(train), Words.of(test), seed)
    if len(data.tags) < 2:
        do = "name another layer with --layer, or give other sentences"
        raise FirthError(f"all training words have the tag {next(iter(data.tags))!r}", do=do)
    parts = [states([words for words, _ in part]) for part in (train, test)]
    layers = [standardise(*pair) for pair in zip(*parts, strict=True)]
    rows = []
    for number, (own, held_out) in enumerate(layers):
        say(f"probing layer {number} of {len(layers) - 1}" if number else "probing the embeddings")
        fit = partial(fit_probe, own, test=held_out, count=len(data.tags), training=training)
        rows.append(_compare(str(number or "embeddings"), own.shape[1], data, fit))
    rows, weights = _add_mix(rows, layers, data, training, say)
    facts = {**about, "train_words": len(data.train.words), "test_words": len(data.test.words), "tags": len(data.tags)}
    return Probing(facts, Table(rows), data.majority(), data.word_type(), weights)


def _add_mix(
    rows: list[LayerProbe], layers: Sequence[Sequence[np.ndarray]], data: Probed, training: ProbeTraining, say: Say
) -> tuple[list[LayerProbe], dict[str, float]]:
    """The rows and that of the scalar mix of the layers that are as wide as the last, and its weights."""
    width = layers[-1][0].shape[1]
    mixed = [n for n, (own, _) in enumerate(layers) if own.shape[1] == width]
    if len(mixed) < 2:
        return rows, {}
    say("probing the scalar mix")
    own, held_out = ([layers[n][part] for n in mixed] for part in (0, 1))
    shares: list[np.ndarray] = []

    def fit(gold: np.ndarray) -> np.ndarray:
        predicted, weights = fit_scalar_mix(own, gold, held_out, len(data.tags), training)
        shares.append(weights)
        return predicted

    row = _compare(MIX, width, data, fit)
    names = [rows[n].layer for n in mixed]
    return [*rows, row], dict(zip(names, shares[0].tolist(), strict=True))


def _compare(name: str, width: int, data: Probed, fit: Callable[[np.ndarray], np.ndarray]) -> LayerProbe:
    """The task and the control task by probes of the same kind, on the same resamples of sentences."""
    counts = []
    for labels in (data.gold, data.control):
        right = fit(labels(data.train)) == labels(data.test)
        counts.append(data.test.counts(right))
    accuracy, control = map(ACCURACY.value, counts)
    samples = bootstrap_systems([ACCURACY.statistics(each) for each in counts], data.seed)
    return LayerProbe(
        layer=name,
        width=width,
        accuracy=accuracy,
        accuracy_interval=confidence_interval(samples[:, 0]),
        control_accuracy=control,
        selectivity=accuracy - control,
        selectivity_interval=confidence_interval(samples[:, 0] - samples[:, 1]),
    )
