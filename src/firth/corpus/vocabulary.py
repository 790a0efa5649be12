"""Vocabulary: the words of a corpus with their frequencies, and the encoding of documents as word ids."""

from __future__ import annotations

import heapq
import struct
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from pathlib import Path

import numpy as np

from firth.errors import FirthError

MAX_TYPES = 1 << 22  # word types held in memory while counting
_BATCH = 1 << 10  # documents encoded at once
_HEADER = struct.Struct("<IQ")  # length of the word in bytes, count
Pair = tuple[bytes, int]  # a word in UTF-8 and its count


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words by descending count, ties in alphabetical order; a word's id is its index."""

    words: tuple[str, ...]
    counts: np.ndarray  # (words,) int64

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    @cached_property
    def index(self) -> dict[str, int]:
        """From a word to its id."""
        return {word: word_id for word_id, word in enumerate(self.words)}

    def encode(
        self, documents: Iterable[Sequence[str]], *, drop_unknown: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ids of all words (int32), −1 if out of vocabulary, and where documents start (int64), with the end."""
        batches, lengths, source = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)], _check_documents(documents)
        while batch := list(islice(source, _BATCH)):
            sizes = np.fromiter(map(len, batch), np.int64, len(batch))
            looked_up = map(self.index.get, chain.from_iterable(batch), repeat(-1))
            ids = np.fromiter(looked_up, np.int32, sizes.sum())
            if drop_unknown:
                known = np.concatenate([[0], np.cumsum(ids >= 0)])
                sizes = np.diff(known[np.concatenate([[0], np.cumsum(sizes)])])
                ids = ids[ids >= 0]
            batches.append(ids)
            lengths.append(sizes)
        return np.concatenate(batches), np.cumsum(np.concatenate(lengths))


def count_words(
    documents: Iterable[Sequence[str]], *, min_count: int = 1, max_words: int | None = None, max_types: int = MAX_TYPES
) -> Vocabulary:
    """The vocabulary of tokenized documents: words that occur `min_count` times or more, at most `max_words` of them.

    More than `max_types` word types are written to disk as sorted runs and merged at the end."""
    with SortedRuns() as runs:
        counter: Counter[str] = Counter()
        for document in _check_documents(documents):
            counter.update(document)
            if len(counter) > max_types:
                runs.add(_sort_counts(counter))
                counter.clear()
        return select_words(runs.merge(_sort_counts(counter)), min_count, max_words)


def select_words(pairs: Iterable[Pair], min_count: int, max_words: int | None) -> Vocabulary:
    """The vocabulary of the pairs with count `min_count` or more, cut to the `max_words` most frequent ones."""
    best: list[Pair] = []  # the most frequent word of all, named in the error if it is too rare
    tracked = _track_best(((-count, word) for word, count in pairs), best)
    frequent = (pair for pair in tracked if -pair[0] >= min_count)
    selected = sorted(frequent) if max_words is None else heapq.nsmallest(max_words, frequent)
    if not selected:
        raise _empty_error(best, min_count)
    words = tuple(map(_decode, (word for _, word in selected)))
    return Vocabulary(words, -np.array([count for count, _ in selected], np.int64))


def _decode(word: bytes) -> str:
    try:
        return word.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise FirthError(f"a word is not valid UTF-8: {word!r}", do="name the text's encoding") from error


def _track_best(pairs: Iterator[tuple[int, bytes]], best: list) -> Iterator[tuple[int, bytes]]:
    for pair in pairs:
        if not best or pair < best[0]:
            best[:] = [pair]
        yield pair


def _empty_error(best: list, min_count: int) -> FirthError:
    if not best:
        return FirthError("no words in the text", do="give a text with at least one word")
    count, word = -best[0][0], best[0][1].decode("utf-8", "replace")
    what = f"no word is left: none occurs {min_count} times (the most frequent, {word!r}, {count})"
    return FirthError(what, do=f"lower the minimum count to {count} or less, or allow a larger vocabulary")


def _check_documents(documents: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    if isinstance(documents, str):
        raise FirthError("a text where lists of words are expected", do="split it into words first")
    for number, document in enumerate(documents):
        if isinstance(document, str):
            raise FirthError(f"document {number} is one string, not a list of words", do="split it into words first")
        yield document


def _sort_counts(counter: Counter[str]) -> list[Pair]:
    try:
        return sorted((word.encode("utf-8", "surrogatepass"), count) for word, count in counter.items())
    except AttributeError as error:
        wrong = next(word for word in counter if not isinstance(word, str))
        raise FirthError(f"a word is {type(wrong).__name__}, not str: {wrong!r}", do="give words as str") from error


class SortedRuns:
    """External merge sort of counts: sorted runs in temporary files, merged into one sorted stream."""

    def __enter__(self) -> SortedRuns:
        self._folder, self._count = tempfile.TemporaryDirectory(prefix="firth-"), 0
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def __len__(self) -> int:
        return self._count

    def add(self, pairs: Iterable[Pair]) -> None:
        """Write a run, already sorted."""
        with self._path(self._count).open("wb") as file:
            file.writelines(_HEADER.pack(len(word), count) + word for word, count in pairs)
        self._count += 1

    def merge(self, last: Iterable[Pair] = ()) -> Iterator[Pair]:
        """Every word once, in order, with its counts summed; `last` is a run in memory."""
        if not self._count:
            yield from last
            return
        pairs = heapq.merge(last, *map(self._read, range(self._count)))
        for word, group in groupby(pairs, key=itemgetter(0)):
            yield word, sum(count for _, count in group)

    def _read(self, run: int) -> Iterator[Pair]:
        with self._path(run).open("rb") as file:
            while header := file.read(_HEADER.size):
                length, count = _HEADER.unpack(header)
                yield file.read(length), count

    def _path(self, run: int) -> Path:
        return Path(self._folder.name) / f"{run:05d}.run"
