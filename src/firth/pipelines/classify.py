"""Classification of texts, sentence pairs and images with a network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firth.arguments import as_list, as_texts
from firth.datasets import labelled_dataset
from firth.datasets.collators.batches import context_label
from firth.datasets.image_transforms import resize
from firth.datasets.label_ids import UNKNOWN_LABEL, encode_labels
from firth.datasets.readers import image_files
from firth.errors import FirthError
from firth.metrics.calibration import binary_logits, fit_temperature
from firth.metrics.score import signature
from firth.models.build import System
from firth.pipelines.encode_texts import build_inputs, encode_texts
from firth.pipelines.label_predictions import BaseClassifier, run_examples
from firth.pipelines.temperature_scaling import TemperatureScaling
from firth.runs.run_folder import Run
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import LABEL, Batch, Encoded, Pixels

SEPARATOR = "\t"  # between the two texts of a pair in one line
REPORT_EXAMPLES = 12
IMAGES_PER_BATCH = 64


class NeuralClassifier(TemperatureScaling, BaseClassifier):
    """A trained neural classifier: what `firth.load` returns for one."""

    weight_format = ""

    def __init__(self, run: Run, tokenizer: Tokenizer | None, system: System) -> None:
        self.run, self.tokenizer, self.system = run, tokenizer, system
        self.config = run.record.config

    @property
    def metric(self) -> str:
        """The metric that is logged during training."""
        return str(self.system.head.metric)

    @staticmethod
    def metric_value(total: float, count: float) -> float:
        """The metric that is logged during training, from its sum and count."""
        return total / count

    @property
    def labels(self) -> tuple[str, ...]:
        """All classes, from frequent to rare."""
        return tuple(self.run.record.data["labels"])

    @property
    def independent_labels(self) -> bool:
        """Whether the probabilities of labels are independent of each other (multi-label)."""
        return bool(self.config.head.problem_type == "multi-label")

    def label_scores(self, encoded: Encoded) -> Tensor:
        """The head's probabilities of labels, or values (batch, labels)."""
        temperature = self.temperature()
        if temperature != 1.0:
            calibrated: Tensor = self.system.head.problem.scores(self.system.head(encoded) / temperature)
            return calibrated
        scores: Tensor = self.system.head.scores(encoded)[LABEL]
        return scores

    def fit_temperatures(self, split: labelled_dataset.Split) -> dict[str, float]:
        """The temperature that makes the labels most likely; of independent labels, each decision."""
        probabilities = np.asarray(self.predict_proba(self.inputs(split)), np.float64)
        if self.independent_labels:
            clipped = probabilities.clip(1e-12, 1 - 1e-12)
            truth = np.array([[label in own for label in self.labels] for own in split.labels])
            return {"": fit_temperature(binary_logits(np.log(clipped / (1 - clipped))), truth.ravel().astype(int))}
        gold = encode_labels(split.labels, self.labels)
        known = gold != UNKNOWN_LABEL
        logits = np.log(np.maximum(probabilities[known], 1e-300))
        return {"": fit_temperature(logits, gold[known])} if known.any() else {}

    def signed(self, split: labelled_dataset.Split, guess: str = "first") -> str:
        """The signature of a score."""
        fields = {"guess": guess, **split.signed_fields}
        return signature(
            {**self.signature_fields(), **fields, "prec": self.weight_format or self.config.train.precision}
        )

    @abstractmethod
    def signature_fields(self) -> dict[str, object]:
        """The tokenizer and context, for signatures."""

    # --- samples during training ------------------------------------------------------------------------------

    def sample(self) -> str:
        """Nothing: a prediction needs a text or an image."""
        return ""

    def samples(self, seed: int) -> list[str]:
        """Held-out examples, their labels and the predicted ones."""
        splits = self.run.record.data["splits"]
        return self.report_examples(run_examples(self, "test" if "test" in splits else "valid"), REPORT_EXAMPLES)


