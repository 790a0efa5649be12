"""Aligning two languages' vectors: a rotation from pairs of words (Procrustes), then refined; inducing a dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from firth.data.records import Pair
from firth.errors import FirthError
from firth.metrics.ranking import mean
from firth.metrics.score import Score, signature
from firth.text.split import words as split_words
from firth.vectors.asking import Result, digest, frequent, unit

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from firth.vectors.neighbours import Found
    from firth.vectors.store import WordVectors

How = Literal["csls", "nearest"]
NEAR = 10  # neighbours whose mean cosine says how crowded the place of a word is
BLOCK = 1 << 22  # cosines held at a time


@dataclass(frozen=True)
class Aligning:
    """How two languages are aligned."""

    rounds: int = 5  # of refinement by mutual neighbours; 0: the seed dictionary alone
    among: int = 20_000  # the most frequent words of each side, from which refinement takes its pairs
    centred: bool = True  # the mean of each side is taken off first
    how: How = "csls"

    def __post_init__(self) -> None:
        if self.rounds < 0 or self.among < 1:
            raise FirthError(f"rounds = {self.rounds}, among = {self.among}: too few", where="alignment")


class Candidate(NamedTuple):
    """A translation and its score."""

    word: str
    score: float


def procrustes(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The orthogonal matrix that takes rows of `source` nearest to those of `target`: source @ it ≈ target."""
    source, target = np.asarray(source, np.float64), np.asarray(target, np.float64)
    if source.shape != target.shape or not len(source):
        raise FirthError(f"vectors of shape {source.shape} cannot be rotated onto {target.shape}", do="give pairs")
    left, _, right = np.linalg.svd(source.T @ target)
    return left @ right


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two languages in one space; rows of both are of length 1 and may be compared."""

    source: WordVectors
    target: WordVectors
    left: np.ndarray  # (source words, width) float32, rotated
    right: np.ndarray  # (target words, width) float32
    matrix: np.ndarray  # the rotation
    pairs: tuple[int, ...]  # how many the rotation was made from, first the seeds, then round by round
    how: How

    @cached_property
    def _crowds(self) -> np.ndarray:
        return crowding(self.right, self.left)

    def translate(self, words: Sequence[str], count: int = 10, how: How | None = None) -> list[list[Candidate]]:
        """The best translations of each word, the best first."""
        rows = self.left[[self.source.index(word) for word in words]]
        crowds = (crowding(rows, self.right), self._crowds) if (how or self.how) == "csls" else None
        found = _nearest(rows, self.right, count, crowds)
        listed = zip(found.rows, found.scores, strict=True)
        return [
            [Candidate(self.target.words[n], float(score)) for n, score in zip(*each, strict=True)] for each in listed
        ]

    def mapped(self) -> WordVectors:
        """The source's words with their vectors in the common space."""
        from firth.vectors.store import WordVectors

        return WordVectors(self.source.words, self.left, counts=self.source.counts)


def align(
    source: WordVectors, target: WordVectors, seeds: Iterable[tuple[str, str]], aligning: Aligning | None = None
) -> Alignment:
    """Rotate the source's vectors onto the target's by a seed dictionary, then also by the pairs that this finds."""
    aligning = aligning or Aligning()
    if source.width != target.width:
        raise FirthError(f"vectors of width {source.width} and {target.width}", do="train both with the same width")
    left, right = _prepared(source, aligning.centred), _prepared(target, aligning.centred)
    links = _links(source, target, seeds)
    matrix = procrustes(left[links[:, 0]], right[links[:, 1]])
    counts, tops = [len(links)], (frequent(source, aligning.among), frequent(target, aligning.among))
    for _ in range(aligning.rounds):
        turned = (left[tops[0]] @ matrix).astype(np.float32)
        one, other = _mutual(turned, right[tops[1]], aligning.how)
        if not len(one):
            break
        found = np.concatenate([links, np.c_[tops[0][one], tops[1][other]]])  # the seeds are known to be right
        matrix = procrustes(left[found[:, 0]], right[found[:, 1]])
        counts.append(len(found))
    turned = (left @ matrix).astype(np.float32)
    return Alignment(source, target, turned, right, matrix, tuple(counts), aligning.how)


def _prepared(vectors: WordVectors, centred: bool) -> np.ndarray:
    rows = unit(vectors.vectors)
    return unit(rows - rows.mean(0)) if centred else rows


def _links(source: WordVectors, target: WordVectors, seeds: Iterable[tuple[str, str]]) -> np.ndarray:
    seeds = list(seeds)
    links = [(source.index(one), target.index(other)) for one, other in seeds if one in source and other in target]
    if not links:
        what = f"none of the {len(seeds)} seed pairs has both words among the vectors"
        raise FirthError(what, do="check languages and letter case")
    return np.array(links, np.int64)


# --- neighbours -------------------------------------------------------------------------------------------------------


