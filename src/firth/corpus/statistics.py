"""Corpus statistics: tokens and types, type-token ratio (TTR, MATTR), Zipf's and Heaps' laws, sentence lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from firth.corpus.corpus_index import Index
from firth.tokenizers import split
from firth.tokenizers.tokenizer import Tokenizer

WINDOW = 500  # tokens, of the moving-average type-token ratio (Covington and McFall 2010)
_POINTS = 60  # of a curve
_EARLY = 100  # first tokens, nearly all of them new types: not yet a power law
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_BLOCK = 1 << 20  # bytes of documents held at once


class PowerLaw(NamedTuple):
    """The parameters of a power law: factor · x^exponent."""

    factor: float
    exponent: float


@dataclass(frozen=True)
class LengthDistribution:
    """A distribution of lengths: `histogram[n]` items have length n; zero counts are left out."""

    count: int
    mean: float
    quantiles: dict[str, int]
    histogram: dict[int, int]


@dataclass(frozen=True)
class Zipf:
    """Zipf's law: frequencies by rank, and the exponent by log-log regression and by maximum likelihood (MLE)."""

    ranks: tuple[int, ...]
    counts: tuple[int, ...]
    regression: PowerLaw
    mle_exponent: float


@dataclass(frozen=True)
class Heaps:
    """Heaps' law: types after so many tokens (`words`), and the fitted vocabulary growth factor · tokens^exponent."""

    words: tuple[int, ...]
    types: tuple[int, ...]
    fit: PowerLaw


@dataclass(frozen=True)
class TokenizerCoverage:
    """How a tokenizer covers the corpus."""

    tokens: int
    tokens_per_word: float  # fertility
    unknown_fraction: float  # out-of-vocabulary tokens


@dataclass(frozen=True)
class Statistics:
    """The statistics of a corpus."""

    source: str
    documents: int
    bytes: int
    tokens: int  # words, numbers and punctuation
    types: int
    hapaxes: int  # types that occur once (hapax legomena)
    type_token_ratio: float
    mattr: float  # moving-average TTR: mean over all windows of 500 tokens, independent of the corpus size
    zipf: Zipf
    heaps: Heaps
    word_lengths: LengthDistribution  # in characters
    sentence_lengths: LengthDistribution  # in words
    coverage: TokenizerCoverage | None
    most_common: tuple[tuple[str, int], ...]


def statistics(
    index: Index, *, tokenizer: Tokenizer | None = None, on_progress: Callable[[int], None] = lambda done: None
) -> Statistics:
    """The statistics of a corpus or of a view of it; `on_progress` receives the number of bytes done."""
    counts = index.counts
    present = np.flatnonzero(counts)
    mask = np.ones(len(index.document_starts) - 1, bool) if index.document_mask is None else index.document_mask
    first_occurrences, mattr = _first_occurrences(index)
    sentences, coverage = _scan_text(index, tokenizer, on_progress)
    best = present[np.lexsort([present, -counts[present]])[:20]]
    return Statistics(
        source=index.source,
        documents=int(mask.sum()),
        bytes=int((np.diff(index.document_bytes) - 1)[mask].sum()),
        tokens=index.size,
        types=len(present),
        hapaxes=int((counts == 1).sum()),
        type_token_ratio=len(present) / index.size,
        mattr=mattr,
        zipf=zipf(counts[present]),
        heaps=heaps(first_occurrences, index.size),
        word_lengths=lengths(_word_lengths(index, counts)),
        sentence_lengths=lengths(sentences),
        coverage=coverage,
        most_common=tuple((index.types.word(i), int(counts[i])) for i in best),
    )


# --- curves -------------------------------------------------------------------------------------------------------


def zipf(counts: np.ndarray) -> Zipf:
    """The frequency-rank curve and its exponent."""
    ordered = -np.sort(-counts)
    ranks = _log_spaced(len(ordered))
    fit = _fit_power_law(ranks, ordered[ranks - 1])
    return Zipf(
        tuple(ranks.tolist()),
        tuple(ordered[ranks - 1].tolist()),
        PowerLaw(fit.factor, -fit.exponent),
        zipf_exponent(ordered),
    )


def zipf_exponent(ordered: np.ndarray) -> float:
    """The maximum-likelihood s of P(word) ∝ rank^−s for these frequencies (of ranks 1, 2, …)."""
    logs = np.log(np.arange(1, len(ordered) + 1))
    observed = float((ordered * logs).sum() / ordered.sum())
    low, high = 0.0, 20.0
    if len(ordered) < 2 or observed >= logs.mean():  # one type, or frequencies that do not fall
        return 0.0
    for _ in range(50):  # bisection: the mean log rank falls as s grows
        middle = (low + high) / 2
        weights = np.exp(-middle * logs)
        low, high = (middle, high) if (weights * logs).sum() / weights.sum() > observed else (low, middle)
    return (low + high) / 2


