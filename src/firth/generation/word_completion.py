"""Word completion: the most probable next words, summed over all token sequences (subword segmentations) of a word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from firth.tokenizers.word_boundaries import TokenBytes, TokenSpelling, completed_word, ends_in_word
from firth.types import Batch, Stepper, Tokens

_BEAM_SIZE = 64  # prefixes extended together
_MAX_TOKENS = 32  # of a word
_PRUNE_BELOW = 1e-3  # prefixes with less than this fraction of the last returned word's probability are pruned


class Completion(NamedTuple):
    """A word or token, and its probability given the text before it and the characters it begins with."""

    text: str
    probability: float


class _Prefix(NamedTuple):
    """A prefix of a word: its tokens' bytes and their probability."""

    text: bytes
    probability: float


class _Extension(NamedTuple):
    """A prefix that is one token longer than its parent."""

    parent: int
    token: int
    prefix: _Prefix


def complete_word(
    stepper: Stepper, context: Sequence[int], partial_word: str, count: int, spelling: TokenSpelling, *, end: int
) -> list[Completion]:
    """The most probable words after the tokens `context` that start with `partial_word` (with the space before it).

    A probability is the sum over the token sequences found; improbable segmentations of a word may be left out.
    """
    ids = torch.tensor([context])
    last, state = ids[:, -1], stepper.start(Batch({"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}, {}))
    words, prefixes = _WordProbabilities(partial_word, end), [_Prefix(b"", 1.0)]
    table = spelling.initial if len(context) == 1 else spelling.inside  # only [START] in the context
    for _ in range(_MAX_TOKENS):
        log_probs, state = stepper.step(last, state)
        extensions = words.extend(prefixes, log_probs.double().exp().numpy(), table)
        threshold = _PRUNE_BELOW * words.last_probability(count)
        extensions = [each for each in extensions if each.prefix.probability > threshold][:_BEAM_SIZE]
        if not extensions:
            break
        prefixes, table = [each.prefix for each in extensions], spelling.inside
        last = torch.tensor([each.token for each in extensions])
        state = state.reorder(torch.tensor([each.parent for each in extensions]))
    return words.best(count)


class _WordProbabilities:
    """The probabilities of finished words, and the probability that the text continues with `partial_word` at all."""

    def __init__(self, partial_word: str, end: int) -> None:
        self.partial_word, self.partial_bytes, self.end = partial_word, partial_word.encode(), end
        self.words: defaultdict[str, float] = defaultdict(float)
        self.total = 0.0 if partial_word else 1.0
        self._masks: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = {}

    def extend(self, prefixes: Sequence[_Prefix], probabilities: np.ndarray, table: TokenBytes) -> list[_Extension]:
        """The unfinished prefixes one token longer, best first; words that end get their probability."""
        extensions = []
        for parent, prefix in enumerate(prefixes):
            joint = prefix.probability * probabilities[parent]
            for token in self._next_tokens(prefix, joint, table).tolist():
                longer = _Prefix(prefix.text + table.tokens[token], float(joint[token]))
                if self._is_unfinished(longer):
                    extensions.append(_Extension(parent, token, longer))
        return sorted(extensions, key=lambda each: -each.prefix.probability)

    def best(self, count: int) -> list[Completion]:
        """The most probable words."""
        order = sorted(self.words.items(), key=lambda item: -item[1])[:count]
        return [Completion(word, mass / self.total) for word, mass in order if mass > 0]

    def last_probability(self, count: int) -> float:
        """The probability of the last word that will be returned, as far as it is known."""
        masses = sorted(self.words.values(), reverse=True)
        return masses[count - 1] if len(masses) >= count else 0.0

    def _add(self, word: str, mass: float) -> None:
        """White space before a word does not distinguish words."""
        self.words[word.lstrip()] += mass

    def _next_tokens(self, prefix: _Prefix, joint: np.ndarray, table: TokenBytes) -> np.ndarray:
        """The most probable tokens that may follow. Where the word can end, all the ways to end it are counted."""
        missing = self.partial_bytes[len(prefix.text) :]
        if missing:
            covering, allowed = self._matching(missing, table)
            self.total += float(joint[covering].sum())
        elif (word := _decode(prefix.text)) and ends_in_word(word):
            allowed = table.continues_word
            self._add(word, float(joint[table.non_empty & ~allowed].sum() + joint[self.end]))
        else:  # nothing but white space, or a part of a character
            allowed = table.non_empty
        order = np.argsort(-np.where(allowed, joint, -1.0), kind="stable")[:_BEAM_SIZE]
        possible: np.ndarray = order[allowed[order]]
        return possible

    def _matching(self, missing: bytes, table: TokenBytes) -> tuple[np.ndarray, np.ndarray]:
        """Tokens that cover all missing bytes, and those that cover all or a part of them."""
        key = (id(table), missing)
        if key not in self._masks:
            covering = table.matching(lambda text: text.startswith(missing))
            self._masks[key] = covering, covering | table.matching(lambda text: bool(text) and missing.startswith(text))
        return self._masks[key]

    def _is_unfinished(self, prefix: _Prefix) -> bool:
        """Whether a prefix can be extended; if its word has ended, the word gets the probability."""
        if len(prefix.text) < len(self.partial_bytes):
            return True
        text = _decode(prefix.text)
        word = completed_word(self.partial_word, text) if text else None
        if word is not None:
            self._add(word, prefix.probability)
        return word is None and text is not None


def _decode(data: bytes) -> str | None:
    """The bytes as text: empty while the last character is incomplete, None if they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return "" if error.reason == "unexpected end of data" else None
