"""Unigram pieces (Kudo 2018): of all repeated substrings, fit probabilities by EM and drop the least useful.

Written with NumPy rather than left to the Rust trainer, whose result changes from process to process. Words
of one length are computed together; every sum runs in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

LONGEST_PIECE = 16  # characters
_MOST_CHARACTERS = 1 << 20  # of distinct words, the commonest first: bounds memory (64 bytes each) and time
_MOST_SEEDS = 400_000
_TOGETHER = 1 << 15  # characters computed at once
_SHRINK = 0.75  # of the pieces stay, in each round
_ROUNDS_OF_EM = 2
_LEAST_EXPECTED = 0.5  # a piece expected less often goes


@dataclass(frozen=True)
class Corpus:
    """Distinct words side by side, those of one length together."""

    characters: np.ndarray  # (total,)
    weight: np.ndarray  # (total,) how often the character's word occurs
    left: np.ndarray  # (total,) characters from here to the end of the word
    groups: tuple[tuple[int, int, int], ...]  # length, first character, number of words


@dataclass(frozen=True)
class Pieces:
    """Substrings of the corpus."""

    at: np.ndarray  # (total, LONGEST_PIECE): the piece that starts here and is so long; -1: none
    where: np.ndarray  # (pieces,) one place where it stands
    length: np.ndarray  # (pieces,)
    count: np.ndarray  # (pieces,)


def learn_pieces(counts: Mapping[str, int], room: int, least: int) -> list[tuple[str, float]]:
    """At most `room` pieces with their log-probabilities; every character of the words is one of them."""
    corpus = lay_out(counts)
    pieces = seed(corpus, least)
    score = _logarithms(pieces.count * pieces.length)
    while True:
        for _ in range(_ROUNDS_OF_EM):
            expected = expect(corpus, pieces, score)
            score = _maximise(pieces, score, expected)
        alive, enough = int(np.isfinite(score).sum()), int(room * 1.1)  # the last few go by their score
        if alive <= enough:
            break
        score = _prune(pieces, score, expected, max(int(alive * _SHRINK), enough))
    return _finish(corpus, pieces, score, room)


# --- the corpus and its substrings --------------------------------------------------------------------


def lay_out(counts: Mapping[str, int]) -> Corpus:
    """The commonest words, as far as the bound on memory allows."""
    order = sorted(counts, key=lambda word: (-counts[word], word))
    total = np.cumsum([len(word) for word in order])
    kept = order[: max(1, int(np.searchsorted(total, _MOST_CHARACTERS, side="right")))]
    kept.sort(key=lambda word: (len(word), word))
    lengths = np.array([len(word) for word in kept])
    weight = np.repeat(np.array([counts[word] for word in kept], dtype=np.float64), lengths)
    ends = np.repeat(np.cumsum(lengths), lengths)
    groups, first = [], 0
    for length, number in zip(*np.unique(lengths, return_counts=True), strict=True):
        most = max(1, _TOGETHER // int(length))
        for start in range(0, int(number), most):
            groups.append((int(length), first, min(most, int(number) - start)))
            first += int(length) * groups[-1][2]
    characters = np.frombuffer("".join(kept).encode("utf-32-le"), dtype=np.uint32)
    return Corpus(characters, weight, ends - np.arange(len(ends)), tuple(groups))


def seed(corpus: Corpus, least: int) -> Pieces:
    """All characters, and the substrings that come so often and not always inside the same longer one."""
    levels = list(_levels(corpus, least))
    count = np.concatenate([level.count for level in levels])
    length = np.concatenate([np.full(len(level.count), n + 1) for n, level in enumerate(levels)])
    where = np.concatenate([level.where for level in levels])
    worth = np.where(np.concatenate([level.closed for level in levels]), count * length, 0.0)
    worth[length == 1] = np.inf  # characters always stay
    best = np.argsort(-worth, kind="stable")[: max(_MOST_SEEDS, len(levels[0].count))]
    best = np.sort(best[worth[best] > 0])
    renumbered = np.full(len(count) + 1, -1, dtype=np.int32)  # the last row: no piece
    renumbered[best] = np.arange(len(best))
    starts = np.cumsum([0, *(len(level.count) for level in levels)])
    at = np.full((len(corpus.characters), LONGEST_PIECE), -1, dtype=np.int32)
    for n, level in enumerate(levels):
        at[:, n] = renumbered[np.where(level.at >= 0, level.at + starts[n], len(count))]
    return Pieces(at, where[best], length[best], count[best])


@dataclass(frozen=True)
class _Level:
    """The substrings of one length."""

    at: np.ndarray  # (total,) the substring that starts here; -1: too rare, or beyond the word
    where: np.ndarray
    count: np.ndarray
    closed: np.ndarray  # False: wherever it stands, the same character stands beside it


def _levels(corpus: Corpus, least: int) -> Iterator[_Level]:
    level = _number(corpus.characters.astype(np.int64), np.arange(len(corpus.characters)), corpus.weight, 1)
    for n in range(2, LONGEST_PIECE + 2):
        # A substring is frequent only if the two that are shorter by one are.
        here = np.flatnonzero((corpus.left >= n) & (level.at >= 0))
        here = here[level.at[here + 1] >= 0]
        keys = level.at[here] * np.int64(len(level.count)) + level.at[here + 1]
        longer = _number(keys, here, corpus.weight, least)
        _open(level, longer)
        yield level
        if n > LONGEST_PIECE or not len(longer.count):
            return
        level = longer


def _number(keys: np.ndarray, here: np.ndarray, weight: np.ndarray, least: int) -> _Level:
    """Number the substrings by their keys, without those that are too rare."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    count = np.bincount(inverse, weights=weight[here], minlength=len(first))
    kept = count >= least
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    at = np.full(len(weight), -1, dtype=np.int32)
    at[here] = number[inverse]
    return _Level(at, here[first[kept]], count[kept], np.ones(int(kept.sum()), dtype=bool))


