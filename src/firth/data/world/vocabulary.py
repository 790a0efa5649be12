"""Worlds with more or fewer words: an even part of the lexicon, or further entries that are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, fields, is_dataclass
from itertools import count, product

from firth.data.world.lexicon import LEAST, LEXICON, City, Job, Lexicon, Mood, Noun, Person, Verb
from firth.errors import FirthError

FEWEST = 60
SYLLABLES = [a + b + c for a, b, c in product(("bl", "dr", "fl", "gr", "kl", "pl", "sn", "tr"), "aeiou", "bgmpkt")]


def sized(words: int, lexicon: Lexicon = LEXICON) -> Lexicon:
    """The lexicon cut or filled up until all its forms together are about so many words."""
    if words < FEWEST:
        raise FirthError(f"{words} words are too few for a world", where="world", do=f"use {FEWEST} or more")
    share = words / len(forms(lexicon))
    stems = invented(forms(lexicon))
    parts = {}
    for part in fields(lexicon):
        entries = getattr(lexicon, part.name)
        size = max(LEAST.get(part.name, 1), round(share * len(entries)))
        kept = [entries[i * len(entries) // size] for i in range(size)] if size < len(entries) else entries
        make = MAKERS[type(entries[0])]
        parts[part.name] = (*kept, *(make(next(stems), number) for number in range(size - len(kept))))
    return Lexicon(**parts)


def forms(lexicon: Lexicon) -> set[str]:
    """All word forms of a lexicon."""
    entries = [entry for part in fields(lexicon) for entry in getattr(lexicon, part.name)]
    return {form for entry in entries for form in (astuple(entry) if is_dataclass(entry) else (entry,)) if form}


def invented(known: set[str]) -> Iterator[str]:
    """Words that nobody knows, short ones first; nothing made from one is the beginning of a known word."""
    heads = {word.lower()[:3] for word in known}
    fresh = [syllable for syllable in SYLLABLES if syllable[:3] not in heads]
    for length in count(1):
        yield from ("".join(row) for row in product(fresh, repeat=length))


MAKERS: dict[type, Callable[[str, int], object]] = {
    Person: lambda stem, number: Person(stem.title(), ("she", "he")[number % 2]),
    Job: lambda stem, number: Job(f"{stem}er", f"{stem}ery"),
    City: lambda stem, number: City(stem.title(), f"{stem.title()}ia"),
    Mood: lambda stem, number: Mood(f"{stem}y", ("good", "bad")[number % 2]),
    Noun: lambda stem, number: Noun(stem, f"{stem}s"),
    Verb: lambda stem, number: Verb(stem, f"{stem}s", f"{stem}ed"),
    str: lambda stem, number: f"{stem}ish",
}
