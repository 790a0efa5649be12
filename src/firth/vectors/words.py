"""The words of a store in one piece of memory: a million of them cost little more than their letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from firth.errors import FirthError

PATIENCE = 16  # words that are looked for one by one; a dictionary, which takes more memory, is made for the next one
COMMON = 20_000  # how many words, the most frequent first, are compared with a misspelt one
_END = b"\n"


class Words(Sequence[str]):
    """Different or equal words by number; of equal ones the first is found."""

    def __init__(self, blob: bytes) -> None:
        """`blob` has each word in UTF-8 with a line end behind it; what is no UTF-8 is shown as U+FFFD."""
        try:
            blob.decode()
        except UnicodeDecodeError:  # the first word2vec cut long words in the middle of a character
            blob = blob.decode(errors="replace").encode()
        self.blob = blob
        self._asked = 0

    @classmethod
    def of(cls, words: Iterable[str]) -> Words:
        """The same words; an empty one, or one with a line end in it, is an error."""
        if isinstance(words, cls):
            return words
        words = list(words)
        for word in words:
            if not word or "\n" in word:
                what = "an empty word" if not word else f"the word {word!r} has a line end in it"
                raise FirthError(what, do="leave it out")
        return cls("".join(f"{word}\n" for word in words).encode(errors="replace"))

    @cached_property
    def ends(self) -> np.ndarray:
        """Where the line end behind each word stands."""
        return np.flatnonzero(np.frombuffer(self.blob, np.uint8) == _END[0])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        numbers: dict[str, int] = {}
        for number, word in enumerate(self):
            numbers.setdefault(word, number)
        return numbers

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number):
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        place = range(len(self))[number]
        start = self.ends[place - 1] + 1 if place else 0
        return self.blob[start : self.ends[place]].decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self.blob.decode().split("\n")[:-1])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Words):
            return self.blob == other.blob
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) >= 0

    def find(self, word: str) -> int:
        """The word's number, or -1."""
        if self._asked < PATIENCE:
            self._asked += 1
            return self._search(word)
        return self._numbers.get(word, -1)

    def index(self, word: str, start: int = 0, stop: int | None = None) -> int:
        """The word's number, as a list would say it."""
        found = self.find(word)
        if found < start or (stop is not None and found >= stop):
            raise ValueError(f"{word!r} is not in the list")
        return found

    def _search(self, word: str) -> int:
        """Looks through all letters: a millisecond for a million words."""
        letters = word.encode(errors="replace") + _END
        if letters.count(_END) > 1 or letters == _END:
            return -1
        if self.blob.startswith(letters):
            return 0
        place = self.blob.find(_END + letters)
        return -1 if place < 0 else int(np.searchsorted(self.ends, place)) + 1

    def near(self, word: str, count: int = 3) -> list[str]:
        """Words spelt alike: other letter cases first, then the closest of the common ones."""
        cases = [case for case in (word.lower(), word.capitalize(), word.upper()) if case != word and case in self]
        lengths = np.diff(self.ends[:COMMON], prepend=-1) - 1
        alike = np.flatnonzero(np.abs(lengths - len(word.encode(errors="replace"))) <= 3)
        close = get_close_matches(word, [self[place] for place in alike], n=count, cutoff=0.6)
        return list(dict.fromkeys(cases + close))[:count]
