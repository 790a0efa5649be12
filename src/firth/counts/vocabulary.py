"""The words of a text with how often each occurs, the most frequent first, and texts as their numbers."""

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

TYPES = 1 << 22  # different words held in memory while counting
_TOGETHER = 1 << 10  # documents encoded at once
_HEAD = struct.Struct("<IQ")  # bytes of the word, count
Pair = tuple[bytes, int]  # a word in UTF-8, how often it occurs


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words by falling count, equal counts by spelling; a word's number is its place."""

    words: tuple[str, ...]
    counts: np.ndarray  # (words,) int64

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    @cached_property
    def index(self) -> dict[str, int]:
        """From a word to its number."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(
        self, documents: Iterable[Sequence[str]], *, drop_unknown: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of all words (int32), −1 for unknown ones, and where documents start (int64), with the end."""
        pieces, lengths, source = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)], _checked(documents)
        while together := list(islice(source, _TOGETHER)):
            sizes = np.fromiter(map(len, together), np.int64, len(together))
            found = map(self.index.get, chain.from_iterable(together), repeat(-1))
            ids = np.fromiter(found, np.int32, sizes.sum())
            if drop_unknown:
                known = np.concatenate([[0], np.cumsum(ids >= 0)])
                sizes = np.diff(known[np.concatenate([[0], np.cumsum(sizes)])])
                ids = ids[ids >= 0]
            pieces.append(ids)
            lengths.append(sizes)
        return np.concatenate(pieces), np.cumsum(np.concatenate(lengths))


def count_words(
    documents: Iterable[Sequence[str]], *, least: int = 1, most: int | None = None, types: int = TYPES
) -> Vocabulary:
    """The vocabulary of documents given as lists of words: those that occur `least` times, at most `most` of them.

    More than `types` different words are put on disk, sorted, and merged at the end."""
    with Runs() as runs:
        counter: Counter[str] = Counter()
        for document in _checked(documents):
            counter.update(document)
            if len(counter) > types:
                runs.put(_sorted(counter))
                counter.clear()
        return chosen(runs.merged(_sorted(counter)), least, most)


def chosen(pairs: Iterable[Pair], least: int, most: int | None) -> Vocabulary:
    """The vocabulary of the pairs with count `least` or more, cut to the `most` most frequent ones."""
    best: list[Pair] = []  # the most frequent word of all, to tell of if it is too rare
    order = _noting(((-count, word) for word, count in pairs), best)
    frequent = (pair for pair in order if -pair[0] >= least)
    found = sorted(frequent) if most is None else heapq.nsmallest(most, frequent)
    if not found:
        raise _none_left(best, least)
    words = tuple(map(_decoded, (word for _, word in found)))
    return Vocabulary(words, -np.array([count for count, _ in found], np.int64))


def _decoded(word: bytes) -> str:
    try:
        return word.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise FirthError(f"a word is not valid UTF-8: {word!r}", do="name the text's encoding") from error


def _noting(pairs: Iterator[tuple[int, bytes]], best: list) -> Iterator[tuple[int, bytes]]:
    for pair in pairs:
        if not best or pair < best[0]:
            best[:] = [pair]
        yield pair


def _none_left(best: list, least: int) -> FirthError:
    if not best:
        return FirthError("no words in the text", do="give a text with at least one word")
    count, word = -best[0][0], best[0][1].decode("utf-8", "replace")
    what = f"no word is left: none occurs {least} times (the most frequent, {word!r}, {count})"
    return FirthError(what, do=f"ask for at least {count} or fewer occurrences, or for a larger vocabulary")


def _checked(documents: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    if isinstance(documents, str):
        raise FirthError("a text where lists of words are expected", do="split it into words first")
    for number, document in enumerate(documents):
        if isinstance(document, str):
            raise FirthError(f"document {number} is one string, not a list of words", do="split it into words first")
        yield document


def _sorted(counter: Counter[str]) -> list[Pair]:
    try:
        return sorted((word.encode("utf-8", "surrogatepass"), count) for word, count in counter.items())
    except AttributeError as error:
        wrong = next(word for word in counter if not isinstance(word, str))
        raise FirthError(f"a word is {type(wrong).__name__}, not str: {wrong!r}", do="give words as str") from error


class Runs:
    """Sorted counts on disk, merged into one sorted stream; the files are gone at the end."""

    def __enter__(self) -> Runs:
        self._folder, self._count = tempfile.TemporaryDirectory(prefix="firth-"), 0
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def __len__(self) -> int:
        return self._count

    def put(self, pairs: Iterable[Pair]) -> None:
        """One more run, already sorted."""
        with self._path(self._count).open("wb") as file:
            file.writelines(_HEAD.pack(len(word), count) + word for word, count in pairs)
        self._count += 1

    def merged(self, last: Iterable[Pair] = ()) -> Iterator[Pair]:
        """Every word once, in order, with its counts summed; `last` is a run that was not put away."""
        if not self._count:
            yield from last
            return
        pairs = heapq.merge(last, *map(self._read, range(self._count)))
        for word, group in groupby(pairs, key=itemgetter(0)):
            yield word, sum(count for _, count in group)

    def _read(self, run: int) -> Iterator[Pair]:
        with self._path(run).open("rb") as file:
            while head := file.read(_HEAD.size):
                length, count = _HEAD.unpack(head)
                yield file.read(length), count

    def _path(self, run: int) -> Path:
        return Path(self._folder.name) / f"{run:05d}.run"