def crowding(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The mean cosine of each row with its nearest others (Conneau et al., 2018): high where many words crowd."""
    near, found = min(NEAR, len(others)), np.empty(len(rows), np.float32)
    for low in range(0, len(rows), step := max(1, BLOCK // len(others))):
        cosines = rows[low : low + step] @ others.T
        found[low : low + step] = np.partition(cosines, -near, axis=1)[:, -near:].mean(1)
    return found


def _nearest(rows: np.ndarray, others: np.ndarray, count: int, crowds: tuple[np.ndarray, np.ndarray] | None) -> Found:
    """The best others for each row by cosine; by CSLS, twice the cosine less how crowded both are, given `crowds`."""
    from firth.vectors import neighbours

    if crowds is None:
        return neighbours.nearest(others, rows, count)
    here, there = crowds
    widened = np.c_[2.0 * rows, np.ones(len(rows))].astype(np.float32)  # one product: 2 cos - crowding of the other
    found = neighbours.nearest(np.c_[others, -there].astype(np.float32), widened, count)
    return neighbours.Found(found.rows, found.scores - here[:, None])


def _mutual(left: np.ndarray, right: np.ndarray, how: How) -> tuple[np.ndarray, np.ndarray]:
    """Rows of both sides that are each other's best."""
    crowds = (crowding(left, right), crowding(right, left)) if how == "csls" else None
    forth = _nearest(left, right, 1, crowds).rows[:, 0]
    back = _nearest(right, left, 1, crowds and crowds[::-1]).rows[:, 0]
    one = np.flatnonzero(back[forth] == np.arange(len(left)))
    return one, forth[one]


# --- dictionaries -----------------------------------------------------------------------------------------------------


def evaluate_dictionary(
    aligned: Alignment,
    gold: Mapping[str, Sequence[str]],
    at: Sequence[int] = (1, 5, 10),
    how: How | None = None,
    name: str = "dictionary",
) -> Result:
    """Precision@k: the share of words with a right translation among the first k.

    Asked are words with a vector of which at least one translation has one too.
    """
    kept = {word: [w for w in right if w in aligned.target] for word, right in gold.items() if word in aligned.source}
    kept = {word: right for word, right in kept.items() if right}
    found = aligned.translate(list(kept), max(at), how) if kept else []
    ranked = [[candidate.word for candidate in candidates] for candidates in found]
    told = {"set": name, "data": digest(sorted(gold.items())), "how": how or aligned.how, "seeds": aligned.pairs[0]}
    told |= {"rounds": len(aligned.pairs) - 1, "source": len(aligned.source), "target": len(aligned.target)}
    scores = []
    for k in at:
        hits = [float(any(w in right for w in row[:k])) for row, right in zip(ranked, kept.values(), strict=True)]
        scores.append(Score(f"precision@{k}", mean(hits), signature(told)))
    unknown = tuple(word for word in gold if word not in aligned.source)
    return Result(name, "dictionary", tuple(scores), len(gold), len(kept), unknown)


def lexicon(pairs: Iterable[Pair], least: int = 3, bound: float = 0.3) -> list[tuple[str, str]]:
    """Pairs of words from translated sentences, the most frequent first.

    Two words belong together if each is the other's best by Dice's coefficient of the sentences they are in, and that
    is at least `bound`; both are in at least `least` sentences.
    """
    from scipy.sparse import csr_matrix

    sides: tuple[list[list[str]], ...] = ([], [])
    for pair in pairs:
        for side, text in zip(sides, (pair.left, pair.right), strict=True):
            side.append(sorted({word for word in split_words(text.lower()) if word.isalpha()}))
    tables, names = [], []
    for side in sides:
        counts = Counter(word for sentence in side for word in sentence)
        kept = {word: n for n, word in enumerate(word for word, count in counts.items() if count >= least)}
        cells = [(kept[word], n) for n, sentence in enumerate(side) for word in sentence if word in kept]
        rows, columns = np.array(cells, np.int64).reshape(-1, 2).T
        tables.append(csr_matrix((np.ones(len(cells)), (rows, columns)), (len(kept), len(side))))
        names.append(list(kept))
    return _matched(tables[0], tables[1], names, bound)


def _matched(left: csr_matrix, right: csr_matrix, names: list[list[str]], bound: float) -> list[tuple[str, str]]:
    """Words that are each other's best."""
    often, also = np.asarray(left.sum(1)).ravel(), np.asarray(right.sum(1)).ravel()
    both = (left @ right.T).tocoo()
    dice = 2.0 * both.data / (often[both.row] + also[both.col])
    order = np.lexsort((both.col, both.row, dice))  # the best last, so that it is what remains
    forth, back = np.full(len(names[0]), -1), np.full(len(names[1]), -1)
    forth[both.row[order]], back[both.col[order]] = both.col[order], both.row[order]
    reached = np.zeros(len(names[0]))
    reached[both.row[order]] = dice[order]
    one = np.flatnonzero((forth >= 0) & (reached >= bound))
    one = one[back[forth[one]] == one]
    one = one[np.argsort(-often[one], kind="stable")]
    return [(names[0][n], names[1][forth[n]]) for n in one]
