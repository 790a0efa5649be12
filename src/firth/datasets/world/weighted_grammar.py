"""A probabilistic context-free grammar (PCFG): nonterminals with weighted productions of words and nonterminals.

From the same tables: sampling a derivation, parsing words into derivations, exact entropy and expected length in bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import log, prod
from typing import NamedTuple, Union

from firth.datasets.world.phrase_structure import PhraseStructure, Rule, Word, compose_structure

PUNCTUATION = frozenset({".", ","})


MAX_TABLE = 3_000  # derivations of a nonterminal that are sampled from a table of all, each built only once


class Production(NamedTuple):
    """A weighted production: words and nonterminals in order, the rule of its phrase structure, and its meaning."""

    weight: float
    parts: tuple[Union[Word, Nonterminal], ...]  # noqa: UP007 (a name that comes later)
    rule: Rule
    meaning: object = None


class DerivationTable(NamedTuple):
    """All derivations of a small nonterminal in a fixed order: the cumulative probability up to each."""

    bounds: list[float]
    nodes: list[Derivation | None]  # built when first sampled


@dataclass(frozen=True, eq=False)
class Nonterminal:
    """A nonterminal with its productions; `label` is its grammatical category."""

    label: str
    productions: tuple[Production, ...]

    @cached_property
    def probabilities(self) -> tuple[float, ...]:
        """The weights, normalised."""
        total = sum(production.weight for production in self.productions)
        return tuple(production.weight / total for production in self.productions)

    @cached_property
    def bounds(self) -> list[float]:
        """The cumulative probabilities without the last: where a uniform number selects the next production."""
        return list(accumulate(self.probabilities))[:-1]

    @cached_property
    def log_probabilities(self) -> tuple[float, ...]:
        """The natural logarithms of the probabilities."""
        return tuple(log(p) for p in self.probabilities)

    @cached_property
    def size(self) -> int:
        """The number of derivations."""
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> list[int]:
        """The number of derivations of each production."""
        return [prod([1 if part.__class__ is Word else part.size for part in p.parts]) for p in self.productions]

    @cached_property
    def table(self) -> DerivationTable | None:
        """The table of all derivations; None for a large nonterminal."""
        if self.size > MAX_TABLE:
            return None
        return DerivationTable(list(accumulate(derivation_probabilities(self)))[:-1], [None] * self.size)

    @cached_property
    def entropy(self) -> float:
        """The entropy of the derivations in nats, which is that of the words if the grammar is unambiguous."""
        own = sum(-p * log(p) for p in self.probabilities)
        return self._expectation(lambda part: part.entropy, lambda word: 0.0) + own

    @cached_property
    def bytes(self) -> float:
        """The expected number of bytes, each word with one space."""
        return self._expectation(lambda part: part.bytes, word_bytes)

    @cached_property
    def first_words(self) -> dict[str, list[int]]:
        """The productions that start with a word, by that word; under "" those that start with a nonterminal."""
        indices: dict[str, list[int]] = {"": []}
        for index, production in enumerate(self.productions):
            first = production.parts[0]
            indices.setdefault(first if isinstance(first, str) else "", []).append(index)
        return indices

    def _expectation(self, of_nonterminal, of_word) -> float:
        sums = (
            sum(of_word(part) if isinstance(part, str) else of_nonterminal(part) for part in production.parts)
            for production in self.productions
        )
        return sum(p * s for p, s in zip(self.probabilities, sums, strict=True))


class Derivation:
    """A derivation tree: text, tags, trees and meanings are read from it."""

    __slots__ = ("_structure", "_text", "index", "log_probability", "nonterminal", "parts", "words")

    def __init__(self, nonterminal: Nonterminal, index: int, parts: tuple[Word | Derivation, ...]) -> None:
        self.nonterminal, self.index, self.parts = nonterminal, index, parts
        words, log_probability = [], nonterminal.log_probabilities[index]
        for part in parts:
            if part.__class__ is Word:
                words.append(part)
            else:
                words += part.words
                log_probability += part.log_probability
        self.words: list[Word] = words
        self.log_probability = log_probability  # given its nonterminal
        self._structure: PhraseStructure | None = None
        self._text: str | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Derivation):
            return NotImplemented
        return self.nonterminal is other.nonterminal and self.index == other.index and self.parts == other.parts

    __hash__ = None

    @property
    def production(self) -> Production:
        """The production that was applied."""
        return self.nonterminal.productions[self.index]

    @property
    def structure(self) -> PhraseStructure:
        """The dependency and constituency structure of its words, computed once."""
        if self._structure is None:
            rule = self.nonterminal.productions[self.index].rule
            self._structure = compose_structure(rule, *[part.structure for part in self.parts])
        return self._structure

    @property
    def text(self) -> str:
        """The words joined by spaces."""
        if self._text is None:
            self._text = " ".join(self.words)
        return self._text

    @property
    def number(self) -> str:
        """The grammatical number of its head."""
        return "plural" if self.words[self.structure.head].xpos == "NNS" else "singular"


def production(
    weight: float, rule: Rule, *parts: Word | Nonterminal | tuple[Word, ...], meaning: object = None
) -> Production:
    """A production; a name or verb of several words counts as that many parts."""
    flat = [item for part in parts for item in (part if part.__class__ is tuple else (part,))]
    return Production(weight, tuple(flat), rule, meaning)


def nonterminal(label: str, productions: Iterable[Production]) -> Nonterminal:
    """A nonterminal with the productions that have a positive weight."""
    return Nonterminal(label, tuple(production for production in productions if production.weight > 0))


def with_productions(model: Nonterminal, productions: tuple[Production, ...]) -> Nonterminal:
    """A large nonterminal with the weights of another: what depends on the weights alone is copied."""
    copy = Nonterminal(model.label, productions)
    vars(copy).update(
        probabilities=model.probabilities,
        bounds=model.bounds,
        log_probabilities=model.log_probabilities,
        table=None,
    )
    return copy


def word_bytes(word: str) -> int:
    """The bytes of a word in running text with its space; punctuation has none."""
    return len(word.encode()) + (word not in PUNCTUATION)


def sample_derivation(symbol: Nonterminal, uniforms: Iterator[float]) -> Derivation:
    """Sample a derivation by the grammar's probabilities, from uniform numbers in [0, 1)."""
    table = symbol.table
    if table is not None:
        at = bisect_right(table.bounds, next(uniforms)) if table.bounds else 0
        node = table.nodes[at]
        if node is None:
            node = table.nodes[at] = nth_derivation(symbol, at)
        return node
    index = bisect_right(symbol.bounds, next(uniforms)) if symbol.bounds else 0
    parts = symbol.productions[index].parts
    return Derivation(
        symbol, index, tuple([part if part.__class__ is Word else sample_derivation(part, uniforms) for part in parts])
    )


