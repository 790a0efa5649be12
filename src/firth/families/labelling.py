"""A network that labels texts or pairs of texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from firth.build import System
from firth.data import examples
from firth.errors import FirthError
from firth.families.labels import Guesses, Labeller, own_examples
from firth.families.reading import frame_texts, read_texts
from firth.metrics.score import signature
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer
from firth.types import Encoded

BETWEEN = "\t"  # the two texts of a pair in one line
SHOWN = 12  # examples of the report


class LabelModel(Labeller):
    """A trained network that labels texts: what `firth.load` gives for one."""

    metric = "accuracy"

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        self.run, self.tokenizer, self.system = run, tokenizer, system
        self.config = run.record.config

    @staticmethod
    def figure(total: float, count: float) -> float:
        """What is told while it is trained: the share of labels that are found."""
        return total / count

    @property
    def labels(self) -> tuple[str, ...]:
        """All that it can say, from frequent to rare."""
        return tuple(self.run.record.data["labels"])

    @property
    def parts(self) -> int:
        """How many texts are labelled together: 1, or 2 of a pair."""
        return int(self.run.record.data["parts"])

    def predict(
        self, texts: Sequence[str] | Sequence[tuple[str, str]], count: int = 1, threshold: float = 0.0
    ) -> Guesses:
        """The `count` most probable labels of each text (or pair of texts) with their probabilities."""
        chances = self.probabilities(texts)
        best = np.argsort(-chances, axis=1, kind="stable")[:, :count]
        labels = self.labels
        rows = zip(best.tolist(), chances, strict=True)
        return [[(labels[n], float(row[n])) for n in numbers if row[n] >= threshold] for numbers, row in rows]

    def probabilities(self, texts: Sequence[str] | Sequence[tuple[str, str]]) -> np.ndarray:
        """Of every label for each text or pair of texts (texts, labels)."""
        if isinstance(texts, str):
            raise FirthError("one text, where several are labelled", do="put it into a list: predict([text])")
        if not len(texts):
            return np.zeros((0, len(self.labels)), np.float32)
        sides = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        if any(len(each) != self.parts for each in sides):
            what = "it labels pairs of texts" if self.parts == 2 else "it labels single texts"
            raise FirthError(what, do="give two, with a tab between them" if self.parts == 2 else "give one at a time")
        rows = frame_texts(sides, self.tokenizer, self.config.batching)

        def say(encoded: Encoded) -> Tensor:
            return self.system.head(encoded.states, encoded.mask).float().softmax(-1)

        return read_texts(self.system, rows, self.tokenizer.special, self.config.train, say, segments=self.parts > 1)

    def signed(self, split: examples.Split, guess: str = "first") -> str:
        """The signature of a score."""
        told = {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "ctx": self.config.batching.length}
        told |= {"guess": guess, "split": split.name, "data": split.key[:8], "prec": self.config.train.precision}
        return signature(told)

    @property
    def hint(self) -> str:
        """What to try first."""
        given = '"TEXT"' if self.parts == 1 else "$'TEXT\\tTEXT'"
        return f"firth run {self.run.path} {given}"

    def heard(self, line: str) -> str | tuple[str, ...]:
        """A text, or two with a tab between them."""
        return line if self.parts == 1 else tuple(line.split(BETWEEN))

    # --- a look at it while it is trained ---------------------------------------------------------------------

    def sample(self) -> str:
        """Nothing: what it says needs a text."""
        return ""

    def samples(self, seed: int) -> list[str]:
        """Held-out texts, their labels and what it says of them."""
        splits = self.run.record.data["splits"]
        return self.told(own_examples(self.run, "test" if "test" in splits else "valid"), SHOWN)
