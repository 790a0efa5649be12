"""Cross-lingual word embeddings: orthogonal Procrustes on a seed dictionary with iterative refinement, retrieval by
CSLS, and bilingual lexicon induction (BLI), as in MUSE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from firth.datasets.records import Pair
from firth.embeddings.lookup import Result, digest, l2_normalise, most_frequent
from firth.errors import FirthError
from firth.metrics.ranking import mean
from firth.metrics.score import Score, signature
from firth.tokenizers.split import split_words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from firth.embeddings.nearest_neighbours import Neighbours
    from firth.embeddings.word_vectors import WordVectors

Retrieval = Literal["csls", "nearest"]
CSLS_NEIGHBOURS = 10  # neighbours of CSLS's mean similarity
COSINE_BLOCK = 1 << 22  # cosines in memory at a time


@dataclass(frozen=True)
class AlignmentOptions:
    """Options of the alignment of two embedding spaces."""

    refinement_rounds: int = 5  # of refinement by mutual nearest neighbours; 0: the seed dictionary alone
    max_vocab: int = 20_000  # most frequent words of each language that refinement takes pairs from
    center: bool = True  # subtract the mean of each language first
    retrieval: Retrieval = "csls"

    def __post_init__(self) -> None:
        if self.refinement_rounds < 0 or self.max_vocab < 1:
            what = f"refinement_rounds = {self.refinement_rounds}, max_vocab = {self.max_vocab}: too few"
            raise FirthError(what, where="alignment")


class Candidate(NamedTuple):
    """A translation candidate and its score."""

    word: str
    score: float


def procrustes(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Orthogonal Procrustes: the orthogonal matrix W that minimises ‖source @ W − target‖."""
    source, target = np.asarray(source, np.float64), np.asarray(target, np.float64)
    if source.shape != target.shape or not len(source):
        raise FirthError(f"vectors of shape {source.shape} cannot be rotated onto {target.shape}", do="give pairs")
    left, _, right = np.linalg.svd(source.T @ target)
    return left @ right


@dataclass(frozen=True, eq=False)
class CrossLingualVectors:
    """Two languages in one embedding space, as unit vectors."""

    source: WordVectors
    target: WordVectors
    source_vectors: np.ndarray  # (source words, width) float32, mapped
    target_vectors: np.ndarray  # (target words, width) float32
    mapping: np.ndarray  # (width, width), orthogonal
    pair_counts: tuple[int, ...]  # word pairs that the mapping was fitted on: the seeds, then each refinement
    retrieval: Retrieval

    @cached_property
    def _target_similarity(self) -> np.ndarray:
        return neighbourhood_similarity(self.target_vectors, self.source_vectors)

    def translate(
        self, words: Sequence[str], count: int = 10, retrieval: Retrieval | None = None
    ) -> list[list[Candidate]]:
        """The translation candidates of each word, best first."""
        rows, similarities = self.source_vectors[[self.source.index(word) for word in words]], None
        if (retrieval or self.retrieval) == "csls":
            similarities = neighbourhood_similarity(rows, self.target_vectors), self._target_similarity
        neighbours = _nearest(rows, self.target_vectors, count, similarities)
        target = self.target.words
        return [
            [Candidate(target[index], float(score)) for index, score in zip(indices, scores, strict=True)]
            for indices, scores in zip(*neighbours, strict=True)
        ]

    def mapped_source(self) -> WordVectors:
        """The source language's word vectors, mapped to the common space."""
        from firth.embeddings.word_vectors import WordVectors

        return WordVectors(self.source.words, self.source_vectors, counts=self.source.counts)


