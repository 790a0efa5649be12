"""A recogniser of typed sentences: a noisy keyboard (channel) and the n best readings of what was typed.

Each letter, and the space bar, is typed as another key with a known probability, mostly a neighbour on the keyboard;
capitals stay capitals, and punctuation is right. A hypothesis is any sequence of words of the world whose letters have
the same number as those typed; its score is the exact log-probability of what was typed, given it. So the recogniser
knows the words and nothing of the language, and log score + log P(sentence) ranks hypotheses by their true posterior.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firth.datasets.records import Hypothesis, NBest
from firth.datasets.world.clauses import LIVE
from firth.datasets.world.grammar import SAY, WORK
from firth.datasets.world.lexicon import Lexicon
from firth.datasets.world.surface_text import realise
from firth.datasets.world.vocabulary_size import all_word_forms
from firth.datasets.world.word_forms import FUNCTION_WORDS
from firth.errors import FirthError
from firth.types import generator

if TYPE_CHECKING:
    from firth.datasets.world.world_text import World

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")  # each is half a key right of the one above
BELOW = {" ": "cvbnm"}  # the space bar, and the keys that touch it
KEYS = LETTERS + " "
SYMBOLS = KEYS + LETTERS.upper() + ","  # those of a sentence without its full stop
SPACE = SYMBOLS.index(" ")
ERROR_RATE = 0.4  # of the letters and spaces: high, since the recogniser knows all words
FAR = 0.1  # of the errors: any other key


def neighbours(key: str) -> str:
    """The keys beside a key."""
    if key in BELOW:
        return BELOW[key]
    row = next(n for n, keys in enumerate(ROWS) if key in keys)
    at = ROWS[row].index(key)
    beside = {(row, at - 1), (row, at + 1), (row - 1, at), (row - 1, at + 1), (row + 1, at - 1), (row + 1, at)}
    letters = [ROWS[r][c] for r, c in sorted(beside) if 0 <= r < len(ROWS) and 0 <= c < len(ROWS[r])]
    return "".join(letters) + (" " if key in BELOW[" "] else "")


def channel_probabilities(error_rate: float) -> np.ndarray:
    """P(typed | meant) of all symbols (meant, typed); rows sum to one."""
    table = np.eye(len(SYMBOLS))
    for meant in KEYS:
        _fill(table, meant, KEYS, neighbours(meant), error_rate)
    for meant in LETTERS:  # with the shift key there is no space
        _fill(table, meant.upper(), LETTERS.upper(), neighbours(meant).strip().upper(), error_rate)
    return table


def _fill(table: np.ndarray, meant: str, keys: str, near: str, error_rate: float) -> None:
    row = table[SYMBOLS.index(meant)]
    far = [key for key in keys if key != meant and key not in near]
    row[SYMBOLS.index(meant)] = 1 - error_rate
    row[[SYMBOLS.index(key) for key in near]] = error_rate * (1 - FAR) / len(near)
    row[[SYMBOLS.index(key) for key in far]] = error_rate * FAR / len(far)


def encode(text: str) -> np.ndarray:
    """The symbols of a text as numbers."""
    return np.array([SYMBOLS.index(sign) for sign in text], np.int64)


def word_forms(lexicon: Lexicon) -> list[str]:
    """All words of the world's sentences, in alphabetical order; names of several words are as many."""
    verbs = {form for verb in (WORK, SAY, LIVE) for form in (verb.base, verb.third, verb.past)}
    words = {word for form in all_word_forms(lexicon) for word in form.split(" ")}
    return sorted(words | verbs | {"that"} | set(FUNCTION_WORDS) - {".", ","})


class _Words(NamedTuple):
    """The words of one length: their numbers, and their symbols at the start of a sentence and elsewhere."""

    numbers: np.ndarray  # (words,)
    first: np.ndarray  # (length, words)
    inside: np.ndarray  # (length, words)


class _Beam(NamedTuple):
    """The best readings up to a position, best first."""

    scores: np.ndarray
    before: np.ndarray  # the position where the last word begins …
    rank: np.ndarray  # … the rank of the reading up to there
    word: np.ndarray  # … and the word


_NONE = _Beam(*[np.zeros(0, int)] * 4)


