"""Weighted grammars: a choice among options, each a row of words and further choices.

From the same tables: drawing a derivation, finding the derivations of given words, exact entropy and expected bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import log
from typing import NamedTuple, Union

PUNCTUATION = frozenset({".", ","})


class Option(NamedTuple):
    """One way to go on: its words and choices in order, and the entry of the lexicon it stands for, if any."""

    weight: float
    parts: tuple[Union[str, Choice], ...]  # noqa: UP007 (a name that comes later)
    means: object = None


@dataclass(frozen=True, eq=False)
class Choice:
    """Exactly one of several options, chosen by weight; `label` is its grammatical category."""

    label: str
    options: tuple[Option, ...]

    @cached_property
    def probabilities(self) -> tuple[float, ...]:
        """The weights, made to sum to one."""
        total = sum(option.weight for option in self.options)
        return tuple(option.weight / total for option in self.options)

    @cached_property
    def bounds(self) -> list[float]:
        """The running sum of the probabilities without the last: where a uniform number changes option."""
        return list(accumulate(self.probabilities))[:-1]

    @cached_property
    def ready(self) -> list[Node | None]:
        """The derivations of options that are only words: always the same, so they are made once."""
        plain = [all(isinstance(part, str) for part in option.parts) for option in self.options]
        return [Node(self, o, o.parts) if p else None for o, p in zip(self.options, plain, strict=True)]

    @cached_property
    def entropy(self) -> float:
        """The entropy in nats of the derivations, which is that of the words if no words have two of them."""
        return self._mean(lambda part: part.entropy, lambda word: 0.0) + sum(-p * log(p) for p in self.probabilities)

    @cached_property
    def bytes(self) -> float:
        """The expected bytes, each word with one space."""
        return self._mean(lambda part: part.bytes, word_bytes)

    @cached_property
    def starts(self) -> dict[str, list[int]]:
        """The options that begin with a word, by that word; under "" those that begin with a choice."""
        found: dict[str, list[int]] = {"": []}
        for index, option in enumerate(self.options):
            first = option.parts[0]
            found.setdefault(first if isinstance(first, str) else "", []).append(index)
        return found

    def _mean(self, of_choice, of_word) -> float:
        sums = (
            sum(of_word(part) if isinstance(part, str) else of_choice(part) for part in option.parts)
            for option in self.options
        )
        return sum(p * s for p, s in zip(self.probabilities, sums, strict=True))


class Node(NamedTuple):
    """A choice made: the typed derivation that text, tags, trees and entities are read from."""

    choice: Choice
    option: Option
    parts: tuple[Union[str, Node], ...]  # noqa: UP007


def option(weight: float, *parts: str | Choice, means: object = None) -> Option:
    """An option; words may be given several at once, with spaces between."""
    split = [part.split() if isinstance(part, str) else (part,) for part in parts]
    return Option(weight, tuple([piece for pieces in split for piece in pieces]), means)


def choose(label: str, options: Iterable[Option]) -> Choice:
    """A choice among the options that have any weight."""
    return Choice(label, tuple(o for o in options if o.weight > 0))


def word_bytes(word: str) -> int:
    """Bytes of a word in running text with the space it needs; punctuation needs none."""
    return len(word.encode()) + (word not in PUNCTUATION)


def draw(choice: Choice, numbers: Iterator[float]) -> Node:
    """A derivation by the grammar's probabilities, from uniform numbers in [0, 1), one for each real choice."""
    index = bisect_right(choice.bounds, next(numbers)) if choice.bounds else 0
    node = choice.ready[index]
    if node is None:
        option = choice.options[index]
        parts = [part if part.__class__ is str else draw(part, numbers) for part in option.parts]
        node = Node(choice, option, tuple(parts))
    return node


def words(node: Node, into: list[str]) -> list[str]:
    """Appends the words of a derivation."""
    for part in node.parts:
        if part.__class__ is str:
            into.append(part)
        else:
            words(part, into)
    return into


def meanings(node: Node) -> Iterator[object]:
    """The entries of the lexicon a derivation speaks of, in the order of the text."""
    if node.option.means is not None:
        yield node.option.means
    for part in node.parts:
        if not isinstance(part, str):
            yield from meanings(part)


class Found(NamedTuple):
    """A derivation of words up to `end`."""

    end: int
    log_probability: float
    node: Node


def derivations(choice: Choice, text: list[str]) -> list[Found]:
    """All derivations of exactly these words; one, if the grammar is unambiguous, none, if they are not its words."""
    memo: dict[tuple[Choice, int], list[Found]] = {}
    return [found for found in _from(choice, text, 0, memo) if found.end == len(text)]


def _from(choice: Choice, text: list[str], at: int, memo: dict) -> list[Found]:
    """All derivations of a choice that begin at a word."""
    if (choice, at) not in memo:
        found = []
        starts = choice.starts
        for index in (*starts.get(text[at], ()), *starts[""]) if at < len(text) else ():
            chosen, surprise = choice.options[index], log(choice.probabilities[index])
            for end, inside, parts in _row(chosen.parts, text, at, memo):
                found.append(Found(end, surprise + inside, Node(choice, chosen, parts)))
        memo[choice, at] = found
    return memo[choice, at]


def _row(parts: tuple, text: list[str], at: int, memo: dict) -> list[tuple[int, float, tuple]]:
    """All ways to read a row of words and choices from a word on."""
    rows = [(at, 0.0, ())]
    for part in parts:
        if isinstance(part, str):
            rows = [(end + 1, p, (*done, part)) for end, p, done in rows if end < len(text) and text[end] == part]
        else:
            rows = [
                (found.end, p + found.log_probability, (*done, found.node))
                for end, p, done in rows
                for found in _from(part, text, end, memo)
            ]
    return rows
