"""Questions about a scene, each with one right answer, choices, and a sentence that tells why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import permutations, product
from typing import NamedTuple

from firth.data.world.shapes import COLOURS, SHAPES, Scene, Thing, pick, sample
from firth.data.world.statements import NUMBERS, OPPOSITE, RELATIONS, Listed, Phrase, related

YES_NO = ("yes", "no")
DIRECTIONS = tuple(relation.removesuffix(" of") for relation in RELATIONS)


class Asked(NamedTuple):
    """A question; the answer is one of the choices."""

    kind: str
    text: str
    answer: str
    choices: tuple[str, ...]
    rationale: str


def questions(scene: Scene, draws: Iterator[float]) -> tuple[Asked, ...]:
    """One question of every kind that has a unique answer in this scene."""
    made = (ask(scene, draws) for ask in ASK.values())
    return tuple(asked for asked in made if asked)


def ask_colour(scene: Scene, draws: Iterator[float]) -> Asked | None:
    """What colour is the big circle?"""
    named = any_named(scene, draws, without="colour")
    if not named:
        return None
    thing, phrase = named
    why = f"the {phrase.text()} is at the {thing.place} and is {thing.colour}"
    text = f"what colour is the {phrase.text()}?"
    return Asked("colour", text, thing.colour, choices(thing.colour, COLOURS, draws), why)


def ask_shape(scene: Scene, draws: Iterator[float]) -> Asked | None:
    """What shape is the red one?"""
    named = any_named(scene, draws, without="shape")
    if not named:
        return None
    thing, phrase = named
    one = phrase.text("one")
    why = f"the {one} is at the {thing.place} and is a {thing.shape}"
    return Asked("shape", f"what shape is the {one}?", thing.shape, choices(thing.shape, SHAPES, draws), why)


def ask_size(scene: Scene, draws: Iterator[float]) -> Asked | None:
    """Is the red circle little or big?"""
    named = any_named(scene, draws, without="size")
    if not named:
        return None
    thing, phrase = named
    why = f"the {phrase.text()} is at the {thing.place} and is {thing.size}"
    return Asked("size", f"is the {phrase.text()} little or big?", thing.size, ("little", "big"), why)


def ask_count(scene: Scene, draws: Iterator[float]) -> Asked:
    """How many red shapes are there? High numbers are rare in scenes and so are asked for when they can be."""
    found: dict[int, list[Phrase]] = {}
    for phrase in _countable(scene, draws):
        found.setdefault(len(phrase.of(scene)), []).append(phrase)
    tickets = [number for number in sorted(found) for _ in range(max(number, 1))]
    number = pick(tickets, next(draws))
    phrase = pick(found[number], next(draws))
    plural = phrase.many(0).removeprefix("zero ")
    places = join([f"at the {thing.place}" for thing in phrase.of(scene)])
    why = f"there {_be(number)} {phrase.many(number)}, {places}" if number else _only(scene)
    return Asked("count", f"how many {plural} are there?", NUMBERS[number], NUMBERS, why)


def ask_existence(scene: Scene, draws: Iterator[float]) -> Asked:
    """Is there a red circle? If not, then there is something like it."""
    thing, said, sized = pick(scene, next(draws)), next(draws) < 0.5, next(draws) < 0.5
    phrase = full(thing) if sized else full(thing)._replace(size="")
    if said:
        why = f"a {phrase.text()} is at the {thing.place}"
    else:
        phrase = pick([edit for edit in phrase.edits() if not edit.of(scene)], next(draws))
        why = _only(scene)
    return Asked("existence", f"is there a {phrase.text()}?", YES_NO[not said], YES_NO, why)


def ask_relation(scene: Scene, draws: Iterator[float]) -> Asked | None:
    """Is the red circle left of the blue ring?"""
    pairs = [(a, b, r) for a, b in permutations(scene, 2) for r in RELATIONS if related(a, r, b)]
    chosen = named_pair(scene, pairs, draws)
    if not chosen:
        return None
    one, other, relation, why = chosen
    said = next(draws) < 0.5
    text = f"is the {one.text()} {relation if said else OPPOSITE[relation]} the {other.text()}?"
    return Asked("relation", text, YES_NO[not said], YES_NO, why)


def ask_direction(scene: Scene, draws: Iterator[float]) -> Asked | None:
    """Where is the red circle as seen from the blue ring? Asked of things in one row or column only."""
    pairs = [
        (a, b, relation)
        for a, b in permutations(scene, 2)
        for relation in RELATIONS
        if related(a, relation, b) and (a.row == b.row or a.column == b.column)
    ]
    chosen = named_pair(scene, pairs, draws)
    if not chosen:
        return None
    one, other, relation, why = chosen
    text = f"where is the {one.text()} as seen from the {other.text()}?"
    return Asked("direction", text, relation.removesuffix(" of"), DIRECTIONS, why)


def ask_comparison(scene: Scene, draws: Iterator[float]) -> Asked:
    """Are there more red shapes than blue shapes?"""
    name, table = pick((("colour", COLOURS), ("shape", SHAPES)), next(draws))
    there = sorted({getattr(thing, name) for thing in scene})
    values = [*there, pick([word for word in table if word not in there], next(draws))]
    said = next(draws) < 0.5
    found = []
    for pair in permutations(values, 2):
        one, other = (Phrase(**{name: word}) for word in pair)
        if (len(one.of(scene)) > len(other.of(scene))) == said:
            found.append((one, other))
    one, other = pick(found, next(draws))
    more, less = (phrase.many(0).removeprefix("zero ") for phrase in (one, other))
    numbers = [phrase.many(len(phrase.of(scene))) for phrase in (one, other)]
    why = f"there {_be(len(one.of(scene)))} {numbers[0]} and {numbers[1]}"
    return Asked("comparison", f"are there more {more} than {less}?", YES_NO[not said], YES_NO, why)


ASK = {
    "colour": ask_colour,
    "shape": ask_shape,
    "size": ask_size,
    "count": ask_count,
    "existence": ask_existence,
    "relation": ask_relation,
    "direction": ask_direction,
    "comparison": ask_comparison,
}


# --- how things are called ---


def full(thing: Thing) -> Phrase:
    """All that a phrase can say of a thing."""
    return Phrase(thing.size, thing.colour, thing.shape)


def names(scene: Scene, thing: Thing, without: str = "") -> list[Phrase]:
    """All phrases that fit this thing alone, none of which says what is asked for."""
    fits = _fits(scene)
    phrases = [phrase for phrase in _phrases(full(thing)) if fits[phrase] == 1]
    return [phrase for phrase in phrases if not getattr(phrase, without)] if without else phrases


@cache
def _phrases(whole: Phrase) -> tuple[Phrase, ...]:
    """All phrases that leave out some words of a full one, not all of them."""
    found = [Phrase(*words) for words in product(*(("", word) for word in whole))]
    return tuple(found[1:])


@lru_cache(maxsize=16)  # all questions of a scene ask for it
def _fits(scene: Scene) -> Counter[Phrase]:
    """How many things each phrase fits."""
    return Counter(phrase for thing in scene for phrase in _phrases(full(thing)))


def any_named(scene: Scene, draws: Iterator[float], without: str) -> tuple[Thing, Phrase] | None:
    """A thing that has a name, and one of its names; nothing if none has."""
    named = [(thing, found) for thing in scene if (found := names(scene, thing, without))]
    if not named:
        return None
    thing, found = pick(named, next(draws))
    return thing, pick(found, next(draws))


def named_pair(
    scene: Scene, pairs: Sequence[tuple[Thing, Thing, str]], draws: Iterator[float]
) -> tuple[Phrase, Phrase, str, str] | None:
    """Two related things by their names, their relation, and where they are; nothing if no two have names."""
    known = {thing: names(scene, thing) for thing in scene}
    pairs = [pair for pair in pairs if known[pair[0]] and known[pair[1]]]
    if not pairs:
        return None
    one, other, relation = pick(pairs, next(draws))
    first, second = pick(known[one], next(draws)), pick(known[other], next(draws))
    why = f"the {first.text()} is at the {one.place} and the {second.text()} at the {other.place}"
    return first, second, relation, why


def choices(answer: str, table: Iterable[str], draws: Iterator[float], size: int = 4) -> tuple[str, ...]:
    """The answer among others of its table, in random order."""
    others = sample([word for word in table if word != answer], size - 1, draws)
    return tuple(sample([answer, *others], size, draws))


def join(words: Sequence[str]) -> str:
    """One, two and three."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _only(scene: Scene) -> str:
    """All there is: why something is not there."""
    return f"the picture has only {Listed(tuple(map(full, scene))).text()}"


def _countable(scene: Scene, draws: Iterator[float]) -> list[Phrase]:
    """What may be counted: all, by one word or by two; of what is not there, one shape, one colour and one of both."""
    thing = pick(scene, next(draws))
    found = {Phrase(), Phrase(size="little"), Phrase(size="big")}
    for one in scene:
        found |= {Phrase(shape=one.shape), Phrase(colour=one.colour), Phrase(colour=one.colour, shape=one.shape)}
    shape, colour = pick(tuple(SHAPES), next(draws)), pick(tuple(COLOURS), next(draws))
    absent = {Phrase(shape=shape), Phrase(colour=colour), Phrase(colour=colour, shape=thing.shape)}
    return sorted(found | absent)
