"""A text in numbers: how many words, how many different ones, how they are spread, how long its sentences are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from firth.counts.index import Index
from firth.text import split
from firth.text.tokenizer import Tokenizer

WINDOW = 500  # words, of the moving type-token ratio (Covington and McFall)
_POINTS = 60  # of a curve
_EARLY = 100  # words at the beginning, nearly all of them new: not yet a power law
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_BLOCK = 1 << 20  # bytes of documents held at once


class Fit(NamedTuple):
    """The two numbers of a power law."""

    factor: float
    exponent: float


@dataclass(frozen=True)
class Lengths:
    """How long things are: `histogram[n]` of them have length n; lengths that no one has are left out."""

    count: int
    mean: float
    quantiles: dict[str, int]
    histogram: dict[int, int]


@dataclass(frozen=True)
class Zipf:
    """Counts by rank, and the exponent of the falling line: by regression, and by maximum likelihood."""

    ranks: tuple[int, ...]
    counts: tuple[int, ...]
    regression: Fit
    likelihood: float


@dataclass(frozen=True)
class Heaps:
    """Different words after so many words, and the fitted growth factor · words^exponent."""

    words: tuple[int, ...]
    types: tuple[int, ...]
    fit: Fit


@dataclass(frozen=True)
class Coverage:
    """What a tokenizer makes of the text."""

    tokens: int
    tokens_per_word: float
    unknown_share: float  # of the tokens


@dataclass(frozen=True)
class Statistics:
    """All of it."""

    text: str
    documents: int
    bytes: int
    tokens: int  # words, numbers and marks
    types: int
    hapaxes: int  # types that occur once
    type_token_ratio: float
    moving_ratio: float  # mean of the ratio in every stretch of 500 words: does not fall with the text's length
    zipf: Zipf
    heaps: Heaps
    words: Lengths  # in characters
    sentences: Lengths  # in words
    coverage: Coverage | None
    common: tuple[tuple[str, int], ...]


def statistics(
    index: Index, *, tokenizer: Tokenizer | None = None, told: Callable[[int], None] = lambda done: None
) -> Statistics:
    """Everything about a text (or the view of one); `told` hears how many bytes are done."""
    counts = index.counts
    present = np.flatnonzero(counts)
    chosen = np.ones(len(index.documents) - 1, bool) if index.chosen is None else index.chosen
    first, moving = _first_uses(index)
    sentences, coverage = _read(index, tokenizer, told)
    best = present[np.lexsort([present, -counts[present]])[:20]]
    return Statistics(
        text=index.text,
        documents=int(chosen.sum()),
        bytes=int((np.diff(index.bytes) - 1)[chosen].sum()),
        tokens=index.size,
        types=len(present),
        hapaxes=int((counts == 1).sum()),
        type_token_ratio=len(present) / index.size,
        moving_ratio=moving,
        zipf=zipf(counts[present]),
        heaps=heaps(first, index.size),
        words=lengths(_word_lengths(index, counts)),
        sentences=lengths(sentences),
        coverage=coverage,
        common=tuple((index.names.word(i), int(counts[i])) for i in best),
    )


# --- curves -------------------------------------------------------------------------------------------------------


def zipf(counts: np.ndarray) -> Zipf:
    """The curve of counts by rank, and its exponent."""
    ordered = -np.sort(-counts)
    ranks = _spread(len(ordered))
    fit = _power(ranks, ordered[ranks - 1])
    return Zipf(
        tuple(ranks.tolist()),
        tuple(ordered[ranks - 1].tolist()),
        Fit(fit.factor, -fit.exponent),
        zipf_exponent(ordered),
    )


def zipf_exponent(ordered: np.ndarray) -> float:
    """The s under which words with probability ∝ rank^−s most likely give these counts (of ranks 1, 2, …)."""
    logs = np.log(np.arange(1, len(ordered) + 1))
    wanted = float((ordered * logs).sum() / ordered.sum())
    low, high = 0.0, 20.0
    if len(ordered) < 2 or wanted >= logs.mean():  # one word, or no falling at all
        return 0.0
    for _ in range(50):  # the mean of log rank falls as s grows
        middle = (low + high) / 2
        weights = np.exp(-middle * logs)
        low, high = (middle, high) if (weights * logs).sum() / weights.sum() > wanted else (low, middle)
    return (low + high) / 2


def heaps(first: np.ndarray, size: int) -> Heaps:
    """The growth of the vocabulary, from the places where each word is used first."""
    words = _spread(size)
    types = np.searchsorted(np.sort(first), words)  # first uses before so many words
    late = words >= _EARLY if size > 10 * _EARLY else words > 0
    return Heaps(tuple(words.tolist()), tuple(types.tolist()), _power(words[late], types[late]))


def _spread(most: int) -> np.ndarray:
    """Whole numbers from 1 to the most, about equally far apart on a logarithmic scale: so each decade counts alike."""
    return np.unique(np.round(np.geomspace(1, most, min(_POINTS, most))).astype(np.int64))


def _power(x: np.ndarray, y: np.ndarray) -> Fit:
    """factor · x^exponent by least squares on logarithms."""
    if len(x) < 2:
        return Fit(float(y[0]), 0.0)
    exponent, log_factor = np.polyfit(np.log(x), np.log(y), 1)
    return Fit(float(np.exp(log_factor)), float(exponent))


def _first_uses(index: Index) -> tuple[np.ndarray, float]:
    """Where each name is used first, and the mean share of different words in every stretch of WINDOW words.

    A word adds to those stretches that begin after its last use before: so one pass counts all stretches exactly."""
    size, last = index.size, np.full(len(index.names), -1, np.int64)
    window, start, total = min(WINDOW, size), 0, 0
    firsts = []
    for ids in index.stream():
        names = index.named(ids).astype(np.int64)
        order = np.argsort(names, kind="stable")
        ordered, places = names[order], order + start
        new = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(order)]
        before = np.where(new, last[ordered], np.concatenate([[0], places[:-1]])[: len(order)])
        firsts.append(places[before < 0])
        earliest = np.maximum(np.maximum(before + 1, places - window + 1), 0)
        total += int(np.maximum(np.minimum(places, size - window) - earliest + 1, 0).sum())
        np.maximum.at(last, ordered, places)
        start += len(ids)
    return np.concatenate(firsts), total / ((size - window + 1) * window)


# --- lengths ------------------------------------------------------------------------------------------------------


def lengths(histogram: np.ndarray) -> Lengths:
    """What a histogram tells."""
    total = int(histogram.sum())
    running = np.cumsum(histogram)
    quantiles = {f"{q:g}": int(np.searchsorted(running, q * total)) for q in _QUANTILES}
    mean = float((np.arange(len(histogram)) * histogram).sum() / max(total, 1))
    return Lengths(total, mean, quantiles, {int(n): int(histogram[n]) for n in np.flatnonzero(histogram)})


def _word_lengths(index: Index, counts: np.ndarray) -> np.ndarray:
    found = np.zeros(1, np.int64)
    for low in range(0, len(index.names), _BLOCK):
        high = min(low + _BLOCK, len(index.names))
        sizes = np.fromiter(map(len, index.names.words(low, high)), np.int64, high - low)
        found = _added(found, np.bincount(sizes, counts[low:high]).astype(np.int64))
    return found


def _added(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Two histograms in one."""
    long, short = (one, two) if len(one) >= len(two) else (two, one)
    long = long.copy()
    long[: len(short)] += short
    return long


