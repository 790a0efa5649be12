"""Surprisal of human text against the model's own, token by token: greedy, beam, nucleus (Holtzman et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from firth.config.core import bounded
from firth.errors import FirthError
from firth.metrics.repetition import ORDERS, distinct_n, seq_rep_n
from firth.pipelines.language_model import LanguageModel, make_prompts
from firth.report.surprisal_plot import KINDS, Continuation, Passage, SurprisalStudy

_MIN_CONTINUATION = 10  # tokens of a human continuation
Sequences = list[list[int]]


@dataclass(frozen=True)
class SurprisalConfig:
    """Settings of a surprisal study."""

    passages: int = bounded(8, least=1)
    prompt_length: int = bounded(20, least=1)  # tokens
    length: int = bounded(80, least=_MIN_CONTINUATION)  # tokens after the prompt
    beam_size: int = bounded(5, least=1)
    top_p: float = bounded(0.95, above=0.0, most=1.0)
    seed: int = bounded(0, least=0)


def study_surprisal(
    model: LanguageModel, documents: Iterable[str], config: SurprisalConfig, name: str = ""
) -> SurprisalStudy:
    """Continue prompts from documents by greedy decoding, beam search and nucleus sampling, beside the human text.

    A continuation that ended has [END] as its last token.
    """
    prompt_ids, human = _select_prompts(model, documents, config)
    texts = {"human": human, **_generate(model, prompt_ids, config)}
    probabilities = {kind: _probabilities(model, prompt_ids, rows) for kind, rows in texts.items()}
    passages = tuple(
        Passage(model.tokenizer.decode(row), _continuations(model, row, n, texts, probabilities))
        for n, row in enumerate(prompt_ids)
    )
    rows = tuple(_summary(kind, texts[kind], probabilities[kind], model.end_and_banned[0]) for kind in KINDS)
    return SurprisalStudy(f"How probable is each token? {name}".rstrip(), _describe(config), passages, rows)


def _select_prompts(
    model: LanguageModel, documents: Iterable[str], config: SurprisalConfig
) -> tuple[Sequences, Sequences]:
    """Prompts and their human continuations, from documents that are long enough, spread over the text."""
    end = model.end_and_banned[0]
    rows = [[*ids, end] for ids in model.tokenizer.encode_batch(list(documents))]
    max_tokens = max((len(row) for row in rows), default=0)
    min_tokens = config.prompt_length + min(config.length, max(_MIN_CONTINUATION, max_tokens - config.prompt_length))
    long_enough = [row for row in rows if len(row) >= min_tokens] or [row for row in rows if len(row) == max_tokens]
    if max_tokens < config.prompt_length + _MIN_CONTINUATION:
        what = (
            f"the longest document has {max_tokens} tokens, and {config.prompt_length + _MIN_CONTINUATION} are needed"
        )
        raise FirthError(what, do="give a shorter --prompt-length, longer text, or --document file")
    indices = np.linspace(0, len(long_enough) - 1, min(config.passages, len(long_enough))).round().astype(int)
    selected = [long_enough[index] for index in indices]
    stop = config.prompt_length + config.length
    return [row[: config.prompt_length] for row in selected], [row[config.prompt_length : stop] for row in selected]


def _generate(model: LanguageModel, prompt_ids: Sequences, config: SurprisalConfig) -> dict[str, Sequences]:
    """The model's own continuations by each decoding method."""
    from firth.generation.beam_search import BeamConfig, beam_search
    from firth.generation.sampling import SamplingConfig, sample

    (end, banned), batch = (
        model.end_and_banned,
        make_prompts([[model.tokenizer.special.start, *row] for row in prompt_ids]),
    )
    special = {"end": end, "banned": banned}
    generated: dict[str, Sequence[Any]] = {}
    for kind, sampling in {
        "greedy": SamplingConfig(temperature=0.0),
        "nucleus": SamplingConfig(top_p=config.top_p),
    }.items():
        generated[kind] = sample(model.stepper, batch, config.length, sampling, config.seed, **special)
    best = beam_search(model.stepper, batch, config.length, BeamConfig(config.beam_size), **special)
    generated["beam"] = [each[0] for each in best]
    return {kind: [[*each.ids, *[end] * each.ended] for each in rows] for kind, rows in generated.items()}


def _probabilities(model: LanguageModel, prompt_ids: Sequences, rows: Sequences) -> list[list[float]]:
    """The probability of each token of the continuations."""
    scores = model.id_scores([[*prompt, *row] for prompt, row in zip(prompt_ids, rows, strict=True)])
    return [np.exp(score[len(prompt) :]).tolist() for prompt, score in zip(prompt_ids, scores, strict=True)]


def _continuations(
    model: LanguageModel, prompt: list[int], at: int, texts: Mapping[str, Sequences],
    probabilities: Mapping[str, list[list[float]]],
) -> tuple[Continuation, ...]:  # fmt: skip
    return tuple(
        Continuation(kind, tuple(_token_texts(model, prompt, texts[kind][at])), tuple(probabilities[kind][at]))
        for kind in KINDS
    )


def _token_texts(model: LanguageModel, prompt: list[int], row: list[int]) -> list[str]:
    """The text that each token adds; special tokens by their names."""
    texts = [model.tokenizer.decode([*prompt, *row[:count]]) for count in range(len(row) + 1)]
    special = model.tokenizer.special.ids
    return [
        model.tokenizer.id_to_token(token) if token in special else after[len(text) :]
        for token, (text, after) in zip(row, pairwise(texts), strict=True)
    ]


def _summary(kind: str, rows: Sequences, probabilities: list[list[float]], end: int) -> dict[str, Any]:
    """The statistics of one kind of text; [END] counts for the probability only."""
    texts = [[token for token in row if token != end] for row in rows]
    all_probabilities = [probability for each in probabilities for probability in each]
    possible = all(probability > 0 for probability in all_probabilities)
    nll = -sum(map(math.log, all_probabilities)) / len(all_probabilities) if possible else math.inf
    repetition = {f"seq-rep-{order}": _mean([seq_rep_n(text, order) for text in texts]) for order in ORDERS}
    return {
        "text": kind,
        "tokens": len(all_probabilities),
        "mean probability": sum(all_probabilities) / len(all_probabilities),
        "perplexity": math.exp(nll) if nll < 700.0 else math.inf,
        **repetition,
        "distinct-2": distinct_n(texts, 2),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _describe(config: SurprisalConfig) -> str:
    return (
        f"The first {config.prompt_length} tokens of each text are the prompt; beam size {config.beam_size}, top-p "
        f"{config.top_p:g}, seed {config.seed}. The top panel has means over the passages, smoothed over five tokens."
    )
