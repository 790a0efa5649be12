"""Built-in sets, made by firth itself: the world's gold data for every task, and the text of the running Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from firth.data.records import Labelled, Record
from firth.data.sets import DataSet, Part
from firth.errors import FirthError

DOCUMENTS = {"train": (0, 20_000), "valid": (20_000, 1_000), "test": (21_000, 1_000)}  # the first, and how many
PICTURES = {"train": (0, 40_000), "valid": (40_000, 4_000), "test": (44_000, 4_000)}
FEW = {"train": (0, 200), "valid": (200, 20), "test": (220, 20)}
ALL = {"all": (0, 10**9)}


@dataclass(frozen=True)
class MadeSet(DataSet):
    """A set that is made when it is asked for."""

    def form(self, split: str) -> object:
        """It is in no file."""
        raise FirthError("built in, not read from a file", where=self.name, do="write it with firth data convert first")

    def present(self) -> bool:
        """Always."""
        return True

    def examples(self, split: str) -> Iterator[Record]:
        """The records are what they are meant for already."""
        return self.records(split)


@dataclass(frozen=True)
class WorldSet(MadeSet):
    """What the default world gives for one task."""

    layer: str = ""

    def records(self, split: str) -> Iterator[Record]:
        """The records of a split."""
        from firth.data.world import World
        from firth.data.world.gold import records

        self.part(split)
        start, count = LAYERS[self.layer][1][split]
        return records(World(), self.layer, count, start)


@dataclass(frozen=True)
class PythonDocs(MadeSet):
    """The English text of the running Python."""

    def records(self, split: str) -> Iterator[Record]:
        """Its documents."""
        from firth.data import python_docs

        self.part(split)
        return (Labelled(text, ()) for text in python_docs.documents())


LAYERS = {  # of the world: the task, and which documents (pictures, series, words) belong to each split
    "language": ("language", DOCUMENTS),
    "classification": ("classification", DOCUMENTS),
    "sentiment-trees": ("classification", DOCUMENTS),
    "pairs": ("pairs", DOCUMENTS),
    "similarity": ("similarity", DOCUMENTS),
    "tagging": ("tagging", DOCUMENTS),
    "parsing": ("parsing", DOCUMENTS),
    "constituency": ("constituency", DOCUMENTS),
    "question-answering": ("question-answering", DOCUMENTS),
    "translation": ("translation", DOCUMENTS),
    "alignments": ("alignment", DOCUMENTS),
    "summarisation": ("summarisation", DOCUMENTS),
    "captions": ("captions", DOCUMENTS),
    "images": ("images", PICTURES),
    "series": ("series", FEW),
    "analogy": ("analogy", ALL),
    "categories": ("classification", ALL),
    "word-similarity": ("similarity", ALL),
}


def _world(layer: str) -> WorldSet:
    task, splits = LAYERS[layer]
    parts = {split: Part(()) for split in splits}
    return WorldSet(f"world-{layer}", task, "made", parts, about="the built-in world", layer=layer)


MADE: dict[str, MadeSet] = {f"world-{layer}": _world(layer) for layer in LAYERS} | {
    "python-docs": PythonDocs("python-docs", "language", "made", {"all": Part(())}, about="the text of this Python")
}
