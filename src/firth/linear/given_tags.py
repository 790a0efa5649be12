"""Layers of tags that are known beforehand: each word is written with its tags, word|tag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from firth.config.schema import TaggedWords
from firth.datasets.examples import TaggedSentence
from firth.datasets.labelled_dataset import Split
from firth.errors import FirthError
from firth.linear.word_attributes import SEPARATOR


def with_given(data: TaggedWords, given: tuple[str, ...]) -> TaggedWords:
    """The configuration that reads the given layers too, after those that are predicted."""
    if not given:
        return data
    if not data.layers or set(data.layers) & set(given):
        do = "set data.layers to the layers to predict, and method.given to others"
        raise FirthError("the predicted layers must be named, and not given", where="method.given", do=do)
    return replace(data, layers=(*data.layers, *given))


def join_given(splits: Mapping[str, Split], given: int) -> dict[str, Split]:
    """The splits with the last layers of tags, so many, at the words instead."""
    if not given:
        return dict(splits)
    joined = {name: [_joined(sentence, given) for sentence in split.examples] for name, split in splits.items()}
    return {name: replace(split, examples=joined[name]) for name, split in splits.items()}


def _joined(sentence: TaggedSentence, given: int) -> TaggedSentence:
    columns = zip(sentence.words, *sentence.tags[-given:], strict=True)
    return sentence._replace(words=tuple(map(SEPARATOR.join, columns)), tags=sentence.tags[:-given])
