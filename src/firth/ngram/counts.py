"""n-gram counts of all orders, and Kneser–Ney's adjusted (continuation) counts, in bounded memory.

An n-gram starts at each token and at the start of each document; it is truncated where the document ends. The n-grams
are partitioned by their first token, so that a partition fits the memory limit; those of a partition are packed into
64-bit integers and sorted, so that n-grams with a common prefix are adjacent: one pass builds a part of the trie of all
orders. Partitions need no merging, and any number of threads and any memory limit give the same arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.jit import default_threads, run_in_order
from firth.ngram import counting_kernels
from firth.ngram.trie import Trie, build_trie, drop_empty_orders
from firth.tokenizers.special_tokens import SpecialTokens

MEMORY_LIMIT = 1 << 30  # bytes of working memory
MAX_ORDER = 10
_TASKS_PER_THREAD = 4  # partitions per thread, to balance the load


class SpecialIds(NamedTuple):
    """Token ids of the start and the end of a document and of out-of-vocabulary words (−1: none)."""

    start: int
    end: int
    unknown: int


@dataclass(frozen=True, eq=False)
class Counts:
    """The n-grams of a text with their counts."""

    trie: Trie
    counts: np.ndarray  # (nodes,) uint32 or int64; the start token has no count as a unigram
    predictable: np.ndarray  # (vocabulary,) bool: can come next; False for special tokens absent from the text
    special_ids: SpecialIds

    def adjusted_counts(self) -> np.ndarray:
        """Kneser–Ney's adjusted counts: below the highest order, continuation counts (distinct tokens to the left).

        An n-gram that begins with the start token has no left context and keeps its count, as in KenLM."""
        trie, adjusted = self.trie, self.counts.copy()
        for order in range(1, trie.order):
            level, above = trie.level(order), trie.links[trie.level(order + 1)]
            adjusted[level] = np.bincount(above - level.start, minlength=level.stop - level.start)
        low, high = self.special_ids.start, self.special_ids.start + 1
        for _ in range(1, trie.order):
            low, high = trie.first[low], trie.first[high]
            adjusted[low:high] = self.counts[low:high]
        return adjusted


class _CountingPlan(NamedTuple):
    """The text and the key layout shared by all partitions."""

    ids: np.ndarray
    starts: np.ndarray
    start: int
    end: int
    vocab_size: int
    order: int
    bits: int  # per token in a key; the value 0 means no token
    per: int  # tokens per 64-bit integer of a key

    @property
    def columns(self) -> int:
        return -(-self.order // self.per)


class _Partition(NamedTuple):
    """A range of first tokens, and of second tokens plus one (0: the n-gram ends after the first)."""

    low: int
    high: int
    second_low: int
    second_high: int
    rows: int


class _TriePart(NamedTuple):
    """The part of the trie built from one partition: its nodes, order by order."""

    sizes: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    children: np.ndarray

    def level(self, name: str, level: int) -> np.ndarray:
        """The entries of one array that belong to one order (from 0)."""
        ends = np.cumsum(self.sizes)
        return getattr(self, name)[ends[level] - self.sizes[level] : ends[level]]


def count(
    ids: np.ndarray,
    starts: np.ndarray,
    vocab_size: int,
    special: SpecialTokens,
    *,
    order: int = 5,
    memory_limit: int = MEMORY_LIMIT,
    threads: int = 0,
) -> Counts:
    """Count the n-grams of all orders up to `order` (or the longest in the text) within `memory_limit` bytes."""
    special_ids, threads = resolve_special_ids(special), threads or default_threads()
    if not 1 <= order <= MAX_ORDER:
        raise FirthError(f"n-gram order {order} is out of range", do=f"choose an order from 1 to {MAX_ORDER}")
    ids, starts = read_only(ids), read_only(np.asarray(starts, np.int64))
    firsts, tokens = _count_unigrams(ids, starts, vocab_size, special_ids)
    bits = int(vocab_size).bit_length()
    plan = _CountingPlan(ids, starts, special_ids.start, special_ids.end, vocab_size, order, bits, 64 // bits)
    count_type = np.uint32 if len(ids) < 1 << 32 else np.int64
    tasks = list(_partition(plan, firsts, memory_limit // (threads + 1), threads))
    parts = list(run_in_order(lambda task: _count_partition(plan, task, count_type), tasks, threads))
    predictable = _predictable_tokens(tokens, special, special_ids)
    return _concatenate_parts(parts, order, tokens.astype(count_type), predictable, special_ids, threads)


def resolve_special_ids(special: SpecialTokens) -> SpecialIds:
    """Return the special token ids an n-gram model needs; the end token also serves as start if there is none."""
    if special.end is None:
        raise FirthError("the tokenizer has no end-of-document token", do="add one, such as [END]")
    start = special.end if special.start is None else special.start
    return SpecialIds(start, special.end, -1 if special.unknown is None else special.unknown)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a contiguous read-only view, so that kernels compile for one array type, memory-mapped or not."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def _count_unigrams(
    ids: np.ndarray, starts: np.ndarray, vocab_size: int, special_ids: SpecialIds
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of n-grams that begin with each token, and the unigram counts."""
    if ids.dtype.kind not in "ui" or not len(starts) or starts[0] != 0 or starts[-1] != len(ids):
        raise FirthError("document starts do not fit the tokens", do="give offsets from 0 to the number of tokens")
    if (np.diff(starts) < 0).any():
        raise FirthError("document starts are not in ascending order", do="give offsets from 0 to the number of tokens")
    tokens = np.zeros(vocab_size, np.int64)
    documents = counting_kernels.count_unigrams(ids, starts, special_ids.end, tokens)
    if documents < 0:
        raise FirthError(f"a token id is not below {vocab_size}", do="encode the text with this tokenizer")
    if not documents:
        raise FirthError("the text has no tokens to count", do="give a text with at least one token")
    if special_ids.start != special_ids.end and tokens[special_ids.start]:
        raise FirthError("the start token occurs in the text", do="remove it from the text")
    firsts = tokens.copy()
    firsts[special_ids.start] += documents
    return firsts, tokens


