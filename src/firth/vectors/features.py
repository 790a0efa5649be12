"""What a classifier sees of a text: rows of its words, of their parts and of runs of words, hashed as in fastText."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.text.normalise import normalise
from firth.text.split import whole
from firth.text.tokenizer import Tokenizer
from firth.vectors import bag_kernels
from firth.vectors.bag_kernels import Text
from firth.vectors.subwords import END_OF_LINE, table
from firth.vectors.words import Words

Spelling = Callable[[Sequence[str]], Iterable[list[str]]]  # texts to their words
BLOCK = 1000  # texts cut at once


class Shape(NamedTuple):
    """Which features there are."""

    ngrams: int = 1  # words of the longest run
    least: int = 0  # characters of a word's parts
    most: int = 0
    buckets: int = 0  # that runs and parts share

    @property
    def hashed(self) -> int:
        """The buckets, if anything falls into them."""
        return self.buckets if self.ngrams > 1 or self.most else 0


class Lines(NamedTuple):
    """Words of texts by number; those that are not known have numbers behind the known ones."""

    words: np.ndarray  # int32, each line closed by its end
    starts: np.ndarray  # (lines + 1,) int64
    extra: list[str]


class Features:
    """The rows of input: one for each known word, then one for each bucket that is used."""

    def __init__(self, words: Words, shape: Shape, used: np.ndarray | None = None) -> None:
        """`used`: the numbers of the buckets that have a row, rising; all where it is left out."""
        self.words, self.shape = words, shape
        self.used = np.arange(shape.hashed) if used is None else np.asarray(used)
        self.row_of = np.full(shape.hashed, -1, np.int32)
        self.row_of[self.used] = len(words) + np.arange(len(self.used), dtype=np.int32)
        known = _Entries.of(words, shape)
        own = np.insert(self.row_of[known.buckets], known.first[:-1], np.arange(len(words))).astype(np.int32)
        self._known = known.first + np.arange(len(words) + 1), own, known.hashes
        self._numbers = {word: number for number, word in reversed(list(enumerate(words)))}

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.words) + len(self.used)

    def lines(self, texts: Iterable[Sequence[str]]) -> Lines:
        """Texts that are cut into words, by number."""
        return number_words(texts, self._numbers)

    def text(self, lines: Lines) -> Text:
        """What the kernels need to know of lines."""
        bounds, rows, hashes = self._known
        if lines.extra:
            more = _Entries.of(Words.of(lines.extra), self.shape)
            bounds = np.concatenate([bounds, bounds[-1] + more.first[1:]])
            rows = np.concatenate([rows, self.row_of[more.buckets]])
            hashes = np.concatenate([hashes, more.hashes])
        ngrams = self.shape.ngrams if self.shape.hashed else 1
        room = int(bag_kernels.longest(lines.words, lines.starts, bounds, ngrams))
        return Text(lines.words, lines.starts, bounds, rows, hashes, ngrams, self.row_of, max(1, room))


class _Entries(NamedTuple):
    """Different words: the buckets of their parts, and their hashes."""

    first: np.ndarray
    buckets: np.ndarray
    hashes: np.ndarray

    @classmethod
    def of(cls, words: Words, shape: Shape) -> _Entries:
        if not len(words):
            return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
        first, buckets = table(words, shape.least, shape.most, shape.buckets if shape.most else 0)
        hashes = np.empty(len(words), np.int32)
        bag_kernels.hash_whole(np.frombuffer(words.blob, np.uint8), words.ends, hashes)
        return cls(first, buckets, hashes)


def number_words(texts: Iterable[Sequence[str]], known: dict[str, int]) -> Lines:
    """Words by number, new ones behind the known in the order of their coming; each line gets its end."""
    extra: dict[str, int] = {}
    words, lengths = [], []
    for text in texts:
        found = [known.get(word, -1) for word in (*text, END_OF_LINE)]
        if -1 in found:
            for place, number in enumerate(found):
                if number < 0:
                    word = text[place] if place < len(text) else END_OF_LINE
                    found[place] = extra.setdefault(word, len(known) + len(extra))
        words.append(np.array(found, np.int32))
        lengths.append(len(found))
    flat = np.concatenate(words) if words else np.zeros(0, np.int32)
    return Lines(flat, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), list(extra))


def learn_words(texts: Iterable[Sequence[str]], known: Iterable[str]) -> tuple[Words, np.ndarray, Lines]:
    """The known words that occur, the line's end too, from frequent to rare; their counts; and the lines."""
    names = list(dict.fromkeys([END_OF_LINE, *known]))
    lines = number_words(texts, {name: number for number, name in enumerate(names)})
    counts = np.bincount(lines.words, minlength=len(names))
    order = np.argsort(-counts[: len(names)], kind="stable")
    order = order[counts[order] > 0]
    place = np.zeros(len(names) + len(lines.extra), np.int32)
    place[order] = np.arange(len(order))
    place[len(names) :] = len(order) + np.arange(len(lines.extra))
    words = Words.of(names[number] for number in order)
    return words, counts[order].astype(np.int64), lines._replace(words=place[lines.words])


def learn_features(words: Words, lines: Lines, shape: Shape) -> Features:
    """Rows for the words, and for the buckets that these lines use."""
    _check(shape)
    seen, hashes = np.zeros(shape.hashed, np.bool_), []
    for some in (words, Words.of(lines.extra)):
        entries = _Entries.of(some, shape)
        seen[entries.buckets] = True
        hashes.append(entries.hashes)
    if shape.ngrams > 1:
        bag_kernels.mark_runs(lines.words, lines.starts, np.concatenate(hashes), shape.ngrams, seen)
    return Features(words, shape, np.flatnonzero(seen))


def _check(shape: Shape) -> None:
    if not min(1, shape.most) <= shape.least <= shape.most:
        what = f"parts of {shape.least} to {shape.most} characters"
        raise FirthError(what, where="method.least_part, method.most_part", do="choose 3 and 6, or 0 and 0 for none")


# --- texts to words -------------------------------------------------------------------------------------------------


def spelling(tokenizer: Tokenizer) -> Spelling:
    """Texts to the spellings of their tokens; a word that the vocabulary lacks is spelled as it stands."""
    names, unknown = list(tokenizer.vocabulary()), tokenizer.special.unknown
    words = tokenizer.kind == "word" and tokenizer.config is not None

    def spell(texts: Sequence[str]) -> Iterable[list[str]]:
        for start in range(0, len(texts), BLOCK):
            block = texts[start : start + BLOCK]
            quick = [words and text.isascii() for text in block]  # all versions of Unicode agree: no need of tokens
            tokens = iter(tokenizer.encode_batch([text for text, plain in zip(block, quick, strict=True) if not plain]))
            for text, plain in zip(block, quick, strict=True):
                if plain:
                    yield _cut(tokenizer, text)
                    continue
                ids = next(tokens)
                spelled = _unknown(tokenizer, text, len(ids)) if words and unknown in ids else [""] * len(ids)
                told = [names[token] if token != unknown else spelled[place] for place, token in enumerate(ids)]
                yield [word for word in told if word]

    return spell


def _cut(tokenizer: Tokenizer, text: str) -> list[str]:
    config = tokenizer.config
    return whole(normalise(text, config.normal, config.lower), config.split)


def _unknown(tokenizer: Tokenizer, text: str, count: int) -> list[str]:
    """The words of a text as they stand, one for each token; empty where they cannot be told."""
    found = _cut(tokenizer, text)
    if len(found) != count:  # a character that two versions of Unicode take differently
        found = tokenizer.cut(text)
    return found if len(found) == count else [""] * count
