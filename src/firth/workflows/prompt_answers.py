"""How a model answers a prompt: with the answer of the highest likelihood, or by free generation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.pipelines.answer_scores import Scores
from firth.pipelines.language_model import LanguageModel, make_prompts

ScoringMethod = Literal["total", "token", "byte", "calibrated", "generation"]
GENERATION = "generation"
_BATCH_SIZE = 32  # prompts of equal length that are continued together
_EXTRA_TOKENS = 4  # that may be generated beyond the longest answer

Tokens = list[int]


class Prompt(NamedTuple):
    """Demonstrations, the oldest first, and the query that the model answers."""

    demonstrations: tuple[str, ...]
    query: str

    def text(self, separator: str) -> str:
        """The whole prompt."""
        return separator.join((*self.demonstrations, self.query))


class FittedPrompts(NamedTuple):
    """Prompts shortened to the model's context length by dropping demonstrations."""

    prompts: list[Prompt]
    token_ids: list[list[Tokens]]  # of each prompt: alone, then followed by each answer
    dropped: int  # demonstrations
    truncated: int  # prompts with dropped demonstrations
    overlong: int  # prompts that do not fit even without demonstrations


def fit_prompts(
    model: Any, unfitted: Sequence[Prompt], separator: str, answers: Sequence[str] = (), reserved: int = 0
) -> FittedPrompts:
    """Drop the oldest demonstrations of each prompt until it fits with each answer and `reserved` more tokens."""
    fitted, token_ids = list(unfitted), [[] for _ in unfitted]
    pending, overlong = list(range(len(unfitted))), 0
    while pending:
        for at, tokens in zip(pending, _encode(model, [fitted[at] for at in pending], separator, answers), strict=True):
            token_ids[at] = tokens
        limit = getattr(model, "limit", 0)
        too_long = [at for at in pending if limit and max(map(len, token_ids[at])) + reserved > limit]
        pending = [at for at in too_long if fitted[at].demonstrations]
        overlong += len(too_long) - len(pending)
        for at in pending:
            fitted[at] = fitted[at]._replace(demonstrations=fitted[at].demonstrations[1:])
    dropped = [
        len(before.demonstrations) - len(after.demonstrations) for before, after in zip(unfitted, fitted, strict=True)
    ]
    return FittedPrompts(fitted, token_ids, sum(dropped), sum(map(bool, dropped)), overlong)


def _encode(model: Any, unfitted: Sequence[Prompt], separator: str, answers: Sequence[str]) -> Iterable[list[Tokens]]:
    texts = [text + answer for text in (prompt.text(separator) for prompt in unfitted) for answer in ("", *answers)]
    ids, variants = model.tokenizer.encode_batch(texts), 1 + len(answers)
    return (ids[start : start + variants] for start in range(0, len(ids), variants))


# --- by likelihood ------------------------------------------------------------------------------------------------


def score_answers(model: LanguageModel, fitted: FittedPrompts, answers: Sequence[str], cue: str) -> Scores:
    """Compute the likelihood of each answer after each prompt; the prompts must be fitted with these answers."""
    log_likelihoods, token_counts = _log_likelihoods(model, fitted.token_ids, answers)
    unconditional, _ = _log_likelihoods(model, fit_prompts(model, [Prompt((), cue)], "", answers).token_ids, answers)
    return Scores(
        log_likelihoods, token_counts, np.array([len(answer.encode()) for answer in answers]), unconditional[0]
    )


def _log_likelihoods(
    model: LanguageModel, token_ids: Sequence[list[Tokens]], answers: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """The log-likelihoods of the answers and the numbers of scored tokens, both (prompts, answers)."""
    prefix_lengths = [_common_prefix(each) for each in token_ids]
    flat = [row for _, *each in token_ids for row in each]
    scores = iter(model.id_scores(flat))
    oov_nll = np.array(model.oov_nll(answers))
    sums, counts = np.empty((len(token_ids), len(answers))), np.empty((len(token_ids), len(answers)))
    for at, prefix_length in enumerate(prefix_lengths):
        for index in range(len(answers)):
            row = next(scores)[prefix_length:]
            sums[at, index], counts[at, index] = row.sum(dtype=np.float64), len(row)
    return sums - oov_nll, counts


def _common_prefix(rows: Sequence[Tokens]) -> int:
    """The number of leading tokens that all share: a tokenizer may merge the prompt's end with the answer."""
    count, shortest = 0, min(map(len, rows))
    while count < shortest and len({row[count] for row in rows}) == 1:
        count += 1
    return count


# --- by generation --------------------------------------------------------------------------------------------------


def generate_answers(model: Any, fitted: FittedPrompts, separator: str, length: int) -> list[str]:
    """Generate a text after each prompt by greedy decoding."""
    if isinstance(model, LanguageModel):
        return _continue_greedily(model, [tokens for tokens, *_ in fitted.token_ids], length)
    return model.generate([prompt.text(separator) for prompt in fitted.prompts], max_length=length)


def _continue_greedily(model: LanguageModel, token_ids: Sequence[Tokens], length: int) -> list[str]:
    from firth.generation.sampling import SamplingConfig, sample

    (end, banned), start = model.end_and_banned, model.tokenizer.special.start
    groups, texts = defaultdict(list), [""] * len(token_ids)
    for at, row in enumerate(token_ids):
        groups[len(row)].append(at)
    for indices in (group[n : n + _BATCH_SIZE] for group in groups.values() for n in range(0, len(group), _BATCH_SIZE)):
        batch = make_prompts([[start, *token_ids[at]] for at in indices])
        generated = sample(model.stepper, batch, length, SamplingConfig(temperature=0.0), 0, end=end, banned=banned)
        for at, sequence in zip(indices, generated, strict=True):
            prompt = model.tokenizer.decode(token_ids[at])
            texts[at] = model.tokenizer.decode([*token_ids[at], *sequence.ids])[len(prompt) :]
    return texts


def max_answer_tokens(model: Any, answers: Sequence[str]) -> int:
    """The number of tokens of the longest answer, plus a few."""
    return max(map(len, model.tokenizer.encode_batch([f" {answer}" for answer in answers]))) + _EXTRA_TOKENS


def extract_answer(text: str, tail: str, multiline: bool) -> str:
    """The answer in a generated text: up to the template's tail, or to the line's end unless answers are multiline."""
    text = text.strip()
    if tail.strip():
        text = text.partition(tail.strip())[0]
    return (text if multiline else text.partition("\n")[0]).strip()


def require_likelihoods(model: Any, methods: Iterable[str]) -> None:
    """Raise an error for a likelihood-based scoring method if the model gives no likelihoods."""
    for method in methods:
        if method != GENERATION and not isinstance(model, LanguageModel):
            what = f"this model gives no likelihoods, which --scoring {method} needs"
            raise FirthError(what, do=f"use --scoring {GENERATION}")
