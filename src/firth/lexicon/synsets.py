"""Synsets, their relations, and what a reader of a lexicon has to give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

PARTS_OF_SPEECH = {"n": "noun", "v": "verb", "a": "adjective", "r": "adverb"}
SATELLITE = "s"  # an adjective that is similar to another; it belongs to the adjectives
HYPERNYMS = ("hypernym", "instance_hypernym")
HYPONYMS = ("hyponym", "instance_hyponym")


class Relation(NamedTuple):
    """A relation to another synset by its name in WN-LMF (hypernym, mero_part, antonym …); between two words, their
    numbers in the synsets, from 1."""

    kind: str
    target: str
    word: int = 0  # 0: the whole synset
    target_word: int = 0


@dataclass(frozen=True)
class Synset:
    """A set of words with one meaning; `id` is that of its lexicon."""

    id: str
    pos: str  # n, v, a, r; s: a satellite adjective
    words: tuple[str, ...]
    definition: str = ""
    examples: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    keys: tuple[str, ...] = ()  # sense keys of the words, where the lexicon has them

    @property
    def category(self) -> str:
        """The part of speech; satellites are adjectives."""
        return category(self.pos)

    def related(self, kinds: Iterable[str]) -> tuple[str, ...]:
        """The ids of the synsets that have one of these relations to it."""
        kinds = frozenset(kinds)
        return tuple(dict.fromkeys(relation.target for relation in self.relations if relation.kind in kinds))


class Reader(Protocol):
    """What reads a lexicon. Words are in lower case, with spaces in those of several words."""

    name: str
    language: str
    place: str  # the folder or file, or what else says where it is

    def ids(self, word: str, pos: str) -> Sequence[str]:
        """The synsets of exactly this word, the most frequent sense first."""

    def synset(self, id_: str) -> Synset:
        """The synset of this id; a KeyError if there is none."""

    def base_forms(self, form: str, pos: str) -> Sequence[str]:
        """The base forms of an irregular form; none of a regular one."""

    def taxonomy(self, pos: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The ids of all synsets of a part of speech, with those of their direct hypernyms."""

    def count(self, key: str) -> int:
        """How often a sense occurs in the lexicon's own annotated texts; 0 if it is not known."""


def category(pos: str) -> str:
    """The part of speech of a synset type: satellites are adjectives."""
    return "a" if pos == SATELLITE else pos


def normalise_word(word: str) -> str:
    """The spelling of words here: lower case, spaces for underscores."""
    return " ".join(word.replace("_", " ").lower().split())
