"""Constrained decoding as a change of log-probabilities, for sampling and for beam search: minimum length,
no_repeat_ngram_size, repetition penalty, bad words, forced prefixes and forced words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from firth.config.core import bounded
from firth.errors import FirthError
from firth.generation.lexical_constraints import PhrasalConstraints

TokenSequences = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Constraints:
    """Constraints on the generated text; the defaults are none. Words are sequences of token ids."""

    min_length: int = bounded(0, least=0)  # tokens before [END] is allowed
    no_repeat_ngram_size: int = bounded(0, least=0)  # no token n-gram of this size occurs twice; 0: off
    repetition_penalty: float = bounded(1.0, least=1.0, most=100.0)  # theta of Keskar et al. 2019; 1: no penalty
    bad_words: TokenSequences = ()  # words that must not occur
    prefixes: TokenSequences = ()  # forced prefix of the text: one for all inputs, or one for each
    force_words: TokenSequences = ()  # words that must occur, in any order


class ConstraintProcessor:
    """Applies constraints to log-probabilities (Hugging Face: logits processor), for some inputs and a length."""

    def __init__(
        self, constraints: Constraints, banned: Sequence[int], end: int, inputs: int, max_length: int, size: int
    ) -> None:
        self.constraints, self.end, self.max_length = constraints, end, max_length
        _check(constraints, inputs, max_length, size, {*banned, end})
        words = sorted({tuple(word) for word in (*constraints.bad_words, *((token,) for token in banned))}, key=len)
        self.bad_words = [torch.tensor(list(group)) for _, group in groupby(words, key=len)]
        self.phrases = PhrasalConstraints(constraints.force_words) if constraints.force_words else None
        self.prefixes = _pad_prefixes(constraints.prefixes, inputs)
        # without a penalty, beam scores are the model's own log-probabilities
        self.penalises = constraints.repetition_penalty != 1.0

    @classmethod
    def create(
        cls,
        constraints: Constraints | None,
        banned: Sequence[int],
        end: int,
        inputs: int,
        max_length: int,
        size: int,
    ) -> ConstraintProcessor | None:
        """None where there are no constraints, so that nothing is computed for them."""
        if constraints in (None, Constraints()):
            return None
        return cls(constraints, banned, end, inputs, max_length, size)

    def apply(self, log_probs: Tensor, ids: Tensor, inputs: Tensor) -> Tensor:
        """Log-probabilities (rows, size) after the tokens `ids` (rows, so far) of these inputs, -inf for what is not
        allowed. The model's own tensor stays as it is."""
        allowed, time = log_probs.clone(), ids.shape[1]
        if self.penalises and time:
            _penalise_repetition(allowed, ids, self.constraints.repetition_penalty)
        for words in self.bad_words:
            _ban_words(allowed, ids, words)
        if 0 < self.constraints.no_repeat_ngram_size <= time:
            _ban_repeated_ngrams(allowed, ids, self.constraints.no_repeat_ngram_size)
        if time < self.constraints.min_length:
            allowed[:, self.end] = -torch.inf
        complete = self._force_words(allowed, ids)
        if time < self.prefixes.shape[1]:
            complete &= _force_prefix(allowed, log_probs, self.prefixes[inputs, time])
        dead_end = allowed.isneginf().all(1) & complete
        if bool(dead_end.any()):  # no token is possible: the text ends
            allowed[dead_end, self.end] = _finite(log_probs[dead_end, self.end])
        return allowed

    def _force_words(self, allowed: Tensor, ids: Tensor) -> Tensor:
        """No [END] before all phrases have occurred, and room for the missing ones. Returns which rows have all."""
        if self.phrases is None:
            return torch.ones(len(allowed), dtype=torch.bool, device=allowed.device)
        phrases, remaining = self.phrases, self.max_length - ids.shape[1]
        missing = phrases.total - phrases.completed_tokens(ids)
        allowed[missing > 0, self.end] = -torch.inf
        # rows where any token of no phrase would take the room that is needed
        rows = ((missing > 0) & (missing >= remaining)).nonzero().squeeze(-1)
        if len(rows):
            feasible = phrases.feasible(ids[rows], remaining)
            phrase_log_probs = allowed[rows[:, None], phrases.tokens].masked_fill(~feasible, -torch.inf)
            allowed[rows] = -torch.inf
            allowed[rows[:, None], phrases.tokens] = phrase_log_probs
        return missing == 0


