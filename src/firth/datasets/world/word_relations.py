"""Lexical gold data: word analogies, word categories and word similarity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

from firth.datasets.records import Analogy, Labelled, Pair
from firth.datasets.world.lexicon import Lexicon

Pairs = list[tuple[str, str]]


def relations(lexicon: Lexicon) -> dict[str, Pairs]:
    """The word pairs of each relation; multi-word names are left out."""
    verbs = (*lexicon.transitive_verbs, *lexicon.intransitive_verbs, *lexicon.motion_verbs)
    nouns = (*lexicon.animate_nouns, *lexicon.inanimate_nouns)
    pairs_by_relation = {
        "capital-country": [(city.name, city.country) for city in lexicon.cities],
        "job-place": [(job.name, job.place) for job in lexicon.jobs],
        "singular-plural": [(noun.singular, noun.plural) for noun in nouns],
        "present-past": [(verb.base, verb.past) for verb in verbs],
        "many-one": [(verb.base, verb.third) for verb in verbs],
    }
    return {name: [pair for pair in pairs if " " not in "".join(pair)] for name, pairs in pairs_by_relation.items()}


def analogies(lexicon: Lexicon) -> Iterator[Analogy]:
    """Analogies a : b = c : d of every two pairs of one relation, in both orders."""
    for section, pairs in relations(lexicon).items():
        yield from (Analogy(section, (*first, *second)) for first, second in permutations(pairs, 2))


def classes(lexicon: Lexicon) -> dict[str, tuple[str, ...]]:
    """Classes of interchangeable words: the same part of speech, inflection and semantic class."""
    groups = {
        "people": [person.name for person in lexicon.people],
        "cities": [city.name for city in lexicon.cities],
        "countries": [city.country for city in lexicon.cities],
        "jobs": [job.name for job in lexicon.jobs],
        "places": [job.place for job in lexicon.jobs],
        "good moods": [mood.name for mood in lexicon.moods if mood.polarity == "good"],
        "bad moods": [mood.name for mood in lexicon.moods if mood.polarity == "bad"],
        "beings": [noun.singular for noun in lexicon.animate_nouns],
        "things": [noun.singular for noun in lexicon.inanimate_nouns],
        "sizes": list(lexicon.sizes),
        "colours": list(lexicon.colours),
        "actions": [verb.base for verb in lexicon.transitive_verbs],
        "doings": [verb.base for verb in lexicon.intransitive_verbs],
        "journeys": [verb.past for verb in lexicon.motion_verbs],
        "lucky events": [verb.past for verb in lexicon.positive_verbs],
        "unlucky events": [verb.past for verb in lexicon.negative_verbs],
    }
    return {name: tuple(word for word in words if " " not in word) for name, words in groups.items()}


RELATED = (  # classes whose words share a part of speech and a semantic field
    {"people", "jobs", "beings"}, {"cities", "countries", "places"}, {"good moods", "bad moods"},
    {"beings", "things"}, {"sizes", "colours"}, {"actions", "doings"}, {"lucky events", "unlucky events", "journeys"},
)  # fmt: skip


def categories(lexicon: Lexicon) -> Iterator[Labelled]:
    """Every word with its class."""
    for name, words in classes(lexicon).items():
        yield from (Labelled(word, (name,)) for word in words)


def similarities(lexicon: Lexicon) -> Iterator[Pair]:
    """Pairs of words with a score: 3 in one class, 1 in related classes, 0 in others."""
    named = [(word, name) for name, words in classes(lexicon).items() for word in words]
    for (left, one), (right, other) in combinations(named, 2):
        related = any({one, other} <= group for group in RELATED)
        yield Pair(left, right, score=3.0 if one == other else float(related))