def _open(level: _Level, longer: _Level) -> None:
    """Mark the substrings that are as frequent as one longer by a character, before or behind."""
    for step in (0, 1):
        shorter = level.at[longer.where + step]
        level.closed[shorter[level.count[shorter] == longer.count]] = False


# --- expectation and maximisation ---------------------------------------------------------------------


def expect(corpus: Corpus, pieces: Pieces, score: np.ndarray) -> np.ndarray:
    """How often each piece is used, in expectation over all ways to cut each word."""
    expected = np.zeros(len(score) + 1)
    known = np.append(score, -np.inf)  # index -1: no piece
    widest = int(pieces.length[np.isfinite(score)].max())
    for length, first, number in corpus.groups:
        size = min(length, widest)
        at = pieces.at[first : first + length * number].reshape(number, length, LONGEST_PIECE)[:, :, :size]
        weight = corpus.weight[first : first + length * number : length]
        edges = known[at]  # (words, start, length - 1)
        before, after = _sums(edges, forward=True), _sums(edges, forward=False)
        ends = np.minimum(np.arange(length)[:, None] + np.arange(1, size + 1), length)
        posterior = np.exp(before[:, :length, None] + edges + after[:, ends] - after[:, :1, None])
        use = np.bincount(at.ravel() % len(expected), weights=(posterior * weight[:, None, None]).ravel())
        expected[: len(use)] += use
    return expected[:-1]


def _sums(edges: np.ndarray, *, forward: bool) -> np.ndarray:
    """Log of the summed probability of all ways from a word's start to each place (or thence to its end)."""
    words, length, size = edges.shape
    sums = np.full((words, length + 1), -np.inf)
    sums[:, 0 if forward else length] = 0.0
    for place in range(1, length + 1):
        reach = np.arange(1, min(place, size) + 1)
        if forward:
            sums[:, place] = _add(sums[:, place - reach] + edges[:, place - reach, reach - 1])
        else:
            start = length - place
            sums[:, start] = _add(sums[:, start + reach] + edges[:, start, : len(reach)])
    return sums


def _add(logs: np.ndarray) -> np.ndarray:
    """Log of the sum of exponentials over the last axis; every row has a finite entry."""
    top = logs.max(axis=-1)
    return top + np.log(np.exp(logs - top[:, None]).sum(axis=-1))


def _maximise(pieces: Pieces, score: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """New log-probabilities, by digamma (a sparse prior: rare pieces become rarer); characters never go."""
    stays = np.isfinite(score) & ((expected >= _LEAST_EXPECTED) | (pieces.length == 1))
    count = np.where(stays, np.maximum(expected, _LEAST_EXPECTED), 1.0)
    return np.where(stays, _digamma(count) - _digamma(count[stays].sum()), -np.inf)


def _digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of log gamma for x > 0: shifted up by six, then the asymptotic series."""
    shift = sum(1.0 / (x + k) for k in range(6))
    y = x + 6.0
    inverse = 1.0 / (y * y)
    return np.log(y) - 0.5 / y - inverse * (1 / 12 - inverse * (1 / 120 - inverse / 252)) - shift


def _logarithms(counts: np.ndarray) -> np.ndarray:
    return np.log(counts) - np.log(counts.sum())


# --- pruning ------------------------------------------------------------------------------------------


def _prune(pieces: Pieces, score: np.ndarray, expected: np.ndarray, keep: int) -> np.ndarray:
    """Keep the characters and the pieces whose loss would cost the most likelihood."""
    loss = np.where(pieces.length == 1, np.inf, -np.inf)
    judged = (pieces.length > 1) & np.isfinite(score)
    loss[judged] = expected[judged] * (score - _without(pieces, score))[judged]
    keep = max(keep, int((pieces.length == 1).sum()))
    gone = np.argsort(-loss, kind="stable")[keep:]
    score = score.copy()
    score[gone] = -np.inf
    return score


def _without(pieces: Pieces, score: np.ndarray) -> np.ndarray:
    """The log-probability of the best way to write each piece with other pieces."""
    found = np.zeros(len(score))
    known = np.append(score, -np.inf)
    for length in range(2, LONGEST_PIECE + 1):
        chosen = np.flatnonzero((pieces.length == length) & np.isfinite(score))
        best = np.full((len(chosen), length + 1), -np.inf)
        best[:, 0] = 0.0
        for place in range(1, length + 1):
            for start in range(int(place == length), place):  # never the whole piece in one
                edge = known[pieces.at[pieces.where[chosen] + start, place - start - 1]]
                best[:, place] = np.maximum(best[:, place], best[:, start] + edge)
        found[chosen] = best[:, length]
    return found


def _finish(corpus: Corpus, pieces: Pieces, score: np.ndarray, room: int) -> list[tuple[str, float]]:
    """The characters and the likeliest other pieces, as strings."""
    rank = np.where(pieces.length == 1, np.inf, score)
    chosen = np.argsort(-rank, kind="stable")[:room]
    found = []
    for piece in chosen[np.isfinite(score[chosen])]:
        start = int(pieces.where[piece])
        characters = corpus.characters[start : start + int(pieces.length[piece])]
        found.append((characters.tobytes().decode("utf-32-le"), float(score[piece])))
    return found
