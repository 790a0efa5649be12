"""A network that gives texts vectors, near each other for texts that belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from firth.build import System
from firth.config import schema
from firth.data import examples, formats, sets
from firth.data.batches.examples import belonging
from firth.data.batching import context
from firth.data.cache import default_cache
from firth.data.corpus import Documents
from firth.data.material import tokenise
from firth.data.records import Pair, Row
from firth.data.sources import open_source
from firth.data.tasks import UnfitError
from firth.errors import FirthError
from firth.families.labels import own_examples
from firth.families.order import read_options
from firth.families.reading import frame_texts, read_texts
from firth.families.texts import TextModel
from firth.metrics.correlation import pearson, spearman
from firth.metrics.score import Score
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer
from firth.types import Encoded

BETWEEN = "\t"
SIDES = ("left", "right")
_AT_ONCE = 1024  # texts that are compared with all others at once
_SAMPLED = 2000  # texts that uniformity is measured on
_SHOWN = (("The man sleeps.", "A man is asleep."), ("The man sleeps.", "The capital of Sweden is Stockholm."))
_TABLE = "give a table with two columns of texts"
_SCORED = schema.TaskExamples(tasks=("similarity", "translation"))


@dataclass(frozen=True)
class Asked:
    """How `firth run` is to answer."""

    embed: bool = False


class SentenceModel(TextModel):
    """A trained sentence encoder: what `firth.load` gives for one."""

    metric = "pairs_found"

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        config = run.record.config
        super().__init__(run, tokenizer, context(config.batching), config.train.precision)
        self.system = system

    @staticmethod
    def figure(total: float, count: float) -> float:
        """What is told while it is trained: the share of texts that find their own among a batch."""
        return total / count

    # --- its verbs --------------------------------------------------------------------------------------------

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """A vector of length 1 for each text (texts, width)."""
        if isinstance(texts, str):
            raise FirthError("one text, where several are given vectors", do="put it into a list: embed([text])")
        if not len(texts):
            return np.zeros((0, self.system.backbone.width), np.float32)
        rows = frame_texts([(text,) for text in texts], self.tokenizer, self.config.batching)

        def say(encoded: Encoded) -> Tensor:
            return F.normalize(self.system.head(encoded.states, encoded.mask).float(), dim=-1)

        return read_texts(self.system, rows, self.tokenizer.special, self.config.train, say)

    def similarity(self, left: Sequence[str], right: Sequence[str]) -> np.ndarray:
        """The cosine of each text on the left with each on the right (left, right)."""
        return self.embed(left) @ self.embed(right).T

    # --- the yardstick ----------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[Pair] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Pairs with scores: how well cosines agree with them. Pairs that belong together: how often they find each
        other among all. Plain text: how evenly its vectors are spread."""
        found = self._plain(text, split, cache) if isinstance(self.config.data, schema.Text) else None
        if found is not None:
            return self._uniformity(list(islice(found, _SAMPLED)), split if text is None else "given", found.key)
        part = own_examples(self.run, split) if text is None else self._pairs(text)
        if not part.examples or not isinstance(part.examples[0], Pair):
            raise FirthError("no pairs of texts to score", where=part.name, do=_TABLE)
        return self._agreement(part) + self._found(part, cache)

    def _plain(self, text: str | Iterable[Pair] | None, split: str, cache: Path | None) -> Documents | None:
        """Documents of plain text, the run's own or others; None for pairs."""
        if text is None:
            self.part(None, split, cache)  # refuses a split that there is not
            return self.documents(cache)[split]
        if not isinstance(text, str) or _holds_pairs(text):
            return None
        return Documents(open_source(text.split(","), self.config.data, (cache or default_cache()) / "spool"))

    @staticmethod
    def _pairs(text: str | Iterable[Pair]) -> examples.Split:
        """Pairs of texts, from a file or set or from Python."""
        if not isinstance(text, str):
            return examples.make("given", text)
        try:
            return examples.make("given", examples.named(text, _SCORED))
        except UnfitError as error:
            raise FirthError("no pairs of texts in it", where=text, do=_TABLE) from error

    def _agreement(self, part: examples.Split) -> list[Score]:
        """Spearman and Pearson, where there are scores."""
        gold = [example.score for example in part.examples]
        if any(score is None for score in gold):
            return []
        left, right = self._sides(part)
        cosines = (left * right).sum(1)
        told = self.signed(split=part.name, data=part.key[:8])
        return [Score(name, how(cosines, gold), told) for name, how in (("spearman", spearman), ("pearson", pearson))]

    def _found(self, part: examples.Split, cache: Path | None) -> list[Score]:
        """How often the nearest of all texts on the right is one that the left belongs to, of pairs that belong."""
        names = tuple(self.run.record.data.get("labels", ()))
        split = tokenise(part, self.tokenizer, names, cache or default_cache())
        kept = [part.examples[number] for number in belonging(split, self.config.batching)]
        if not kept:
            return []
        left, right = self._sides(examples.make(part.name, kept))
        one, two = (np.unique([getattr(pair, side) for pair in kept], return_inverse=True)[1] for side in SIDES)
        together = one * len(kept) + two  # a number for each pair: a text may belong to several, or stand in several
        found = 0
        for start in range(0, len(kept), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            nearest = (left[rows] @ right.T).argmax(1)
            found += int(np.isin(one[rows] * len(kept) + two[nearest], together).sum())
        told = self.signed(among=int(two.max()) + 1, split=part.name, data=part.key[:8])
        return [Score("nearest_found", found / len(kept), told)]

    def _sides(self, part: examples.Split) -> tuple[np.ndarray, np.ndarray]:
        both = self.embed(part.texts)
        return both[::2], both[1::2]

    def _uniformity(self, texts: list[str], name: str, key: str) -> list[Score]:
        """The logarithm of the mean of exp(-2 d²) over pairs of different texts (Wang and Isola 2020): lower is more
        even."""
        vectors = self.embed(list(dict.fromkeys(texts)))
        distances = 2.0 - 2.0 * (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
        value = float(np.log(np.exp(-2.0 * distances).mean())) if len(distances) else None
        return [Score("uniformity", value, self.signed(split=name, data=key[:8]))]

    # --- a look at it while it is trained ---------------------------------------------------------------------

    def sample(self) -> str:
        """How near some texts are now."""
        return self.samples(0)[0]

    def samples(self, seed: int) -> list[str]:
        """How near some texts are, for the report."""
        rows = ((one, two, self.similarity([one], [two]).item()) for one, two in _SHOWN)
        return [f"{cosine:.3f}  {one} / {two}" for one, two, cosine in rows]

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """What to try first."""
        return f"firth run {self.run.path} $'ONE TEXT\\tANOTHER'"

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The cosine of two texts with a tab between them; with --embed or of one text, its vector."""
        asked = read_options(Asked, options)
        texts = line.split(BETWEEN)
        if asked.embed or len(texts) == 1:
            return {"input": line, "vector": self.embed([line])[0].tolist()}
        if len(texts) != 2:
            raise FirthError(f"{len(texts)} texts in a line, where two are compared", do="put one tab between two")
        return {"input": line, "similarity": self.similarity(texts[:1], texts[1:]).item()}

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        if "vector" in answer:
            return " ".join(f"{value:.6g}" for value in answer["vector"])
        return f"{answer['similarity']:.4f}"


def _holds_pairs(name: str) -> bool:
    """Whether a file is a table, or a set of pairs; anything else is plain text."""
    if Path(name).is_file():
        return formats.guess(name).holds in (Row, Pair)
    found = sets.all_sets().get(name.partition(":")[0])
    return name == examples.WORLD or (found is not None and found.task in _SCORED.tasks)
