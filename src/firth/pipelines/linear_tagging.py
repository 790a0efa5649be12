"""Taggers without a network in use: most frequent tag, hidden Markov model, conditional random field on features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets import labelled_dataset, tagged_sentences
from firth.datasets.examples import TaggedSentence
from firth.datasets.table_columns import silent
from firth.display import Table
from firth.errors import FirthError, unknown
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.span_marginals import TagDistribution
from firth.generation.structured.tag_constraints import scheme_constraints
from firth.linear.given_tags import join_given, with_given
from firth.linear.tagger_models import FeatureTagger, TaggerModel
from firth.metrics.score import Score
from firth.pipelines.label_predictions import checked_examples
from firth.pipelines.linear_predictions import Contribution
from firth.pipelines.tag import BaseTagger, Sentence
from firth.runs.run_folder import Run
from firth.runs.trained_model import given_text

SENTENCES_PER_BATCH = 256


class LinearTagger(BaseTagger):
    """A trained tagger without a network: what `firth.load` returns for one."""

    tokenizer = None

    def __init__(self, run: Run, models: Mapping[str, TaggerModel]) -> None:
        self.run, self.models = run, models
        self.config: schema.LinearTagger = run.record.config

    @property
    def given(self) -> tuple[str, ...]:
        """The layers of tags that are given with each word: word|tag."""
        return given_layers(self.config)

    def emissions(self, sentences: Sequence[Sentence]) -> list[Mapping[str, np.ndarray]]:
        """The score of each tag at each word by layer, (words, tags), for each sentence."""
        result: list[Mapping[str, np.ndarray]] = []
        for first in range(0, len(sentences), SENTENCES_PER_BATCH):
            batch = sentences[first : first + SENTENCES_PER_BATCH]
            of_layer = {layer: model.emissions(batch) for layer, model in self.models.items()}
            result += [{layer: scores[n] for layer, scores in of_layer.items()} for n in range(len(batch))]
        return result

    def chain(self, layer: str) -> LinearChain:
        """What the scheme of a layer forbids; its scores of neighbouring tags are in the model."""
        return layer_chain(self.labels[layer], self.schemes.get(layer, ""), self.config.method)

    def distribute(
        self, emissions: Sequence[np.ndarray], layer: str, forbidden: LinearChain | None
    ) -> list[TagDistribution]:
        """The distribution over taggings of each sentence; those that break the layer's scheme have no probability."""
        chain, names = self.chain(layer), self.labels[layer]
        chain = chain if forbidden is None else chain + forbidden
        return [self.models[layer].distribution(each, names, chain) for each in emissions]

    def decode(self, emissions: Sequence[np.ndarray], layer: str, forbidden: LinearChain | None) -> list[list[str]]:
        """The most probable tags of each sentence; none breaks the layer's scheme."""
        chain, names = self.chain(layer), self.labels[layer]
        chain = chain if forbidden is None else chain + forbidden
        return [[names[tag] for tag in self.models[layer].decode(each, chain)] for each in emissions]

    def most_informative(self, tag: str, layer: str = "", count: int = 20) -> Table[Contribution]:
        """The features with the largest weights for a tag, of a conditional random field."""
        model, names = self.models[self._known(layer or self.layer)], self.labels[layer or self.layer]
        if not isinstance(model, FeatureTagger):
            what = "only conditional random fields have weights of features"
            raise FirthError(what, where=self.run.path, do="train crf-tagger")
        if tag not in names:
            raise unknown("tag", tag, names)
        rows = model.largest(names.index(tag), count)
        return Table(Contribution(name, weight) for name, weight in rows)

    # --- evaluation -------------------------------------------------------------------------------------------

    def load_examples(self, text: str | Iterable[TaggedSentence] | None, split: str) -> labelled_dataset.Split:
        """Sentences to score."""
        if not self.given or text is None or isinstance(text, labelled_dataset.Split):
            return super().load_examples(text, split)
        text, layers = given_text(text), (*self.labels, *self.given)
        examples = tagged_sentences.read_named(text, self.config.data, layers) if isinstance(text, str) else text
        given = labelled_dataset.make_split("given", checked_examples(examples, TaggedSentence))
        return join_given({"given": given}, len(self.given))["given"]

    def read_splits(self, config: Any, seed: int) -> dict[str, labelled_dataset.Split]:
        """The splits of the run's own sentences."""
        return read_sentences(self.config).splits

    def scores(self, split: labelled_dataset.Split, predicted: Mapping[str, Sequence[Sequence[str]]]) -> Table[Score]:
        """The scores of predicted tags, and their accuracy on words that the training sentences have and lack."""
        result = list(super().scores(split, predicted))
        for number, (layer, model) in enumerate(self.models.items()):
            prefix = f"{layer}_" if len(self.labels) > 1 else ""
            accuracy = next(score for score in result if score.name == f"{prefix}accuracy")
            right: dict[bool, list[bool]] = {True: [], False: []}
            for sentence, tags in zip(split.examples, predicted[layer], strict=True):
                for word, gold, tag in zip(sentence.words, sentence.tags[number], tags, strict=True):
                    right[model.knows(word)].append(gold == tag)
            for name, known in (("accuracy_known_words", True), ("accuracy_unknown_words", False)):
                value = sum(right[known]) / len(right[known]) if right[known] else None
                result.append(replace(accuracy, name=prefix + name, value=value))
        return Table(result)

    def signature_fields(self) -> dict[str, object]:
        """The method, for signatures."""
        return {
            "tok": "words",
            "method": self.config.method.kind,
            **({"given": "+".join(self.given)} if self.given else {}),
        }


def layer_chain(tags: Sequence[str], scheme: str, method: Any) -> LinearChain:
    """Zeros, and −inf for what the scheme of a layer forbids, if it has one and tags depend on each other."""
    if not scheme or isinstance(method, schema.MostFrequentTag):
        return LinearChain.independent(len(tags))
    return scheme_constraints(tags, scheme)


def predict_layer(
    model: TaggerModel, sentences: Sequence[Sentence], tags: Sequence[str], chain: LinearChain
) -> list[list[str]]:
    """The most probable tags of each sentence."""
    result = []
    for first in range(0, len(sentences), SENTENCES_PER_BATCH):
        for emissions in model.emissions(sentences[first : first + SENTENCES_PER_BATCH]):
            result.append([tags[tag] for tag in model.decode(emissions, chain)])
    return result


def given_layers(config: schema.LinearTagger) -> tuple[str, ...]:
    """The layers of tags that are given with each word."""
    return config.method.given if isinstance(config.method, schema.ConditionalRandomField) else ()


def read_sentences(config: schema.LinearTagger, say: Callable[[str], None] = silent) -> tagged_sentences.TaggedData:
    """The sentences of a configuration, the given tags at their words."""
    given = given_layers(config)
    data = tagged_sentences.read(with_given(config.data, given), config.seed, say)
    layers = data.layers[: len(data.layers) - len(given)]
    schemes = {layer: data.schemes[layer] for layer in layers if layer in data.schemes}
    return replace(data, splits=join_given(data.splits, len(given)), layers=layers, schemes=schemes)
