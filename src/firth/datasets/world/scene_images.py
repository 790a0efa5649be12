"""Synthetic images of scenes with captions and visual questions; image i is a pure function of the seed and i."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firth.datasets.records import Image
from firth.datasets.world.captions import Caption, caption_probabilities, make_caption, make_false_caption
from firth.datasets.world.scenes import Scene, make_scene, render_scenes, uniform_stream
from firth.datasets.world.visual_questions import VisualQuestion, make_questions


@dataclass(frozen=True)
class SceneImage:
    """An image of one to four objects, with captions and questions. The names of its random streams never change."""

    seed: int = 1
    index: int = 0

    @cached_property
    def scene(self) -> Scene:
        """The objects in the image; everything else follows from them."""
        return make_scene(uniform_stream(self.seed, "picture", self.index))

    def render(self, size: int = 32) -> np.ndarray:
        """The pixels, uint8 (y, x, 3)."""
        return render_scenes([self.scene], size)[0]

    def caption(self, number: int = 0) -> Caption:
        """True caption number `number`, a sample."""
        return make_caption(self.scene, uniform_stream(self.seed, "caption", self.index, number))

    def false_caption(self, number: int = 0) -> Caption:
        """A false caption close to a true one (hard negative)."""
        return make_false_caption(self.scene, uniform_stream(self.seed, "false caption", self.index, number))

    def caption_probability(self, text: str) -> float:
        """The exact probability of a text as a caption of this image."""
        return caption_probabilities(self.scene).get(text, 0.0)

    def questions(self, number: int = 0) -> tuple[VisualQuestion, ...]:
        """A question of each kind that has a unique answer; other questions for each number."""
        return make_questions(self.scene, uniform_stream(self.seed, "asked", self.index, number))

    def record(self, size: int = 32, captions: int = 1) -> Image:
        """The image with its first captions."""
        texts = tuple(self.caption(number).text for number in range(captions))
        return Image(self.render(size), texts, name=f"picture {self.index}")


def render_images(seed: int, count: int, start: int = 0, size: int = 32) -> np.ndarray:
    """The pixels of images start … start+count−1, uint8 (images, y, x, 3)."""
    return render_scenes([SceneImage(seed, index).scene for index in range(start, start + count)], size)