def _predictable_tokens(tokens: np.ndarray, special: SpecialTokens, special_ids: SpecialIds) -> np.ndarray:
    """All tokens except special ones that never occur; end and unknown can always be predicted."""
    predictable = np.ones(len(tokens), bool)
    for token in special.ids - {special_ids.end, special_ids.unknown}:
        predictable[token] = tokens[token] > 0
    return predictable


def _partition(plan: _CountingPlan, firsts: np.ndarray, memory_limit: int, threads: int) -> Iterator[_Partition]:
    """Yield partitions of about equal work that fit the memory limit, split by first token, then by second."""
    bytes_per_ngram = 16 * plan.columns + 12 * plan.order  # two copies of the key, and its own nodes at every order
    max_rows = max(1, min(memory_limit // bytes_per_ngram, -(-int(firsts.sum()) // (threads * _TASKS_PER_THREAD))))
    for low, high, size in _split_by_size(firsts, max_rows):
        if size <= max_rows or plan.order < 2:
            yield _Partition(low, high, 0, plan.vocab_size + 1, size)
            continue
        seconds = np.zeros(plan.vocab_size + 1, np.int64)
        counting_kernels.count_second_tokens(plan.ids, plan.starts, plan.start, plan.end, low, seconds)
        for second_low, second_high, part_rows in _split_by_size(seconds, max_rows):
            yield _Partition(low, high, second_low, second_high, part_rows)


def _split_by_size(sizes: np.ndarray, max_size: int) -> Iterator[tuple[int, int, int]]:
    """Yield (low, high, size) of token ranges with at most `max_size` n-grams or one token; skips empty ones."""
    tokens = np.flatnonzero(sizes)
    sums = np.cumsum(sizes[tokens])
    begin, done = 0, 0
    while begin < len(tokens):
        end = max(int(np.searchsorted(sums, done + max_size, "right")), begin + 1)
        yield int(tokens[begin]), int(tokens[end - 1]) + 1, int(sums[end - 1] - done)
        begin, done = end, int(sums[end - 1])


def _count_partition(plan: _CountingPlan, partition: _Partition, count_type: type) -> _TriePart:
    """Pack, sort and count the n-grams of one partition."""
    keys, buffer = (np.zeros((partition.rows, plan.columns), np.uint64) for _ in range(2))
    counting_kernels.pack_keys(*plan[:4], plan.order, plan.bits, plan.per, *partition[:4], keys)
    keys = counting_kernels.radix_sort(keys, buffer, plan.order, plan.bits, plan.per)
    del buffer
    sizes = np.zeros(plan.order, np.int64)
    counting_kernels.count_nodes(keys, plan.order, plan.bits, plan.per, sizes)
    nodes = int(sizes.sum())
    part = _TriePart(sizes, np.empty(nodes, np.int32), np.zeros(nodes, count_type), np.zeros(nodes, np.int32))
    counting_kernels.build_nodes(keys, plan.order, plan.bits, plan.per, *part)
    return part


def _concatenate_parts(
    parts: list[_TriePart],
    order: int,
    tokens: np.ndarray,
    predictable: np.ndarray,
    special_ids: SpecialIds,
    threads: int,
) -> Counts:
    """Concatenate the whole trie: all unigrams, seen or not, then the nodes of the partitions, order by order."""
    vocab_size = len(tokens)
    children = np.zeros(vocab_size, np.int32)
    for part in parts:
        children[part.level("words", 0)] += part.level("children", 0)  # a token may begin several partitions
    sizes = drop_empty_orders(
        [vocab_size, *(int(sum(part.sizes[level] for part in parts)) for level in range(1, order))]
    )
    higher = range(1, len(sizes))
    words = [np.arange(vocab_size, dtype=np.int32), *(part.level("words", level) for level in higher for part in parts)]
    inner = [children, *(part.level("children", level) for level in higher[:-1] for part in parts)]
    counts = np.concatenate([tokens, *(part.level("counts", level) for level in higher for part in parts)])
    joined = np.concatenate(words), np.concatenate(inner if len(sizes) > 1 else [children[:0]])
    parts.clear()
    return Counts(build_trie(sizes, *joined, threads), counts, predictable, special_ids)
