"""Masked language models (MLM): predictions for [MASK] (fill-mask), next sentence prediction (NSP), masked perplexity,
embeddings of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from firth.arguments import as_count, as_text, batched, for_each
from firth.config.core import bounded
from firth.datasets.collators.batches import context_label, corrupt_batches, make_batches
from firth.display import Table
from firth.errors import FirthError
from firth.metrics.perplexity import perplexity
from firth.metrics.score import Score
from firth.models.build import System
from firth.objectives.masked_lm import NextSentenceHead
from firth.pipelines.continuations import Group, Likelihoods
from firth.pipelines.encode_texts import group_by_length
from firth.pipelines.evaluated_text import TextModel
from firth.pipelines.global_tokens import mark_global_tokens
from firth.pipelines.pseudo_likelihood import pseudo_likelihoods
from firth.runs.run_folder import Run
from firth.runs.trained_model import read_options
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Tokens

MASK = "[MASK]"
_REPORT_TEXTS = 3
_MAX_WORDS, _MAX_CHARACTERS = 24, 60  # of a text in the report


class MaskPrediction(NamedTuple):
    """A token predicted for a [MASK]."""

    text: str
    probability: float


@dataclass(frozen=True)
class FillMaskOptions:
    """The options of `firth run` for masked language models."""

    count: int = bounded(5, least=1)
    embed: bool = False
    next_sentence: str = ""  # the text that the input may continue


class MaskedLMModel(TextModel):
    """A trained masked language model: what `firth.load` returns for one."""

    metric = "masked_perplexity"

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        config = run.record.config
        super().__init__(run, tokenizer, context_label(config.batching), config.train.precision)
        self.system = system

    # --- evaluation -------------------------------------------------------------------------------------------

    @torch.no_grad()
    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Perplexity and accuracy of masked tokens, and accuracy of next sentence prediction where it was trained, on a
        split of the run's own text or on other text; masks and segment pairs are the same each time."""
        self._require_head()
        tokens, config = self.tokenised_split(text, split, cache), self.config
        batches = make_batches(config.batching, tokens, self.tokenizer.special, 0)
        nll, correct, count, pairs = 0.0, 0, 0, [0, 0]
        for batch in corrupt_batches(batches, config.objective, self.tokenizer, 0).evaluation_batches():
            tensors = batch.to("cpu")
            masked = tensors.targets["text"].weight > 0
            with autocast(config.train):
                states = self.system.encode(tensors).states
                log_probs = self.system.log_probabilities(states[masked])
            values = tensors.targets["text"].values[masked]
            nll -= float(log_probs.gather(1, values[:, None]).double().sum())
            correct += int((log_probs.argmax(1) == values).sum())
            count += len(values)
            if self._next_sentence_head is not None:
                pairs = [sum(each) for each in zip(pairs, self._correct_pairs(states, tensors), strict=True)]
        signed = self._signature(tokens)
        scores = [Score(self.metric, perplexity(nll, count), signed), Score("masked_accuracy", correct / count, signed)]
        following = [Score("next_sentence_accuracy", pairs[0] / pairs[1], signed)] if pairs[1] else []
        return Table([*scores, *following])

    def _correct_pairs(self, states: torch.Tensor, batch: Batch) -> tuple[int, int]:
        """How many segment pairs of a batch are classified correctly, and how many there are."""
        target = batch.targets["next"]  # weight 1 at [CLS]
        is_cls = target.weight > 0
        with autocast(self.config.train):
            predicted = self._next_sentence_head(states[is_cls]).argmax(-1)
        return int((predicted == target.values[is_cls]).sum()), len(predicted)

    # --- next sentence prediction -----------------------------------------------------------------------------

    @property
    def _next_sentence_head(self) -> NextSentenceHead | None:
        return getattr(self.system.objective, "next_sentence", None)

    @torch.no_grad()
    def next_sentence(self, first: str, second: str) -> float:
        """The probability that the second text continues the first, rather than coming from another document."""
        head = self._next_sentence_head
        if head is None:
            do = "train one that was: firth train bert, or --set objective.next_sentence=true"
            raise FirthError("this model was not trained on next-sentence prediction", where=self.run.path, do=do)
        segments = [self._encode(first), self._encode(second)[1:]]  # [CLS] A [SEP], B [SEP]
        ids = [*segments[0], *segments[1]]
        self._check_length(ids)
        tokens = self.batch([ids]).streams["text"]
        segment = torch.tensor([[0] * len(segments[0]) + [1] * len(segments[1])])
        encoded = self.system.encode(Batch({"text": replace(tokens, segment=segment)}, {}))
        return float(head(encoded.states[:, 0]).float().softmax(-1)[0, 1])

    # --- fill-mask and embeddings -----------------------------------------------------------------------------

    def fill(self, text: str | Iterable[str], count: int = 5, global_tokens: Sequence[int] = ()) -> Any:
        """The most probable tokens for each [MASK] of a text, each by itself; of a list of texts, a list of these.
        `global_tokens` are positions (0 is [CLS]) with global attention, in a model with windowed attention."""
        return for_each(text, lambda text: self._fill(text, as_count(count), global_tokens))

    def _fill(self, text: str, count: int, global_tokens: Sequence[int]) -> list[list[MaskPrediction]]:
        special = self.tokenizer.special
        ids = self._encode(text)
        masks = [position for position, token in enumerate(ids) if token == special.mask]
        if not masks:
            raise FirthError(f"no {MASK} in the text", do=f"put {MASK} where a word is to be predicted")
        (log_probs,) = self._sequence_log_probs([ids], global_tokens)
        known = log_probs[masks, : self.tokenizer.vocab_size]  # an imported embedding table may have more rows
        probabilities, tokens = known.softmax(-1).topk(min(count, known.shape[1]))
        return [
            [MaskPrediction(self._token_text(n), p) for n, p in zip(*pair, strict=True)]
            for pair in zip(tokens.tolist(), probabilities.tolist(), strict=True)
        ]

    def prompt_log_probs(self, text: str) -> np.ndarray:
        """Log-probability of every token of the vocabulary (vocabulary,) at the only [MASK] of a text."""
        ids = self._encode(text)
        masks = [position for position, token in enumerate(ids) if token == self.tokenizer.special.mask]
        if len(masks) != 1:
            what = f"{len(masks) or 'no'} {MASK}{'s' * (len(masks) > 1)} in the text"
            raise FirthError(what, do=f"put one {MASK} where words are to be compared")
        (log_probs,) = self._sequence_log_probs([ids])
        return log_probs[masks[0], : self.tokenizer.vocab_size].double().numpy()

    def embed(self, texts: str | Iterable[str], global_tokens: Sequence[int] = ()) -> np.ndarray:
        """An embedding of a text (width,) or of each of a list (texts, width): the mean of its hidden states;
        `global_tokens` as in `fill`."""
        return batched(texts, lambda texts: self._embed(texts, global_tokens))

    def _embed(self, texts: Sequence[str], global_tokens: Sequence[int]) -> np.ndarray:
        vectors = np.empty((len(texts), self.system.backbone.width), np.float32)
        sequences = [self._encode(text) for text in texts]
        for indices in group_by_length([len(ids) for ids in sequences]):
            batch = self.batch([sequences[index] for index in indices])
            vectors[indices] = self._mean_states(mark_global_tokens(batch, global_tokens)).numpy()
        return vectors

    @torch.no_grad()
    def _mean_states(self, batch: Batch) -> torch.Tensor:
        encoded = self.system.encode(batch)
        mask = encoded.mask[..., None]
        return (encoded.states * mask).sum(1) / mask.sum(1)

    @torch.no_grad()
    def _sequence_log_probs(
        self, sequences: Sequence[Sequence[int]], global_tokens: Sequence[int] = ()
    ) -> list[torch.Tensor]:
        """Log-probabilities at each position of each sequence (time, vocabulary)."""
        self._require_head()
        batch = self._log_probs(mark_global_tokens(self.batch(sequences), global_tokens))
        return [log_probs[: len(ids)] for log_probs, ids in zip(batch, sequences, strict=True)]

    def _log_probs(self, batch: Batch) -> torch.Tensor:
        """Log-probabilities at each position (batch, time, vocabulary)."""
        return self.system.log_probabilities(self.system.encode(batch).states)

    def log_probs_at(self, batch: Batch, positions: torch.Tensor) -> torch.Tensor:
        """Log-probabilities at one position of each sequence (batch, vocabulary)."""
        states = self.system.encode(batch).states
        return self.system.log_probabilities(states[torch.arange(len(states)), positions])

    def continuation_scores(self, groups: Sequence[Group], *, whole: bool = False) -> list[Likelihoods]:
        """The pseudo-log-likelihoods of the texts of each group (context, texts), given its context; a text has no
        probability of ending, so `whole` changes nothing."""
        self._require_head()
        return pseudo_likelihoods(self, groups)

    def _require_head(self) -> None:
        lacks = self.run.record.data.get("lacks")
        if lacks:
            do = f"train one: firth train PRESET --init-from {self.run.path} --text FILE, PRESET being bert or electra"
            raise FirthError(f"this model was imported without its {lacks}", where=self.run.path, do=do)

    def _encode(self, text: str) -> list[int]:
        """The token ids of a text with [CLS] and [SEP], [MASK] included."""
        special = self.tokenizer.special
        *before, last = as_text(text).split(MASK)
        if self.tokenizer.kind not in ("char", "byte"):  # a blank belongs to the word after it, which is masked
            before = [part.removesuffix(" ") for part in before]
        parts = [self.tokenizer.encode(part) for part in (*before, last)]
        ids = parts[0]
        for part in parts[1:]:
            ids = [*ids, special.mask, *part]
        ids = [special.cls, *ids, special.sep]
        self._check_length(ids)
        return ids

    def _check_length(self, ids: Sequence[int]) -> None:
        limit = self.system.backbone.max_length
        if limit and len(ids) > limit:
            what = f"{len(ids):,} tokens, and this model takes at most {limit:,} at once"
            raise FirthError(what, do="give a shorter text")

    def batch(self, sequences: Sequence[Sequence[int]]) -> Batch:
        """Sequences of token ids as a padded batch."""
        width = max(map(len, sequences))
        ids = np.full((len(sequences), width), self.tokenizer.special.pad_id, np.int64)
        for index, sequence in enumerate(sequences):
            ids[index, : len(sequence)] = sequence
        mask = np.arange(width) < np.array([len(sequence) for sequence in sequences])[:, None]
        return Batch({"text": Tokens(ids, mask)}, {}).to("cpu")

    def _token_text(self, token: int) -> str:
        if token in self.tokenizer.special.ids:
            return self.tokenizer.id_to_token(token)
        return self.tokenizer.decode([token]).strip() or self.tokenizer.id_to_token(token)

    # --- samples during training ------------------------------------------------------------------------------

    def sample(self) -> str:
        """A sample to log after an evaluation."""
        return next(iter(self.samples(0)), "")

    def samples(self, seed: int) -> list[str]:
        """Beginnings of held-out texts, each with a masked word, its prediction and the word itself."""
        return [self._fill_example(*masked) for masked in self._masked_texts]

    @cached_property
    def _masked_texts(self) -> list[tuple[str, str]]:
        texts = (self._truncate(text) for text in islice(self.documents()["valid"], _REPORT_TEXTS))
        return [mask_word(text) for text in texts if text]

    def _truncate(self, text: str) -> str:
        """The beginning of a text, as much as the report shows and the model's maximum length allows."""
        words, limit = text.split()[:_MAX_WORDS], self.system.backbone.max_length
        while (
            limit and words and len(self.tokenizer.encode(" ".join(words))) > limit - 4
        ):  # special tokens, and the mask
            words.pop()
        return " ".join(words)[:_MAX_CHARACTERS] if len(words) < 3 else " ".join(words)

    def _fill_example(self, text: str, masked: str) -> str:
        before, after = text.split(MASK)
        ((best,),) = self.fill(text, 1)
        return f"{before}[{best.text}]{after}  ({masked})"

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        if "lacks" in self.run.record.data:
            return f'firth run {self.run.path} --embed "The sun is here."'
        return f'firth run {self.run.path} "The {MASK} is here."'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The answer of `firth run` to a line."""
        parsed = read_options(FillMaskOptions, options)
        if parsed.embed:
            return {"input": line, "vector": self.embed([line])[0].tolist()}
        if parsed.next_sentence:
            probability = self.next_sentence(parsed.next_sentence, line)
            return {"input": line, "first": parsed.next_sentence, "next_sentence": probability}
        predictions = self.fill(line, parsed.count)
        return {"input": line, "predictions": [[each._asdict() for each in mask] for mask in predictions]}

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        if "vector" in answer:
            return " ".join(f"{value:.6g}" for value in answer["vector"])
        if "next_sentence" in answer:
            return f"{answer['next_sentence']:.4f}  {answer['first']} → {answer['input']}"
        masks = (
            "\n".join(f"  {each['probability']:.4f}  {each['text']}" for each in mask) for mask in answer["predictions"]
        )
        return f"{answer['input']}\n" + "\n\n".join(masks)


def mask_word(text: str) -> tuple[str, str]:
    """A text with its middle word masked, and that word; of fewer than three words, the middle character."""
    words = text.replace(MASK, "").split()
    if len(words) < 3:
        text = " ".join(words)
        at = len(text) // 2
        return f"{text[:at]}{MASK}{text[at + 1 :]}", text[at : at + 1]
    at = len(words) // 2
    return " ".join([*words[:at], MASK, *words[at + 1 :]]), words[at]
