"""Denoising for sequence-to-sequence pretraining: BART's text reconstruction (Lewis et al. 2020) and T5's span
corruption with sentinels (Raffel et al. 2020).

The source is the corrupted text; the target is the whole text (BART) or only what is missing (T5). The noise functions
are in `noise`, the sampling of spans in `noise_spans`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from firth.config import schema
from firth.datasets.collators.corruption import noise
from firth.datasets.collators.corruption.noise import SourceTargetPair
from firth.datasets.collators.corruption.noise_spans import (
    contiguous_spans,
    poisson_spans,
    random_spans,
    sample_positions,
)
from firth.datasets.collators.corruption.teacher_forcing import TeacherForcing
from firth.errors import FirthError
from firth.tokenizers.sentence_boundaries import sentence_ends
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Batch, Cursor, generator

RANDOM_FRACTION = 0.1  # BERT-style: selected tokens that become a random token; the others become [MASK]


class Denoising(TeacherForcing):
    """Corrupts each row's text into a source for the encoder and a target for the decoder."""

    config: schema.Denoising

    def __init__(self, config: schema.Denoising, tokenizer: Tokenizer) -> None:
        super().__init__(config, tokenizer)
        self.sentinels = tokenizer.sentinels
        _check(config, len(self.sentinels))

    def __call__(self, batch: Batch, seed: int, at: Cursor) -> Batch:
        """The batch with the streams "source" and "target"; all target tokens are predicted."""
        if "source" in batch.streams:
            do = "set objective.kind=seq2seq"
            raise FirthError("denoising needs plain text, not source and target texts", where="objective", do=do)
        random = generator(seed, "noise", at.epoch, at.index)
        return replace(batch, **self.make_streams([self.corrupt(text, random) for text in self._texts(batch)]))

    def corrupt(self, text: np.ndarray, random: np.random.Generator) -> SourceTargetPair:
        """Source and target for a text, without special tokens."""
        if not len(text):
            return SourceTargetPair(text, text)
        last, whole = self.config.noise[-1], text
        if last in MISSING_TARGET_NOISE:
            return MISSING_TARGET_NOISE[last](self, text, random)
        for name in self.config.noise:
            text = FULL_TARGET_NOISE[name](self, text, random) if len(text) else text
        return SourceTargetPair(text, whole)

    def _texts(self, batch: Batch) -> list[np.ndarray]:
        """The tokens of each row, without [END]."""
        target = batch.targets["text"]
        real = (target.weight > 0) & batch.streams["text"].mask & (target.values != self.special.end)
        return [values[here] for values, here in zip(target.values, real, strict=True)]

    @cached_property
    def is_sentence_end(self) -> np.ndarray:
        """Whether a token ends a sentence (vocabulary,)."""
        return sentence_ends(self.tokenizer)

    @cached_property
    def ordinary(self) -> np.ndarray:
        """The ids of all tokens but special tokens and sentinels."""
        return np.setdiff1d(np.arange(self.tokenizer.vocab_size), sorted(self.special.ids | {*self.sentinels}))

    # --- the kinds of noise: sampled here, applied in noise.py -----------------------------------------------------

    def sample_positions(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The configured fraction of a text's positions."""
        return sample_positions(len(text), self.config.noise_density, random)

    def token_masking(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return noise.mask_tokens(text, self.sample_positions(text, random), self.special.mask)

    def bert_style(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        selected = self.sample_positions(text, random)
        replaced = selected & (random.random(len(text)) < RANDOM_FRACTION)
        text = np.where(replaced, random.choice(self.ordinary, len(text)), text)
        return noise.mask_tokens(text, selected & ~replaced, self.special.mask)

    def token_deletion(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return noise.delete_tokens(text, self.sample_positions(text, random))

    def text_infilling(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        spans = poisson_spans(len(text), self.config.noise_density, self.config.mean_span_length, random)
        return noise.replace_spans(text, spans, [self.special.mask] * len(spans))

    def sentence_permutation(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        sentences = noise.split_sentences(text, self.is_sentence_end)
        return noise.permute_sentences(sentences, random.permutation(len(sentences)))

    def document_rotation(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return noise.rotate_document(text, int(random.integers(len(text))))

    def token_shuffling(self, text: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return text[random.permutation(len(text))]

    def prefix_lm(self, text: np.ndarray, random: np.random.Generator) -> SourceTargetPair:
        return noise.split_prefix(text, int(random.integers(1, len(text))) if len(text) > 1 else 0)

    def token_dropping(self, text: np.ndarray, random: np.random.Generator) -> SourceTargetPair:
        return noise.drop_tokens(text, self.sample_positions(text, random))

    def sentinel_tokens(self, text: np.ndarray, random: np.random.Generator) -> SourceTargetPair:
        spans = contiguous_spans(self.sample_positions(text, random), len(self.sentinels) - 1)
        return noise.corrupt_spans(text, spans, self.sentinels)

    def span_corruption(self, text: np.ndarray, random: np.random.Generator) -> SourceTargetPair:
        config, count = self.config, len(self.sentinels) - 1
        spans = random_spans(len(text), config.noise_density, config.mean_span_length, count, random)
        return noise.corrupt_spans(text, spans, self.sentinels)


_Noise = Callable[[Denoising, np.ndarray, np.random.Generator], np.ndarray]
_Split = Callable[[Denoising, np.ndarray, np.random.Generator], SourceTargetPair]
FULL_TARGET_NOISE: dict[str, _Noise] = {
    "token-masking": Denoising.token_masking,
    "bert-style": Denoising.bert_style,
    "token-deletion": Denoising.token_deletion,
    "text-infilling": Denoising.text_infilling,
    "sentence-permutation": Denoising.sentence_permutation,
    "document-rotation": Denoising.document_rotation,
    "token-shuffling": Denoising.token_shuffling,
}
MISSING_TARGET_NOISE: dict[str, _Split] = {
    "prefix-lm": Denoising.prefix_lm,
    "token-dropping": Denoising.token_dropping,
    "sentinel-tokens": Denoising.sentinel_tokens,
    "span-corruption": Denoising.span_corruption,
}
_SENTINEL_NOISE = ("sentinel-tokens", "span-corruption")  # kinds that need sentinels
_MIN_SENTINELS = 2  # one before the missing tokens, and one after them


def check_noise(config: schema.Neural) -> None:
    """Refuse noise that cannot be applied, before any text is read; a ready tokenizer is checked once it is loaded."""
    ready = config.init_from or config.tokenizer.file
    _check(config.objective, _MIN_SENTINELS if ready else config.tokenizer.sentinels)


def _check(config: schema.Denoising, sentinels: int) -> None:
    where = "objective.noise"
    if not config.noise:
        raise FirthError("no noise is named", where=where, do="name one kind or several, such as text-infilling")
    alone = [name for name in config.noise if name in MISSING_TARGET_NOISE]
    if alone and len(config.noise) > 1:
        what = f"{alone[0]} cannot be combined: its target is only what is missing"
        raise FirthError(what, where=where, do=f"name {alone[0]} alone, or kinds whose target is the whole text")
    if sentinels < _MIN_SENTINELS and alone and alone[0] in _SENTINEL_NOISE:
        what = f"the tokenizer has no sentinel tokens, which {alone[0]} needs"
        raise FirthError(what, where=where, do="set tokenizer.sentinels=100, or use a tokenizer that has them")