def _finite(values: Tensor) -> Tensor:
    return values.masked_fill(values.isneginf(), 0.0)


def _penalise_repetition(log_probs: Tensor, ids: Tensor, theta: float) -> None:
    """Multiply the log-probabilities of generated tokens by theta: all are below 0, so they fall (Keskar et al. 2019
    divide logits, which only models with logits have)."""
    log_probs.scatter_(1, ids, log_probs.gather(1, ids) * theta)


def _ban_words(log_probs: Tensor, ids: Tensor, words: Tensor) -> None:
    """Ban the last token of words (words, tokens) whose other tokens were just generated."""
    before = words.shape[1] - 1
    if not before:
        log_probs[:, words[:, 0]] = -torch.inf
    elif ids.shape[1] >= before:
        matches = (ids[:, None, ids.shape[1] - before :] == words[None, :, :-1]).all(2)  # (rows, words)
        row, word = matches.nonzero(as_tuple=True)
        log_probs[row, words[word, -1]] = -torch.inf


def _ban_repeated_ngrams(log_probs: Tensor, ids: Tensor, size: int) -> None:
    """Ban every token that would repeat an n-gram of this size."""
    ngrams = ids.unfold(1, size, 1)  # (rows, positions, size)
    same = (ngrams[:, :, :-1] == ids[:, None, ids.shape[1] - size + 1 :]).all(2)
    row, position = same.nonzero(as_tuple=True)
    log_probs[row, ngrams[row, position, -1]] = -torch.inf


def _force_prefix(allowed: Tensor, log_probs: Tensor, tokens: Tensor) -> Tensor:
    """Allow only the prefix's next token, where there is one (rows; -1: none). Returns which rows have none."""
    forced = (tokens >= 0).nonzero().squeeze(-1)
    allowed[forced] = -torch.inf
    allowed[forced, tokens[forced]] = log_probs[forced, tokens[forced]]
    return tokens < 0


def _pad_prefixes(prefixes: TokenSequences, inputs: int) -> Tensor:
    """(inputs, tokens), -1 after the end of a prefix."""
    rows = prefixes * inputs if len(prefixes) == 1 else prefixes
    padded = torch.full((inputs, max(map(len, rows), default=0)), -1)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = torch.tensor(row, dtype=torch.long)
    return padded


def _check(constraints: Constraints, inputs: int, max_length: int, size: int, special: set[int]) -> None:
    """Refuse constraints that cannot be satisfied."""
    for name in ("bad_words", "prefixes", "force_words"):
        words = getattr(constraints, name)
        if any(not 0 <= token < size for word in words for token in word):
            raise FirthError("a token that is not in the vocabulary", where=name, do="encode it with this tokenizer")
        if name != "prefixes" and not all(words):
            raise FirthError("a word without tokens", where=name, do="leave it out")
    if len(constraints.prefixes) not in (0, 1, inputs):
        what = f"{len(constraints.prefixes)} prefixes for {inputs} inputs"
        raise FirthError(what, where="prefixes", do="give one for all, or one for each")
    for word in constraints.force_words:
        if special & {*word} or any(_contains(word, other) for other in constraints.bad_words):
            raise FirthError("a forced word that is banned", where="force_words", do="ban it or force it, not both")
    needed = max(map(len, constraints.prefixes), default=0) + sum(map(len, {*constraints.force_words}))
    if needed > max_length:
        what = f"the constraints take {needed} tokens, and at most {max_length} are generated"
        where = "force_words" if constraints.force_words else "prefixes"
        raise FirthError(what, where=where, do="allow a greater length")


def _contains(whole: Sequence[int], part: Sequence[int]) -> bool:
    size = len(part)
    return any(tuple(whole[n : n + size]) == tuple(part) for n in range(len(whole) - size + 1))
