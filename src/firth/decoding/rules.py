"""What a text must have and must not have, as a change of log-probabilities; for sampling and for search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from firth.config.core import bounded
from firth.decoding.required import Phrases
from firth.errors import FirthError

Words = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Rules:
    """Rules for what is written; with their defaults there are none. Words are given as their tokens."""

    shortest: int = bounded(0, least=0)  # tokens before [END] may come
    no_repeat: int = bounded(0, least=0)  # no sequence of so many tokens comes twice; 0: any may
    repetition: float = bounded(1.0, least=1.0, most=100.0)  # theta of Keskar et al. 2019; 1: no penalty
    banned: Words = ()  # words that must not come
    begun: Words = ()  # what the text begins with: one for all inputs, or one for each
    required: Words = ()  # words that must come, in any order


class Keeper:
    """Rules made ready for some inputs and a length."""

    def __init__(self, rules: Rules, banned: Sequence[int], end: int, inputs: int, length: int, size: int) -> None:
        self.rules, self.end, self.length = rules, end, length
        _check(rules, inputs, length, size, {*banned, end})
        words = sorted({tuple(word) for word in (*rules.banned, *((token,) for token in banned))}, key=len)
        self.banned = [torch.tensor(list(group)) for _, group in groupby(words, key=len)]
        self.phrases = Phrases(rules.required) if rules.required else None
        self.begun = _beginnings(rules.begun, inputs)
        self.scales = rules.repetition != 1.0  # else what is chosen by is the model's own log-probability

    @classmethod
    def of(
        cls, rules: Rules | None, banned: Sequence[int], end: int, inputs: int, length: int, size: int
    ) -> Keeper | None:
        """None where there are no rules, so that nothing is done for them."""
        return None if rules in (None, Rules()) else cls(rules, banned, end, inputs, length, size)

    def kept(self, rows: Tensor, ids: Tensor, inputs: Tensor) -> Tensor:
        """Log-probabilities (rows, size) after the tokens `ids` (rows, so far) of these inputs, -inf for what must not
        come. The rows of the model stay as they are."""
        found, time = rows.clone(), ids.shape[1]
        if self.scales and time:
            _penalise(found, ids, self.rules.repetition)
        for words in self.banned:
            _ban(found, ids, words)
        if 0 < self.rules.no_repeat <= time:
            _ban_repeated(found, ids, self.rules.no_repeat)
        if time < self.rules.shortest:
            found[:, self.end] = -torch.inf
        whole = self._require(found, ids)
        opened = time < self.begun.shape[1]
        if opened:
            whole &= _begin(found, rows, self.begun[inputs, time])
        stuck = found.isneginf().all(1) & whole
        if bool(stuck.any()):  # nothing can follow: the text ends
            found[stuck, self.end] = _finite(rows[stuck, self.end])
        return found

    def _require(self, found: Tensor, ids: Tensor) -> Tensor:
        """No [END] before all phrases are there, and room for those that are missing. Which rows have all of them."""
        if self.phrases is None:
            return torch.ones(len(found), dtype=torch.bool, device=found.device)
        phrases, left = self.phrases, self.length - ids.shape[1]
        missing = phrases.total - phrases.whole(ids)
        found[missing > 0, self.end] = -torch.inf
        rows = ((missing > 0) & (missing >= left)).nonzero().squeeze(-1)  # any other token would take the room
        if len(rows):
            kept = found[rows[:, None], phrases.tokens].masked_fill(~phrases.saving(ids[rows], left), -torch.inf)
            found[rows] = -torch.inf
            found[rows[:, None], phrases.tokens] = kept
        return missing == 0


def _finite(values: Tensor) -> Tensor:
    return values.masked_fill(values.isneginf(), 0.0)


def _penalise(found: Tensor, ids: Tensor, theta: float) -> None:
    """Log-probabilities of tokens that were written, times theta: all are below 0, so they fall (Keskar et al. 2019
    divide logits, which only models with logits have)."""
    found.scatter_(1, ids, found.gather(1, ids) * theta)


def _ban(found: Tensor, ids: Tensor, words: Tensor) -> None:
    """Ban the last token of words (words, tokens) whose other tokens were just written."""
    before = words.shape[1] - 1
    if not before:
        found[:, words[:, 0]] = -torch.inf
    elif ids.shape[1] >= before:
        begun = (ids[:, None, ids.shape[1] - before :] == words[None, :, :-1]).all(2)  # (rows, words)
        row, word = begun.nonzero(as_tuple=True)
        found[row, words[word, -1]] = -torch.inf


def _ban_repeated(found: Tensor, ids: Tensor, size: int) -> None:
    """Ban what followed the last size - 1 tokens before."""
    windows = ids.unfold(1, size, 1)  # (rows, places, size)
    same = (windows[:, :, :-1] == ids[:, None, ids.shape[1] - size + 1 :]).all(2)
    row, place = same.nonzero(as_tuple=True)
    found[row, windows[row, place, -1]] = -torch.inf


def _begin(found: Tensor, rows: Tensor, tokens: Tensor) -> Tensor:
    """Only the token that a text must begin with, where it has one (rows; -1: none). Which rows have none."""
    forced = (tokens >= 0).nonzero().squeeze(-1)
    found[forced] = -torch.inf
    found[forced, tokens[forced]] = rows[forced, tokens[forced]]
    return tokens < 0


def _beginnings(begun: Words, inputs: int) -> Tensor:
    """(inputs, tokens), -1 after the end of a beginning."""
    rows = begun * inputs if len(begun) == 1 else begun
    found = torch.full((inputs, max(map(len, rows), default=0)), -1)
    for number, row in enumerate(rows):
        found[number, : len(row)] = torch.tensor(row, dtype=torch.long)
    return found


def _check(rules: Rules, inputs: int, length: int, size: int, special: set[int]) -> None:
    """Refuse rules that cannot be kept."""
    for name in ("banned", "begun", "required"):
        words = getattr(rules, name)
        if any(not 0 <= token < size for word in words for token in word):
            raise FirthError("a token that is not in the vocabulary", where=name, do="encode it with this tokenizer")
        if name != "begun" and not all(words):
            raise FirthError("a word without tokens", where=name, do="leave it out")
    if len(rules.begun) not in (0, 1, inputs):
        what = f"{len(rules.begun)} beginnings for {inputs} inputs"
        raise FirthError(what, where="begun", do="give one for all, or one for each")
    for word in rules.required:
        if special & {*word} or any(_within(other, word) for other in rules.banned):
            raise FirthError("a required word that is banned", where="required", do="ban it or require it, not both")
    needed = max(map(len, rules.begun), default=0) + sum(map(len, {*rules.required}))
    if needed > length:
        what = f"what is required takes {needed} tokens, and at most {length} may be written"
        raise FirthError(what, where="required" if rules.required else "begun", do="allow a greater length")


def _within(part: Sequence[int], whole: Sequence[int]) -> bool:
    size = len(part)
    return any(tuple(whole[n : n + size]) == tuple(part) for n in range(len(whole) - size + 1))