def align(
    source: WordVectors, target: WordVectors, seeds: Iterable[tuple[str, str]], options: AlignmentOptions | None = None
) -> CrossLingualVectors:
    """Map the source vectors to the target space by a seed dictionary, refined with the induced word pairs."""
    options = options or AlignmentOptions()
    if source.width != target.width:
        raise FirthError(f"vectors of width {source.width} and {target.width}", do="train both with the same width")
    left, right = _preprocess(source, options.center), _preprocess(target, options.center)
    seed_pairs = _seed_indices(source, target, seeds)
    mapping = procrustes(left[seed_pairs[:, 0]], right[seed_pairs[:, 1]])
    pair_counts = [len(seed_pairs)]
    left_top, right_top = most_frequent(source, options.max_vocab), most_frequent(target, options.max_vocab)
    for _ in range(options.refinement_rounds):
        mapped = (left[left_top] @ mapping).astype(np.float32)
        left_rows, right_rows = _mutual_neighbours(mapped, right[right_top], options.retrieval)
        if not len(left_rows):
            break
        induced = np.c_[left_top[left_rows], right_top[right_rows]]
        pairs = np.concatenate([seed_pairs, induced])  # the seeds are known to be correct
        mapping = procrustes(left[pairs[:, 0]], right[pairs[:, 1]])
        pair_counts.append(len(pairs))
    mapped = (left @ mapping).astype(np.float32)
    return CrossLingualVectors(source, target, mapped, right, mapping, tuple(pair_counts), options.retrieval)


def _preprocess(vectors: WordVectors, center: bool) -> np.ndarray:
    rows = l2_normalise(vectors.vectors)
    return l2_normalise(rows - rows.mean(0)) if center else rows


def _seed_indices(source: WordVectors, target: WordVectors, seeds: Iterable[tuple[str, str]]) -> np.ndarray:
    seeds = list(seeds)
    pairs = [(source.index(left), target.index(right)) for left, right in seeds if left in source and right in target]
    if not pairs:
        what = f"none of the {len(seeds)} seed pairs has both words among the vectors"
        raise FirthError(what, do="check languages and letter case")
    return np.array(pairs, np.int64)


# --- retrieval --------------------------------------------------------------------------------------------------------


