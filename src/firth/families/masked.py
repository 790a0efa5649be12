"""What a model that fills gaps is for: fillers of [MASK], and vectors of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from firth.build import System
from firth.config.core import bounded
from firth.data.batching import batches, context
from firth.data.corrupt import corrupted
from firth.errors import FirthError
from firth.families.central import marked
from firth.families.order import read_options
from firth.families.texts import TextModel
from firth.metrics.language import perplexity
from firth.metrics.score import Score
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Tokens

MASK = "[MASK]"
_TOKENS_AT_ONCE = 8192  # read together, padding counted
_SHOWN = 3  # texts of the report
_WORDS, _LETTERS = 24, 60  # of such a text, at most


class Filler(NamedTuple):
    """What may stand in a gap."""

    text: str
    probability: float


@dataclass(frozen=True)
class Asked:
    """How `firth run` is to answer."""

    count: int = bounded(5, least=1)
    embed: bool = False


class MaskedModel(TextModel):
    """A trained model that reads both ways: what `firth.load` gives for one."""

    metric = "masked_perplexity"

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        config = run.record.config
        super().__init__(run, tokenizer, context(config.batching), config.train.precision)
        self.system = system

    # --- the yardstick ----------------------------------------------------------------------------------------

    @torch.no_grad()
    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """How well hidden tokens are found, of a split of the run's own text or of other text; the same are hidden
        each time."""
        self._require_head()
        part, config = self.part(text, split, cache), self.config
        whole = batches(config.batching, part, self.tokenizer.special, 0)
        nats, right, count = 0.0, 0, 0
        for batch in corrupted(whole, config.objective, self.tokenizer, 0).once():
            tensors = batch.to("cpu")
            told = tensors.targets["text"].weight > 0
            with autocast(config.train):
                chances = self.system.log_probabilities(self.system.encode(tensors).states[told])
            values = tensors.targets["text"].values[told]
            nats -= float(chances.gather(1, values[:, None]).double().sum())
            right += int((chances.argmax(1) == values).sum())
            count += len(values)
        signed = self._signature(part)
        return [Score(self.metric, perplexity(nats, count), signed), Score("masked_accuracy", right / count, signed)]

    # --- its verbs --------------------------------------------------------------------------------------------

    def fill(self, text: str, count: int = 5, central: Sequence[int] = ()) -> list[list[Filler]]:
        """The most probable fillers of each [MASK] of a text, each by itself. Tokens that are `central` (0 is [CLS])
        see all and are seen by all, where others see those near them."""
        special = self.tokenizer.special
        ids = self._framed(text)
        gaps = [place for place, number in enumerate(ids) if number == special.mask]
        if not gaps:
            raise FirthError(f"no {MASK} in the text", do=f"put {MASK} where a word is to be found")
        (rows,) = self._chances([ids], central)
        known = rows[gaps, : self.tokenizer.size]  # an imported table may have more rows
        chances, tokens = known.softmax(-1).topk(min(count, known.shape[1]))
        return [
            [Filler(self._shown(n), p) for n, p in zip(row, shares, strict=True)]
            for row, shares in zip(tokens.tolist(), chances.tolist(), strict=True)
        ]

    def gap(self, text: str) -> np.ndarray:
        """Log-probability of every token (vocabulary,) in the only [MASK] of a text."""
        ids = self._framed(text)
        gaps = [place for place, number in enumerate(ids) if number == self.tokenizer.special.mask]
        if len(gaps) != 1:
            what = f"{len(gaps) or 'no'} {MASK}{'s' * (len(gaps) > 1)} in the text"
            raise FirthError(what, do=f"put one {MASK} where words are to be compared")
        (rows,) = self._chances([ids])
        return rows[gaps[0], : self.tokenizer.size].double().numpy()

    def embed(self, texts: Sequence[str], central: Sequence[int] = ()) -> np.ndarray:
        """A vector for each text (texts, width): the mean of its tokens' states; `central` as in `fill`."""
        if isinstance(texts, str):
            raise FirthError("one text, where several are given vectors", do="put it into a list: embed([text])")
        found = np.empty((len(texts), self.system.backbone.width), np.float32)
        rows = [self._framed(text) for text in texts]
        for members in self._groups(rows):
            batch = self._batch([rows[index] for index in members])
            found[members] = self._means(marked(batch, central)).numpy()
        return found

    @torch.no_grad()
    def _means(self, batch: Batch) -> torch.Tensor:
        encoded = self.system.encode(batch)
        mask = encoded.mask[..., None]
        return (encoded.states * mask).sum(1) / mask.sum(1)

    @torch.no_grad()
    def _chances(self, rows: Sequence[Sequence[int]], central: Sequence[int] = ()) -> list[torch.Tensor]:
        """Log-probabilities at each place of each row (time, vocabulary)."""
        self._require_head()
        found = self._predicted(marked(self._batch(rows), central))
        return [chances[: len(row)] for chances, row in zip(found, rows, strict=True)]

    def _predicted(self, batch: Batch) -> torch.Tensor:
        """Log-probabilities of the token at each place (batch, time, vocabulary)."""
        return self.system.log_probabilities(self.system.encode(batch).states)

    def _require_head(self) -> None:
        lacks = self.run.record.data.get("lacks")
        if lacks:
            do = f"train one: firth train PRESET --start {self.run.path} --text FILE, PRESET being bert or electra"
            raise FirthError(f"this model was imported without its {lacks}", where=self.run.path, do=do)

    def _framed(self, text: str) -> list[int]:
        special = self.tokenizer.special
        *before, last = text.split(MASK)
        if self.tokenizer.kind not in ("char", "byte"):  # a blank belongs to the word after it, which is hidden
            before = [part.removesuffix(" ") for part in before]
        parts = [self.tokenizer.ids(part) for part in (*before, last)]
        ids = parts[0]
        for part in parts[1:]:
            ids = [*ids, special.mask, *part]
        ids, limit = [special.cls, *ids, special.sep], self.system.backbone.limit
        if limit and len(ids) > limit:
            what = f"{len(ids):,} tokens, and this model reads at most {limit:,} at once"
            raise FirthError(what, do="give a shorter text")
        return ids

    def _batch(self, rows: Sequence[Sequence[int]]) -> Batch:
        width = max(map(len, rows))
        ids = np.full((len(rows), width), self.tokenizer.special.padding, np.int64)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
        mask = np.arange(width) < np.array([len(row) for row in rows])[:, None]
        return Batch({"text": Tokens(ids, mask)}, {}).to("cpu")

    @staticmethod
    def _groups(rows: Sequence[Sequence[int]]) -> list[list[int]]:
        """Rows of similar length together, within a budget."""
        groups: list[list[int]] = []
        for index in sorted(range(len(rows)), key=lambda i: len(rows[i])):
            if not groups or (len(groups[-1]) + 1) * len(rows[index]) > _TOKENS_AT_ONCE:
                groups.append([])
            groups[-1].append(index)
        return groups

    def _shown(self, number: int) -> str:
        if number in self.tokenizer.special.ids:
            return self.tokenizer.piece(number)
        return self.tokenizer.decode([number]).strip() or self.tokenizer.piece(number)

    # --- a look at it while it is trained ---------------------------------------------------------------------

    def sample(self) -> str:
        """What it would say now."""
        return next(iter(self.samples(0)), "")

    def samples(self, seed: int) -> list[str]:
        """Beginnings of held-out texts, each with a gap, what it says there and what stood there."""
        return [self._filled(*gapped) for gapped in self._gapped]

    @cached_property
    def _gapped(self) -> list[tuple[str, str]]:
        texts = (self._cut(text) for text in islice(self.documents()["valid"], _SHOWN))
        return [hide(text) for text in texts if text]

    def _cut(self, text: str) -> str:
        """So much of a text's beginning as is shown and as the model can read."""
        words, limit = text.split()[:_WORDS], self.system.backbone.limit
        while limit and words and len(self.tokenizer.ids(" ".join(words))) > limit - 4:  # the frame, and the gap
            words.pop()
        return " ".join(words)[:_LETTERS] if len(words) < 3 else " ".join(words)

    def _filled(self, text: str, hidden: str) -> str:
        before, after = text.split(MASK)
        ((best,),) = self.fill(text, 1)
        return f"{before}[{best.text}]{after}  ({hidden})"

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """What to try first."""
        if "lacks" in self.run.record.data:
            return f'firth run {self.run.path} --embed "The sun is here."'
        return f'firth run {self.run.path} "The {MASK} is here."'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """What `firth run` says to a line."""
        asked = read_options(Asked, options)
        if asked.embed:
            return {"input": line, "vector": self.embed([line])[0].tolist()}
        return {"input": line, "fillers": [[each._asdict() for each in row] for row in self.fill(line, asked.count)]}

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        if "vector" in answer:
            return " ".join(f"{value:.6g}" for value in answer["vector"])
        gaps = ("\n".join(f"  {each['probability']:.4f}  {each['text']}" for each in row) for row in answer["fillers"])
        return f"{answer['input']}\n" + "\n\n".join(gaps)


def hide(text: str) -> tuple[str, str]:
    """A text with its middle word hidden, and that word; where words are not apart, the middle character."""
    words = text.replace(MASK, "").split()
    if len(words) < 3:
        text = " ".join(words)
        at = len(text) // 2
        return f"{text[:at]}{MASK}{text[at + 1 :]}", text[at : at + 1]
    at = len(words) // 2
    return " ".join([*words[:at], MASK, *words[at + 1 :]]), words[at]
