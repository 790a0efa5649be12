"""Scoring texts with an n-gram model: the log-probability of every token and the order of the n-gram that matched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from firth.corpus.text_scanner import line_blocks, line_encoder
from firth.corpus.vocabulary import Vocabulary
from firth.errors import FirthError
from firth.jit import default_threads, run_in_order
from firth.ngram import scoring_kernels
from firth.ngram.counts import read_only
from firth.ngram.ngram_model import Model

_TOKENS_PER_TASK = 1 << 16  # tokens per task
_BYTES_PER_TASK = 1 << 18  # bytes of text per task: small enough that threads finish at about the same time


class Scores(NamedTuple):
    """One entry for each token, end tokens included."""

    logprobs: np.ndarray  # float32, natural logarithms
    orders: np.ndarray  # uint8: the order of the longest n-gram that matched


def score(model: Model, ids: np.ndarray, starts: np.ndarray, *, threads: int = 0) -> Scores:
    """Score documents stored back to back; each starts from the initial state and ends with an end token if whole."""
    ids, starts = read_only(ids), read_only(np.asarray(starts, np.int64))
    if ids.dtype.kind != "u" and len(ids) and ids.min() < 0:
        raise FirthError("a token id is below 0", do="encode the text with the model's tokenizer")
    if not len(starts) or starts[0] < 0 or starts[-1] > len(ids) or (np.diff(starts) < 0).any():
        raise FirthError("document starts do not fit the tokens", do="give offsets from 0 to the number of tokens")
    scores = Scores(np.zeros(len(ids), np.float32), np.zeros(len(ids), np.uint8))
    numbers = (model.nodes, model.nodes.view(np.float32), model.leaves, model.leaves.view(np.float32))
    special = (model.special_ids.start, model.special_ids.end)
    rest = (model.levels, model.words, *numbers, model.slots, *special, *scores)
    tasks = [(low, min(low + _TOKENS_PER_TASK, starts[-1])) for low in range(starts[0], starts[-1], _TOKENS_PER_TASK)]
    in_vocabulary = run_in_order(
        lambda task: scoring_kernels.score(ids, starts, *task, *rest), tasks, threads or default_threads()
    )
    if not all(in_vocabulary):
        raise FirthError(f"a token id is not below {model.size}", do="encode the text with the model's tokenizer")
    return scores


class LineScores(NamedTuple):
    """Scores of the words and end tokens of a text's lines; line i has entries starts[i] to starts[i + 1]."""

    logprobs: np.ndarray
    orders: np.ndarray
    starts: np.ndarray


def score_lines(
    model: Model, vocabulary: Sequence[str], text: Iterable[str | bytes], *, threads: int = 0
) -> LineScores:
    """Score plain text given in chunks: one document per line, words separated by whitespace; empty lines are skipped.

    `vocabulary` has a word for each id; other words are out-of-vocabulary."""
    encode = line_encoder(Vocabulary(tuple(vocabulary), np.ones(len(vocabulary), np.int64)))
    threads = threads or default_threads()
    chunks = list(line_blocks(text, _BYTES_PER_TASK))
    scored = list(run_in_order(lambda chunk: _score_words(model, *encode(chunk)), chunks, threads))
    empty = LineScores(np.empty(0, np.float32), np.empty(0, np.uint8), np.zeros(1, np.int64))
    logprobs, orders = (np.concatenate(column) for column in list(zip(empty, *scored, strict=True))[:2])
    lengths = np.concatenate([[0], *(np.diff(chunk.starts) for chunk in scored)])
    return LineScores(logprobs, orders, np.cumsum(lengths, dtype=np.int64))


def _score_words(model: Model, word_ids: np.ndarray, starts: np.ndarray) -> LineScores:
    """Score word ids (−1: out-of-vocabulary); special tokens in the text are unknown, each line gets an end token."""
    ids = np.empty(len(word_ids) + len(starts) - 1, np.uint32)
    if not scoring_kernels.add_end_tokens(word_ids, starts, *model.special_ids, ids):
        raise FirthError(
            "a word is out-of-vocabulary, and the model has no unknown token", do="encode the text with the tokenizer"
        )
    starts = starts + np.arange(len(starts))
    return LineScores(*score(model, ids, starts, threads=1), starts)


def document_sums(logprobs: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the log-probability of each document, summed in double precision."""
    sums = np.concatenate([[0.0], np.cumsum(logprobs, dtype=np.float64)])
    if np.isfinite(sums[-1]):
        return np.diff(sums[np.asarray(starts)])
    return np.array([logprobs[a:b].sum(dtype=np.float64) for a, b in pairwise(starts)])