def _read(index: Index, tokenizer: Tokenizer | None, told: Callable[[int], None]) -> tuple[np.ndarray, Coverage | None]:
    """What only the text itself tells: how long sentences are, and what a tokenizer makes of it."""
    sentences, tokens, unknown, done = np.zeros(1, np.int64), 0, 0, 0
    for block in _documents(index):
        sizes = [len(split.whole(sentence, index.rule)) for text in block for sentence in split.sentences(text)]
        sentences = _added(sentences, np.bincount(sizes))
        if tokenizer is not None:
            ids = np.frombuffer(tokenizer.encode_flat(block)[0], np.uint32)
            tokens += len(ids)
            unknown += int((ids == tokenizer.special.unknown).sum()) if tokenizer.special.unknown is not None else 0
        done += sum(map(len, block))
        told(done)
    if tokenizer is None:
        return sentences, None
    return sentences, Coverage(tokens, tokens / index.size, unknown / max(tokens, 1))


def _documents(index: Index) -> Iterator[list[str]]:
    """The documents that count, about a megabyte at a time."""
    block, size = [], 0
    for document in range(len(index.bytes) - 1):
        if index.chosen is not None and not index.chosen[document]:
            continue
        text = index.cut(int(index.bytes[document]), int(index.bytes[document + 1]) - 1)
        block.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block
