"""Sentence embeddings: cosine similarity, retrieval accuracy, correlation with gold similarity, uniformity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from firth.arguments import batched
from firth.config import schema
from firth.datasets import labelled_dataset, readers, sets
from firth.datasets.collators.batches import context_label
from firth.datasets.collators.sentence_pairs import positive_pairs
from firth.datasets.records import Pair, Row
from firth.datasets.sources import open_source
from firth.datasets.tasks import UnfitError
from firth.datasets.text_dataset import Documents
from firth.datasets.token_cache import usable_cache
from firth.datasets.training_data import tokenise
from firth.display import Table
from firth.errors import FirthError
from firth.metrics.correlation import pearson, spearman
from firth.metrics.score import Score
from firth.models.build import System
from firth.pipelines.encode_texts import build_inputs, encode_texts
from firth.pipelines.evaluated_text import TextModel
from firth.pipelines.label_predictions import checked_examples, run_examples
from firth.runs.run_folder import Run
from firth.runs.trained_model import given_text, read_options
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Encoded

SEPARATOR = "\t"
SIDES = ("left", "right")
_QUERY_BATCH = 1024  # texts that are compared with all others at once
_UNIFORMITY_TEXTS = 2000
_LEAST_NORM = 1e-12
_SAMPLE_PAIRS = (("The man sleeps.", "A man is asleep."), ("The man sleeps.", "The capital of Sweden is Stockholm."))
_NEEDS_TABLE = "give a table with two columns of texts"
_PAIR_TASKS = schema.TaskExamples(tasks=("similarity", "translation"))


@dataclass(frozen=True)
class EmbedOptions:
    """The options of `firth run` for sentence encoders."""

    embed: bool = False


class SentenceEncoder(TextModel):
    """A trained sentence encoder: what `firth.load` returns for one."""

    metric = "in_batch_accuracy"

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        config = run.record.config
        super().__init__(run, tokenizer, context_label(config.batching), config.train.precision)
        self.system = system

    @staticmethod
    def metric_value(total: float, count: float) -> float:
        """The metric logged during training: the fraction of texts whose own pair is the nearest in the batch."""
        return total / count

    # --- embeddings -------------------------------------------------------------------------------------------

    def embed(self, texts: str | Iterable[str]) -> np.ndarray:
        """An embedding of a text (width,) or of each of a list (texts, width); of length 1, unless an imported model
        has no normalisation."""
        return batched(texts, self._embed)

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        if not texts:
            return np.zeros((0, self.system.backbone.width), np.float32)
        inputs = build_inputs([(text,) for text in texts], self.tokenizer, self.config.batching)

        def head(encoded: Encoded) -> Tensor:
            vectors = self.system.head(encoded)
            return F.normalize(vectors, dim=-1) if self.config.head.normalize else vectors

        return encode_texts(self.system, inputs, self.tokenizer.special, self.config.train, head)

    def similarity(self, left: str | Iterable[str], right: str | Iterable[str]) -> Any:
        """Cosine similarities (left, right) of two lists; of two texts, their cosine similarity."""
        cosines = self._unit_vectors(left) @ self._unit_vectors(right).T
        return float(cosines) if cosines.ndim == 0 else cosines

    def _unit_vectors(self, texts: str | Iterable[str]) -> np.ndarray:
        vectors = self.embed(texts)
        if self.config.head.normalize:
            return vectors
        return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), _LEAST_NORM)

    # --- evaluation -------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[Pair] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Pairs with gold similarity: Spearman and Pearson correlation. Positive pairs: retrieval accuracy. Plain text:
        uniformity of the embeddings."""
        text = given_text(text)
        plain = self._plain_text(text, split, cache) if isinstance(self.config.data, schema.Text) else None
        if plain is not None:
            texts = list(islice(plain, _UNIFORMITY_TEXTS))
            return self._uniformity(texts, split if text is None else "given", plain.key)
        part = run_examples(self, split) if text is None else self._pairs(text)
        if not part.examples or not isinstance(part.examples[0], Pair):
            raise FirthError("no sentence pairs to score", where=part.name, do=_NEEDS_TABLE)
        return Table([*self._correlation(part), *self._retrieval(part, cache)])

    def _plain_text(self, text: str | Iterable[Pair] | None, split: str, cache: Path | None) -> Documents | None:
        """Documents of plain text, the run's own or others; None for sentence pairs."""
        if text is None:
            self.tokenised_split(None, split, cache)  # refuses an unknown split
            return self.documents(cache)[split]
        if not isinstance(text, str) or _has_pairs(text):
            return None
        return Documents(open_source(text.split(","), self.config.data, (cache or usable_cache()) / "spool"))

    @staticmethod
    def _pairs(text: str | Iterable[Pair]) -> labelled_dataset.Split:
        """Sentence pairs, from a file or set or from Python."""
        if not isinstance(text, str):
            return labelled_dataset.make_split("given", checked_examples(text, Pair))
        try:
            return labelled_dataset.make_split("given", labelled_dataset.read_named(text, _PAIR_TASKS))
        except UnfitError as error:
            raise FirthError("no sentence pairs in it", where=text, do=_NEEDS_TABLE) from error

    def _correlation(self, part: labelled_dataset.Split) -> list[Score]:
        """Spearman and Pearson correlation of cosines with gold similarity, where there is any."""
        gold = [example.score for example in part.examples]
        if any(score is None for score in gold):
            return []
        left, right = self._embed_pairs(part)
        cosines = (left * right).sum(1)
        signed = self.signed(**part.signed_fields)
        return [Score("spearman", spearman(cosines, gold), signed), Score("pearson", pearson(cosines, gold), signed)]

    def _retrieval(self, part: labelled_dataset.Split, cache: Path | None) -> list[Score]:
        """Retrieval accuracy: how often the nearest of all right texts is a positive of the left text."""
        names = tuple(self.run.record.data.get("labels", ()))
        split = tokenise(part, self.tokenizer, names, cache or usable_cache())
        positives = [part.examples[number] for number in positive_pairs(split, self.config.batching)]
        if not positives:
            return []
        left, right = self._embed_pairs(labelled_dataset.make_split(part.name, positives))
        one, two = (np.unique([getattr(pair, side) for pair in positives], return_inverse=True)[1] for side in SIDES)
        # a number for each pair: a text may belong to several, or stand in several
        pair_ids = one * len(positives) + two
        correct = 0
        for start in range(0, len(positives), _QUERY_BATCH):
            rows = slice(start, start + _QUERY_BATCH)
            nearest = (left[rows] @ right.T).argmax(1)
            correct += int(np.isin(one[rows] * len(positives) + two[nearest], pair_ids).sum())
        signed = self.signed(among=int(two.max()) + 1, **part.signed_fields)
        return [Score("retrieval_accuracy", correct / len(positives), signed)]

    def _embed_pairs(self, part: labelled_dataset.Split) -> tuple[np.ndarray, np.ndarray]:
        both = self._unit_vectors(part.texts)
        return both[::2], both[1::2]

    def _uniformity(self, texts: list[str], name: str, key: str) -> list[Score]:
        """Uniformity (Wang and Isola 2020): the log of the mean of exp(-2 d²) over pairs of different texts; lower
        is more uniform."""
        vectors = self._unit_vectors(list(dict.fromkeys(texts)))
        distances = 2.0 - 2.0 * (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
        value = float(np.log(np.exp(-2.0 * distances).mean())) if len(distances) else None
        return Table([Score("uniformity", value, self.signed(split=name, data=key[:8]))])

    # --- samples during training ------------------------------------------------------------------------------

    def sample(self) -> str:
        """A sample to log after an evaluation."""
        return self.samples(0)[0]

    def samples(self, seed: int) -> list[str]:
        """Cosine similarities of some sentence pairs, for the report."""
        rows = ((one, two, self.similarity([one], [two]).item()) for one, two in _SAMPLE_PAIRS)
        return [f"{cosine:.3f}  {one} / {two}" for one, two, cosine in rows]

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f"firth run {self.run.path} $'ONE TEXT\\tANOTHER'"

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The cosine similarity of two texts with a tab between them; with --embed or of one text, its embedding."""
        parsed = read_options(EmbedOptions, options)
        texts = line.split(SEPARATOR)
        if parsed.embed or len(texts) == 1:
            return {"input": line, "vector": self.embed([line])[0].tolist()}
        if len(texts) != 2:
            raise FirthError(f"{len(texts)} texts in a line, where two are compared", do="put one tab between two")
        return {"input": line, "similarity": self.similarity(texts[:1], texts[1:]).item()}

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        if "vector" in answer:
            return " ".join(f"{value:.6g}" for value in answer["vector"])
        return f"{answer['similarity']:.4f}"


def _has_pairs(name: str) -> bool:
    """Whether a name is a table or a set of sentence pairs; anything else is plain text."""
    if Path(name).is_file():
        return readers.guess(name).record_type in (Row, Pair)
    dataset = sets.all_sets().get(name.partition(":")[0])
    return name == labelled_dataset.WORLD or (dataset is not None and dataset.task in _PAIR_TASKS.tasks)
