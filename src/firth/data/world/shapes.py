"""Coloured shapes on a grid of places, and their pixels: scenes without overlap, drawn in one gather of stamps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, count, product
from typing import NamedTuple

import numpy as np

from firth.data import randomness
from firth.errors import FirthError

GRID = 3  # places a side
SMALLEST = 24  # below it little shapes of different kinds look alike
BACKGROUND = (255, 255, 255)
COLOURS = {  # those of the lexicon that are told apart well from each other and from a white ground
    "red": (214, 40, 40),
    "blue": (40, 80, 220),
    "green": (30, 150, 60),
    "yellow": (250, 205, 30),
    "black": (20, 20, 20),
    "brown": (130, 80, 35),
    "grey": (150, 150, 150),
    "purple": (150, 50, 190),
}
SHAPES = {  # and their plurals
    "circle": "circles",
    "square": "squares",
    "triangle": "triangles",
    "cross": "crosses",
    "ring": "rings",
    "bar": "bars",
}
SIZES = {"little": 0.27, "big": 0.46}  # half the width, in places: no little shape has the area of a big one
PLACES = (
    ("top left", "top middle", "top right"),
    ("middle left", "centre", "middle right"),
    ("bottom left", "bottom middle", "bottom right"),
)
KINDS = {kind: code for code, kind in enumerate(product(SHAPES, COLOURS, SIZES), start=1)}  # 0 is an empty place


class Thing(NamedTuple):
    """One shape of a scene; rows count from the top, columns from the left."""

    shape: str
    colour: str
    size: str
    row: int
    column: int

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return PLACES[self.row][self.column]


Scene = tuple[Thing, ...]  # by row, then by column, no two in one place


def numbers(seed: int, *place: int | str) -> Iterator[float]:
    """Endless uniform numbers in [0, 1) that belong to a seed and a place."""
    stream = randomness.generator(seed, *place)
    return chain.from_iterable(stream.random(48).tolist() for _ in count())


def pick(options: Sequence, number: float):
    """One of the options, all as likely."""
    return options[int(number * len(options))]


def sample(options: Sequence, size: int, draws: Iterator[float]) -> list:
    """Some of the options in random order, none twice; all of them if there are fewer."""
    left = list(options)
    return [left.pop(int(next(draws) * len(left))) for _ in range(min(size, len(left)))]


def make_scene(draws: Iterator[float]) -> Scene:
    """One to four things; few shapes and colours at once, so that there is something to count and to compare."""
    amount = 1 + int(next(draws) * 4)
    shapes, colours = sample(tuple(SHAPES), 3, draws), sample(tuple(COLOURS), 3, draws)
    places = sorted(sample(range(GRID * GRID), amount, draws))
    return tuple(
        Thing(pick(shapes, next(draws)), pick(colours, next(draws)), pick(("little", "big"), next(draws)), *at)
        for at in (divmod(place, GRID) for place in places)
    )


def draw_scenes(scenes: Sequence[Scene], size: int = 32) -> np.ndarray:
    """The pictures of scenes, bytes (scenes, y, x, 3)."""
    side, margin = layout(size)
    codes = np.zeros((len(scenes), GRID, GRID), np.intp)
    for index, scene in enumerate(scenes):
        for shape, colour, width, row, column in scene:
            codes[index, row, column] = KINDS[shape, colour, width]
    pixels = np.full((len(scenes), size, size, 3), BACKGROUND, np.uint8)
    drawn = _stamps(side)[codes].transpose(0, 1, 3, 2, 4, 5)  # (scenes, row, y, column, x, 3)
    inside = slice(margin, margin + GRID * side)
    pixels[:, inside, inside] = drawn.reshape(len(scenes), GRID * side, GRID * side, 3)
    return pixels


def layout(size: int) -> tuple[int, int]:
    """The pixels of a place's side, and of the margin before the first; an error if a picture is too small."""
    if size < SMALLEST:
        raise FirthError(f"pictures of {size} pixels are too small", where="world", do=f"use {SMALLEST} or more")
    side = size // GRID
    return side, (size - GRID * side) // 2


def cover(shape: str, x: np.ndarray, y: np.ndarray, radius: float | np.ndarray) -> np.ndarray:
    """How much of each pixel a shape covers, 0 to 1; x and y are pixel centres as seen from the shape's middle."""
    return np.clip(0.5 - DISTANCES[shape](x, y, radius), 0, 1)


def paint(coverage: np.ndarray, colour: str) -> np.ndarray:
    """What a shape adds to the background, (…, 3), not yet rounded."""
    return coverage[..., None] * (np.array(COLOURS[colour], np.float64) - BACKGROUND)


def to_bytes(added: np.ndarray) -> np.ndarray:
    """Pixels from all that is added to the background."""
    return np.rint(added + BACKGROUND).astype(np.uint8)


@cache
def _stamps(side: int) -> np.ndarray:
    """Every kind of thing in its place, bytes (kinds, y, x, 3); the first is an empty place."""
    middle = np.arange(side) + 0.5 - side / 2
    stamps = np.zeros((len(KINDS) + 1, side, side, 3))
    for (shape, colour, size), code in KINDS.items():
        stamps[code] = paint(cover(shape, middle[None, :], middle[:, None], SIZES[size] * side), colour)
    stamps = to_bytes(stamps)
    stamps.setflags(write=False)
    return stamps


# Distances of points from an outline in pixels, below zero inside it; y grows downwards.


def _square(x, y, radius):
    return np.maximum(abs(x), abs(y)) - radius


def _circle(x, y, radius):
    return np.hypot(x, y) - radius


def _ring(x, y, radius):
    return abs(np.hypot(x, y) - 0.8 * radius) - 0.2 * radius


def _bar(x, y, radius):
    return np.maximum(abs(x) - radius, abs(y) - 0.375 * radius)


def _cross(x, y, radius):
    across, along = np.minimum(abs(x), abs(y)), np.maximum(abs(x), abs(y))
    return np.maximum(across - 0.33 * radius, along - radius)


def _triangle(x, y, radius):
    half = 0.75**0.5 * radius  # half the height of a triangle with sides of two radii
    return np.maximum(y - half, (3**0.5 * abs(x) - y - half) / 2)


DISTANCES = {
    "circle": _circle,
    "square": _square,
    "triangle": _triangle,
    "cross": _cross,
    "ring": _ring,
    "bar": _bar,
}
