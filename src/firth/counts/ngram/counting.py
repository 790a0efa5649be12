"""How often each run of 1 to n tokens occurs, and after how many different tokens, in bounded memory.

A run starts at each token, and at the start of each document; it is cut off where the document ends. The runs are
shared out by their first token, in stretches that fit the limit; those of a stretch are packed into whole numbers and
sorted, and then runs that begin alike stand together: a stretch of the trie of all orders comes out of one pass.
Nothing has to be merged, and any number of threads and any limit give the same arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from firth.counts.compiled import default_threads, run_in_order
from firth.counts.ngram import sorting
from firth.counts.ngram.trie import Trie, grown, trimmed
from firth.errors import FirthError
from firth.text.special import Special

LIMIT = 1 << 30  # bytes of work space
LONGEST = 10
_TASKS = 4  # stretches for each thread, so that none waits long for the last


class Marks(NamedTuple):
    """The tokens that are not words: where a document starts and ends, and what stands for unknown text (−1: none)."""

    start: int
    end: int
    unknown: int


@dataclass(frozen=True, eq=False)
class Counts:
    """The n-grams of a text and how often they occur."""

    trie: Trie
    counts: np.ndarray  # (nodes,) uint32 or int64; the start of a document is not counted as a token
    events: np.ndarray  # (size,) bool: tokens that can come next; all but special ones that never do
    marks: Marks

    def adjusted(self) -> np.ndarray:
        """Kneser and Ney's counts: below the highest order, the number of different tokens before the n-gram.

        Before the start of a document is nothing: what begins with it keeps its count, as in KenLM."""
        trie, found = self.trie, self.counts.copy()
        for order in range(1, trie.order):
            level, above = trie.level(order), trie.links[trie.level(order + 1)]
            found[level] = np.bincount(above - level.start, minlength=level.stop - level.start)
        low, high = self.marks.start, self.marks.start + 1
        for _ in range(1, trie.order):
            low, high = trie.first[low], trie.first[high]
            found[low:high] = self.counts[low:high]
        return found


class _Plan(NamedTuple):
    """What every stretch needs to know."""

    ids: np.ndarray
    starts: np.ndarray
    start: int
    end: int
    size: int
    order: int
    bits: int  # of a token; 0 is none
    per: int  # tokens in a whole number of 64 bits

    @property
    def columns(self) -> int:
        return -(-self.order // self.per)


class _Stretch(NamedTuple):
    """Runs by their first token, and by their second, plus one (0: there is none)."""

    low: int
    high: int
    second_low: int
    second_high: int
    rows: int


class _Grown(NamedTuple):
    """A stretch of the trie: its nodes by order."""

    sizes: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    children: np.ndarray

    def of(self, name: str, level: int) -> np.ndarray:
        ends = np.cumsum(self.sizes)
        return getattr(self, name)[ends[level] - self.sizes[level] : ends[level]]


def count(
    ids: np.ndarray,
    starts: np.ndarray,
    size: int,
    special: Special,
    *,
    order: int = 5,
    limit: int = LIMIT,
    threads: int = 0,
) -> Counts:
    """Counts of all orders up to `order`, or up to the longest run there is; `limit` is bytes of work space."""
    marks, threads = marked(special), threads or default_threads()
    if not 1 <= order <= LONGEST:
        raise FirthError(f"an order of {order}", do=f"choose from 1 to {LONGEST}")
    ids, starts = readable(ids), readable(np.asarray(starts, np.int64))
    firsts, tokens = _tallied(ids, starts, size, marks)
    bits = int(size).bit_length()
    plan = _Plan(ids, starts, marks.start, marks.end, size, order, bits, 64 // bits)
    kind = np.uint32 if len(ids) < 1 << 32 else np.int64
    tasks = list(_stretches(plan, firsts, limit // (threads + 1), threads))
    done = list(run_in_order(lambda task: _grow_stretch(plan, task, kind), tasks, threads))
    return _joined(done, order, tokens.astype(kind), _events(tokens, special, marks), marks, threads)


def marked(special: Special) -> Marks:
    """The tokens an n-gram model needs to know; the end of a document may also stand for its start."""
    if special.end is None:
        raise FirthError("the tokenizer has no token for the end of a document", do="add one, such as [END]")
    start = special.end if special.start is None else special.start
    return Marks(start, special.end, -1 if special.unknown is None else special.unknown)


def readable(array: np.ndarray) -> np.ndarray:
    """A plain view that cannot be written: one kind of array for the kernels, mapped or not."""
    found = np.ascontiguousarray(array).view(np.ndarray)
    found.flags.writeable = False
    return found


def _tallied(ids: np.ndarray, starts: np.ndarray, size: int, marks: Marks) -> tuple[np.ndarray, np.ndarray]:
    """How many runs begin with each token, and how often each occurs."""
    if ids.dtype.kind not in "ui" or not len(starts) or starts[0] != 0 or starts[-1] != len(ids):
        raise FirthError("the documents' starts do not fit the tokens", do="give starts from 0 up to the last token")
    if (np.diff(starts) < 0).any():
        raise FirthError("the documents' starts are not in order", do="give starts from 0 up to the last token")
    tokens = np.zeros(size, np.int64)
    documents = sorting.tally(ids, starts, marks.end, tokens)
    if documents < 0:
        raise FirthError(f"a token's id is not below {size}", do="encode the text with this vocabulary")
    if not documents:
        raise FirthError("no tokens to count", do="give a text with at least one token")
    if marks.start != marks.end and tokens[marks.start]:
        raise FirthError("the token for the start of a document stands in the text", do="leave it out of the text")
    firsts = tokens.copy()
    firsts[marks.start] += documents
    return firsts, tokens


def _events(tokens: np.ndarray, special: Special, marks: Marks) -> np.ndarray:
    events = np.ones(len(tokens), bool)
    for token in special.ids - {marks.end, marks.unknown}:
        events[token] = tokens[token] > 0
    return events


def _stretches(plan: _Plan, firsts: np.ndarray, limit: int, threads: int) -> Iterator[_Stretch]:
    """Stretches of about equal work that fit the limit, as far as two tokens can tell runs apart."""
    room = 16 * plan.columns + 12 * plan.order  # bytes of a run: twice its key, and its nodes if it is the only one
    most = max(1, min(limit // room, -(-int(firsts.sum()) // (threads * _TASKS))))
    for low, high, rows in _cuts(firsts, most):
        if rows <= most or plan.order < 2:
            yield _Stretch(low, high, 0, plan.size + 1, rows)
            continue
        seconds = np.zeros(plan.size + 1, np.int64)
        sorting.tally_seconds(plan.ids, plan.starts, plan.start, plan.end, low, seconds)
        for second_low, second_high, part_rows in _cuts(seconds, most):
            yield _Stretch(low, high, second_low, second_high, part_rows)


def _cuts(rows: np.ndarray, most: int) -> Iterator[tuple[int, int, int]]:
    """Places in stretches of no more than `most` rows, or of one place; those without rows are left out."""
    places = np.flatnonzero(rows)
    sums = np.cumsum(rows[places])
    at, done = 0, 0
    while at < len(places):
        to = max(int(np.searchsorted(sums, done + most, "right")), at + 1)
        yield int(places[at]), int(places[to - 1]) + 1, int(sums[to - 1] - done)
        at, done = to, int(sums[to - 1])


def _grow_stretch(plan: _Plan, stretch: _Stretch, kind: type) -> _Grown:
    keys, other = (np.zeros((stretch.rows, plan.columns), np.uint64) for _ in range(2))
    sorting.gather(*plan[:4], plan.order, plan.bits, plan.per, *stretch[:4], keys)
    keys = sorting.sort(keys, other, plan.order, plan.bits, plan.per)
    del other
    sizes = np.zeros(plan.order, np.int64)
    sorting.measure(keys, plan.order, plan.bits, plan.per, sizes)
    nodes = int(sizes.sum())
    found = _Grown(sizes, np.empty(nodes, np.int32), np.zeros(nodes, kind), np.zeros(nodes, np.int32))
    sorting.grow(keys, plan.order, plan.bits, plan.per, *found)
    return found


def _joined(
    done: list[_Grown], order: int, tokens: np.ndarray, events: np.ndarray, marks: Marks, threads: int
) -> Counts:
    """The whole trie: first all tokens, whether they occur or not, then the stretches' nodes, order by order."""
    size = len(tokens)
    children = np.zeros(size, np.int32)
    for piece in done:
        children[piece.of("words", 0)] += piece.of("children", 0)  # a token can begin runs of several stretches
    sizes = trimmed([size, *(int(sum(piece.sizes[level] for piece in done)) for level in range(1, order))])
    whole = range(1, len(sizes))
    words = [np.arange(size, dtype=np.int32), *(piece.of("words", level) for level in whole for piece in done)]
    inner = [children, *(piece.of("children", level) for level in whole[:-1] for piece in done)]
    counts = np.concatenate([tokens, *(piece.of("counts", level) for level in whole for piece in done)])
    joined = np.concatenate(words), np.concatenate(inner if len(sizes) > 1 else [children[:0]])
    done.clear()
    return Counts(grown(sizes, *joined, threads), counts, events, marks)
