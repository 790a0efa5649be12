"""What comes from scikit-learn, checked: texts or text pairs, tagged sentences, and something to predict of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from firth.errors import FirthError

Text = str | tuple[str, str]


class InputError(FirthError, ValueError):
    """Data that an estimator does not take; a ValueError too, as scikit-learn expects."""


def check_texts(X: Any) -> list[Text]:
    """The texts, or text pairs, of a list, an array, or a column or two of a data frame."""
    texts = [_text(value, number) for number, value in enumerate(_rows(X))]
    if len({type(text) for text in texts}) > 1:
        raise InputError("X: some are single texts and some are pairs", do="give one kind")
    return texts


def _rows(X: Any) -> list[Any]:
    if isinstance(X, (str, bytes)) or not hasattr(X, "__iter__"):
        raise InputError(f"X: {type(X).__name__}, not texts", do="give a list of strings")
    if hasattr(X, "to_numpy") or hasattr(X, "__array__"):  # pandas, polars, NumPy
        X = np.asarray(X, dtype=object)
        if X.ndim > 2 or (X.ndim == 2 and X.shape[1] > 2):
            raise InputError(f"X: an array of shape {X.shape}", do="give texts (texts,) or text pairs (pairs, 2)")
        X = X[:, 0] if X.ndim == 2 and X.shape[1] == 1 else X
    rows = list(X)
    if not rows:
        raise InputError("X: no texts", do="give at least one")
    return rows


def _text(value: Any, number: int) -> Text:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) == 2 and all(isinstance(v, str) for v in value):
        return str(value[0]), str(value[1])
    kind = "a missing value" if value is None or value != value else f"a value of type {type(value).__name__}"
    raise InputError(f"X: text {number} is {kind}", do="give strings, or pairs of strings")


def check_sentences(X: Any) -> list[list[str]]:
    """Sentences, each a list of words."""
    if isinstance(X, (str, bytes)) or not hasattr(X, "__iter__"):
        raise InputError(f"X: {type(X).__name__}, not sentences", do="give a list of lists of words")
    sentences = [_words(sentence, number) for number, sentence in enumerate(X)]
    if not sentences:
        raise InputError("X: no sentences", do="give at least one")
    return sentences


def _words(sentence: Any, number: int) -> list[str]:
    if isinstance(sentence, (str, bytes)) or not hasattr(sentence, "__iter__"):
        raise InputError(f"X: sentence {number} is {type(sentence).__name__}", do="give each as a list of words")
    words = list(sentence)
    if not words or not all(isinstance(word, str) and word and not word.isspace() for word in words):
        what = f"X: sentence {number} has no words, an empty one, or one that is no string"
        raise InputError(what, do="give each sentence as a list of words")
    return [str(word) for word in words]


def check_lengths(X: Sequence[Any], y: Any) -> list[Any]:
    """What is to be predicted of each input, as a list."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None", do="give what is to be predicted")
    values = list(y)
    if len(values) != len(X):
        raise InputError(f"X has {len(X)} and y {len(values)}: inconsistent numbers of samples", do="give one of each")
    return values


def check_tags(sentences: Sequence[Sequence[str]], y: Any) -> list[list[str]]:
    """The tags of the words of each sentence."""
    tags = [list(each) for each in check_lengths(sentences, y)]
    for number, (words, own) in enumerate(zip(sentences, tags, strict=True)):
        if len(words) != len(own) or not all(isinstance(tag, str) and tag for tag in own):
            what = f"y: sentence {number} has {len(words)} words and {len(own)} tags"
            raise InputError(what, do="give every word one tag, a string")
    return [[str(tag) for tag in own] for own in tags]
