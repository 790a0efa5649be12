"""The next words, and the rest of a word that has begun: all ways of spelling them in tokens, added up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from firth.text.spelling import Spelling, Table, finished, in_word
from firth.types import Batch, Stepper, Tokens

_BREADTH = 64  # beginnings looked at together
_LONGEST = 32  # tokens of a word
_LEAST = 1e-3  # beginnings with less than this share of the last word asked for are left


class Completion(NamedTuple):
    """A word, and its probability given the text before it and the letters it begins with."""

    text: str
    probability: float


class _Path(NamedTuple):
    """A beginning of a word: its tokens' bytes and their probability."""

    text: bytes
    probability: float


class _Grown(NamedTuple):
    """A path that is one token longer than another."""

    parent: int
    token: int
    path: _Path


def complete(
    stepper: Stepper, before: Sequence[int], begun: str, count: int, spelling: Spelling, *, end: int
) -> list[Completion]:
    """The most probable words after the tokens `before` that start as `begun` (with the space before the word).

    A probability is the sum over the token paths found; improbable ways of spelling a word may be left out.
    """
    ids = torch.tensor([before])
    last, state = ids[:, -1], stepper.start(Batch({"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}, {}))
    words, paths = _Words(begun, end), [_Path(b"", 1.0)]
    table = spelling.first if len(before) == 1 else spelling.inside  # only [START] before
    for _ in range(_LONGEST):
        rows, state = stepper.step(last, state)
        grown = words.grow(paths, rows.double().exp().numpy(), table)
        least = _LEAST * words.least(count)
        grown = [each for each in grown if each.path.probability > least][:_BREADTH]
        if not grown:
            break
        paths, table = [each.path for each in grown], spelling.inside
        last = torch.tensor([each.token for each in grown])
        state = state.pick(torch.tensor([each.parent for each in grown]))
    return words.best(count)


class _Words:
    """The words found, and how probable it is that the text goes on as begun at all."""

    def __init__(self, begun: str, end: int) -> None:
        self.begun, self.must, self.end = begun, begun.encode(), end
        self.found: defaultdict[str, float] = defaultdict(float)
        self.all = 0.0 if begun else 1.0
        self._masks: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = {}

    def grow(self, paths: Sequence[_Path], chances: np.ndarray, table: Table) -> list[_Grown]:
        """The paths that go on, best first; words that end get their probability."""
        grown = []
        for parent, path in enumerate(paths):
            chance = path.probability * chances[parent]
            for token in self._next(path, chance, table).tolist():
                longer = _Path(path.text + table.texts[token], float(chance[token]))
                if self._goes_on(longer):
                    grown.append(_Grown(parent, token, longer))
        return sorted(grown, key=lambda each: -each.path.probability)

    def best(self, count: int) -> list[Completion]:
        """The most probable words."""
        order = sorted(self.found.items(), key=lambda item: -item[1])[:count]
        return [Completion(word, mass / self.all) for word, mass in order if mass > 0]

    def least(self, count: int) -> float:
        """The probability of the last word that is asked for, as far as it is known."""
        masses = sorted(self.found.values(), reverse=True)
        return masses[count - 1] if len(masses) >= count else 0.0

    def _add(self, word: str, mass: float) -> None:
        """The white space before a word does not tell words apart."""
        self.found[word.lstrip()] += mass

    def _next(self, path: _Path, chance: np.ndarray, table: Table) -> np.ndarray:
        """The most probable tokens that may follow. Where the word can end, all the ways to end it are counted."""
        missing = self.must[len(path.text) :]
        if missing:
            covering, allowed = self._fitting(missing, table)
            self.all += float(chance[covering].sum())
        elif (word := _text(path.text)) and in_word(word):
            allowed = table.letters
            self._add(word, float(chance[table.spelled & ~allowed].sum() + chance[self.end]))
        else:  # nothing but white space, or a part of a character
            allowed = table.spelled
        order = np.argsort(-np.where(allowed, chance, -1.0), kind="stable")[:_BREADTH]
        return order[allowed[order]]

    def _fitting(self, missing: bytes, table: Table) -> tuple[np.ndarray, np.ndarray]:
        """Tokens that bring all that is missing, and those that bring it or a part."""
        key = (id(table), missing)
        if key not in self._masks:
            covering = table.where(lambda text: text.startswith(missing))
            self._masks[key] = covering, covering | table.where(lambda text: bool(text) and missing.startswith(text))
        return self._masks[key]

    def _goes_on(self, path: _Path) -> bool:
        """Whether a path is open; if its word has ended, the word gets the probability."""
        if len(path.text) < len(self.must):
            return True
        text = _text(path.text)
        word = finished(self.begun, text) if text else None
        if word is not None:
            self._add(word, path.probability)
        return word is None and text is not None


def _text(found: bytes) -> str | None:
    """The bytes as text: without them while the last character lacks some of its own, None if they are no text."""
    try:
        return found.decode()
    except UnicodeDecodeError as error:
        return "" if error.reason == "unexpected end of data" else None
