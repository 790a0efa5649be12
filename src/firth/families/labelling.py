"""Networks that label texts, pairs of texts or pictures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firth.build import System
from firth.config import schema
from firth.data import examples
from firth.data.batching import context
from firth.data.fitting import fit
from firth.data.formats import pictures
from firth.errors import FirthError
from firth.families.labels import Guesses, Labeller, own_examples
from firth.families.reading import frame_texts, read_texts
from firth.metrics.score import signature
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Encoded, Pixels

BETWEEN = "\t"  # the two texts of a pair in one line
SHOWN = 12  # examples of the report
PICTURES_AT_ONCE = 64


class NetworkLabeller(Labeller):
    """A trained network that labels what it is given: what `firth.load` gives for one."""

    metric, lightened = "accuracy", ""

    def __init__(self, run: Run, tokenizer: Tokenizer | None, system: System) -> None:
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

    def predict(self, texts: Sequence[Any], count: int = 1, threshold: float = 0.0) -> Guesses:
        """The `count` most probable labels of each text, pair of texts or picture with their probabilities."""
        chances = self.probabilities(texts)
        best = np.argsort(-chances, axis=1, kind="stable")[:, :count]
        labels = self.labels
        rows = zip(best.tolist(), chances, strict=True)
        return [[(labels[n], float(row[n])) for n in numbers if row[n] >= threshold] for numbers, row in rows]

    @abstractmethod
    def probabilities(self, texts: Sequence[Any]) -> np.ndarray:
        """Of every label for each of what is given (given, labels)."""

    def chances(self, encoded: Encoded) -> Tensor:
        """What the head says of each row (rows, labels)."""
        return self.system.head(encoded.states, encoded.mask).float().softmax(-1)

    def signed(self, split: examples.Split, guess: str = "first") -> str:
        """The signature of a score."""
        told = {"guess": guess, "split": split.name, "data": split.key[:8]}
        return signature({**self.about(), **told, "prec": self.lightened or self.config.train.precision})

    @abstractmethod
    def about(self) -> dict[str, object]:
        """What it reads, for signatures."""

    # --- a look at it while it is trained ---------------------------------------------------------------------

    def sample(self) -> str:
        """Nothing: what it says needs a text or a picture."""
        return ""

    def samples(self, seed: int) -> list[str]:
        """Held-out examples, their labels and what it says of them."""
        splits = self.run.record.data["splits"]
        return self.told(own_examples(self.run, "test" if "test" in splits else "valid"), SHOWN)


class LabelModel(NetworkLabeller):
    """A trained network that labels texts or pairs of texts."""

    tokenizer: Tokenizer

    @property
    def parts(self) -> int:
        """How many texts are labelled together: 1, or 2 of a pair; 0: either (of a model that others made)."""
        return int(self.run.record.data["parts"])

    def probabilities(self, texts: Sequence[str] | Sequence[tuple[str, str]]) -> np.ndarray:
        """Of every label for each text or pair of texts (texts, labels)."""
        if isinstance(texts, str):
            raise FirthError("one text, where several are labelled", do="put it into a list: predict([text])")
        if not len(texts):
            return np.zeros((0, len(self.labels)), np.float32)
        sides = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        if any(len(each) not in ((self.parts,) if self.parts else (1, 2)) for each in sides):
            what = "it labels pairs of texts" if self.parts == 2 else "it labels single texts"
            raise FirthError(what, do="give two, with a tab between them" if self.parts == 2 else "give one at a time")
        rows, special = frame_texts(sides, self.tokenizer, self.config.batching), self.tokenizer.special
        segments = any(len(each) > 1 for each in sides)
        return read_texts(self.system, rows, special, self.config.train, self.chances, segments=segments)

    def about(self) -> dict[str, object]:
        """What it reads, for signatures."""
        return {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "ctx": self.config.batching.length}

    @property
    def hint(self) -> str:
        """What to try first."""
        given = "$'TEXT\\tTEXT'" if self.parts == 2 else '"TEXT"'
        return f"firth run {self.run.path} {given}"

    def heard(self, line: str) -> str | tuple[str, ...]:
        """A text, or two with a tab between them."""
        return line if self.parts == 1 or BETWEEN not in line else tuple(line.split(BETWEEN))


class PictureModel(NetworkLabeller):
    """A trained network that labels pictures."""

    @torch.no_grad()
    def probabilities(self, texts: Sequence[np.ndarray | str | Path]) -> np.ndarray:
        """Of every label for each picture (pictures, labels): files, or bytes (y, x, channels) of any size."""
        if isinstance(texts, (str, Path)):
            raise FirthError("one picture, where several are labelled", do="put it into a list: predict([picture])")
        found = [np.zeros((0, len(self.labels)), np.float32)]
        for start in range(0, len(texts), PICTURES_AT_ONCE):
            made = np.stack([self._fitted(picture) for picture in texts[start : start + PICTURES_AT_ONCE]])
            with autocast(self.config.train):
                batch = Batch({"image": Pixels(made)}, {}).to("cpu")
                found.append(self.chances(self.system.encode(batch)).numpy())
        return np.concatenate(found)

    def _fitted(self, picture: np.ndarray | str | Path) -> np.ndarray:
        pixels = pictures.load(Path(picture)) if isinstance(picture, (str, Path)) else np.asarray(picture)
        if pixels.ndim == 2:
            pixels = pixels[:, :, None]
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or not pixels.size:
            what = f"a picture of shape {pixels.shape} and type {pixels.dtype}"
            raise FirthError(what, do="give bytes (uint8) of shape (y, x, channels)")
        return fit(pixels, self.config.input.size, self.config.input.channels)

    def inputs(self, split: examples.Split) -> list[np.ndarray]:
        """What is to be labelled: pixels."""
        return [example.pixels for example in split.examples]

    def about(self) -> dict[str, object]:
        """What it reads, for signatures."""
        given = self.config.input
        return {"tok": "none", "ctx": f"{context(self.config.batching)}/{given.size}x{given.size}x{given.channels}"}

    @property
    def hint(self) -> str:
        """What to try first."""
        return f"firth run {self.run.path} PICTURE.png"


MODELS = {schema.TokenInput: LabelModel, schema.PatchInput: PictureModel}


def label_model(run: Run, tokenizer: Tokenizer | None, system: System) -> NetworkLabeller:
    """The model for what the network reads."""
    return MODELS[type(run.record.config.input)](run, tokenizer, system)