class TextClassifier(NeuralClassifier):
    """A trained classifier of texts or sentence pairs."""

    tokenizer: Tokenizer

    @property
    def texts_per_example(self) -> int:
        """Texts per example: 1, or 2 of a sentence pair; 0: either (an imported model)."""
        return int(self.run.record.data["parts"])

    def is_single(self, texts: Any) -> bool:
        """Whether this is one text or one sentence pair (a tuple of two strings)."""
        is_pair = isinstance(texts, tuple) and self.texts_per_example == 2 and len(texts) == 2
        return isinstance(texts, str) or (is_pair and all(isinstance(text, str) for text in texts))

    def predict_proba(self, texts: str | Iterable[str] | Iterable[tuple[str, str]]) -> np.ndarray:
        """The probability of every label for a text or sentence pair (labels,) or for each of a list (texts, labels),
        in the order of `labels`."""
        return self.outputs(texts, self.label_scores)

    def outputs(self, texts: Any, head: Callable[[Encoded], Tensor]) -> np.ndarray:
        """The outputs of a head for a text or sentence pair (labels,) or for each of a list (texts, labels)."""
        if self.is_single(texts):
            return self.outputs([texts], head)[0]
        texts = as_list(texts)
        if not texts:
            return np.zeros((0, len(self.labels)), np.float32)
        sides = [(text,) if isinstance(text, str) else tuple(as_texts(text)) for text in texts]
        allowed = (self.texts_per_example,) if self.texts_per_example else (1, 2)
        if any(len(each) not in allowed for each in sides):
            pairs = self.texts_per_example == 2
            what = f"this model takes {'sentence pairs' if pairs else 'single texts'}"
            raise FirthError(what, do="give two texts, with a tab between them" if pairs else "give one at a time")
        inputs, special = build_inputs(sides, self.tokenizer, self.config.batching), self.tokenizer.special
        segments = any(len(each) > 1 for each in sides)
        return encode_texts(self.system, inputs, special, self.config.train, head, segments=segments)

    def signature_fields(self) -> dict[str, object]:
        """The tokenizer and context, for signatures."""
        return {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "ctx": self.config.batching.length}

    @property
    def hint(self) -> str:
        """A first command to try."""
        example = "$'TEXT\\tTEXT'" if self.texts_per_example == 2 else '"TEXT"'
        return f"firth run {self.run.path} {example}"

    def parse_input(self, line: str) -> str | tuple[str, ...]:
        """A text, or two with a tab between them."""
        return line if self.texts_per_example == 1 or SEPARATOR not in line else tuple(line.split(SEPARATOR))


class ImageClassifier(NeuralClassifier):
    """A trained image classifier."""

    def is_single(self, texts: Any) -> bool:
        """Whether this is one image: a file, or an array of a single one."""
        return isinstance(texts, (str, Path)) or (isinstance(texts, np.ndarray) and 2 <= texts.ndim <= 3)

    @torch.no_grad()
    def predict_proba(self, texts: np.ndarray | str | Path | Sequence[np.ndarray | str | Path]) -> np.ndarray:
        """The probability of every label for an image (labels,) or for each of a list (images, labels): files, or
        uint8 arrays (y, x, channels)."""
        if self.is_single(texts):
            return self.predict_proba([texts])[0]
        texts = as_list(texts, "images")
        probabilities = [np.zeros((0, len(self.labels)), np.float32)]
        for start in range(0, len(texts), IMAGES_PER_BATCH):
            pixels = np.stack([self._load_image(image) for image in texts[start : start + IMAGES_PER_BATCH]])
            with autocast(self.config.train):
                batch = Batch({"image": Pixels(pixels)}, {}).to("cpu")
                probabilities.append(self.label_scores(self.system.encode(batch)).numpy())
        return np.concatenate(probabilities)

    def _load_image(self, image: np.ndarray | str | Path) -> np.ndarray:
        pixels = image_files.load(Path(image)) if isinstance(image, (str, Path)) else np.asarray(image)
        if pixels.ndim == 2:
            pixels = pixels[:, :, None]
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or not pixels.size:
            what = f"an image of shape {pixels.shape} and type {pixels.dtype}"
            raise FirthError(what, do="give bytes (uint8) of shape (y, x, channels)")
        input_config = self.config.input_of("image")
        return resize(pixels, input_config.image_size, input_config.channels)

    def inputs(self, split: labelled_dataset.Split) -> list[np.ndarray]:
        """The inputs to classify: pixels."""
        return [example.pixels for example in split.examples]

    def signature_fields(self) -> dict[str, object]:
        """The tokenizer and context, for signatures."""
        input_config = self.config.input_of("image")
        shape = f"{input_config.image_size}x{input_config.image_size}x{input_config.channels}"
        return {"tok": "none", "ctx": f"{context_label(self.config.batching)}/{shape}"}

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f"firth run {self.run.path} IMAGE.png"
