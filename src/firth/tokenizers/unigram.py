"""Training of the unigram language model tokenizer (Kudo 2018): seed substrings, EM, and pruning by likelihood.

Written with NumPy instead of the Rust trainer, whose result changes from process to process. Words of one length are
computed together; every sum runs in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

MAX_PIECE_LENGTH = 16  # characters
_MAX_CHARACTERS = 1 << 20  # of distinct words, the most frequent first: bounds memory (64 bytes each) and time
_MAX_SEEDS = 400_000
_BLOCK_SIZE = 1 << 15  # characters computed at once
_SHRINKING_FACTOR = 0.75  # fraction of the pieces that each pruning keeps
_EM_ITERATIONS = 2
_MIN_EXPECTED_COUNT = 0.5  # pieces with less are dropped


@dataclass(frozen=True)
class Corpus:
    """Distinct words concatenated, sorted by length."""

    characters: np.ndarray  # (total,)
    weight: np.ndarray  # (total,) count of the character's word
    remaining: np.ndarray  # (total,) characters from here to the end of the word
    groups: tuple[tuple[int, int, int], ...]  # word length, first character, number of words


@dataclass(frozen=True)
class Pieces:
    """The candidate pieces: substrings of the corpus."""

    at: np.ndarray  # (total, MAX_PIECE_LENGTH): the piece that starts here with length n + 1; -1: none
    position: np.ndarray  # (pieces,) one occurrence
    length: np.ndarray  # (pieces,)
    count: np.ndarray  # (pieces,)


def train_unigram(counts: Mapping[str, int], size: int, min_count: int) -> list[tuple[str, float]]:
    """At most `size` pieces with their log-probabilities; every character of the words is one of them."""
    corpus = build_corpus(counts)
    pieces = seed_pieces(corpus, min_count)
    score = _log_frequencies(pieces.count * pieces.length)
    while True:
        for _ in range(_EM_ITERATIONS):
            expected = expected_counts(corpus, pieces, score)
            score = _maximise(pieces, score, expected)
        alive, target = int(np.isfinite(score).sum()), int(size * 1.1)  # the last 10 % are dropped by score
        if alive <= target:
            break
        score = _prune(pieces, score, expected, max(int(alive * _SHRINKING_FACTOR), target))
    return _finish(corpus, pieces, score, size)


# --- the corpus and its substrings --------------------------------------------------------------------


def build_corpus(counts: Mapping[str, int]) -> Corpus:
    """The most frequent words, within the bound on memory."""
    order = sorted(counts, key=lambda word: (-counts[word], word))
    total = np.cumsum([len(word) for word in order])
    words = order[: max(1, int(np.searchsorted(total, _MAX_CHARACTERS, side="right")))]
    words.sort(key=lambda word: (len(word), word))
    lengths = np.array([len(word) for word in words])
    weight = np.repeat(np.array([counts[word] for word in words], dtype=np.float64), lengths)
    ends = np.repeat(np.cumsum(lengths), lengths)
    groups, first = [], 0
    for length, number in zip(*np.unique(lengths, return_counts=True), strict=True):
        max_words = max(1, _BLOCK_SIZE // int(length))
        for start in range(0, int(number), max_words):
            groups.append((int(length), first, min(max_words, int(number) - start)))
            first += int(length) * groups[-1][2]
    characters = np.frombuffer("".join(words).encode("utf-32-le"), dtype=np.uint32)
    return Corpus(characters, weight, ends - np.arange(len(ends)), tuple(groups))


def seed_pieces(corpus: Corpus, min_count: int) -> Pieces:
    """The seed vocabulary: all characters, and the frequent substrings that are not always part of one longer by 1."""
    levels = list(_levels(corpus, min_count))
    count = np.concatenate([level.count for level in levels])
    length = np.concatenate([np.full(len(level.count), n + 1) for n, level in enumerate(levels)])
    position = np.concatenate([level.position for level in levels])
    priority = np.where(np.concatenate([level.closed for level in levels]), count * length, 0.0)
    priority[length == 1] = np.inf  # characters always stay
    best = np.argsort(-priority, kind="stable")[: max(_MAX_SEEDS, len(levels[0].count))]
    best = np.sort(best[priority[best] > 0])
    renumbered = np.full(len(count) + 1, -1, dtype=np.int32)  # the last entry: no piece
    renumbered[best] = np.arange(len(best))
    starts = np.cumsum([0, *(len(level.count) for level in levels)])
    at = np.full((len(corpus.characters), MAX_PIECE_LENGTH), -1, dtype=np.int32)
    for n, level in enumerate(levels):
        at[:, n] = renumbered[np.where(level.at >= 0, level.at + starts[n], len(count))]
    return Pieces(at, position[best], length[best], count[best])


@dataclass(frozen=True)
class _Level:
    """The substrings of one length."""

    at: np.ndarray  # (total,) the substring that starts here; -1: too rare, or beyond the word
    position: np.ndarray
    count: np.ndarray
    closed: np.ndarray  # False: in all its occurrences the same character precedes or follows


def _levels(corpus: Corpus, min_count: int) -> Iterator[_Level]:
    level = _number(corpus.characters.astype(np.int64), np.arange(len(corpus.characters)), corpus.weight, 1)
    for n in range(2, MAX_PIECE_LENGTH + 2):
        # A substring is frequent only if its two substrings shorter by 1 are.
        starts = np.flatnonzero((corpus.remaining >= n) & (level.at >= 0))
        starts = starts[level.at[starts + 1] >= 0]
        keys = level.at[starts] * np.int64(len(level.count)) + level.at[starts + 1]
        longer = _number(keys, starts, corpus.weight, min_count)
        _mark_not_closed(level, longer)
        yield level
        if n > MAX_PIECE_LENGTH or not len(longer.count):
            return
        level = longer


def _number(keys: np.ndarray, starts: np.ndarray, weight: np.ndarray, min_count: int) -> _Level:
    """Number the substrings with these keys, without the rare ones."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    count = np.bincount(inverse, weights=weight[starts], minlength=len(first))
    frequent = count >= min_count
    number = np.where(frequent, np.cumsum(frequent) - 1, -1)
    at = np.full(len(weight), -1, dtype=np.int32)
    at[starts] = number[inverse]
    return _Level(at, starts[first[frequent]], count[frequent], np.ones(int(frequent.sum()), dtype=bool))


