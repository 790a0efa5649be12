"""What every network that reads one text and writes another can do: read, write, and tell how well it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from firth.build import System
from firth.config.core import bounded
from firth.data.batching import batches, context
from firth.data.cache import Split
from firth.data.corrupt import corrupted
from firth.data.corrupt.writing import padded
from firth.decoding.writing import Search, decode
from firth.errors import FirthError
from firth.families.texts import TextModel
from firth.families.writer import Writer
from firth.metrics.language import perplexity
from firth.metrics.score import Score
from firth.runs.folder import Run
from firth.text.letters import LONGEST, PAD
from firth.text.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Tokens

_AT_ONCE = 32  # texts
_BEFORE = "a"  # any word: what follows it stands within a text


@dataclass(frozen=True)
class Wanted(Search):
    """How texts are to be written, and what must and must not be in them."""

    length: int = bounded(0, least=0)  # tokens at most; 0: 50 and twice as many as the longest text has
    begin: str = ""  # what every text begins with
    require: tuple[str, ...] = ()  # words that must come
    ban: tuple[str, ...] = ()  # words that must not come


class Row(NamedTuple):
    """Tokens that are read, between their marks; and how those are spelled that the vocabulary lacks."""

    ids: list[int]
    letters: np.ndarray | None = None  # (tokens, letters)


class WritingModel(TextModel):
    """A trained network that reads and writes."""

    kind = "writing"  # what its scores are called

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        config = run.record.config
        self.metric = f"{self.kind}_perplexity"
        super().__init__(run, tokenizer, context(config.batching), config.train.precision)
        self.system, self.stepper = system, Writer(system, tokenizer.size)
        self.source = run.tokenizer("source") if "source" in run.record.tokenizers else tokenizer

    @property
    def limit(self) -> int:
        """Tokens of a text that it can read at once, without the marks at its ends; 0: any number."""
        limit = self.system.backbone.encoder.limit
        return limit and limit - 1 - self._opened

    @torch.no_grad()
    def surprised(self, part: Split) -> list[Score]:
        """Perplexity of what is to be written, and how often its next token is the most probable one."""
        config, nats, right, count = self.config, 0.0, 0, 0
        whole = batches(config.batching, part, self.tokenizer.special, 0)
        for batch in corrupted(whole, config.objective, self.tokenizer, 0).once():
            tensors = batch.to("cpu")
            told = tensors.targets["target"].weight > 0
            with autocast(config.train):
                chances = self.system.objective.chances(self.system, tensors)[told]
            values = tensors.targets["target"].values[told]
            nats -= float(chances.gather(1, values[:, None]).double().sum())
            right += int((chances.argmax(1) == values).sum())
            count += len(values)
        signed = self._signature(part)
        return [
            Score(self.metric, perplexity(nats, count), signed),
            Score(f"{self.kind}_accuracy", right / count, signed),
        ]

    def written(self, rows: Sequence[Row], asked: Wanted) -> list[list[Any]]:
        """Hypotheses for each row of tokens that is read, those of like length together."""
        order = sorted(range(len(rows)), key=lambda index: len(rows[index].ids))
        found: list[list[Any]] = [[]] * len(rows)
        for first in range(0, len(rows), _AT_ONCE):
            members = order[first : first + _AT_ONCE]
            for index, ways in zip(members, self.together([rows[i] for i in members], asked), strict=True):
                found[index] = ways
        return found

    def together(self, rows: Sequence[Row], asked: Wanted, return_tree: bool = False) -> Any:
        """Hypotheses for rows that are read at the same time, and if asked the trees of the searches for them."""
        special = self.tokenizer.special
        begun = [getattr(special, self.config.objective.first), *([special.start] if self._opened else [])]
        limit = self.system.backbone.limit
        length = asked.length or 50 + 2 * max(len(row.ids) for row in rows)
        length = min(length, limit - len(begun) + 1) if limit else length
        prompts = np.tile(begun, (len(rows), 1))
        streams = {"source": stacked(rows, special.padding), "text": Tokens(prompts, prompts >= 0)}
        words = {
            "banned_words": tuple(self._inside(word) for word in asked.ban),
            "begun": (self._known(self.tokenizer.ids(asked.begin), asked.begin),) if asked.begin else (),
            "required": tuple(self._inside(word) for word in asked.require),
        }
        marks = {"end": special.end, "banned": self._banned, "return_tree": return_tree}
        return decode(self.stepper, Batch(streams, {}).to("cpu"), length, asked, **marks, **words)

    def _inside(self, word: str) -> tuple[int, ...]:
        """The tokens of a word as it is within a text."""
        before, whole = (self.tokenizer.ids(text) for text in (_BEFORE, f"{_BEFORE} {word.strip()}"))
        inside = whole[: len(before)] == before and len(whole) > len(before)
        return self._known(whole[len(before) :] if inside else self.tokenizer.ids(word), word)

    def _known(self, ids: Sequence[int], text: str) -> tuple[int, ...]:
        if not ids or self.tokenizer.special.unknown in ids:
            do = "use words that the training texts have"
            raise FirthError(f"{text!r} is not in the vocabulary, so it cannot be written", do=do)
        return tuple(ids)

    def closed(self, ids: Sequence[int], letters: np.ndarray | None = None) -> Row:
        """Tokens to be read with the marks at their ends; refused if they are too many."""
        special, limit = self.source.special, self.system.backbone.encoder.limit
        ids = [*([special.start] if self._opened else []), *ids, special.end]
        if letters is not None:
            letters = np.pad(letters, ((int(self._opened), 1), (0, 0)), constant_values=PAD)
        if limit and len(ids) > limit:
            what = f"{len(ids):,} tokens, and this model reads at most {limit:,} at once"
            raise FirthError(what, do="give a shorter text")
        return Row(ids, letters)

    @property
    def _opened(self) -> bool:
        return self.config.objective.opened

    @property
    def _banned(self) -> list[int]:
        """Special tokens that no text has."""
        special = self.tokenizer.special
        return sorted({*special.ids, *self.tokenizer.sentinels} - {special.end})


def stacked(rows: Sequence[Row], pad: int) -> Tokens:
    """Rows as one stream."""
    ids, mask = padded([row.ids for row in rows], pad)
    if all(row.letters is None for row in rows):
        return Tokens(ids, mask)
    letters = np.full((*mask.shape, LONGEST), PAD, np.int64)
    letters[mask] = np.concatenate([row.letters for row in rows])
    return Tokens(ids, mask, letters=letters)