@dataclass(frozen=True)
class Recogniser:
    """The channel and the n-best search of a lexicon."""

    lexicon: Lexicon = field(repr=False)
    error_rate: float = ERROR_RATE

    def __post_init__(self) -> None:
        if not 0 < self.error_rate < 1:
            raise FirthError(f"error rate {self.error_rate}", where="recogniser", do="use one between 0 and 1")

    @cached_property
    def probabilities(self) -> np.ndarray:
        """P(typed | meant)."""
        return channel_probabilities(self.error_rate)

    @cached_property
    def _log_table(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities)

    @cached_property
    def words(self) -> list[str]:
        """The words that it knows, those with a comma after them too."""
        return [word + mark for word in word_forms(self.lexicon) for mark in ("", ",")]

    @cached_property
    def _by_length(self) -> dict[int, _Words]:
        numbers = defaultdict(list)
        for number, word in enumerate(self.words):
            numbers[len(word)].append(number)
        return {length: self._encode(group) for length, group in sorted(numbers.items())}

    def _encode(self, numbers: list[int]) -> _Words:
        words = [self.words[number] for number in numbers]
        first = [encode(word[:1].upper() + word[1:]) for word in words]
        return _Words(np.array(numbers), np.array(first).T, np.array([encode(word) for word in words]).T)

    def type(self, text: str, rng: np.random.Generator) -> np.ndarray:
        """What is typed for a text without its full stop: a sample of the channel, as symbols."""
        bounds = np.cumsum(self.probabilities, 1)[encode(text)]
        return (rng.random((len(text), 1)) > bounds).sum(1).clip(max=len(SYMBOLS) - 1)

    def log_probability(self, typed: np.ndarray, text: str) -> float:
        """The log-probability of what was typed, given the text."""
        return float(self._log_table[encode(text), typed].sum())

    def nbest(self, typed: np.ndarray, count: int) -> list[tuple[str, float]]:
        """The `count` readings with the highest log-probability of what was typed, best first."""
        beams = {0: _Beam(np.zeros(1), np.zeros(1, int), np.zeros(1, int), np.zeros(1, int))}
        emissions = {length: self._emissions(typed, length, count) for length in self._by_length}
        for end in range(2, len(typed) + 2):
            starts = {
                end - length - 1: length for length in emissions if len(beams.get(end - length - 1, _NONE).scores)
            }
            if starts:
                beams[end] = _best(
                    {s: (beams[s].scores, *(a[s] for a in emissions[n])) for s, n in starts.items()}, count
                )
        last = len(typed) + 1
        readings = beams[last].scores.tolist() if last in beams else []
        return [(self._text(beams, last, rank), score) for rank, score in enumerate(readings)]

    def _emissions(self, typed: np.ndarray, length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The `count` best words of a length at each start (starts, count): log-probabilities with the space after the
        word, and numbers."""
        words, starts = self._by_length[length], len(typed) - length + 1
        if starts < 1:
            return np.zeros((0, 0)), np.zeros((0, 0), int)
        seen = np.lib.stride_tricks.sliding_window_view(typed, length)  # (starts, length)
        scores = sum(self._log_table[words.inside[at]][:, seen[:, at]] for at in range(length)).T  # (starts, words)
        scores[0] = sum(self._log_table[words.first[at], seen[0, at]] for at in range(length))
        spaces = np.append(self._log_table[SPACE, typed[length:]], 0.0)  # nothing follows the last word
        keep = min(count, scores.shape[1])
        order = np.argpartition(-scores, keep - 1, 1)[:, :keep]
        return np.take_along_axis(scores, order, 1) + spaces[:, None], words.numbers[order]

    def _text(self, beams: dict[int, _Beam], end: int, rank: int) -> str:
        words: list[str] = []
        while end:
            beam = beams[end]
            words.append(self.words[beam.word[rank]])
            end, rank = int(beam.before[rank]), int(beam.rank[rank])
        return realise(" ".join(reversed(words)), ".")


def _best(options: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]], count: int) -> _Beam:
    """The best readings, each a reading up to a start and a word from there; those of probability zero are left out.

    `options`: for each start the scores of the readings, and the scores and numbers of the words."""
    sums = [(readings[:, None] + words).ravel() for readings, words, _ in options.values()]
    scores, sizes = np.concatenate(sums), np.cumsum([0, *map(len, sums)])
    order = np.argpartition(-scores, min(count, len(scores)) - 1)[:count]
    order = order[np.isfinite(scores[order])]
    order = order[np.lexsort((order, -scores[order]))]
    which = np.searchsorted(sizes, order, "right") - 1
    starts, numbers = list(options), [numbers for *_, numbers in options.values()]
    pairs = [divmod(int(at - sizes[n]), len(numbers[n])) for at, n in zip(order, which, strict=True)]
    words = [numbers[n][word] for n, (_, word) in zip(which, pairs, strict=True)]
    before, rank = np.array(starts, int)[which], np.array([rank for rank, _ in pairs], int)
    return _Beam(scores[order], before, rank, np.array(words, int))


@lru_cache(maxsize=4)
def _recogniser(lexicon: Lexicon, error_rate: float) -> Recogniser:
    return Recogniser(lexicon, error_rate)


def nbest_list(world: World, number: int, count: int = 20, error_rate: float = ERROR_RATE) -> NBest:
    """The n-best list of one sentence of document `number`; its context is the document before it."""
    rng, recogniser = generator(world.seed, "nbest", number), _recogniser(world.lexicon, error_rate)
    texts = [realise(sentence.text) for sentence in world.story(number).sentences]
    at = int(rng.integers(len(texts)))
    typed = recogniser.type(texts[at].removesuffix("."), rng)
    readings = recogniser.nbest(typed, count)
    hypotheses = tuple([Hypothesis(text, (round(score, 4),)) for text, score in readings])
    return NBest(f"{number}-{at}", hypotheses, texts[at], " ".join(texts[:at]))