def _mark_not_closed(level: _Level, longer: _Level) -> None:
    """Mark the substrings that are as frequent as one longer by a character, before or after."""
    for step in (0, 1):
        shorter = level.at[longer.position + step]
        level.closed[shorter[level.count[shorter] == longer.count]] = False


# --- expectation and maximisation ---------------------------------------------------------------------


def expected_counts(corpus: Corpus, pieces: Pieces, score: np.ndarray) -> np.ndarray:
    """The E step: the expected count of each piece over all segmentations of each word (forward-backward)."""
    expected = np.zeros(len(score) + 1)
    known = np.append(score, -np.inf)  # index -1: no piece
    max_length = int(pieces.length[np.isfinite(score)].max())
    for length, first, number in corpus.groups:
        size = min(length, max_length)
        at = pieces.at[first : first + length * number].reshape(number, length, MAX_PIECE_LENGTH)[:, :, :size]
        weight = corpus.weight[first : first + length * number : length]
        edges = known[at]  # (words, start, length - 1)
        before, after = _path_sums(edges, forward=True), _path_sums(edges, forward=False)
        ends = np.minimum(np.arange(length)[:, None] + np.arange(1, size + 1), length)
        posterior = np.exp(before[:, :length, None] + edges + after[:, ends] - after[:, :1, None])
        use = np.bincount(at.ravel() % len(expected), weights=(posterior * weight[:, None, None]).ravel())
        expected[: len(use)] += use
    return expected[:-1]


