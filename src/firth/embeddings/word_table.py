"""The vocabulary of word vectors in one block of memory: a million words cost little more than their characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from firth.errors import FirthError

LINEAR_SEARCHES = 16  # lookups by linear search, before a dictionary is built, which takes more memory
MATCH_CANDIDATES = 20_000  # words, the most frequent first, that are compared with a misspelt one
_END = b"\n"


class WordTable(Sequence[str]):
    """A sequence of words with fast lookup; of duplicates the first is found."""

    def __init__(self, blob: bytes) -> None:
        """`blob` has each word in UTF-8, followed by a newline; invalid UTF-8 becomes U+FFFD."""
        try:
            blob.decode()
        except UnicodeDecodeError:  # the first word2vec truncated long words within a character
            blob = blob.decode(errors="replace").encode()
        self.blob = blob
        self._searches = 0

    @classmethod
    def of(cls, words: Iterable[str]) -> WordTable:
        """A table of these words; an empty word, or one that contains a newline, is an error."""
        if isinstance(words, cls):
            return words
        words = list(words)
        for word in words:
            if not word or "\n" in word:
                what = "an empty word" if not word else f"the word {word!r} contains a newline"
                raise FirthError(what, do="leave it out")
        return cls("".join(f"{word}\n" for word in words).encode(errors="replace"))

    @cached_property
    def ends(self) -> np.ndarray:
        """The position of the newline after each word."""
        return np.flatnonzero(np.frombuffer(self.blob, np.uint8) == _END[0])

    @cached_property
    def _index_of(self) -> dict[str, int]:
        indices: dict[str, int] = {}
        for index, word in enumerate(self):
            indices.setdefault(word, index)
        return indices

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        start = self.ends[index - 1] + 1 if index else 0
        return self.blob[start : self.ends[index]].decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self.blob.decode().split("\n")[:-1])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, WordTable):
            return self.blob == other.blob
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) >= 0

    def find(self, word: str) -> int:
        """The word's index, or -1."""
        if self._searches < LINEAR_SEARCHES:
            self._searches += 1
            return self._search(word)
        return self._index_of.get(word, -1)

    def index(self, word: str, start: int = 0, stop: int | None = None) -> int:
        """The word's index, with the contract of `list.index`."""
        index = self.find(word)
        if index < start or (stop is not None and index >= stop):
            raise ValueError(f"{word!r} is not in the list")
        return index

    def _search(self, word: str) -> int:
        """Linear search through the bytes: a millisecond for a million words."""
        encoded = word.encode(errors="replace") + _END
        if encoded.count(_END) > 1 or encoded == _END:
            return -1
        if self.blob.startswith(encoded):
            return 0
        position = self.blob.find(_END + encoded)
        return -1 if position < 0 else int(np.searchsorted(self.ends, position)) + 1

    def close_matches(self, word: str, count: int = 3) -> list[str]:
        """Words of similar spelling: other letter cases first, then the closest of the frequent words."""
        cases = [case for case in (word.lower(), word.capitalize(), word.upper()) if case != word and case in self]
        lengths = np.diff(self.ends[:MATCH_CANDIDATES], prepend=-1) - 1
        candidates = np.flatnonzero(np.abs(lengths - len(word.encode(errors="replace"))) <= 3)
        close = get_close_matches(word, [self[index] for index in candidates], n=count, cutoff=0.6)
        return list(dict.fromkeys(cases + close))[:count]
