"""Labelled images as training data for image classification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.image_transforms import resize
from firth.datasets.label_ids import example_targets, label_names
from firth.datasets.token_cache import Split, Tally
from firth.runs.progress import Progress
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Target

_NO_TEXT = Tally(documents=0, tokens=0, bytes=0, histogram=(0,) * 256)


@dataclass(frozen=True, eq=False)
class ImageSplit(Split):
    """The images of a split, in memory at their own sizes; it has no text."""

    images: Sequence[np.ndarray] = ()  # bytes (y, x, channels), of any size
    target: Target[np.ndarray] | None = None  # of all images
    size: int = 32  # to which they are resized
    channels: int = 3

    @property
    def metadata(self) -> dict[str, Any]:
        """The label names, which a run stores."""
        return {"labels": list(self.label_names)}

    def __len__(self) -> int:
        return len(self.images)

    def pixels(self, numbers: Sequence[int]) -> np.ndarray:
        """Images as input of a network (images, channels, y, x)."""
        return np.stack([resize(self.images[number], self.size, self.channels) for number in numbers])


def read_images(
    config: schema.Neural, ready: Mapping[str, Tokenizer], cache: Path, progress: Progress
) -> tuple[Mapping[str, Tokenizer], dict[str, Split]]:
    """Labelled images as splits; there are no tokenizers."""
    input_config = config.input_of("image")
    progress.stage(f"reading {', '.join(config.data.text)}")
    parts = labelled_dataset.read(config.data, config.seed, progress.say)
    names = label_names(parts["train"])
    splits = {name: make_split(part, names, input_config) for name, part in parts.items()}
    counts = ", ".join(f"{name} {len(part):,}" for name, part in splits.items())
    progress.say(f"images: {counts}; {len(names):,} labels")
    return {}, splits


def make_split(part: labelled_dataset.Split, names: tuple[str, ...], input_config: schema.PatchInput) -> ImageSplit:
    """A split of images with their label ids."""
    images = [example.pixels for example in part.examples]
    empty = np.zeros(0, np.uint16)
    return ImageSplit(
        part.name,
        part.key,
        empty,
        np.zeros(1, np.int64),
        _NO_TEXT,
        names,
        overlap=part.overlap,
        images=images,
        target=example_targets(part, names),
        size=input_config.image_size,
        channels=input_config.channels,
    )
