"""The vocabulary of whole words: a word has one id, whatever characters it has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from firth.config.schema import Tokenizer as Config
from firth.config.schema import WordVectors
from firth.tokenizers.special_tokens import SPECIAL_TOKENS
from firth.tokenizers.split import normalise
from firth.tokenizers.tokenizer import Tokenizer

_MOST = 10_000_000  # words


class WordLookup:
    """The id of each word by a tokenizer of whole words; words that it does not have are unknown."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        config, unknown = tokenizer.config, tokenizer.special.unknown
        assert config is not None and unknown is not None  # trained here
        self._config, self.unknown = config, unknown
        self._ids = {word: i for word, i in tokenizer.vocabulary().items() if word not in SPECIAL_TOKENS}

    def __call__(self, words: Iterable[str]) -> np.ndarray:
        """The ids of the words (words,)."""
        return np.array([self._ids.get(self.form(word), self.unknown) for word in words], np.int64)

    def form(self, word: str) -> str:
        """The word as the vocabulary has it."""
        return normalise(word, self._config.unicode_form, self._config.lowercase)


@lru_cache(maxsize=4)
def word_lookup(tokenizer: Tokenizer) -> WordLookup:
    """The ids of words, made once for each tokenizer: that takes as long as tagging some sentences."""
    return WordLookup(tokenizer)


def train_words(config: WordVectors, sentences: Iterable[Sequence[str]]) -> Tokenizer:
    """The tokenizer of the words of the training sentences."""
    settings = Config(
        model="word", split="tabs", vocabulary_size=_MOST, min_count=config.min_count, lowercase=config.lowercase
    )
    return Tokenizer.train(settings, map("\t".join, sentences))


def add_words(tokenizer: Tokenizer, words: Iterable[str]) -> Tokenizer:
    """The same tokenizer of words with those that it lacks, in their order."""
    file, form = json.loads(tokenizer.to_json()), WordLookup(tokenizer).form
    vocabulary = file["model"]["vocab"]
    for word in map(form, words):
        vocabulary.setdefault(word, len(vocabulary))
    return Tokenizer.from_json(json.dumps(file, ensure_ascii=False))