def heaps(first_occurrences: np.ndarray, size: int) -> Heaps:
    """The vocabulary growth curve, from the position of the first occurrence of each type."""
    words = _log_spaced(size)
    types = np.searchsorted(np.sort(first_occurrences), words)  # first occurrences before so many tokens
    late = words >= _EARLY if size > 10 * _EARLY else words > 0
    return Heaps(tuple(words.tolist()), tuple(types.tolist()), _fit_power_law(words[late], types[late]))


def _log_spaced(maximum: int) -> np.ndarray:
    """Integers from 1 to the maximum, about equally spaced on a logarithmic scale: each decade has equal weight."""
    return np.unique(np.round(np.geomspace(1, maximum, min(_POINTS, maximum))).astype(np.int64))


def _fit_power_law(x: np.ndarray, y: np.ndarray) -> PowerLaw:
    """factor · x^exponent by least squares on logarithms."""
    if len(x) < 2:
        return PowerLaw(float(y[0]), 0.0)
    exponent, log_factor = np.polyfit(np.log(x), np.log(y), 1)
    return PowerLaw(float(np.exp(log_factor)), float(exponent))


def _first_occurrences(index: Index) -> tuple[np.ndarray, float]:
    """The position of the first occurrence of each type, and the moving-average type-token ratio (MATTR).

    A token is a new type in the windows that start after its previous occurrence: one pass counts all windows."""
    size, last = index.size, np.full(len(index.types), -1, np.int64)
    window, start, total = min(WINDOW, size), 0, 0
    first_occurrences = []
    for ids in index.iter_ids():
        type_ids = index.type_ids(ids).astype(np.int64)
        order = np.argsort(type_ids, kind="stable")
        ordered, positions = type_ids[order], order + start
        new = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(order)]
        previous = np.where(new, last[ordered], np.concatenate([[0], positions[:-1]])[: len(order)])
        first_occurrences.append(positions[previous < 0])
        earliest = np.maximum(np.maximum(previous + 1, positions - window + 1), 0)
        total += int(np.maximum(np.minimum(positions, size - window) - earliest + 1, 0).sum())
        np.maximum.at(last, ordered, positions)
        start += len(ids)
    return np.concatenate(first_occurrences), total / ((size - window + 1) * window)


# --- lengths ------------------------------------------------------------------------------------------------------


def lengths(histogram: np.ndarray) -> LengthDistribution:
    """Mean and quantiles of a histogram of lengths."""
    total = int(histogram.sum())
    cumulative = np.cumsum(histogram)
    quantiles = {f"{q:g}": int(np.searchsorted(cumulative, q * total)) for q in _QUANTILES}
    mean = float((np.arange(len(histogram)) * histogram).sum() / max(total, 1))
    return LengthDistribution(total, mean, quantiles, {int(n): int(histogram[n]) for n in np.flatnonzero(histogram)})


def _word_lengths(index: Index, counts: np.ndarray) -> np.ndarray:
    histogram = np.zeros(1, np.int64)
    for low in range(0, len(index.types), _BLOCK):
        high = min(low + _BLOCK, len(index.types))
        sizes = np.fromiter(map(len, index.types.words(low, high)), np.int64, high - low)
        histogram = _add_histograms(histogram, np.bincount(sizes, counts[low:high]).astype(np.int64))
    return histogram


def _add_histograms(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    long, short = (one, two) if len(one) >= len(two) else (two, one)
    long = long.copy()
    long[: len(short)] += short
    return long


def _scan_text(
    index: Index, tokenizer: Tokenizer | None, on_progress: Callable[[int], None]
) -> tuple[np.ndarray, TokenizerCoverage | None]:
    """What needs the text itself: the histogram of sentence lengths, and the coverage of a tokenizer."""
    lengths, tokens, unknown, done = np.zeros(1, np.int64), 0, 0, 0
    for block in _document_blocks(index):
        sentences = [sentence for text in block for sentence in split.split_sentences(text)]
        sizes = [len(split.split_words(sentence, index.split_rule)) for sentence in sentences]
        lengths = _add_histograms(lengths, np.bincount(sizes))
        if tokenizer is not None:
            ids = np.frombuffer(tokenizer.encode_flat(block)[0], np.uint32)
            tokens += len(ids)
            unknown += int((ids == tokenizer.special.unknown).sum()) if tokenizer.special.unknown is not None else 0
        done += sum(map(len, block))
        on_progress(done)
    if tokenizer is None:
        return lengths, None
    return lengths, TokenizerCoverage(tokens, tokens / index.size, unknown / max(tokens, 1))


def _document_blocks(index: Index) -> Iterator[list[str]]:
    """The selected documents, about a megabyte at a time."""
    block, size = [], 0
    for document in range(len(index.document_bytes) - 1):
        if index.document_mask is not None and not index.document_mask[document]:
            continue
        text = index.decode(int(index.document_bytes[document]), int(index.document_bytes[document + 1]) - 1)
        block.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block
