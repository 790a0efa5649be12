"""Damaged texts to be written as they were (Lewis et al. 2020), or what they lack (Raffel et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from firth.config import schema
from firth.data.corrupt import noises
from firth.data.corrupt.choosing import even_spans, poisson_spans, runs, some
from firth.data.corrupt.noises import Pair
from firth.data.corrupt.writing import Writing
from firth.data.randomness import generator
from firth.errors import FirthError
from firth.text.sentences import sentence_ends
from firth.text.tokenizer import Tokenizer
from firth.types import Batch, Cursor

ANY = 0.1  # of the chosen tokens that become any token in BERT's style; the others become [MASK]


class Denoising(Writing):
    """Makes of each row's text what is read, the stream "source", and what is written, the stream "target"."""

    def __init__(self, config: schema.Denoise, tokenizer: Tokenizer) -> None:
        super().__init__(config, tokenizer)
        self.sentinels = tokenizer.sentinels
        _check(config, len(self.sentinels))

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with both streams; all of the target is to be predicted."""
        if "source" in batch.streams:
            do = "set objective.kind=written"
            raise FirthError("pairs of texts are written as they are, without noise", where="objective", do=do)
        random = generator(seed, "noise", at.epoch, at.index)
        return replace(batch, **self.streams([self.damaged(text, random) for text in self._texts(batch)]))

    def damaged(self, text: np.ndarray, random: np.random.Generator) -> Pair:
        """What is read and what is written for a text, without the marks at their ends."""
        if not len(text):
            return Pair(text, text)
        last, whole = self.config.noise[-1], text
        if last in MISSING:
            return MISSING[last](self, text, random)
        for name in self.config.noise:
            text = WHOLE[name](self, text, random) if len(text) else text
        return Pair(text, whole)

    def _texts(self, batch: Batch) -> list[np.ndarray]:
        """Each row's own tokens, where documents end being none of them."""
        told = batch.targets["text"]
        real = (told.weight > 0) & batch.streams["text"].mask & (told.values != self.special.end)
        return [values[here] for values, here in zip(told.values, real, strict=True)]

    @cached_property
    def ends(self) -> np.ndarray:
        """Which tokens end a sentence."""
        return sentence_ends(self.tokenizer)

    @cached_property
    def ordinary(self) -> np.ndarray:
        """The tokens of texts."""
        return np.setdiff1d(np.arange(self.tokenizer.size), sorted(self.special.ids | {*self.sentinels}))

    # --- the kinds of noise: chance here, what it does in noises.py ------------------------------------------------

    def some(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The configured share of a text's places."""
        return some(len(text), self.config.share, random)

    def mask(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return noises.masked(text, self.some(text, random), self.special.mask)

    def bert(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        told = self.some(text, random)
        other = told & (random.random(len(text)) < ANY)
        text = np.where(other, random.choice(self.ordinary, len(text)), text)
        return noises.masked(text, told & ~other, self.special.mask)

    def delete(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return noises.deleted(text, self.some(text, random))

    def infill(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        spans = poisson_spans(len(text), self.config.share, self.config.span, random)
        return noises.filled(text, spans, [self.special.mask] * len(spans))

    def permute(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        parts = noises.sentences(text, self.ends)
        return noises.permuted(parts, random.permutation(len(parts)))

    def rotate(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return noises.rotated(text, int(random.integers(len(text))))

    def shuffle(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return text[random.permutation(len(text))]

    def prefix(self, text: np.ndarray, random: np.random.Generator) -> Pair:
        return noises.cut(text, int(random.integers(1, len(text))) if len(text) > 1 else 0)

    def drop(self, text: np.ndarray, random: np.random.Generator) -> Pair:
        return noises.dropped(text, self.some(text, random))

    def single(self, text: np.ndarray, random: np.random.Generator) -> Pair:
        return noises.gapped(text, runs(self.some(text, random), len(self.sentinels) - 1), self.sentinels)

    def spans(self, text: np.ndarray, random: np.random.Generator) -> Pair:
        found = even_spans(len(text), self.config.share, self.config.span, len(self.sentinels) - 1, random)
        return noises.gapped(text, found, self.sentinels)


_Noise = Callable[[Denoising, np.ndarray, np.random.Generator], np.ndarray]
_Split = Callable[[Denoising, np.ndarray, np.random.Generator], Pair]
WHOLE: dict[str, _Noise] = {
    "mask": Denoising.mask,
    "bert": Denoising.bert,
    "delete": Denoising.delete,
    "infill": Denoising.infill,
    "permute": Denoising.permute,
    "rotate": Denoising.rotate,
    "shuffle": Denoising.shuffle,
}
MISSING: dict[str, _Split] = {
    "prefix": Denoising.prefix,
    "drop": Denoising.drop,
    "sentinels": Denoising.single,
    "spans": Denoising.spans,
}
_GAPS = ("sentinels", "spans")  # kinds that mark gaps
_FEWEST = 2  # sentinels: before the missing tokens, and after them


def check_noise(config: schema.Neural) -> None:
    """Refuse noise that cannot be made, before any text is read; a ready tokenizer is asked when it is there."""
    ready = config.start or config.tokenizer.file
    _check(config.objective, _FEWEST if ready else config.tokenizer.sentinels)


def _check(config: schema.Denoise, sentinels: int) -> None:
    where = "objective.noise"
    if not config.noise:
        raise FirthError("no noise to undo", where=where, do="name one kind or several, such as permute,infill")
    alone = [name for name in config.noise if name in MISSING]
    if alone and len(config.noise) > 1:
        raise FirthError(f"{alone[0]} stands alone: what is missing is to be written", where=where, do="leave one out")
    if sentinels < _FEWEST and alone and alone[0] in _GAPS:
        what = "the tokenizer has no tokens that mark gaps"
        raise FirthError(what, where=where, do="set tokenizer.sentinels=100, or use a tokenizer that has them")
