"""The Viterbi algorithm: the best tagging of a linear chain, or the k best (Viterbi 1967; Forney 1973)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.generation.structured.linear_chain import LinearChain, prepare_emissions
from firth.jit import kernel


class Tagging(NamedTuple):
    """A tag for each word, and the score of them all."""

    tags: list[int]
    score: float


@kernel
def _viterbi(
    emissions: np.ndarray, firsts: np.ndarray, lengths: np.ndarray, transitions: np.ndarray, start: np.ndarray,
    end: np.ndarray, pointers: np.ndarray, tags: np.ndarray, scores: np.ndarray,
) -> None:  # fmt: skip
    """The best tags (steps,) of sequences that begin at the steps `firsts`, and their scores; emissions (steps, tags);
    among equals the lowest tag, beginning with the last word."""
    count = len(start)
    last, new = np.empty(count), np.empty(count)
    for row in range(len(lengths)):
        first, length = firsts[row], lengths[row]
        scores[row] = 0.0
        if length == 0:
            continue
        for j in range(count):
            last[j] = start[j] + emissions[first, j]
        for t in range(1, length):
            pointer = pointers[t]
            for j in range(count):
                new[j] = last[0] + transitions[0, j]
                pointer[j] = 0
            for i in range(1, count):
                score = last[i]
                for j in range(count):
                    candidate = score + transitions[i, j]
                    better = candidate > new[j]
                    new[j] = candidate if better else new[j]
                    pointer[j] = i if better else pointer[j]
            for j in range(count):
                last[j] = new[j] + emissions[first + t, j]
        best = 0
        for j in range(count):
            last[j] += end[j]
            if last[j] > last[best]:
                best = j
        scores[row] = last[best]
        for t in range(length - 1, -1, -1):
            tags[first + t] = best
            best = pointers[t, best]


def viterbi(emissions: np.ndarray, lengths: np.ndarray, chain: LinearChain) -> list[Tagging]:
    """The best tagging of each sequence: emissions (batch, time, tags), lengths (batch,); an error if none is
    possible."""
    emissions, lengths = prepare_emissions(emissions, lengths, chain)
    batch, time, count = emissions.shape
    firsts = np.arange(batch) * time
    tags, scores = _run(emissions.reshape(batch * time, count), firsts, lengths, chain)
    rows = zip(tags.reshape(batch, time).tolist(), lengths.tolist(), scores.tolist(), strict=True)
    return [Tagging(row[:length], score) for row, length, score in rows]


def viterbi_ragged(emissions: np.ndarray, lengths: np.ndarray, chain: LinearChain) -> np.ndarray:
    """The tags (steps,) of the best tagging of each sequence, of all sequences one after the other without padding:
    emissions (steps, tags), lengths (batch,)."""
    (emissions,), _ = prepare_emissions(emissions[None], np.array([len(emissions)]), chain)
    lengths = np.ascontiguousarray(lengths, np.int64)
    if lengths.sum() != len(emissions):
        raise FirthError(f"{len(emissions)} steps of sequences that have {lengths.sum()}")
    return _run(emissions, np.cumsum(lengths) - lengths, lengths, chain)[0]


def _run(
    emissions: np.ndarray, firsts: np.ndarray, lengths: np.ndarray, chain: LinearChain
) -> tuple[np.ndarray, np.ndarray]:
    """The best tags (steps,) and the score of each sequence; an error if one has no possible tagging."""
    tags, scores = np.zeros(len(emissions), np.int64), np.empty(len(lengths))
    pointers = np.zeros((int(lengths.max(initial=0)), chain.tags), np.int64)
    _viterbi(emissions, firsts, lengths, chain.transitions, chain.start, chain.end, pointers, tags, scores)
    for row in np.flatnonzero(scores == -np.inf):
        raise _impossible(f"sequence {row}")
    return tags, scores


def k_best(emissions: np.ndarray, chain: LinearChain, k: int) -> list[Tagging]:
    """The k best taggings of one sequence, emissions (time, tags), best first; fewer if no more are possible."""
    emissions, lengths = prepare_emissions(emissions[None], np.array([len(emissions)]), chain)
    if not lengths[0]:
        return [Tagging([], 0.0)][:k]
    scores, pointers = (chain.start + emissions[0, 0])[None], []  # scores (rank, tags): the best that end with each tag
    for emission in emissions[0, 1:]:
        candidates = (scores[:, :, None] + chain.transitions).reshape(-1, chain.tags)  # (rank × from, to)
        pointers.append(np.argsort(-candidates, axis=0, kind="stable")[:k])
        scores = np.take_along_axis(candidates, pointers[-1], 0) + emission
    final = (scores + chain.end).ravel()
    order = np.argsort(-final, kind="stable")[:k]
    best = [Tagging(_follow(pointers, int(at), chain.tags), float(final[at])) for at in order if final[at] > -np.inf]
    if not best and k > 0:
        raise _impossible("the sequence")
    return best


def _follow(pointers: list[np.ndarray], at: int, count: int) -> list[int]:
    """The tags of the hypothesis `at` = rank × tags + tag of the last word."""
    tags = [at % count]
    for pointer in reversed(pointers):
        at = int(pointer[at // count, at % count])
        tags.append(at % count)
    return tags[::-1]


def _impossible(where: str) -> FirthError:
    return FirthError(f"{where} has no tagging that the constraints allow", do="allow more tags or transitions")
