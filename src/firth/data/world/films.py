"""Short films of the little world: shapes that move, stand still, grow or shrink, with captions and questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from firth.data.world.asked import YES_NO, Asked, choices, join
from firth.data.world.shapes import (
    COLOURS,
    GRID,
    SHAPES,
    SIZES,
    Scene,
    Thing,
    cover,
    layout,
    numbers,
    paint,
    pick,
    sample,
    to_bytes,
)
from firth.data.world.statements import RELATIONS, Phrase, related
from firth.errors import FirthError

MOVES = {"moves left": (0, -1), "moves right": (0, 1), "moves up": (-1, 0), "moves down": (1, 0)}
CHANGES = {"grows": ("little", "big"), "shrinks": ("big", "little")}
DOINGS = (*MOVES, "stands still", *CHANGES)


class Actor(NamedTuple):
    """A shape as it is in the first frame and in the last; in between it changes evenly."""

    start: Thing
    end: Thing
    doing: str

    @property
    def name(self) -> str:
        """Red circle: no other actor of a film has the same shape and colour."""
        return f"{self.start.colour} {self.start.shape}"

    def told(self, sized: bool) -> str:
        """The big red circle; a size that changes is never told."""
        size = self.start.size if sized and self.start.size == self.end.size else ""
        return f"the {Phrase(size, self.start.colour, self.start.shape).text()}"


@dataclass(frozen=True)
class Film:
    """A film of one to three actors whose ways never cross; number i of a seed is always the same."""

    seed: int = 1
    index: int = 0

    @cached_property
    def actors(self) -> tuple[Actor, ...]:
        """Who does what; all else follows from it."""
        return make_actors(numbers(self.seed, "film", self.index))

    def render(self, size: int = 32, frames: int = 8) -> np.ndarray:
        """The pixels, bytes (frames, y, x, 3)."""
        return draw_film(self.actors, size, frames)

    def caption(self, number: int = 0) -> str:
        """What everybody does, in some order."""
        return _tell(self.actors, numbers(self.seed, "film caption", self.index, number))

    def false_caption(self, number: int = 0) -> str:
        """The same with one actor doing something else."""
        draws = numbers(self.seed, "false film caption", self.index, number)
        liar = int(next(draws) * len(self.actors))
        actors = list(self.actors)
        doing = pick([doing for doing in DOINGS if doing != actors[liar].doing], next(draws))
        actors[liar] = actors[liar]._replace(doing=doing)
        return _tell(tuple(actors), draws)

    def questions(self, number: int = 0) -> tuple[Asked, ...]:
        """A question of each kind that has a unique answer."""
        draws = numbers(self.seed, "film asked", self.index, number)
        made = (ask(self.actors, draws) for ask in (_ask_way, _ask_moving, _ask_doing, _ask_end))
        return tuple(asked for asked in made if asked)


def make_actors(draws: Iterator[float]) -> tuple[Actor, ...]:
    """Actors of different colour and shape, each with places on its way that no other has on its own."""
    amount = 1 + int(next(draws) * 3)
    looks = sample([(shape, colour) for shape in SHAPES for colour in COLOURS], amount, draws)
    taken: set[tuple[int, int]] = set()
    actors = []
    for shape, colour in looks:
        doing, size = pick(DOINGS, next(draws)), pick(tuple(SIZES), next(draws))
        ways = [way for way in _ways(doing) if not taken & set(way)]
        if not ways:  # the others leave no room; two of them leave three places at least
            doing, ways = "stands still", [way for way in _ways("stands still") if not taken & set(way)]
        way = pick(ways, next(draws))
        taken |= set(way)
        before, after = CHANGES.get(doing, (size, size))
        actors.append(Actor(Thing(shape, colour, before, *way[0]), Thing(shape, colour, after, *way[-1]), doing))
    return tuple(actors)


def draw_film(actors: tuple[Actor, ...], size: int = 32, frames: int = 8) -> np.ndarray:
    """Frames of actors from start to end, bytes (frames, y, x, 3)."""
    if frames < 2:
        raise FirthError(f"{frames} frames show no movement", where="world", do="use 2 or more")
    side, margin = layout(size)
    share = np.linspace(0, 1, frames)[:, None, None]
    pixel = np.arange(size) + 0.5
    added = np.zeros((frames, size, size, 3))
    for start, end, _ in actors:
        row, column, width = (
            a + share * (b - a)
            for a, b in ((start.row, end.row), (start.column, end.column), (SIZES[start.size], SIZES[end.size]))
        )
        x = pixel[None, None, :] - margin - (column + 0.5) * side  # (frames, 1, x)
        y = pixel[None, :, None] - margin - (row + 0.5) * side
        added += paint(cover(start.shape, x, y, width * side), start.colour)
    return to_bytes(added)


def last_scene(actors: tuple[Actor, ...]) -> Scene:
    """What the last frame shows."""
    return tuple(sorted((actor.end for actor in actors), key=lambda thing: (thing.row, thing.column)))


def _ways(doing: str) -> list[list[tuple[int, int]]]:
    """All rows of places an actor can pass in the grid."""
    places = [(row, column) for row in range(GRID) for column in range(GRID)]
    if doing not in MOVES:
        return [[place] for place in places]
    down, right = MOVES[doing]
    ways = [[(r + down * n, c + right * n) for n in range(steps + 1)] for r, c in places for steps in range(1, GRID)]
    return [way for way in ways if all(0 <= value < GRID for value in way[-1])]


def _tell(actors: tuple[Actor, ...], draws: Iterator[float]) -> str:
    order = sample(actors, len(actors), draws)
    return join([f"{actor.told(next(draws) < 0.5)} {actor.doing}" for actor in order])


def _seen(actor: Actor) -> str:
    """Where an actor is, and how big, at first and at the end."""
    if actor.start.size != actor.end.size:
        return f"the {actor.name} is {actor.start.size} at first and {actor.end.size} at the end"
    if actor.start == actor.end:
        return f"the {actor.name} is at the {actor.start.place} at first and at the end"
    return f"the {actor.name} is at the {actor.start.place} at first and at the {actor.end.place} at the end"


def _ask_way(actors: tuple[Actor, ...], draws: Iterator[float]) -> Asked | None:
    """Which way does the red circle move?"""
    movers = [actor for actor in actors if actor.doing in MOVES]
    if not movers:
        return None
    actor = pick(movers, next(draws))
    ways = tuple(move.removeprefix("moves ") for move in MOVES)
    text = f"which way does the {actor.name} move?"
    return Asked("way", text, actor.doing.removeprefix("moves "), ways, _seen(actor))


def _ask_moving(actors: tuple[Actor, ...], draws: Iterator[float]) -> Asked | None:
    """Does the red circle move?"""
    said = next(draws) < 0.5
    asked = [actor for actor in actors if (actor.doing in MOVES) == said]
    if not asked:
        return None
    actor = pick(asked, next(draws))
    return Asked("moving", f"does the {actor.name} move?", YES_NO[not said], YES_NO, _seen(actor))


def _ask_doing(actors: tuple[Actor, ...], draws: Iterator[float]) -> Asked:
    """What does the red circle do?"""
    actor = pick(actors, next(draws))
    return Asked("doing", f"what does the {actor.name} do?", actor.doing, DOINGS, _seen(actor))


def _ask_end(actors: tuple[Actor, ...], draws: Iterator[float]) -> Asked | None:
    """What is left of the blue ring at the end? The relation must be true of one actor only."""
    found = []
    for actor in actors:
        for relation in RELATIONS:
            there = [other for other in actors if related(other.end, relation, actor.end)]
            found += [(there[0], relation, actor)] if len(there) == 1 else []
    if not found:
        return None
    one, relation, other = pick(found, next(draws))
    looks = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
    here = [actor.name for actor in actors]
    false = [actor.name for actor in actors if actor not in (one, other)]
    others = [*false, *sample([look for look in looks if look not in here], 3 - len(false), draws)]
    why = f"at the end the {one.name} is at the {one.end.place} and the {other.name} at the {other.end.place}"
    text = f"what is {relation} the {other.name} at the end?"
    return Asked("end", text, one.name, choices(one.name, others, draws), why)
