"""What can be said of a scene: statements that are true or false of it, and captions with their exact probability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple, Union

from firth.data.world.shapes import COLOURS, GRID, PLACES, SHAPES, SIZES, Scene, Thing, pick

NUMBERS = ("zero", "one", "two", "three", "four")
RELATIONS = {"left of": ("column", -1), "right of": ("column", 1), "above": ("row", -1), "below": ("row", 1)}
OPPOSITE = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
OPENINGS = {"": 3, "a picture of ": 2, "we see ": 1}  # with their weights
WEIGHTS = {"list": 4, "relation": 3, "place": 2, "count": 1}  # of kinds of captions


class Phrase(NamedTuple):
    """A description; what is empty is left open."""

    size: str = ""
    colour: str = ""
    shape: str = ""

    def matches(self, thing: Thing) -> bool:
        """Whether all it says is true of the thing."""
        return self.shape in ("", thing.shape) and self.colour in ("", thing.colour) and self.size in ("", thing.size)

    def of(self, scene: Scene) -> list[Thing]:
        """The things it describes."""
        return [thing for thing in scene if self.matches(thing)]

    def text(self, noun: str = "shape") -> str:
        """A little red circle without its article; `noun` stands for a shape left open."""
        return " ".join(word for word in (self.size, self.colour, self.shape or noun) if word)

    def many(self, number: int) -> str:
        """One red circle, two red circles."""
        plural = self._replace(shape=SHAPES.get(self.shape, "shapes"))
        return f"{NUMBERS[number]} {self.text() if number == 1 else plural.text()}"

    def edits(self) -> Iterator[Phrase]:
        """All phrases that differ in one word."""
        tables = {"size": SIZES, "colour": COLOURS, "shape": SHAPES}
        for name, said in self._asdict().items():
            if said:
                yield from (self._replace(**{name: word}) for word in tables[name] if word != said)


class Listed(NamedTuple):
    """There are these things, each another."""

    phrases: tuple[Phrase, ...]

    def text(self) -> str:
        """A red circle, a blue ring and a black square."""
        *first, last = (f"a {phrase.text()}" for phrase in self.phrases)
        return f"{', '.join(first)} and {last}" if first else last

    def holds(self, scene: Scene) -> bool:
        """Whether as many different things fit the phrases, one each."""
        rows = permutations(scene, len(self.phrases))
        return any(all(p.matches(t) for p, t in zip(self.phrases, row, strict=True)) for row in rows)

    def edits(self) -> Iterator[Listed]:
        """All that differ in one word."""
        for index, phrase in enumerate(self.phrases):
            for other in phrase.edits():
                yield Listed((*self.phrases[:index], other, *self.phrases[index + 1 :]))


class Related(NamedTuple):
    """One thing is left of, right of, above or below another."""

    one: Phrase
    relation: str
    other: Phrase

    def text(self) -> str:
        """A red circle left of a blue ring."""
        return f"a {self.one.text()} {self.relation} a {self.other.text()}"

    def holds(self, scene: Scene) -> bool:
        """Whether some two things fit."""
        return any(related(a, self.relation, b) for a in self.one.of(scene) for b in self.other.of(scene))

    def edits(self) -> Iterator[Related]:
        """The opposite, and all with one other word in a phrase."""
        yield self._replace(relation=OPPOSITE[self.relation])
        yield from (self._replace(one=phrase) for phrase in self.one.edits())
        yield from (self._replace(other=phrase) for phrase in self.other.edits())


class Placed(NamedTuple):
    """Something is at one of the places."""

    phrase: Phrase
    row: int
    column: int

    def text(self) -> str:
        """A red circle at the top left."""
        return f"a {self.phrase.text()} at the {PLACES[self.row][self.column]}"

    def holds(self, scene: Scene) -> bool:
        """Whether what it describes is there."""
        return any((thing.row, thing.column) == (self.row, self.column) for thing in self.phrase.of(scene))

    def edits(self) -> Iterator[Placed]:
        """All with one other word in the phrase, or at another place."""
        yield from (self._replace(phrase=phrase) for phrase in self.phrase.edits())
        places = ((row, column) for row in range(GRID) for column in range(GRID))
        yield from (Placed(self.phrase, *at) for at in places if at != (self.row, self.column))


class Counted(NamedTuple):
    """There are exactly so many."""

    number: int
    phrase: Phrase

    def text(self) -> str:
        """Two red shapes."""
        return self.phrase.many(self.number)

    def holds(self, scene: Scene) -> bool:
        """Whether it is this number."""
        return len(self.phrase.of(scene)) == self.number

    def edits(self) -> Iterator[Counted]:
        """All with another number."""
        yield from (self._replace(number=n) for n in range(1, len(NUMBERS)) if n != self.number)


Statement = Union[Listed, Related, Placed, Counted]  # noqa: UP007 (read at run time)


class Caption(NamedTuple):
    """A caption and what it states."""

    text: str
    statement: Statement


def related(one: Thing, relation: str, other: Thing) -> bool:
    """Whether one thing is left of, right of, above or below the other: its column or row is nearer to that side."""
    axis, sign = RELATIONS[relation]
    return (getattr(one, axis) - getattr(other, axis)) * sign > 0


def holds(statement: Statement, scene: Scene) -> bool:
    """Whether a statement is true of a scene."""
    return statement.holds(scene)


def make_caption(scene: Scene, draws: Iterator[float]) -> Caption:
    """A true caption: a kind by weight, any statement of the kind, an opening by weight."""
    kinds = _kinds(scene)
    said = STATEMENTS[_weigh(kinds, next(draws))](scene)
    return _open(pick(said, next(draws)), next(draws))


def make_false_caption(scene: Scene, draws: Iterator[float]) -> Caption:
    """A caption that is one word, number or place away from a true one, and false."""
    true = make_caption(scene, draws).statement
    return _open(pick([edit for edit in true.edits() if not edit.holds(scene)], next(draws)), next(draws))


def caption_probabilities(scene: Scene) -> dict[str, float]:
    """Every caption a scene can have, with its exact probability."""
    found: Counter[str] = Counter()
    kinds = _kinds(scene)
    for kind, weight in kinds.items():
        said = STATEMENTS[kind](scene)
        for statement in said:
            for opening, share in OPENINGS.items():
                text = opening + statement.text()
                found[text] += weight / sum(kinds.values()) / len(said) * share / sum(OPENINGS.values())
    return dict(found)


def _open(statement: Statement, number: float) -> Caption:
    return Caption(_weigh(OPENINGS, number) + statement.text(), statement)


def _weigh(table: dict[str, float], number: float) -> str:
    """One of the keys, by weight."""
    left = number * sum(table.values())
    for key, weight in table.items():
        left -= weight
        if left < 0:
            return key
    return key


def _kinds(scene: Scene) -> dict[str, float]:
    """The kinds of captions a scene can have; a thing alone is related to nothing."""
    return {kind: weight for kind, weight in WEIGHTS.items() if kind != "relation" or len(scene) > 1}


def _phrases(scene: Scene, sized: bool) -> list[Phrase]:
    return [Phrase(thing.size if sized else "", thing.colour, thing.shape) for thing in scene]


def _lists(scene: Scene) -> list[Statement]:
    """All things in any order, with their sizes or without."""
    return [Listed(row) for sized in (False, True) for row in permutations(_phrases(scene, sized))]


def _relations(scene: Scene) -> list[Statement]:
    """How any two things stand to each other."""
    pairs = [
        (a, b, r) for a, b in permutations(range(len(scene)), 2) for r in RELATIONS if related(scene[a], r, scene[b])
    ]
    said = [_phrases(scene, sized) for sized in (False, True)]
    return [Related(phrases[a], relation, phrases[b]) for phrases in said for a, b, relation in pairs]


def _placings(scene: Scene) -> list[Statement]:
    said = [_phrases(scene, sized) for sized in (False, True)]
    return [Placed(phrase, t.row, t.column) for phrases in said for phrase, t in zip(phrases, scene, strict=True)]


def _counts(scene: Scene) -> list[Statement]:
    """How many there are in all, of each shape and of each colour."""
    shapes, colours = Counter(t.shape for t in scene), Counter(t.colour for t in scene)
    return [
        Counted(len(scene), Phrase()),
        *(Counted(number, Phrase(shape=shape)) for shape, number in shapes.items()),
        *(Counted(number, Phrase(colour=colour)) for colour, number in colours.items()),
    ]


STATEMENTS = {"list": _lists, "relation": _relations, "place": _placings, "count": _counts}
