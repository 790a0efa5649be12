"""Word-sense disambiguation by word vectors: the vector of the context is compared with those of the senses, which are
means over the words of their glosses, or over the contexts of labelled examples (Schütze 1998)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from firth.datasets.records import WordSense
from firth.embeddings.lookup import l2_normalise
from firth.embeddings.senses import INVERSE_TEMPERATURE, ContextVectors
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.lexicon.lesk import FUNCTION_WORDS, ScoredSense
from firth.lexicon.lexical_database import Lexicon
from firth.tokenizers.split import split_words

WINDOW = 5  # words on each side


class SenseVectors:
    """A vector and a prior for each sense of each word, from labelled examples."""

    def __init__(self, vectors: WordVectors, examples: Iterable[WordSense], window: int = WINDOW) -> None:
        self.contexts = ContextVectors(vectors, window)
        sums: dict[tuple[str, str], np.ndarray] = {}
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for example in examples:
            key = example.word, example.sense
            sums[key] = sums.get(key, 0.0) + l2_normalise(self._context(example)[None])[0]
            counts[example.word][example.sense] += 1
        if not counts:
            raise FirthError("no labelled examples", do="give text with senses to train on")
        self._senses = {word: list(senses) for word, senses in counts.items()}
        self._vectors = {word: _unit([sums[word, each] for each in senses]) for word, senses in self._senses.items()}
        self._log_priors = {word: _log_shares(list(senses.values())) for word, senses in counts.items()}

    def _context(self, example: WordSense) -> np.ndarray:
        return self.contexts.means(self.contexts.ids(example.words))[example.position]

    def rank(self, example: WordSense) -> list[tuple[str, float]]:
        """The senses of the word with their probabilities in this context, best first; none of an unknown word."""
        if example.word not in self._senses:
            return []
        cosines = self._vectors[example.word] @ l2_normalise(self._context(example)[None])[0]
        logs = self._log_priors[example.word] + INVERSE_TEMPERATURE * cosines
        shares = np.exp(logs - logs.max())
        pairs = zip(self._senses[example.word], (shares / shares.sum()).tolist(), strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])

    def choose(self, example: WordSense) -> bool | None:
        """Whether the most probable sense is the right one; None of an unknown word."""
        ranked = self.rank(example)
        return ranked[0][0] == example.sense if ranked else None


class GlossVectors:
    """Senses of a lexicon by the mean vectors of their glosses: no labelled text is needed."""

    def __init__(self, vectors: WordVectors, lexicon: Lexicon, window: int = WINDOW) -> None:
        self.contexts, self.lexicon = ContextVectors(vectors, window), lexicon
        self._cache: dict[str, np.ndarray] = {}

    def rank(self, words: Sequence[str], position: int, lemma: str = "", pos: str = "") -> list[ScoredSense]:
        """The senses of a word by the cosine of context and gloss, best first; of equal ones the most frequent."""
        senses = self.lexicon.senses(lemma or words[position], pos)
        context = l2_normalise(self.contexts.means(self.contexts.ids(words))[position][None])[0]
        scored = [ScoredSense(sense, float(self._gloss(sense.synset.id) @ context)) for sense in senses]
        return sorted(scored, key=lambda each: -each.score)

    def _gloss(self, id_: str) -> np.ndarray:
        if id_ not in self._cache:
            synset = self.lexicon.reader.synset(id_)
            text = " ".join((*synset.words, synset.definition, *synset.examples))
            content = [word for word in split_words(text) if word.lower() not in FUNCTION_WORDS]
            ids = self.contexts.ids(content)
            ids = ids[ids >= 0]
            weights = self.contexts.weights[ids][:, None]
            rows = l2_normalise(self.contexts.vectors.vectors[ids]) * weights
            self._cache[id_] = l2_normalise(rows.sum(0, keepdims=True))[0]
        return self._cache[id_]


def _unit(sums: Sequence[np.ndarray]) -> np.ndarray:
    return l2_normalise(np.stack(sums))


def _log_shares(counts: Sequence[int]) -> np.ndarray:
    return np.log(np.array(counts) / sum(counts))
