"""Lexicons of another vocabulary size: an evenly spaced subset of the entries, or additional pseudowords."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, fields, is_dataclass
from itertools import count, product

from firth.datasets.world.lexicon import LEXICON, MIN_ENTRIES, City, Job, Lexicon, Mood, Noun, Person, Verb
from firth.errors import FirthError

MIN_WORDS = 60
SYLLABLES = [a + b + c for a, b, c in product(("bl", "dr", "fl", "gr", "kl", "pl", "sn", "tr"), "aeiou", "bgmpkt")]


def resize_lexicon(words: int, lexicon: Lexicon = LEXICON) -> Lexicon:
    """The lexicon reduced or extended to about so many word forms."""
    if words < MIN_WORDS:
        raise FirthError(f"{words} words are too few for a world", where="world", do=f"use {MIN_WORDS} or more")
    ratio = words / len(all_word_forms(lexicon))
    stems = pseudowords(all_word_forms(lexicon))
    resized = {}
    for lexicon_field in fields(lexicon):
        entries = getattr(lexicon, lexicon_field.name)
        size = max(MIN_ENTRIES.get(lexicon_field.name, 1), round(ratio * len(entries)))
        retained = [entries[i * len(entries) // size] for i in range(size)] if size < len(entries) else entries
        make = ENTRY_MAKERS[type(entries[0])]
        resized[lexicon_field.name] = (
            *retained,
            *(make(next(stems), number) for number in range(size - len(retained))),
        )
    return Lexicon(**resized)


def all_word_forms(lexicon: Lexicon) -> set[str]:
    """All word forms of a lexicon."""
    entries = [entry for lexicon_field in fields(lexicon) for entry in getattr(lexicon, lexicon_field.name)]
    return {form for entry in entries for form in (astuple(entry) if is_dataclass(entry) else (entry,)) if form}


def pseudowords(known: set[str]) -> Iterator[str]:
    """Pseudowords, short ones first; none shares its first three characters with a known word."""
    prefixes = {word.lower()[:3] for word in known}
    unused = [syllable for syllable in SYLLABLES if syllable[:3] not in prefixes]
    for length in count(1):
        yield from ("".join(row) for row in product(unused, repeat=length))


ENTRY_MAKERS: dict[type, Callable[[str, int], object]] = {
    Person: lambda stem, number: Person(stem.title(), ("she", "he")[number % 2]),
    Job: lambda stem, number: Job(f"{stem}er", f"{stem}ery"),
    City: lambda stem, number: City(stem.title(), f"{stem.title()}ia"),
    Mood: lambda stem, number: Mood(f"{stem}y", ("good", "bad")[number % 2]),
    Noun: lambda stem, number: Noun(stem, f"{stem}s"),
    Verb: lambda stem, number: Verb(stem, f"{stem}s", f"{stem}ed"),
    str: lambda stem, number: f"{stem}ish",
}
