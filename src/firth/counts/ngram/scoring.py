"""How likely a text is: the log-probability of every token of a split, and how long the n-gram was that told it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from firth.counts.compiled import default_threads, run_in_order
from firth.counts.ngram import walking
from firth.counts.ngram.counting import readable
from firth.counts.ngram.model import Model
from firth.counts.scanning import line_blocks, line_encoder
from firth.counts.vocabulary import Vocabulary
from firth.errors import FirthError

_BLOCK = 1 << 16  # tokens that a thread scores at once
_TEXT = 1 << 18  # bytes of text that it does: so that the last ones are done at about the same time


class Scores(NamedTuple):
    """One entry for each token, the ends of documents included."""

    logprobs: np.ndarray  # float32, natural logarithms
    orders: np.ndarray  # uint8: tokens of the longest n-gram that was found


def score(model: Model, ids: np.ndarray, starts: np.ndarray, *, threads: int = 0) -> Scores:
    """Score documents that stand back to back; each begins anew, and is a whole one if it ends with the end token."""
    ids, starts = readable(ids), readable(np.asarray(starts, np.int64))
    if ids.dtype.kind != "u" and len(ids) and ids.min() < 0:
        raise FirthError("a token's id is below 0", do="encode the text with the model's vocabulary")
    if not len(starts) or starts[0] < 0 or starts[-1] > len(ids) or (np.diff(starts) < 0).any():
        raise FirthError("the documents' starts do not fit the tokens", do="give starts from 0 up to the last token")
    found = Scores(np.zeros(len(ids), np.float32), np.zeros(len(ids), np.uint8))
    numbers = (model.nodes, model.nodes.view(np.float32), model.leaves, model.leaves.view(np.float32))
    rest = (model.levels, model.words, *numbers, model.slots, model.marks.start, model.marks.end, *found)
    tasks = [(low, min(low + _BLOCK, starts[-1])) for low in range(starts[0], starts[-1], _BLOCK)]
    done = run_in_order(lambda task: walking.score(ids, starts, *task, *rest), tasks, threads or default_threads())
    if not all(done):
        raise FirthError(f"a token's id is not below {model.size}", do="encode the text with the model's vocabulary")
    return found


class LineScores(NamedTuple):
    """Scores of a text's lines: their words and their ends; line i has entries starts[i] to starts[i + 1]."""

    logprobs: np.ndarray
    orders: np.ndarray
    starts: np.ndarray


def score_lines(model: Model, names: Sequence[str], text: Iterable[str | bytes], *, threads: int = 0) -> LineScores:
    """Score plain text in pieces, a document a line and words between blanks; lines without words are left out.

    `names` has a word for each id; words that it lacks are unknown ones."""
    encode = line_encoder(Vocabulary(tuple(names), np.ones(len(names), np.int64)))
    threads = threads or default_threads()
    pieces = list(line_blocks(text, _TEXT))
    scored = list(run_in_order(lambda piece: _scored(model, *encode(piece)), pieces, threads))
    empty = LineScores(np.empty(0, np.float32), np.empty(0, np.uint8), np.zeros(1, np.int64))
    logprobs, orders = (np.concatenate(column) for column in list(zip(empty, *scored, strict=True))[:2])
    lengths = np.concatenate([[0], *(np.diff(piece.starts) for piece in scored)])
    return LineScores(logprobs, orders, np.cumsum(lengths, dtype=np.int64))


def _scored(model: Model, words: np.ndarray, starts: np.ndarray) -> LineScores:
    """Words as numbers, −1 for unknown ones: marks are not words, and each line gets its end."""
    ids = np.empty(len(words) + len(starts) - 1, np.uint32)
    if not walking.close(words, starts, *model.marks, ids):
        raise FirthError("a word is not in the vocabulary, which has no token for that", do="use the tokenizer")
    starts = starts + np.arange(len(starts))
    return LineScores(*score(model, ids, starts, threads=1), starts)


def document_sums(logprobs: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The log-probability of each document, summed in double precision."""
    sums = np.concatenate([[0.0], np.cumsum(logprobs, dtype=np.float64)])
    if np.isfinite(sums[-1]):
        return np.diff(sums[np.asarray(starts)])
    return np.array([logprobs[a:b].sum(dtype=np.float64) for a, b in pairwise(starts)])
