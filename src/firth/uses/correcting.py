"""Spelling and word choice by score: the text that was meant, given what was typed (a noisy channel).

What a language model says of a text, and what it costs to mistype: each slip has the same probability.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from firth.errors import FirthError
from firth.families.language import LanguageModel
from firth.text.split import sentences
from firth.uses.lexicon import WORD, Lexicon, lexicon
from firth.uses.ranking import softmax

SLIP = 1e-3  # the probability of a slip of the pen
MIX_UP = 0.05  # and of taking one word of a set for another, which people do more often
_CANDIDATES = 20  # looked at for a word
_HOPEFUL = 4  # of them, tried together with changes of other words
_SLACK = 4.0  # nats by which a change may be worse alone and still be tried with others
_WIDTH = 8  # texts kept while going through a sentence
_CONTEXT = 300  # characters before a sentence that its score may look at

Finder = Callable[[str], list[tuple[str, int]]]  # what could stand for a word, with its edits


@dataclass(frozen=True)
class Change:
    """A word that was put for another."""

    at: int  # where in the text as typed
    typed: str
    meant: str
    sure: float  # the share of the probability of the texts looked at that have this word here


@dataclass(frozen=True)
class Corrected:
    """A text as it was probably meant."""

    text: str
    changes: tuple[Change, ...]


def correct(
    model: LanguageModel,
    text: str,
    *,
    distance: int = 1,
    rate: float | None = None,
    choices: Iterable[Sequence[str]] = (),
    known: Lexicon | None = None,
) -> Corrected:
    """Mend spelling: words are exchanged for known ones up to so many edits away where the text gets more probable.

    With `choices` (sets of words that are mistaken for each other) only words of a set are exchanged.
    """
    sets = [tuple(each) for each in choices]
    rate = rate if rate is not None else MIX_UP if sets else SLIP
    if not 0 < rate < 1 or distance not in (1, 2):
        raise FirthError("a rate must lie between 0 and 1, a distance is 1 or 2")
    finder = _choosing(sets) if sets else _spelling(known or lexicon(model), distance)
    written, changes, at = "", [], 0
    for sentence in sentences(text):
        start = text.index(sentence, at)
        written += text[at:start]
        found = _Sentence(model, written[-_CONTEXT:], sentence, finder, -math.log(rate)).mended()
        changes += [Change(start + change.at, *change[1:]) for change in found]
        written, at = written + _put(sentence, found), start + len(sentence)
    return Corrected(written + text[at:], tuple(changes))


def _spelling(known: Lexicon, distance: int) -> Finder:
    return lambda word: known.near(word, distance, _CANDIDATES) if len(word) > 1 else []


def _choosing(sets: Sequence[Sequence[str]]) -> Finder:
    others: dict[str, list[tuple[str, int]]] = {}
    for each in sets:
        for word in each:
            others.setdefault(word.lower(), []).extend((other, 1) for other in each)
    return lambda word: others.get(word.lower(), [])


class _Try(NamedTuple):
    """A word at its place, for another, and what the slip costs."""

    at: int
    typed: str
    meant: str
    cost: float


class _Sentence:
    """One sentence and the ways to change it."""

    def __init__(self, model: LanguageModel, before: str, text: str, finder: Finder, cost: float) -> None:
        self.model, self.before, self.text = model, before, text
        self.tries = [_tries(word, finder(word[0]), cost) for word in WORD.finditer(text)]

    def mended(self) -> list[_Try]:
        """The changes of the best text, in their order, each with its share in place of its cost."""
        hopeful = self._hopeful()
        beam = {(): self._scores([()])[0]}
        for tries in hopeful:
            wider = [*beam, *((*changes, each) for changes in beam for each in tries)]
            scores = dict(zip(wider, self._scores(wider), strict=True))
            best = sorted(wider, key=lambda changes: -scores[changes])[:_WIDTH]
            beam = {changes: scores[changes] for changes in dict.fromkeys([*best, ()])}
        shares = dict(zip(beam, softmax(list(beam.values())), strict=True))
        best = max(beam, key=lambda changes: beam[changes])
        return [each._replace(cost=sum(shares[other] for other in beam if each in other)) for each in best]

    def _hopeful(self) -> list[list[_Try]]:
        """For each word the changes that are good by themselves, or nearly: only they are tried together."""
        alone = [(each,) for tries in self.tries for each in tries]
        as_typed, *scores = self._scores([(), *alone])
        gains = {each: score - as_typed for (each,), score in zip(alone, scores, strict=True)}
        found = []
        for tries in self.tries:
            kept = sorted((t for t in tries if gains[t] > -_SLACK), key=lambda t: -gains[t])[:_HOPEFUL]
            found += [kept] if kept else []
        return found

    def _scores(self, several: Sequence[tuple[_Try, ...]]) -> list[float]:
        """Log-probability of the text with these changes and of its having been typed as it was."""
        texts = [self.before + _put(self.text, changes) for changes in several]
        told = zip(self.model.score(texts, whole=False), self.model.spelling_costs(texts), several, strict=True)
        return [score - extra - sum(each.cost for each in changes) for score, extra, changes in told]


def _tries(word: re.Match[str], found: Iterable[tuple[str, int]], cost: float) -> list[_Try]:
    """What could stand for a word, each once."""
    typed = word[0]
    tries = (_Try(word.start(), typed, _cased(meant, typed), edits * cost) for meant, edits in found)
    return [each for each in dict.fromkeys(tries) if each.meant != typed]


def _put(text: str, changes: Iterable[_Try]) -> str:
    """The text with words exchanged."""
    parts, at = [], 0
    for change in changes:
        parts += [text[at : change.at], change.meant]
        at = change.at + len(change.typed)
    return "".join([*parts, text[at:]])


def _cased(word: str, typed: str) -> str:
    """A word in the letters of the one it stands for: capitals, a first capital, or its own."""
    if len(typed) > 1 and typed.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if typed[:1].isupper() else word
