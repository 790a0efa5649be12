"""Synthetic videos of objects that move, stand still, grow or shrink, with captions and questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from firth.datasets.world.captions import RELATIONS, Phrase, is_related
from firth.datasets.world.scenes import (
    COLOURS,
    GRID,
    SHAPES,
    SIZES,
    Scene,
    SceneObject,
    choose,
    layout,
    paint,
    pixel_coverage,
    sample,
    to_pixels,
    uniform_stream,
)
from firth.datasets.world.visual_questions import YES_NO, VisualQuestion, answer_choices, join_words
from firth.errors import FirthError

MOVES = {"moves left": (0, -1), "moves right": (0, 1), "moves up": (-1, 0), "moves down": (1, 0)}
CHANGES = {"grows": ("little", "big"), "shrinks": ("big", "little")}
ACTIONS = (*MOVES, "stands still", *CHANGES)


class Actor(NamedTuple):
    """An object in the first and in the last frame, linearly interpolated in between."""

    start: SceneObject
    end: SceneObject
    action: str

    @property
    def name(self) -> str:
        """Red circle: no other actor of a video has the same shape and colour."""
        return f"{self.start.colour} {self.start.shape}"

    def describe(self, sized: bool) -> str:
        """The big red circle; a size that changes is left out."""
        size = self.start.size if sized and self.start.size == self.end.size else ""
        return f"the {Phrase(size, self.start.colour, self.start.shape).text()}"


@dataclass(frozen=True)
class SceneVideo:
    """A video of one to three actors whose paths never cross; a pure function of the seed and the index."""

    seed: int = 1
    index: int = 0

    @cached_property
    def actors(self) -> tuple[Actor, ...]:
        """The actors and their actions; everything else follows from them."""
        return make_actors(uniform_stream(self.seed, "film", self.index))

    def render(self, size: int = 32, frames: int = 8) -> np.ndarray:
        """The pixels, uint8 (frames, y, x, 3)."""
        return render_video(self.actors, size, frames)

    def caption(self, number: int = 0) -> str:
        """The actions of all actors, in random order."""
        return _make_caption(self.actors, uniform_stream(self.seed, "film caption", self.index, number))

    def false_caption(self, number: int = 0) -> str:
        """A false caption, in which one actor has another action."""
        uniforms = uniform_stream(self.seed, "false film caption", self.index, number)
        changed = int(next(uniforms) * len(self.actors))
        actors = list(self.actors)
        action = choose([action for action in ACTIONS if action != actors[changed].action], next(uniforms))
        actors[changed] = actors[changed]._replace(action=action)
        return _make_caption(tuple(actors), uniforms)

    def questions(self, number: int = 0) -> tuple[VisualQuestion, ...]:
        """A question of each kind that has a unique answer."""
        uniforms = uniform_stream(self.seed, "film asked", self.index, number)
        drafts = (ask(self.actors, uniforms) for ask in (_ask_direction, _ask_moving, _ask_action, _ask_end))
        return tuple(question for question in drafts if question)


def make_actors(uniforms: Iterator[float]) -> tuple[Actor, ...]:
    """Actors of different colour and shape, with disjoint paths."""
    num_actors = 1 + int(next(uniforms) * 3)
    appearances = sample([(shape, colour) for shape in SHAPES for colour in COLOURS], num_actors, uniforms)
    occupied: set[tuple[int, int]] = set()
    actors = []
    for shape, colour in appearances:
        action, size = choose(ACTIONS, next(uniforms)), choose(tuple(SIZES), next(uniforms))
        paths = [path for path in _paths(action) if not occupied & set(path)]
        if not paths:  # the others leave no room to move; two of them leave at least three cells
            action, paths = "stands still", [path for path in _paths("stands still") if not occupied & set(path)]
        path = choose(paths, next(uniforms))
        occupied |= set(path)
        before, after = CHANGES.get(action, (size, size))
        actors.append(
            Actor(SceneObject(shape, colour, before, *path[0]), SceneObject(shape, colour, after, *path[-1]), action)
        )
    return tuple(actors)


def render_video(actors: tuple[Actor, ...], size: int = 32, frames: int = 8) -> np.ndarray:
    """Frames of actors from start to end, uint8 (frames, y, x, 3)."""
    if frames < 2:
        raise FirthError(f"{frames} frames show no movement", where="world", do="use 2 or more")
    side, margin = layout(size)
    fraction = np.linspace(0, 1, frames)[:, None, None]
    pixel = np.arange(size) + 0.5
    added = np.zeros((frames, size, size, 3))
    for start, end, _ in actors:
        row, column, width = (
            a + fraction * (b - a)
            for a, b in ((start.row, end.row), (start.column, end.column), (SIZES[start.size], SIZES[end.size]))
        )
        x = pixel[None, None, :] - margin - (column + 0.5) * side  # (frames, 1, x)
        y = pixel[None, :, None] - margin - (row + 0.5) * side
        added += paint(pixel_coverage(start.shape, x, y, width * side), start.colour)
    return to_pixels(added)


def last_scene(actors: tuple[Actor, ...]) -> Scene:
    """The scene of the last frame."""
    return tuple(sorted((actor.end for actor in actors), key=lambda obj: (obj.row, obj.column)))


def _paths(action: str) -> list[list[tuple[int, int]]]:
    """All paths of cells in the grid that an actor with this action can take."""
    cells = [(row, column) for row in range(GRID) for column in range(GRID)]
    if action not in MOVES:
        return [[cell] for cell in cells]
    down, right = MOVES[action]
    paths = [[(r + down * n, c + right * n) for n in range(steps + 1)] for r, c in cells for steps in range(1, GRID)]
    return [path for path in paths if all(0 <= value < GRID for value in path[-1])]


def _make_caption(actors: tuple[Actor, ...], uniforms: Iterator[float]) -> str:
    order = sample(actors, len(actors), uniforms)
    return join_words([f"{actor.describe(next(uniforms) < 0.5)} {actor.action}" for actor in order])


def _describe_change(actor: Actor) -> str:
    """The position, or the size if it changes, of an actor at first and at the end."""
    if actor.start.size != actor.end.size:
        return f"the {actor.name} is {actor.start.size} at first and {actor.end.size} at the end"
    if actor.start == actor.end:
        return f"the {actor.name} is at the {actor.start.position} at first and at the end"
    return f"the {actor.name} is at the {actor.start.position} at first and at the {actor.end.position} at the end"


def _ask_direction(actors: tuple[Actor, ...], uniforms: Iterator[float]) -> VisualQuestion | None:
    """Which way does the red circle move?"""
    movers = [actor for actor in actors if actor.action in MOVES]
    if not movers:
        return None
    actor = choose(movers, next(uniforms))
    directions = tuple(move.removeprefix("moves ") for move in MOVES)
    text = f"which way does the {actor.name} move?"
    return VisualQuestion("way", text, actor.action.removeprefix("moves "), directions, _describe_change(actor))


def _ask_moving(actors: tuple[Actor, ...], uniforms: Iterator[float]) -> VisualQuestion | None:
    """Does the red circle move?"""
    affirmative = next(uniforms) < 0.5
    candidates = [actor for actor in actors if (actor.action in MOVES) == affirmative]
    if not candidates:
        return None
    actor = choose(candidates, next(uniforms))
    return VisualQuestion(
        "moving", f"does the {actor.name} move?", YES_NO[not affirmative], YES_NO, _describe_change(actor)
    )


def _ask_action(actors: tuple[Actor, ...], uniforms: Iterator[float]) -> VisualQuestion:
    """What does the red circle do?"""
    actor = choose(actors, next(uniforms))
    return VisualQuestion("doing", f"what does the {actor.name} do?", actor.action, ACTIONS, _describe_change(actor))


def _ask_end(actors: tuple[Actor, ...], uniforms: Iterator[float]) -> VisualQuestion | None:
    """What is left of the blue ring at the end? The relation must be true of one actor only."""
    candidates = []
    for actor in actors:
        for relation in RELATIONS:
            matches = [other for other in actors if is_related(other.end, relation, actor.end)]
            candidates += [(matches[0], relation, actor)] if len(matches) == 1 else []
    if not candidates:
        return None
    one, relation, other = choose(candidates, next(uniforms))
    appearances = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
    present = [actor.name for actor in actors]
    absent_answers = [actor.name for actor in actors if actor not in (one, other)]
    others = [
        *absent_answers,
        *sample(
            [appearance for appearance in appearances if appearance not in present], 3 - len(absent_answers), uniforms
        ),
    ]
    rationale = (
        f"at the end the {one.name} is at the {one.end.position} and the {other.name} at the {other.end.position}"
    )
    text = f"what is {relation} the {other.name} at the end?"
    return VisualQuestion("end", text, one.name, answer_choices(one.name, others, uniforms), rationale)
