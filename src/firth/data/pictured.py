"""Labelled pictures as a network is trained on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.data import examples
from firth.data.cache import Split, Tally
from firth.data.fitting import fit
from firth.data.numbered import label_names, numbered
from firth.errors import FirthError
from firth.text.tokenizer import Tokenizer

_NO_TEXT = Tally(documents=0, tokens=0, bytes=0, histogram=(0,) * 256)


@dataclass(frozen=True, eq=False)
class PictureSplit(Split):
    """Pictures in memory as they came; there is no text in it."""

    pictures: Sequence[np.ndarray] = ()  # bytes (y, x, channels), of any size
    labels: np.ndarray | None = None  # (pictures,): numbers of names, or OTHER
    size: int = 32  # to which they are brought
    channels: int = 3

    @property
    def notes(self) -> dict[str, Any]:
        """Its labels."""
        return {"labels": list(self.names)}

    def __len__(self) -> int:
        return len(self.pictures)

    def pixels(self, numbers: Sequence[int]) -> np.ndarray:
        """Some pictures as a network reads them (pictures, channels, y, x)."""
        return np.stack([fit(self.pictures[number], self.size, self.channels) for number in numbers])


def read_pictures(
    config: schema.Neural, ready: Mapping[str, Tokenizer], cache: Path, say: Callable[[str], None]
) -> tuple[Mapping[str, Tokenizer], dict[str, Split]]:
    """Labelled pictures; there are no tokenizers."""
    given = config.input
    if not isinstance(given, schema.PatchInput):
        raise FirthError(f"input.kind = {given.kind} reads no pictures", where="data", do="set input.kind=patches")
    say(f"reading {', '.join(config.data.text)}")
    found = examples.read(config.data, config.seed)
    names = label_names(found["train"])
    splits = {name: make_split(part, names, given) for name, part in found.items()}
    told = ", ".join(f"{name} {len(part):,}" for name, part in splits.items())
    say(f"pictures: {told}; {len(names):,} labels")
    return {}, splits


def make_split(part: examples.Split, names: tuple[str, ...], given: schema.PatchInput) -> PictureSplit:
    """Pictures with their labels' numbers."""
    pictures = [example.pixels for example in part.examples]
    empty = np.zeros(0, np.uint16)
    labels = numbered(part.labels, names)
    return PictureSplit(
        part.name, part.key, empty, np.zeros(1, np.int64), _NO_TEXT, names, pictures, labels, given.size, given.channels
    )
