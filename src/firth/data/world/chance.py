"""Weighted grammars: a choice among options, each a row of words and further choices.

From the same tables: drawing a derivation, finding the derivations of given words, exact entropy and expected bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import log, prod
from typing import NamedTuple, Union

from firth.data.world.phrase import Rule, Shape, Word, compose

PUNCTUATION = frozenset({".", ","})


SMALL = 3_000  # derivations of a choice; up to so many, one is drawn from a table of all, and made only once


class Option(NamedTuple):
    """One way to go on: its words and choices in order, how they hang together, and what it stands for, if anything."""

    weight: float
    parts: tuple[Union[Word, Choice], ...]  # noqa: UP007 (a name that comes later)
    rule: Rule
    means: object = None


class Table(NamedTuple):
    """The derivations of a small choice in a fixed order: where a uniform number changes from one to the next."""

    bounds: list[float]
    nodes: list[Node | None]  # made when first drawn


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
    def surprises(self) -> tuple[float, ...]:
        """The natural logarithms of the probabilities."""
        return tuple(log(p) for p in self.probabilities)

    @cached_property
    def size(self) -> int:
        """How many derivations there are."""
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> list[int]:
        """How many derivations each option has."""
        return [prod([1 if part.__class__ is Word else part.size for part in o.parts]) for o in self.options]

    @cached_property
    def table(self) -> Table | None:
        """Of a small choice, all its derivations with their running probabilities."""
        if self.size > SMALL:
            return None
        return Table(list(accumulate(chances(self)))[:-1], [None] * self.size)

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


class Node:
    """A choice made: the typed derivation that text, tags, trees and meanings are read from."""

    __slots__ = ("_shape", "_text", "choice", "index", "log_probability", "parts", "words")

    def __init__(self, choice: Choice, index: int, parts: tuple[Word | Node, ...]) -> None:
        self.choice, self.index, self.parts = choice, index, parts
        words, log_probability = [], choice.surprises[index]
        for part in parts:
            if part.__class__ is Word:
                words.append(part)
            else:
                words += part.words
                log_probability += part.log_probability
        self.words: list[Word] = words
        self.log_probability = log_probability  # of this derivation, given that its choice is to be made
        self._shape: Shape | None = None
        self._text: str | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return self.choice is other.choice and self.index == other.index and self.parts == other.parts

    __hash__ = None

    @property
    def option(self) -> Option:
        """What was chosen."""
        return self.choice.options[self.index]

    @property
    def shape(self) -> Shape:
        """How its words hang together, found when first asked for."""
        if self._shape is None:
            self._shape = compose(self.choice.options[self.index].rule, *[part.shape for part in self.parts])
        return self._shape

    @property
    def text(self) -> str:
        """The words with spaces between."""
        if self._text is None:
            self._text = " ".join(self.words)
        return self._text

    @property
    def number(self) -> str:
        """Of its head: one or many."""
        return "many" if self.words[self.shape.head].xpos == "NNS" else "one"


def option(weight: float, how: Rule, *parts: Word | Choice | tuple[Word, ...], means: object = None) -> Option:
    """An option; a name or verb of several words counts as that many parts."""
    row = [piece for part in parts for piece in (part if part.__class__ is tuple else (part,))]
    return Option(weight, tuple(row), how, means)


def choose(label: str, options: Iterable[Option]) -> Choice:
    """A choice among the options that have any weight."""
    return Choice(label, tuple(o for o in options if o.weight > 0))


def variant(model: Choice, options: tuple[Option, ...]) -> Choice:
    """A large choice with the weights of another; what follows from the weights alone is taken over, not worked out."""
    made = Choice(model.label, options)
    vars(made).update(probabilities=model.probabilities, bounds=model.bounds, surprises=model.surprises, table=None)
    return made


def word_bytes(word: str) -> int:
    """Bytes of a word in running text with the space it needs; punctuation needs none."""
    return len(word.encode()) + (word not in PUNCTUATION)


def draw(choice: Choice, numbers: Iterator[float]) -> Node:
    """A derivation by the grammar's probabilities, from uniform numbers in [0, 1)."""
    table = choice.table
    if table is not None:
        at = bisect_right(table.bounds, next(numbers)) if table.bounds else 0
        node = table.nodes[at]
        if node is None:
            node = table.nodes[at] = derivation(choice, at)
        return node
    index = bisect_right(choice.bounds, next(numbers)) if choice.bounds else 0
    parts = choice.options[index].parts
    return Node(choice, index, tuple([part if part.__class__ is Word else draw(part, numbers) for part in parts]))


def chances(choice: Choice) -> Iterator[float]:
    """The probabilities of all derivations, in the order of `derivation`."""
    for option, p in zip(choice.options, choice.probabilities, strict=True):
        rows = [p]
        for part in option.parts:
            if part.__class__ is Choice:
                inner = list(chances(part))
                rows = [row * q for row in rows for q in inner]
        yield from rows


def derivation(choice: Choice, at: int) -> Node:
    """Derivation number `at` of all those of a choice; small parts are shared between derivations."""
    if choice.table is not None and choice.table.nodes[at] is not None:
        return choice.table.nodes[at]
    index, sizes = 0, choice.sizes
    while at >= sizes[index]:
        at -= sizes[index]
        index += 1
    parts = []
    for part in reversed(choice.options[index].parts):  # the last part changes fastest
        if part.__class__ is Choice:
            at, inner = divmod(at, part.size)
            part = derivation(part, inner)
        parts.append(part)
    return Node(choice, index, tuple(reversed(parts)))


def meanings(node: Node) -> Iterator[object]:
    """The entries of the lexicon a derivation speaks of, in the order of the text."""
    if node.option.means is not None:
        yield node.option.means
    for part in node.parts:
        if part.__class__ is Node:
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
            for end, inside, parts in _row(choice.options[index].parts, text, at, memo):
                found.append(Found(end, choice.surprises[index] + inside, Node(choice, index, parts)))
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
