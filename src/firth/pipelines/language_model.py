"""Language models: perplexity, bits per byte, log-probabilities of texts, generation, next-word prediction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from firth.arguments import as_count, as_text, batched, for_each
from firth.config import from_dict
from firth.datasets.token_cache import Split, byte_histogram
from firth.display import Table
from firth.errors import FirthError
from firth.metrics.perplexity import ByteModel, bits_per_byte, perplexity
from firth.metrics.score import Score
from firth.pipelines import continuations, lm_commands
from firth.pipelines.evaluated_text import TextModel
from firth.pipelines.lm_commands import LanguageModelOptions
from firth.runs.run_folder import Run
from firth.runs.trained_model import read_options, with_defaults
from firth.tokenizers.special_tokens import SpecialTokens
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Batch, Stepper, Target, Tokens

if TYPE_CHECKING:  # late: they import torch, which scoring need not have
    from torch import Tensor

    from firth.generation.beam_search import Hypothesis
    from firth.generation.constraints import Constraints
    from firth.generation.sampling import GeneratedSequence, SamplingConfig
    from firth.generation.word_completion import Completion
    from firth.tokenizers.word_boundaries import TokenSpelling

_MAX_BATCH_TOKENS = 4096  # scored together, padding counted
_SAMPLE_LENGTH = 40  # tokens that are generated after each evaluation
_CONSTRAINTS = ("min_length", "no_repeat_ngram_size", "repetition_penalty")  # in generation_config.json
_BEAM_SCORING = ("length_normalisation", "early_stopping")


class Engine(Protocol):
    """The scoring interface of a language model, implemented by each family."""

    stepper: Stepper
    precision: str
    max_length: int  # of its context, in tokens; 0: unlimited

    def surprisals(self, split: Split) -> np.ndarray:
        """Surprisal (-log p, nats) of every token of a split (tokens,), its documents one after the other."""

    def log_probabilities(self, batch: Batch) -> np.ndarray:
        """Log-probability of each target given its context (batch, time); sequences are independent."""


class LanguageModel(TextModel):
    """A trained language model: what `firth.load` returns for one."""

    metric = "perplexity"

    def __init__(self, run: Run, tokenizer: Tokenizer, engine: Engine, context: str) -> None:
        super().__init__(run, tokenizer, context, engine.precision)
        self._engine = engine

    # --- evaluation -------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Perplexity and bits per byte: of a split of the run's own text, or of other text (a name or documents)."""
        tokens = self.tokenised_split(text, split, cache)
        nll = float(self.surprisals(tokens).sum(dtype=np.float64))
        signed = self._signature(tokens)
        lost, causes = self._lost_nll(tokens), tokens.tally.lost(self.config.data.encoding_errors)
        share = bits_per_byte(lost, tokens.tally.bytes)
        note = f"of which {share:.4f} for what the tokenizer loses: {', '.join(causes)}" if causes else ""
        bits = Score("bits_per_byte", bits_per_byte(nll + lost, tokens.tally.bytes), signed, note)
        unknown = next((cause for cause in causes if "unknown" in cause), "")
        return Table([Score("perplexity", perplexity(nll, tokens.tally.tokens), signed, unknown), bits])

    def surprisals(self, split: Split) -> np.ndarray:
        """Surprisal (-log p, nats) of every token of a split, [END] of each document included."""
        return self._engine.surprisals(split)

    def perplexity(self, text: str | Iterable[str] | None = None, split: str = "test") -> float:
        """Perplexity per token, [END] counted."""
        return self.evaluate(text, split)[0].value

    def bits_per_byte(self, text: str | Iterable[str] | None = None, split: str = "test") -> float | None:
        """Bits per byte of the original text, with what the tokenizer loses; None if the scores do not sum to one."""
        return self.evaluate(text, split)[1].value

    def _lost_nll(self, split: Split) -> float:
        return split.tally.lost_nll(self.run.record.data["byte_counts"], self.config.data.encoding_errors)

    @property
    def normalised(self) -> bool:
        """Whether the probabilities of all texts sum to one."""
        return True

    @property
    def limit(self) -> int:
        """The maximum length of its context, in tokens; 0: unlimited."""
        return self._engine.max_length

    # --- scoring ----------------------------------------------------------------------------------------------

    def score(self, texts: str | Iterable[str], *, whole: bool = True) -> Any:
        """Log-probability of a text in nats (of a list, a list): as a whole document with its ending, or as a prefix
        of one."""

        def score(texts: list[str]) -> list[float]:
            return [float(row.sum(dtype=np.float64)) for row in self.token_scores(texts, whole=whole)]

        return batched(texts, score)

    def token_scores(self, texts: str | Iterable[str], *, whole: bool = True) -> Any:
        """Log-probability of each token of a text (and of [END], if whole), an array; of a list, a list of arrays."""
        end = [self.tokenizer.special.end] if whole else []

        def score(texts: list[str]) -> list[np.ndarray]:
            return self.id_scores([[*ids, *end] for ids in self.tokenizer.encode_batch(texts)])

        return batched(texts, score)

    def id_scores(self, sequences: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Log-probability of each token of sequences of token ids, each from the start of a document."""
        scores: list[np.ndarray] = [np.zeros(0)] * len(sequences)
        for indices in _group_by_length([len(ids) for ids in sequences]):
            batch = _pad([sequences[i] for i in indices], self.tokenizer.special)
            for index, log_probs in zip(indices, self._engine.log_probabilities(batch), strict=True):
                scores[index] = log_probs[: len(sequences[index])]
        return scores

    def oov_nll(self, texts: Sequence[str]) -> list[float]:
        """NLL (nats) of each text's out-of-vocabulary words, spelled in bytes as in bits per byte; 0 without any."""
        model = ByteModel(self.run.record.data["byte_counts"])
        encoded = self.tokenizer.encode_batch_with_oov(list(texts))
        return [model.nll(byte_histogram([each.oov_bytes]), each.oov_count) for each in encoded]

    def continuation_scores(
        self, groups: Sequence[continuations.Group], *, whole: bool = False
    ) -> list[continuations.Likelihoods]:
        """The log-likelihoods of the texts of each group (context, texts), given its context."""
        return continuations.likelihoods(self, groups, whole)

    def embed(self, texts: str | Iterable[str]) -> np.ndarray:
        """An embedding of a text (width,) or of each of a list (texts, width): the mean of its hidden states, [START]
        included."""
        mean_states = getattr(self._engine, "mean_states", None)
        if mean_states is None:
            raise FirthError("this model has no text embeddings", where=self.run.path, do="use a neural one")
        return batched(texts, lambda texts: mean_states([self._prompt(text) for text in texts]))

    # --- generation -------------------------------------------------------------------------------------------

    def generate(
        self,
        prompt: str | Iterable[str] = "",
        *,
        max_length: int | None = None,
        count: int = 1,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        beam: int | None = None,
        length_penalty: float | None = None,
    ) -> Any:
        """`count` continuations of a prompt, a list of texts, the prompt included: sampled, or with `beam` by beam
        search of that size. Of a list of prompts, a list of such lists, each as of the prompt alone.

        `max_length` counts new tokens (100); [END] ends a text earlier. A `temperature` of 0 is greedy decoding.
        `top_k` (0: all) and `top_p` leave only the most probable tokens to sample from; the same `seed` gives the same
        texts. `length_penalty` is of beam search. An imported model may have other defaults."""
        options = {"max_length": max_length, "temperature": temperature, "top_k": top_k, "top_p": top_p}
        options |= {"beam": beam, "length_penalty": length_penalty}
        given = {name: value for name, value in options.items() if value is not None}

        def generate(prompt: str) -> list[str]:
            parsed = self.generation_options(prompt, {**given, "count": count, "seed": seed}, temperature=1.0)
            sequences = lm_commands.generate(self, prompt, parsed)
            return self.decode_continuations(prompt, [each.ids for each in sequences])

        return for_each(prompt, generate)

    def generation_options(
        self, prompt: str, options: Mapping[str, object], temperature: float = lm_commands.TEMPERATURE
    ) -> LanguageModelOptions:
        """The options of generation after a prompt, with the model's own defaults, and a temperature where it has
        none."""
        defaults = {"temperature": temperature, **self.generation_defaults}
        if "total_max_length" in defaults:  # transformers counts the prompt
            defaults["max_length"] = max(1, defaults["total_max_length"] - len(self.tokenizer.encode(prompt)))
        return read_options(LanguageModelOptions, with_defaults(defaults, options, LanguageModelOptions))

    def _constraints(self, prompt_length: int) -> Constraints:
        """The constraints that the model's own defaults of generation state."""
        from firth.generation.constraints import Constraints

        defaults = self.generation_defaults
        values = {name: defaults[name] for name in _CONSTRAINTS if name in defaults}
        if "total_min_length" in defaults:
            values["min_length"] = max(0, defaults["total_min_length"] - prompt_length)
        forced = defaults.get("forced_bos_token_id")
        return Constraints(
            **values,
            bad_words=tuple(map(tuple, defaults.get("bad_words_ids", ()))),
            prefixes=() if forced is None else ((forced,),),
        )

    def sampling_config(self, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> SamplingConfig:
        """The options of sampling, checked."""
        from firth.generation.sampling import SamplingConfig

        return from_dict(SamplingConfig, {"temperature": temperature, "top_k": top_k, "top_p": top_p})

    def sample_continuations(
        self, prompt: str, max_length: int, count: int, config: SamplingConfig, seed: int
    ) -> list[GeneratedSequence]:
        """Sampled continuations as token ids with their log-probabilities."""
        from firth.generation.sampling import sample

        end, banned = self.end_and_banned
        prompts = self._prompts(prompt, count)
        more = {"end": end, "banned": banned, "constraints": self._constraints(prompts.tokens("text").ids.shape[1] - 1)}
        return sample(self.stepper, prompts, max_length, config, seed, **more)

    def beam_search(
        self, prompt: str, max_length: int, beam_size: int, count: int = 1, length_penalty: float = 0.0
    ) -> list[Hypothesis]:
        """The `count` best continuations of a beam search, best first, as token ids."""
        from firth.generation.beam_search import BeamConfig, beam_search

        options = {"beam_size": beam_size, "count": count, "length_penalty": length_penalty}
        if not length_penalty:
            options |= {name: value for name, value in self.generation_defaults.items() if name in _BEAM_SCORING}
        config, (end, banned), prompts = from_dict(BeamConfig, options), self.end_and_banned, self._prompts(prompt)
        more = {"end": end, "banned": banned, "constraints": self._constraints(prompts.tokens("text").ids.shape[1] - 1)}
        return beam_search(self.stepper, prompts, max_length, config, **more)[0]

    def decode_continuations(self, prompt: str, continuations: Iterable[Sequence[int]]) -> list[str]:
        """A prompt followed by the text of each continuation, given as token ids."""
        prompt_ids = self.tokenizer.encode(prompt)
        decoded = self.tokenizer.decode(prompt_ids)  # the prompt without its out-of-vocabulary words
        texts = (self.tokenizer.decode([*prompt_ids, *ids]) for ids in continuations)
        return [prompt + text[len(decoded) :] if text.startswith(decoded) else text for text in texts]

    # --- next token and next word -----------------------------------------------------------------------------

    def next_tokens(self, prefix: str, count: int = 5) -> list[Completion]:
        """The most probable next tokens after a text, and their probabilities; the end of the text is [END]."""
        from firth.generation.word_completion import Completion

        prefix, count = as_text(prefix), as_count(count)
        log_probs = self._next_log_probs(prefix)
        probabilities, tokens = log_probs.double().exp().topk(min(count, len(log_probs)))
        before, special = self.tokenizer.encode(prefix), self.tokenizer.special.ids
        size = len(self.tokenizer.decode(before))
        texts = (
            self.tokenizer.id_to_token(n) if n in special else self.tokenizer.decode([*before, n])[size:]
            for n in tokens.tolist()
        )
        return [Completion(*pair) for pair in zip(texts, probabilities.tolist(), strict=True)]

    def prompt_log_probs(self, text: str) -> np.ndarray:
        """Log-probability of every token of the vocabulary (vocabulary,) as the next one after a text."""
        return self._next_log_probs(text).double().numpy()

    def _next_log_probs(self, text: str) -> Tensor:
        stepper, prompts = self.stepper, self._prompts(text)
        log_probs, _ = stepper.step(prompts.streams["text"].ids[:, -1], stepper.start(prompts))
        return log_probs[0]

    def complete(self, prefix: str, count: int = 5) -> list[Completion]:
        """The most probable next words after a text; if it ends within a word, completions of that word.

        The context is the text before that word, which is then spelled anew: so it does not matter how the tokenizer
        would segment the partial word.
        """
        from firth.generation import word_completion
        from firth.tokenizers.word_boundaries import split_partial_word

        prefix, count = as_text(prefix), as_count(count)
        decoded = self.tokenizer.decode(self.tokenizer.encode(prefix))
        # as the tokenizer normalises it (lowercase), if only case differs
        before, partial_word = split_partial_word(decoded if decoded.casefold() == prefix.casefold() else prefix)
        context = self._prompt(before)
        if self._spelling.adds_space:
            partial_word = partial_word.lstrip() if len(context) == 1 else " " + partial_word.lstrip()
        end = self.tokenizer.special.end
        return word_completion.complete_word(self.stepper, context, partial_word, count, self._spelling, end=end)

    @cached_property
    def _spelling(self) -> TokenSpelling:
        from firth.tokenizers.word_boundaries import token_spelling

        return token_spelling(self.tokenizer)

    @property
    def stepper(self) -> Stepper:
        """The model as an incremental decoder."""
        return self._engine.stepper

    @property
    def end_and_banned(self) -> tuple[int, list[int]]:
        """The ids of [END], and of the special tokens that are never generated."""
        special, defaults = self.tokenizer.special, self.generation_defaults
        end = defaults.get("eos_token_id", special.end)
        return end, sorted({*special.ids, *defaults.get("suppress_tokens", ())} - {end})

    def _prompts(self, text: str, count: int = 1) -> Batch:
        return make_prompts([self._prompt(text)] * count)

    def _prompt(self, text: str) -> list[int]:
        return [self.tokenizer.special.start, *self.tokenizer.encode(text)]

    # --- samples during training ------------------------------------------------------------------------------

    def sample(self) -> str:
        """A sample to log after an evaluation."""
        return self.generate(max_length=_SAMPLE_LENGTH, temperature=0.8)[0]

    def samples(self, seed: int) -> list[str]:
        """Samples for the report."""
        return self.generate(max_length=60, count=3, temperature=0.8, seed=seed)

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f'firth run {self.run.path} "a prompt"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The answer of `firth run` to a line."""
        return lm_commands.answer(self, line, options)

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        return lm_commands.format_answer(answer)


def make_prompts(sequences: Sequence[Sequence[int]]) -> Batch:
    """Sequences of token ids (all of one length, [START] first) as a batch for generation."""
    ids = np.array(sequences, np.int64)
    return Batch({"text": Tokens(ids, np.ones(ids.shape, bool))}, {}).to("cpu")


def _group_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Indices of sequences to score together: of similar length, within a budget of tokens."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not groups or (len(groups[-1]) + 1) * lengths[index] > _MAX_BATCH_TOKENS:
            groups.append([])
        groups[-1].append(index)
    return groups


def _pad(sequences: Sequence[Sequence[int]], special: SpecialTokens) -> Batch:
    """Sequences as a batch: [START] before each, padding after it."""
    width = max(1, *map(len, sequences))
    values = np.full((len(sequences), width), special.pad_id, np.int64)
    mask = np.zeros(values.shape, bool)
    for index, ids in enumerate(sequences):
        values[index, : len(ids)], mask[index, : len(ids)] = ids, True
    inputs = np.where(mask, np.roll(values, 1, axis=1), special.pad_id)
    inputs[:, 0] = special.start
    return Batch({"text": Tokens(inputs, mask)}, {"text": Target(values, mask.astype(np.float32))})