def derivation_probabilities(symbol: Nonterminal) -> Iterator[float]:
    """The probabilities of all derivations, in the order of `nth_derivation`."""
    for production, p in zip(symbol.productions, symbol.probabilities, strict=True):
        products = [p]
        for part in production.parts:
            if part.__class__ is Nonterminal:
                inner = list(derivation_probabilities(part))
                products = [product * q for product in products for q in inner]
        yield from products


def nth_derivation(symbol: Nonterminal, n: int) -> Derivation:
    """Derivation number n of a nonterminal; small parts are shared between derivations."""
    if symbol.table is not None and symbol.table.nodes[n] is not None:
        return symbol.table.nodes[n]
    index, sizes = 0, symbol.sizes
    while n >= sizes[index]:
        n -= sizes[index]
        index += 1
    parts = []
    for part in reversed(symbol.productions[index].parts):  # the last part varies fastest
        if part.__class__ is Nonterminal:
            n, inner = divmod(n, part.size)
            part = nth_derivation(part, inner)
        parts.append(part)
    return Derivation(symbol, index, tuple(reversed(parts)))


def meanings(node: Derivation) -> Iterator[object]:
    """The meanings (lexicon entries) in a derivation, in the order of the text."""
    if node.production.meaning is not None:
        yield node.production.meaning
    for part in node.parts:
        if part.__class__ is Derivation:
            yield from meanings(part)


class Parse(NamedTuple):
    """A derivation of the words up to `end`."""

    end: int
    log_probability: float
    node: Derivation


def parse(symbol: Nonterminal, words: list[str]) -> list[Parse]:
    """All derivations of exactly these words: one if the grammar is unambiguous, none if it does not generate them."""
    memo: dict[tuple[Nonterminal, int], list[Parse]] = {}
    return [result for result in _parse_nonterminal(symbol, words, 0, memo) if result.end == len(words)]


def _parse_nonterminal(symbol: Nonterminal, words: list[str], start: int, memo: dict) -> list[Parse]:
    """All derivations of a nonterminal that start at a word (memoised)."""
    if (symbol, start) not in memo:
        parses = []
        first_words = symbol.first_words
        for index in (*first_words.get(words[start], ()), *first_words[""]) if start < len(words) else ():
            for end, log_probability, parts in _parse_parts(symbol.productions[index].parts, words, start, memo):
                total = symbol.log_probabilities[index] + log_probability
                parses.append(Parse(end, total, Derivation(symbol, index, parts)))
        memo[symbol, start] = parses
    return memo[symbol, start]


def _parse_parts(parts: tuple, words: list[str], start: int, memo: dict) -> list[tuple[int, float, tuple]]:
    """All (end, log probability, parts) of a sequence of words and nonterminals that starts at a word."""
    states = [(start, 0.0, ())]
    for part in parts:
        if isinstance(part, str):
            states = [(end + 1, p, (*done, part)) for end, p, done in states if end < len(words) and words[end] == part]
        else:
            states = [
                (result.end, p + result.log_probability, (*done, result.node))
                for end, p, done in states
                for result in _parse_nonterminal(part, words, end, memo)
            ]
    return states
