"""Taggers of one layer of tags: the most frequent tag, a hidden Markov model, a conditional random field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from firth.config.schema import ConditionalRandomField, HiddenMarkovModel, MostFrequentTag
from firth.embeddings import array_bundle
from firth.errors import FirthError
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.span_marginals import TagDistribution
from firth.generation.structured.viterbi import viterbi
from firth.linear import tag_ngrams, trigram_distribution
from firth.linear.tag_features import TagFeatures
from firth.linear.tag_lexicon import TagLexicon

Arrays = Mapping[str, np.ndarray]
Sentences = Sequence[Sequence[str]]
LexiconMethod = MostFrequentTag | HiddenMarkovModel
MAX_TRIGRAM_TAGS = 200  # whose table of trigrams takes 65 MB


class TaggerModel(Protocol):
    """What a pipeline needs of a tagger."""

    def emissions(self, sentences: Sentences) -> list[np.ndarray]:
        """The score of each tag at each word (words, tags), for each sentence."""

    def decode(self, emissions: np.ndarray, constraints: LinearChain | None = None) -> list[int]:
        """The most probable tagging of a sentence, under constraints."""

    def distribution(
        self, emissions: np.ndarray, tags: Sequence[str], constraints: LinearChain | None = None
    ) -> TagDistribution:
        """The distribution over the taggings of a sentence, under constraints."""

    def knows(self, word: str) -> bool:
        """Whether the word occurs in the training sentences."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a file."""


class ChainTagger:
    """A tagger whose tags depend on the tag before at most."""

    chain: LinearChain

    def decode(self, emissions: np.ndarray, constraints: LinearChain | None = None) -> list[int]:
        """The most probable tagging of a sentence, under constraints."""
        return viterbi(emissions[None], np.array([len(emissions)]), self._constrained(constraints))[0].tags

    def distribution(
        self, emissions: np.ndarray, tags: Sequence[str], constraints: LinearChain | None = None
    ) -> TagDistribution:
        """The distribution over the taggings of a sentence, under constraints."""
        return TagDistribution(emissions, self._constrained(constraints), tags)

    def _constrained(self, constraints: LinearChain | None) -> LinearChain:
        return self.chain if constraints is None else self.chain + constraints


@dataclass(frozen=True, eq=False)
class FrequencyTagger(ChainTagger):
    """The most frequent tag of each word."""

    lexicon: TagLexicon

    @classmethod
    def fit(
        cls, sentences: Sentences, tags: Sequence[np.ndarray], count: int, method: MostFrequentTag
    ) -> FrequencyTagger:
        """Count words and tags; `tags` are numbers below `count`."""
        return cls(_lexicon(sentences, tags, count, method))

    @property
    def chain(self) -> LinearChain:  # type: ignore[override]
        """Tags do not depend on each other."""
        return LinearChain.independent(self.lexicon.tags)

    def emissions(self, sentences: Sentences) -> list[np.ndarray]:
        """log p(tag | word)."""
        return _by_sentence(self.lexicon.log_probabilities(list(chain.from_iterable(sentences))), sentences)

    def knows(self, word: str) -> bool:
        """Whether the word occurs in the training sentences."""
        return self.lexicon.knows(word)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a file."""
        return self.lexicon.arrays()

    @classmethod
    def from_arrays(cls, arrays: Arrays, count: int, method: MostFrequentTag) -> FrequencyTagger:
        """The inverse of `arrays`. ValueError or KeyError if they do not fit."""
        return cls(_read_lexicon(arrays, count, method))


@dataclass(frozen=True, eq=False)
class HMMTagger(ChainTagger):
    """A hidden Markov model, of bigrams or trigrams of tags."""

    lexicon: TagLexicon
    transitions: np.ndarray  # log-probabilities (tags + 1, …), the last number for the edge of a sentence

    @classmethod
    def fit(cls, sentences: Sentences, tags: Sequence[np.ndarray], count: int, method: HiddenMarkovModel) -> HMMTagger:
        """Count words and tags; `tags` are numbers below `count`."""
        if method.order == 2 and count > MAX_TRIGRAM_TAGS:
            raise FirthError(f"{count} tags are too many for trigrams", do="set method.order=1")
        counts = tag_ngrams.count_ngrams(tags, count, method.order)
        return cls(_lexicon(sentences, tags, count, method), tag_ngrams.log_transitions(counts))

    @property
    def chain(self) -> LinearChain:  # type: ignore[override]
        """The bigrams of tags."""
        edge = self.lexicon.tags
        return LinearChain.of(
            self.transitions[:edge, :edge], self.transitions[edge, :edge], self.transitions[:edge, edge]
        )

    def emissions(self, sentences: Sentences) -> list[np.ndarray]:
        """log p(word | tag), but for p(word)."""
        scores = self.lexicon.log_probabilities(list(chain.from_iterable(sentences))) - self.lexicon.log_priors
        return _by_sentence(scores, sentences)

    def decode(self, emissions: np.ndarray, constraints: LinearChain | None = None) -> list[int]:
        """The most probable tagging of a sentence, under constraints."""
        if self.transitions.ndim == 2:
            return super().decode(emissions, constraints)
        return trigram_distribution.decode(emissions, self._with(constraints))

    def distribution(
        self, emissions: np.ndarray, tags: Sequence[str], constraints: LinearChain | None = None
    ) -> TagDistribution:
        """The distribution over the taggings of a sentence, under constraints."""
        if self.transitions.ndim == 2:
            return super().distribution(emissions, tags, constraints)
        return trigram_distribution.TrigramDistribution(emissions, self._with(constraints), tags)

    def _with(self, constraints: LinearChain | None) -> np.ndarray:
        return (
            self.transitions if constraints is None else trigram_distribution.with_chain(self.transitions, constraints)
        )

    def knows(self, word: str) -> bool:
        """Whether the word occurs in the training sentences."""
        return self.lexicon.knows(word)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a file."""
        return self.lexicon.arrays() | {"transitions": self.transitions}

    @classmethod
    def from_arrays(cls, arrays: Arrays, count: int, method: HiddenMarkovModel) -> HMMTagger:
        """The inverse of `arrays`. ValueError or KeyError if they do not fit."""
        transitions = arrays["transitions"]
        if transitions.shape != (count + 1,) * (method.order + 1) or transitions.dtype.kind != "f":
            raise ValueError
        return cls(_read_lexicon(arrays, count, method), transitions)


