"""Synthetic scenes (in the manner of CLEVR and ShapeWorld): coloured shapes on a grid, and their rendering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, count, product
from typing import NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.types import generator

GRID = 3  # cells per side
MIN_SIZE = 24  # pixels; below it little objects of different shapes look alike
BACKGROUND = (255, 255, 255)
COLOURS = {  # those of the lexicon that are well separated from each other and from a white background
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
SIZES = {"little": 0.27, "big": 0.46}  # half the width, in cells: no little shape has the area of a big one
POSITIONS = (
    ("top left", "top middle", "top right"),
    ("middle left", "centre", "middle right"),
    ("bottom left", "bottom middle", "bottom right"),
)
OBJECT_CODES = {kind: code for code, kind in enumerate(product(SHAPES, COLOURS, SIZES), start=1)}  # 0 is an empty cell


class SceneObject(NamedTuple):
    """One object of a scene; rows count from the top, columns from the left."""

    shape: str
    colour: str
    size: str
    row: int
    column: int

    @property
    def position(self) -> str:
        """Its position in words."""
        return POSITIONS[self.row][self.column]


Scene = tuple[SceneObject, ...]  # by row, then by column, no two in one cell


def uniform_stream(seed: int, *key: int | str) -> Iterator[float]:
    """An endless stream of uniform numbers in [0, 1), a function of a seed and a key. Keys never change: data would."""
    stream = generator(seed, *key)
    return chain.from_iterable(stream.random(48).tolist() for _ in count())


def choose(options: Sequence, uniform: float):
    """One of the options, uniformly."""
    return options[int(uniform * len(options))]


def sample(options: Sequence, size: int, uniforms: Iterator[float]) -> list:
    """A random sample without replacement, in random order; all options if there are fewer."""
    remaining = list(options)
    return [remaining.pop(int(next(uniforms) * len(remaining))) for _ in range(min(size, len(remaining)))]


def make_scene(uniforms: Iterator[float]) -> Scene:
    """One to four objects of few shapes and colours, so that there is something to count and to compare."""
    num_objects = 1 + int(next(uniforms) * 4)
    shapes, colours = sample(tuple(SHAPES), 3, uniforms), sample(tuple(COLOURS), 3, uniforms)
    cells = sorted(sample(range(GRID * GRID), num_objects, uniforms))
    return tuple(
        SceneObject(
            choose(shapes, next(uniforms)),
            choose(colours, next(uniforms)),
            choose(("little", "big"), next(uniforms)),
            *at,
        )
        for at in (divmod(cell, GRID) for cell in cells)
    )


def render_scenes(scenes: Sequence[Scene], size: int = 32) -> np.ndarray:
    """The images of scenes, uint8 (scenes, y, x, 3)."""
    side, margin = layout(size)
    codes = np.zeros((len(scenes), GRID, GRID), np.intp)
    for index, scene in enumerate(scenes):
        for shape, colour, width, row, column in scene:
            codes[index, row, column] = OBJECT_CODES[shape, colour, width]
    pixels = np.full((len(scenes), size, size, 3), BACKGROUND, np.uint8)
    rendered = _sprites(side)[codes].transpose(0, 1, 3, 2, 4, 5)  # (scenes, row, y, column, x, 3)
    interior = slice(margin, margin + GRID * side)
    pixels[:, interior, interior] = rendered.reshape(len(scenes), GRID * side, GRID * side, 3)
    return pixels


def layout(size: int) -> tuple[int, int]:
    """The side of a cell and the margin in pixels; an error if the image is too small."""
    if size < MIN_SIZE:
        raise FirthError(f"images of {size} pixels are too small", where="world", do=f"use {MIN_SIZE} or more")
    side = size // GRID
    return side, (size - GRID * side) // 2


def pixel_coverage(shape: str, x: np.ndarray, y: np.ndarray, radius: float | np.ndarray) -> np.ndarray:
    """The fraction of each pixel that a shape covers (antialiasing); x and y are relative to the shape's centre."""
    return np.clip(0.5 - SIGNED_DISTANCES[shape](x, y, radius), 0, 1)


def paint(coverage: np.ndarray, colour: str) -> np.ndarray:
    """The difference of a shape's colour to the background, (…, 3), not yet rounded."""
    return coverage[..., None] * (np.array(COLOURS[colour], np.float64) - BACKGROUND)


def to_pixels(added: np.ndarray) -> np.ndarray:
    """Pixels from the summed differences to the background."""
    return np.rint(added + BACKGROUND).astype(np.uint8)


@cache
def _sprites(side: int) -> np.ndarray:
    """The sprite of every kind of object in a cell, uint8 (kinds, y, x, 3); the first is an empty cell."""
    middle = np.arange(side) + 0.5 - side / 2
    sprites = np.zeros((len(OBJECT_CODES) + 1, side, side, 3))
    for (shape, colour, size), code in OBJECT_CODES.items():
        sprites[code] = paint(pixel_coverage(shape, middle[None, :], middle[:, None], SIZES[size] * side), colour)
    sprites = to_pixels(sprites)
    sprites.setflags(write=False)
    return sprites


# Signed distances of points from an outline in pixels, negative inside it; y grows downwards.


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


SIGNED_DISTANCES = {
    "circle": _circle,
    "square": _square,
    "triangle": _triangle,
    "cross": _cross,
    "ring": _ring,
    "bar": _bar,
}
