"""Denoising sequence-to-sequence models (BART, T5): masked spans filled, corrupted texts reconstructed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from firth.arguments import batched
from firth.errors import FirthError
from firth.metrics.score import Score
from firth.pipelines.seq2seq import Seq2SeqModel, Seq2SeqOptions, SourceSequence
from firth.runs.trained_model import read_options, with_defaults

MASK = "[MASK]"
_MASKS = re.compile(r"(\[MASK\]|<extra_id_\d+>)")
_SAMPLE_TEXTS = ("The [MASK] is here.", "It is [MASK] of the [MASK].")


class DenoisedText(NamedTuple):
    """A generated text with its log-probability."""

    text: str  # sentinel tokens included
    filled: str  # the source with its masks filled, if the model generates the masked spans; else the same as `text`
    log_probability: float


class DenoisingModel(Seq2SeqModel):
    """A trained denoising model: what `firth.load` returns for one."""

    kind = "denoising"

    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Perplexity and accuracy of the reconstruction; the texts are corrupted in the same way each time."""
        return self.perplexity_scores(self.tokenised_split(text, split, cache))

    # --- generation -------------------------------------------------------------------------------------------

    def generate(self, texts: str | Iterable[str], **options: Any) -> Any:
        """The generated text for a source text, or a list of them for a list: the best found, or sampled. `options`
        are the fields of `Seq2SeqOptions`: `max_length`, `temperature`, `beam`, …"""
        return batched(texts, lambda texts: [outputs[0].text for outputs in self._generate(texts, **options)])

    def fill(self, text: str | Iterable[str], **options: Any) -> Any:
        """A text, or each of a list, with each [MASK] filled."""
        return batched(text, lambda texts: [outputs[0].filled for outputs in self._generate(texts, **options)])

    def generate_with_scores(self, texts: str | Iterable[str], **options: Any) -> Any:
        """`count` generated texts for a source text, or a list of these for a list; of a beam search the most probable
        first."""
        return batched(texts, lambda texts: self._generate(texts, **options))

    def _generate(self, texts: Sequence[str], **options: Any) -> list[list[DenoisedText]]:
        sources = [self._encode_source(text) for text in texts]
        options = with_defaults(self.generation_defaults, options, Seq2SeqOptions)
        decoded = zip(sources, self.decode(sources, read_options(Seq2SeqOptions, options)), strict=True)
        return [
            [self._denoised(source.ids, each.ids, each.log_probability) for each in nbest] for source, nbest in decoded
        ]

    def _encode_source(self, text: str) -> SourceSequence:
        """The token ids of a text, its masks as sentinel tokens where the model has them."""
        special, ids, masks = self.tokenizer.special, [], 0
        for part in _MASKS.split(text):
            if part == MASK:
                if self._has_sentinels and masks == len(self.tokenizer.sentinels):
                    what = f"more than {masks} masks, and the tokenizer has no more sentinel tokens"
                    raise FirthError(what, do=f"use fewer {MASK}")
                ids.append(self.tokenizer.sentinels[masks] if self._has_sentinels else special.mask)
                masks += 1
            elif _MASKS.fullmatch(part):
                ids.append(self._sentinel(part))
            else:
                ids += self.tokenizer.encode(part)
        return self.add_special_tokens(ids)

    def _sentinel(self, name: str) -> int:
        token = self.tokenizer.token_to_id(name)
        if token is None or not self._has_sentinels:
            raise FirthError(f"this model has no sentinel token {name}", do=f"write {MASK}")
        return token

    def _denoised(self, source: Sequence[int], ids: Sequence[int], log_probability: float) -> DenoisedText:
        """Generated ids as text, and the source with its masks filled."""
        text = self._decode_with_sentinels(ids)
        if not self._has_sentinels:
            return DenoisedText(text, text, log_probability)
        sentinels, spans, sentinel = {*self.tokenizer.sentinels}, {}, None
        for token in ids:
            if token in sentinels:
                sentinel = token
            elif sentinel is not None:
                spans.setdefault(sentinel, []).append(token)
        return DenoisedText(text, self._fill_masks(source, spans), log_probability)

    def _fill_masks(self, source: Sequence[int], spans: Mapping[int, Sequence[int]]) -> str:
        """The source with the generated spans in place of its sentinels; a mask without a span stays."""
        sentinels, parts, ids = {*self.tokenizer.sentinels}, [], []
        for token in source:
            if token in sentinels and token not in spans:
                parts += [self.tokenizer.decode(ids).strip(), MASK]
                ids = []
            else:
                ids += spans[token] if token in sentinels else [token]
        return " ".join(part for part in [*parts, self.tokenizer.decode(ids).strip()] if part)

    def _decode_with_sentinels(self, ids: Sequence[int]) -> str:
        """The text of token ids, sentinel tokens included."""
        sentinels, parts, span = {*self.tokenizer.sentinels}, [], []
        for token in ids:
            if token in sentinels:
                parts += [self.tokenizer.decode(span).strip(), self.tokenizer.id_to_token(token)]
                span = []
            else:
                span.append(token)
        if not parts:
            return self.tokenizer.decode(span)
        return " ".join(part for part in [*parts, self.tokenizer.decode(span).strip()] if part)

    @property
    def _has_sentinels(self) -> bool:
        """Whether masks are sentinel tokens and the model generates the masked spans only (T5)."""
        return bool({"sentinel-tokens", "span-corruption"} & {*self.config.objective.noise})

    @property
    def _banned(self) -> list[int]:
        return sorted({*super()._banned} - ({*self.tokenizer.sentinels} if self._has_sentinels else set()))

    # --- samples during training ------------------------------------------------------------------------------

    def sample(self) -> str:
        """A sample to log after an evaluation."""
        return self.fill(_SAMPLE_TEXTS[0], max_length=40)

    def samples(self, seed: int) -> list[str]:
        """Samples for the report."""
        return [f"{text} → {self.fill(text, max_length=40)}" for text in _SAMPLE_TEXTS]

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f'firth run {self.run.path} "{_SAMPLE_TEXTS[0]}"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The answer of `firth run` to a line."""
        outputs = self.generate_with_scores([line], **options)[0]
        result: dict[str, Any] = {"input": line, "texts": [each.text for each in outputs]}
        result["log_probabilities"] = [each.log_probability for each in outputs]
        return result | ({"filled": [each.filled for each in outputs]} if self._has_sentinels else {})

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        return "\n---\n".join(answer.get("filled") or answer["texts"])
