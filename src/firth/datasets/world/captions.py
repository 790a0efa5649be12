"""Image captions of scenes: statements that are true or false of a scene, and captions with exact probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple, Union

from firth.datasets.world.scenes import COLOURS, GRID, POSITIONS, SHAPES, SIZES, Scene, SceneObject, choose

NUMBERS = ("zero", "one", "two", "three", "four")
RELATIONS = {"left of": ("column", -1), "right of": ("column", 1), "above": ("row", -1), "below": ("row", 1)}
OPPOSITE = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
OPENINGS = {"": 3, "a picture of ": 2, "we see ": 1}  # with their weights
WEIGHTS = {"list": 4, "relation": 3, "place": 2, "count": 1}  # of kinds of captions


class Phrase(NamedTuple):
    """A description of an object; empty attributes are unspecified."""

    size: str = ""
    colour: str = ""
    shape: str = ""

    def matches(self, obj: SceneObject) -> bool:
        """Whether all its attributes are those of the object."""
        return self.shape in ("", obj.shape) and self.colour in ("", obj.colour) and self.size in ("", obj.size)

    def referents(self, scene: Scene) -> list[SceneObject]:
        """The objects it describes."""
        return [obj for obj in scene if self.matches(obj)]

    def text(self, noun: str = "shape") -> str:
        """Little red circle; `noun` replaces an unspecified shape."""
        return " ".join(word for word in (self.size, self.colour, self.shape or noun) if word)

    def with_count(self, number: int) -> str:
        """One red circle, two red circles."""
        plural = self._replace(shape=SHAPES.get(self.shape, "shapes"))
        return f"{NUMBERS[number]} {self.text() if number == 1 else plural.text()}"

    def edits(self) -> Iterator[Phrase]:
        """All phrases that differ in one attribute."""
        tables = {"size": SIZES, "colour": COLOURS, "shape": SHAPES}
        for name, word_ in self._asdict().items():
            if word_:
                yield from (self._replace(**{name: word}) for word in tables[name] if word != word_)


class ListStatement(NamedTuple):
    """There are these objects, all distinct."""

    phrases: tuple[Phrase, ...]

    def text(self) -> str:
        """A red circle, a blue ring and a black square."""
        *first, last = (f"a {phrase.text()}" for phrase in self.phrases)
        return f"{', '.join(first)} and {last}" if first else last

    def holds(self, scene: Scene) -> bool:
        """Whether distinct objects match the phrases, one each."""
        rows = permutations(scene, len(self.phrases))
        return any(all(p.matches(t) for p, t in zip(self.phrases, row, strict=True)) for row in rows)

    def edits(self) -> Iterator[ListStatement]:
        """All lists that differ in one word."""
        for index, phrase in enumerate(self.phrases):
            for other in phrase.edits():
                yield ListStatement((*self.phrases[:index], other, *self.phrases[index + 1 :]))


class RelationStatement(NamedTuple):
    """One object is left of, right of, above or below another."""

    one: Phrase
    relation: str
    other: Phrase

    def text(self) -> str:
        """A red circle left of a blue ring."""
        return f"a {self.one.text()} {self.relation} a {self.other.text()}"

    def holds(self, scene: Scene) -> bool:
        """Whether two objects match the phrases and the relation."""
        return any(
            is_related(a, self.relation, b) for a in self.one.referents(scene) for b in self.other.referents(scene)
        )

    def edits(self) -> Iterator[RelationStatement]:
        """The opposite relation, and all statements with one other word in a phrase."""
        yield self._replace(relation=OPPOSITE[self.relation])
        yield from (self._replace(one=phrase) for phrase in self.one.edits())
        yield from (self._replace(other=phrase) for phrase in self.other.edits())


class PositionStatement(NamedTuple):
    """An object is at a position."""

    phrase: Phrase
    row: int
    column: int

    def text(self) -> str:
        """A red circle at the top left."""
        return f"a {self.phrase.text()} at the {POSITIONS[self.row][self.column]}"

    def holds(self, scene: Scene) -> bool:
        """Whether an object that matches the phrase is at the position."""
        return any((obj.row, obj.column) == (self.row, self.column) for obj in self.phrase.referents(scene))

    def edits(self) -> Iterator[PositionStatement]:
        """All statements with one other word in the phrase, or with another position."""
        yield from (self._replace(phrase=phrase) for phrase in self.phrase.edits())
        cells = ((row, column) for row in range(GRID) for column in range(GRID))
        yield from (PositionStatement(self.phrase, *cell) for cell in cells if cell != (self.row, self.column))


class CountStatement(NamedTuple):
    """There are exactly so many objects."""

    number: int
    phrase: Phrase

    def text(self) -> str:
        """Two red shapes."""
        return self.phrase.with_count(self.number)

    def holds(self, scene: Scene) -> bool:
        """Whether so many objects match the phrase."""
        return len(self.phrase.referents(scene)) == self.number

    def edits(self) -> Iterator[CountStatement]:
        """All statements with another number."""
        yield from (self._replace(number=n) for n in range(1, len(NUMBERS)) if n != self.number)


Statement = Union[ListStatement, RelationStatement, PositionStatement, CountStatement]  # noqa: UP007 (read at run time)


class Caption(NamedTuple):
    """A caption and the statement it expresses."""

    text: str
    statement: Statement


def is_related(one: SceneObject, relation: str, other: SceneObject) -> bool:
    """Whether one object is left of, right of, above or below the other, by its column or row."""
    axis, sign = RELATIONS[relation]
    return (getattr(one, axis) - getattr(other, axis)) * sign > 0


def holds(statement: Statement, scene: Scene) -> bool:
    """Whether a statement is true of a scene."""
    return statement.holds(scene)


def make_caption(scene: Scene, uniforms: Iterator[float]) -> Caption:
    """Sample a true caption: a kind by weight, a statement of the kind uniformly, an opening by weight."""
    kinds = _kinds(scene)
    statements = STATEMENTS[_weighted_choice(kinds, next(uniforms))](scene)
    return _add_opening(choose(statements, next(uniforms)), next(uniforms))


def make_false_caption(scene: Scene, uniforms: Iterator[float]) -> Caption:
    """Sample a hard negative: a false caption that is one word, number or position away from a true one."""
    true = make_caption(scene, uniforms).statement
    return _add_opening(
        choose([edit for edit in true.edits() if not edit.holds(scene)], next(uniforms)), next(uniforms)
    )


def caption_probabilities(scene: Scene) -> dict[str, float]:
    """Every caption a scene can have, with its exact probability."""
    probabilities: Counter[str] = Counter()
    kinds = _kinds(scene)
    for kind, weight in kinds.items():
        statements = STATEMENTS[kind](scene)
        for statement in statements:
            for opening, opening_weight in OPENINGS.items():
                text = opening + statement.text()
                probabilities[text] += (
                    weight / sum(kinds.values()) / len(statements) * opening_weight / sum(OPENINGS.values())
                )
    return dict(probabilities)


def _add_opening(statement: Statement, uniform: float) -> Caption:
    return Caption(_weighted_choice(OPENINGS, uniform) + statement.text(), statement)


def _weighted_choice(table: dict[str, float], uniform: float) -> str:
    """A key, sampled by weight."""
    remaining = uniform * sum(table.values())
    for key, weight in table.items():
        remaining -= weight
        if remaining < 0:
            return key
    return key


def _kinds(scene: Scene) -> dict[str, float]:
    """The weights of the kinds of captions a scene can have; a single object has no relation."""
    return {kind: weight for kind, weight in WEIGHTS.items() if kind != "relation" or len(scene) > 1}


def _phrases(scene: Scene, sized: bool) -> list[Phrase]:
    return [Phrase(obj.size if sized else "", obj.colour, obj.shape) for obj in scene]


def _lists(scene: Scene) -> list[Statement]:
    """All objects in any order, with their sizes or without."""
    return [ListStatement(row) for sized in (False, True) for row in permutations(_phrases(scene, sized))]


def _relations(scene: Scene) -> list[Statement]:
    """The relations of any two objects."""
    pairs = [
        (a, b, r) for a, b in permutations(range(len(scene)), 2) for r in RELATIONS if is_related(scene[a], r, scene[b])
    ]
    phrase_lists = [_phrases(scene, sized) for sized in (False, True)]
    return [RelationStatement(phrases[a], relation, phrases[b]) for phrases in phrase_lists for a, b, relation in pairs]


def _positions(scene: Scene) -> list[Statement]:
    phrase_lists = [_phrases(scene, sized) for sized in (False, True)]
    return [
        PositionStatement(phrase, t.row, t.column)
        for phrases in phrase_lists
        for phrase, t in zip(phrases, scene, strict=True)
    ]


def _counts(scene: Scene) -> list[Statement]:
    """The number of all objects, of each shape and of each colour."""
    shapes, colours = Counter(t.shape for t in scene), Counter(t.colour for t in scene)
    return [
        CountStatement(len(scene), Phrase()),
        *(CountStatement(number, Phrase(shape=shape)) for shape, number in shapes.items()),
        *(CountStatement(number, Phrase(colour=colour)) for colour, number in colours.items()),
    ]


STATEMENTS = {"list": _lists, "relation": _relations, "place": _positions, "count": _counts}