@dataclass(frozen=True, eq=False)
class FeatureTagger(ChainTagger):
    """A conditional random field on features of the words around."""

    features: TagFeatures
    weights: csr_array  # float32 (features, tags)
    chain: LinearChain

    def emissions(self, sentences: Sentences) -> list[np.ndarray]:
        """The sum of the weights of each word's features."""
        scores = (self.features.transform(sentences) @ self.weights).toarray().astype(np.float64)
        return _by_sentence(scores, sentences)

    def knows(self, word: str) -> bool:
        """Whether the word occurs in the training sentences."""
        return self.features.knows(word)

    def largest(self, tag: int, count: int) -> list[tuple[str, float]]:
        """The features with the largest weights for a tag, and these."""
        of_tag = self.weights.tocsc()[:, [tag]].toarray()[:, 0]
        best = {int(place): float(of_tag[place]) for place in np.argsort(-of_tag, kind="stable")[:count]}
        names = {place: name for place, name in enumerate(self.features.names()) if place in best}
        return [(names[place], weight) for place, weight in best.items()]

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a file."""
        weights = {f"weights.{part}": getattr(self.weights, part) for part in ("data", "indices", "indptr")}
        return {**self.features.arrays(), **weights, **vars(self.chain)}

    @classmethod
    def from_arrays(cls, arrays: Arrays, count: int, method: ConditionalRandomField) -> FeatureTagger:
        """The inverse of `arrays`. ValueError or KeyError if they do not fit."""
        features = TagFeatures.from_arrays(arrays, method.window, method.affixes, len(method.given))
        parts = (arrays[f"weights.{part}"] for part in ("data", "indices", "indptr"))
        weights = array_bundle.sparse_rows(*parts, (features.size, count))
        scores = [arrays[name] for name in ("transitions", "start", "end")]
        if any(each.dtype.kind != "f" for each in scores):
            raise ValueError
        chain = LinearChain.of(*scores)
        if chain.transitions.shape != (count, count) or chain.start.shape != (count,) or chain.end.shape != (count,):
            raise ValueError
        return cls(features, weights, chain)


MODELS: Mapping[type, Any] = {
    MostFrequentTag: FrequencyTagger,
    HiddenMarkovModel: HMMTagger,
    ConditionalRandomField: FeatureTagger,
}


def _lexicon(sentences: Sentences, tags: Sequence[np.ndarray], count: int, method: LexiconMethod) -> TagLexicon:
    numbers = [row.tolist() for row in tags]
    return TagLexicon.fit(sentences, numbers, count, method.suffix_length, method.rare_count, method.pseudo_count)


def _read_lexicon(arrays: Arrays, count: int, method: LexiconMethod) -> TagLexicon:
    lexicon = TagLexicon.from_arrays(arrays, method.suffix_length, method.pseudo_count)
    if lexicon.tags != count:
        raise ValueError
    return lexicon


def _by_sentence(scores: np.ndarray, sentences: Sentences) -> list[np.ndarray]:
    """The scores of all words, sentence by sentence."""
    return np.split(scores, np.cumsum([len(sentence) for sentence in sentences])[:-1]) if sentences else []
