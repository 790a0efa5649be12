"""Task examples: what records of any format become for training, with their texts and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from firth.datasets import numbered_lines
from firth.datasets.records import Choices, Dialogue, Image, Labelled, Pair, Question


class TaggedSentence(NamedTuple):
    """A sentence with the tags of its words that are predicted, by layer, and where they stand."""

    words: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]  # a tag per word for each layer; none: a sentence to tag
    where: str = ""  # file or data set
    lines: Sequence[int] = ()  # of each word in it; none: it has no lines

    def place(self, word: int = 0) -> str:
        """File and line of a word, for messages."""
        return numbered_lines.at(self.where, self.lines[word] if self.lines else 0)


Example = Labelled | Pair | Image | TaggedSentence | Question | Choices | Dialogue


def texts_of(example: Example) -> tuple[str, ...]:
    """The one or two texts of an example; an image has none, and a tagged sentence its words; of a multiple-choice
    question the second has the choices too, and a dialogue has a line for each turn."""
    if isinstance(example, Image):
        return ()
    if isinstance(example, TaggedSentence):
        return (" ".join(example.words),)
    if isinstance(example, Dialogue):
        return ("\n".join(turn.text for turn in example.turns),)
    if isinstance(example, Question):
        return example.text, example.context
    if isinstance(example, Choices):
        return example.context, " ".join([example.question, *example.choices])
    return (example.left, example.right) if isinstance(example, Pair) else (example.text,)


def labels_of(example: Example) -> tuple[str, ...]:
    """The labels of an example; those of words, and answers, are not counted."""
    if isinstance(example, Labelled):
        return example.labels
    if isinstance(example, TaggedSentence | Question | Choices | Dialogue):
        return ()
    return () if example.label is None else (example.label,)


def describe(example: Example) -> str:
    """An example in one line: its texts, or an image's name."""
    return example.name if isinstance(example, Image) else " / ".join(texts_of(example))


def describe_with_label(example: Example) -> str:
    """The same, after its labels if there are any."""
    labels = ", ".join(labels_of(example))
    return f"{labels}: {describe(example)}" if labels else describe(example)
