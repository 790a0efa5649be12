"""Features of text pairs: the n-grams of the left text, of the right one, of both, and how similar the texts are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from firth.linear.ngram_blocks import Features, FoundFeature
from firth.linear.vectorizer import Vectorizer
from firth.tokenizers.tokenizer import Tokenizer

Pair = tuple[str, str]
PARTS = ("left", "right", "both")


def _cosine(left: csr_array, right: csr_array, both: csr_array) -> np.ndarray:
    products = (left * right).sum(1)
    return products / np.sqrt(np.maximum((left * left).sum(1) * (right * right).sum(1), 1e-12))


def _left_in_right(left: csr_array, right: csr_array, both: csr_array) -> np.ndarray:
    return both.sum(1) / np.maximum(left.sum(1), 1e-12)


def _right_in_left(left: csr_array, right: csr_array, both: csr_array) -> np.ndarray:
    return both.sum(1) / np.maximum(right.sum(1), 1e-12)


def _jaccard(left: csr_array, right: csr_array, both: csr_array) -> np.ndarray:
    return both.sum(1) / np.maximum(left.sum(1) + right.sum(1) - both.sum(1), 1e-12)


def _length_ratio(left: csr_array, right: csr_array, both: csr_array) -> np.ndarray:
    sizes = [1.0 + np.diff(each.indptr) for each in (left, right)]
    return np.abs(np.log(sizes[0] / sizes[1]))


SIMILARITIES: Mapping[str, Callable[[csr_array, csr_array, csr_array], np.ndarray]] = {
    "cosine": _cosine,
    "left in right": _left_in_right,
    "right in left": _right_in_left,
    "Jaccard": _jaccard,
    "length ratio": _length_ratio,
}


@dataclass(frozen=True, eq=False)
class PairVectorizer:
    """The features of the training pairs, over one vectorizer for both sides."""

    single: Vectorizer
    documents: np.ndarray  # int32 (columns,): how many training pairs have the feature

    @classmethod
    def fit(cls, pairs: Sequence[Pair], tokenizer: Tokenizer, config: Features) -> tuple[PairVectorizer, csr_array]:
        """The features of the training pairs, and their matrix (pairs, columns)."""
        single, sides = Vectorizer.fit(_flat(pairs), tokenizer, config)
        matrix = _combine(single, sides)
        return cls(single, np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int32)), matrix

    def transform(self, pairs: Sequence[Pair]) -> csr_array:
        """The features of pairs (pairs, columns), float32."""
        return _combine(self.single, self.single.transform(_flat(pairs)))

    def find(self, pair: Pair) -> list[FoundFeature]:
        """The features of one pair, by column and name."""
        sides = [{feature.column: feature.name for feature in self.single.find(text)} for text in pair]
        both = {column: name for column, name in sides[0].items() if column in sides[1]}
        features = [
            FoundFeature(number * self.single.size + column, f"{part}: {name}")
            for number, (part, names) in enumerate(zip(PARTS, (*sides, both), strict=True))
            for column, name in names.items()
        ]
        first = len(PARTS) * self.single.size
        return [*features, *(FoundFeature(column, self.name(column)) for column in range(first, len(self.documents)))]

    def name(self, column: int) -> str:
        """The name of a column."""
        part, inside = divmod(column, self.single.size)
        if part < len(PARTS):
            return f"{PARTS[part]}: {self.single.name(inside)}"
        block, similarity = divmod(column - len(PARTS) * self.single.size, len(SIMILARITIES))
        return f"{list(SIMILARITIES)[similarity]} of {list(self.single.blocks)[block]}"

    # --- files ----------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a file."""
        return {**self.single.arrays(), "single.documents": self.single.documents, "documents": self.documents}

    def about(self) -> dict[str, Any]:
        """What a file says besides the arrays."""
        return self.single.about()

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any], tokenizer: Tokenizer, config: Features
    ) -> PairVectorizer:
        """The inverse of `arrays` and `about`. ValueError or KeyError if they do not fit."""
        of_single = {**arrays, "documents": arrays["single.documents"]}
        single = Vectorizer.from_arrays(of_single, about, tokenizer, config)
        if len(arrays["documents"]) != len(PARTS) * single.size + len(SIMILARITIES) * len(single.blocks):
            raise ValueError
        return cls(single, arrays["documents"])


def _flat(pairs: Sequence[Pair]) -> list[str]:
    """All left texts, then all right ones."""
    return [left for left, _ in pairs] + [right for _, right in pairs]


def _combine(single: Vectorizer, sides: csr_array) -> csr_array:
    """The matrix of pairs from that of their texts."""
    count, first, columns = sides.shape[0] // 2, 0, []
    left, right = sides[:count], sides[count:]
    for block in single.blocks.values():
        part = slice(first, first + block.ngrams.size)
        lefts, rights = (csr_array(side[:, part], dtype=np.float64) for side in (left, right))
        both = lefts.minimum(rights)
        columns += [similarity(lefts, rights, both) for similarity in SIMILARITIES.values()]
        first = part.stop
    similarities = csr_array(np.stack(columns, 1)) if count else csr_array((0, len(columns)))
    return csr_array(hstack([left, right, left.minimum(right), similarities], "csr"), dtype=np.float32)