def neighbourhood_similarity(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The mean cosine of each row with its nearest others, r(x) of CSLS (Conneau et al. 2018): high for hubs."""
    neighbours, means = min(CSLS_NEIGHBOURS, len(others)), np.empty(len(rows), np.float32)
    for low in range(0, len(rows), step := max(1, COSINE_BLOCK // len(others))):
        cosines = rows[low : low + step] @ others.T
        means[low : low + step] = np.partition(cosines, -neighbours, axis=1)[:, -neighbours:].mean(1)
    return means


def _nearest(
    rows: np.ndarray, others: np.ndarray, count: int, similarities: tuple[np.ndarray, np.ndarray] | None
) -> Neighbours:
    """The nearest others of each row by cosine; given both sides' neighbourhood `similarities`, by CSLS."""
    from firth.embeddings import nearest_neighbours

    if similarities is None:
        return nearest_neighbours.nearest(others, rows, count)
    row_similarity, other_similarity = similarities
    queries = np.c_[2.0 * rows, np.ones(len(rows))].astype(np.float32)  # one dot product: 2 cos − r(other)
    neighbours = nearest_neighbours.nearest(np.c_[others, -other_similarity].astype(np.float32), queries, count)
    return nearest_neighbours.Neighbours(neighbours.indices, neighbours.scores - row_similarity[:, None])


def _mutual_neighbours(left: np.ndarray, right: np.ndarray, retrieval: Retrieval) -> tuple[np.ndarray, np.ndarray]:
    """Rows of both sides that are mutual nearest neighbours."""
    similarities = None
    if retrieval == "csls":
        similarities = neighbourhood_similarity(left, right), neighbourhood_similarity(right, left)
    forward = _nearest(left, right, 1, similarities).indices[:, 0]
    backward = _nearest(right, left, 1, similarities and similarities[::-1]).indices[:, 0]
    mutual = np.flatnonzero(backward[forward] == np.arange(len(left)))
    return mutual, forward[mutual]


# --- bilingual lexicons -----------------------------------------------------------------------------------------------


def evaluate_dictionary(
    vectors: CrossLingualVectors,
    gold: Mapping[str, Sequence[str]],
    ks: Sequence[int] = (1, 5, 10),
    retrieval: Retrieval | None = None,
    name: str = "dictionary",
) -> Result:
    """Bilingual lexicon induction (BLI): precision@k, the fraction of words with a correct translation in the top k.

    It covers the words with a vector of which at least one translation has a vector too.
    """
    covered = {word: [w for w in right if w in vectors.target] for word, right in gold.items()}
    covered = {word: right for word, right in covered.items() if right and word in vectors.source}
    translations = vectors.translate(list(covered), max(ks), retrieval) if covered else []
    ranked = [[candidate.word for candidate in candidates] for candidates in translations]
    parts = {"set": name, "data": digest(sorted(gold.items())), "retrieval": retrieval or vectors.retrieval}
    parts |= {"seeds": vectors.pair_counts[0], "refinement_rounds": len(vectors.pair_counts) - 1}
    parts |= {"source": len(vectors.source), "target": len(vectors.target)}
    scores = []
    for k in ks:
        hits = [float(any(w in right for w in row[:k])) for row, right in zip(ranked, covered.values(), strict=True)]
        scores.append(Score(f"precision@{k}", mean(hits), signature(parts)))
    oov_words = tuple(word for word in gold if word not in vectors.source)
    return Result(name, "dictionary", tuple(scores), len(gold), len(covered), oov_words)


def induce_lexicon(pairs: Iterable[Pair], min_count: int = 3, min_dice: float = 0.3) -> list[tuple[str, str]]:
    """A bilingual lexicon from parallel sentences: word pairs, the most frequent first.

    Two words are a pair if each is the other's best by the Dice coefficient of their sentences, of at least `min_dice`,
    and both occur in at least `min_count` sentences.
    """
    from scipy.sparse import csr_matrix

    sides: tuple[list[list[str]], ...] = ([], [])
    for pair in pairs:
        for side, text in zip(sides, (pair.left, pair.right), strict=True):
            side.append(sorted({word for word in split_words(text.lower()) if word.isalpha()}))
    matrices, vocabularies = [], []
    for side in sides:
        counts = Counter(word for sentence in side for word in sentence)
        word_ids = {word: n for n, word in enumerate(word for word, count in counts.items() if count >= min_count)}
        cells = [(word_ids[word], n) for n, sentence in enumerate(side) for word in sentence if word in word_ids]
        rows, columns = np.array(cells, np.int64).reshape(-1, 2).T
        matrices.append(csr_matrix((np.ones(len(cells)), (rows, columns)), (len(word_ids), len(side))))
        vocabularies.append(list(word_ids))
    return _mutual_best(matrices[0], matrices[1], vocabularies, min_dice)


def _mutual_best(
    left: csr_matrix, right: csr_matrix, vocabularies: list[list[str]], min_dice: float
) -> list[tuple[str, str]]:
    """Word pairs that are mutual best by the Dice coefficient."""
    left_counts, right_counts = np.asarray(left.sum(1)).ravel(), np.asarray(right.sum(1)).ravel()
    joint = (left @ right.T).tocoo()
    dice = 2.0 * joint.data / (left_counts[joint.row] + right_counts[joint.col])
    order = np.lexsort((joint.col, joint.row, dice))  # ascending: the last assignment, the best, remains
    forward, backward = np.full(len(vocabularies[0]), -1), np.full(len(vocabularies[1]), -1)
    forward[joint.row[order]], backward[joint.col[order]] = joint.col[order], joint.row[order]
    best_dice = np.zeros(len(vocabularies[0]))
    best_dice[joint.row[order]] = dice[order]
    mutual = np.flatnonzero((forward >= 0) & (best_dice >= min_dice))
    mutual = mutual[backward[forward[mutual]] == mutual]
    mutual = mutual[np.argsort(-left_counts[mutual], kind="stable")]
    return [(vocabularies[0][n], vocabularies[1][forward[n]]) for n in mutual]
