"""Pictures of the little world: number i of a seed is always the same, with captions and questions that fit it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firth.data.records import Image
from firth.data.world.asked import Asked, questions
from firth.data.world.shapes import Scene, draw_scenes, make_scene, numbers
from firth.data.world.statements import Caption, caption_probabilities, make_caption, make_false_caption


@dataclass(frozen=True)
class Picture:
    """A scene of one to four shapes, and all that is shown, said and asked of it."""

    seed: int = 1
    index: int = 0

    @cached_property
    def scene(self) -> Scene:
        """What is in the picture; all else follows from it."""
        return make_scene(numbers(self.seed, "picture", self.index))

    def render(self, size: int = 32) -> np.ndarray:
        """The pixels, bytes (y, x, 3)."""
        return draw_scenes([self.scene], size)[0]

    def caption(self, number: int = 0) -> Caption:
        """A true caption, the first, second, … drawn."""
        return make_caption(self.scene, numbers(self.seed, "caption", self.index, number))

    def false_caption(self, number: int = 0) -> Caption:
        """A caption that is nearly true, and false."""
        return make_false_caption(self.scene, numbers(self.seed, "false caption", self.index, number))

    def caption_probability(self, text: str) -> float:
        """The exact probability that a caption drawn for this picture is this text."""
        return caption_probabilities(self.scene).get(text, 0.0)

    def questions(self, number: int = 0) -> tuple[Asked, ...]:
        """A question of each kind that has a unique answer; another round of them for each number."""
        return questions(self.scene, numbers(self.seed, "asked", self.index, number))

    def record(self, size: int = 32, captions: int = 1) -> Image:
        """The picture with its first captions."""
        texts = tuple(self.caption(number).text for number in range(captions))
        return Image(self.render(size), texts, name=f"picture {self.index}")


def render_pictures(seed: int, count: int, start: int = 0, size: int = 32) -> np.ndarray:
    """The pixels of pictures start … start+count−1, bytes (pictures, y, x, 3)."""
    return draw_scenes([Picture(seed, index).scene for index in range(start, start + count)], size)