def _path_sums(edges: np.ndarray, *, forward: bool) -> np.ndarray:
    """Log of the summed probability of all paths from a word's start to each position (backward: to its end)."""
    words, length, size = edges.shape
    sums = np.full((words, length + 1), -np.inf)
    sums[:, 0 if forward else length] = 0.0
    for position in range(1, length + 1):
        reach = np.arange(1, min(position, size) + 1)
        if forward:
            sums[:, position] = _logsumexp(sums[:, position - reach] + edges[:, position - reach, reach - 1])
        else:
            start = length - position
            sums[:, start] = _logsumexp(sums[:, start + reach] + edges[:, start, : len(reach)])
    return sums


def _logsumexp(logs: np.ndarray) -> np.ndarray:
    """Log of the sum of exponentials over the last axis; every row has a finite entry."""
    top = logs.max(axis=-1)
    return top + np.log(np.exp(logs - top[:, None]).sum(axis=-1))


def _maximise(pieces: Pieces, score: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The M step, with digamma (a sparse Dirichlet prior: rare pieces become rarer); characters are never dropped."""
    alive = np.isfinite(score) & ((expected >= _MIN_EXPECTED_COUNT) | (pieces.length == 1))
    count = np.where(alive, np.maximum(expected, _MIN_EXPECTED_COUNT), 1.0)
    return np.where(alive, _digamma(count) - _digamma(count[alive].sum()), -np.inf)


def _digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of log gamma for x > 0: shifted up by six, then the asymptotic series."""
    shift = sum(1.0 / (x + k) for k in range(6))
    y = x + 6.0
    inverse = 1.0 / (y * y)
    return np.log(y) - 0.5 / y - inverse * (1 / 12 - inverse * (1 / 120 - inverse / 252)) - shift


def _log_frequencies(counts: np.ndarray) -> np.ndarray:
    return np.log(counts) - np.log(counts.sum())


# --- pruning ------------------------------------------------------------------------------------------


def _prune(pieces: Pieces, score: np.ndarray, expected: np.ndarray, size: int) -> np.ndarray:
    """Keep the characters and the pieces whose removal would lower the likelihood most."""
    loss = np.where(pieces.length == 1, np.inf, -np.inf)
    candidates = (pieces.length > 1) & np.isfinite(score)
    loss[candidates] = expected[candidates] * (score - _best_alternatives(pieces, score))[candidates]
    size = max(size, int((pieces.length == 1).sum()))
    removed = np.argsort(-loss, kind="stable")[size:]
    score = score.copy()
    score[removed] = -np.inf
    return score


def _best_alternatives(pieces: Pieces, score: np.ndarray) -> np.ndarray:
    """The log-probability of the best segmentation of each piece into other pieces (Viterbi)."""
    alternatives = np.zeros(len(score))
    known = np.append(score, -np.inf)
    for length in range(2, MAX_PIECE_LENGTH + 1):
        chosen = np.flatnonzero((pieces.length == length) & np.isfinite(score))
        best = np.full((len(chosen), length + 1), -np.inf)
        best[:, 0] = 0.0
        for end in range(1, length + 1):
            for start in range(int(end == length), end):  # never the whole piece
                edge = known[pieces.at[pieces.position[chosen] + start, end - start - 1]]
                best[:, end] = np.maximum(best[:, end], best[:, start] + edge)
        alternatives[chosen] = best[:, length]
    return alternatives


def _finish(corpus: Corpus, pieces: Pieces, score: np.ndarray, size: int) -> list[tuple[str, float]]:
    """The characters and the most probable other pieces, as strings."""
    rank = np.where(pieces.length == 1, np.inf, score)
    best = np.argsort(-rank, kind="stable")[:size]
    vocabulary = []
    for piece in best[np.isfinite(score[best])]:
        start = int(pieces.position[piece])
        characters = corpus.characters[start : start + int(pieces.length[piece])]
        vocabulary.append((characters.tobytes().decode("utf-32-le"), float(score[piece])))
    return vocabulary
