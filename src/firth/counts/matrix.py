"""Documents and words as sparse matrices: one-hot rows, bags of words, terms by documents, tf-idf.

Texts are `ids` (int32, documents back to back, below 0 unknown) and `starts` (int64, with the end), as
`Vocabulary.encode` gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, diags_array

from firth.errors import FirthError, unknown


def one_hot(ids: np.ndarray, size: int) -> csr_array:
    """A row for each place with a one in the column of its word; all zeros where the word is unknown."""
    ids = _checked(ids, size)
    starts = np.concatenate([[0], np.cumsum(ids >= 0)])
    known = ids[ids >= 0]
    return csr_array((np.ones(len(known), np.int64), known, starts), shape=(len(ids), size))


def bag_of_words(ids: np.ndarray, starts: np.ndarray, size: int) -> csr_array:
    """Documents by words: how often each word occurs in each document (int64)."""
    ids = _checked(ids, size)
    known = np.concatenate([[0], np.cumsum(ids >= 0)])[np.asarray(starts)]
    ids = ids[ids >= 0].copy()  # the matrix sorts it in place
    bags = csr_array((np.ones(len(ids), np.int64), ids, known), shape=(len(known) - 1, size))
    bags.sum_duplicates()
    return bags


def term_document(ids: np.ndarray, starts: np.ndarray, size: int) -> csr_array:
    """Words by documents: the bags of words, turned."""
    return bag_of_words(ids, starts, size).T.tocsr()


def _checked(ids: np.ndarray, size: int) -> np.ndarray:
    ids = np.asarray(ids)
    if len(ids) and ids.max() >= size:
        what = f"a word's number is {ids.max()}, but there are {size} words"
        raise FirthError(what, do="encode the text with this vocabulary")
    return ids


# --- tf-idf ---------------------------------------------------------------------------------------------------------

Variant = Literal["log10", "smooth"]


def _log10(documents: int, frequency: np.ndarray) -> np.ndarray:
    """log₁₀(N/df), nothing for a word in no document."""
    return np.log10(documents / np.maximum(frequency, 1)) * (frequency > 0)


def _smooth(documents: int, frequency: np.ndarray) -> np.ndarray:
    """ln((1 + N)/(1 + df)) + 1: as if one more document held every word; a word that is everywhere keeps weight."""
    return np.log((1 + documents) / (1 + frequency)) + 1


WEIGHTS = {"log10": _log10, "smooth": _smooth}
UNIT_ROWS = {"log10": False, "smooth": True}


@dataclass(frozen=True, eq=False)
class TfIdf:
    """The weight of every word, learned from some documents and good for others."""

    idf: np.ndarray  # (words,) float64
    unit: bool  # rows are made of length 1

    def weigh(self, bags: csr_array) -> csr_array:
        """Documents by words: counts times weights."""
        weighed = csr_array(bags, dtype=np.float64, copy=True)
        weighed.data *= self.idf[weighed.indices]
        if self.unit:
            lengths = np.sqrt(np.asarray(weighed.power(2).sum(1)))
            weighed.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(weighed.indptr))
        return weighed


def learn_tfidf(bags: csr_array, variant: Variant = "log10") -> TfIdf:
    """Weights from documents by words; `log10` is the handbook's, `smooth` scikit-learn's (with rows of length 1)."""
    if variant not in WEIGHTS:
        raise unknown("tf-idf variant", variant, WEIGHTS)
    frequency = np.bincount(bags.indices[bags.data > 0], minlength=bags.shape[1])
    return TfIdf(WEIGHTS[variant](bags.shape[0], frequency), UNIT_ROWS[variant])


def tfidf(bags: csr_array, variant: Variant = "log10") -> csr_array:
    """The documents themselves, weighed."""
    return learn_tfidf(bags, variant).weigh(bags)


# --- association ----------------------------------------------------------------------------------------------------


def ppmi(counts: csr_array, *, shift: float = 1.0, smoothing: float = 1.0) -> csr_array:
    """Positive pointwise mutual information in bits, max(log₂ p(w,c)/(p(w)·p(c)) − log₂ shift, 0).

    Context probabilities go with count^smoothing; ¾ favours rare contexts less (Levy, Goldberg and Dagan 2015)."""
    if shift <= 0 or smoothing < 0:
        raise FirthError(f"shift {shift}, smoothing {smoothing}", do="give a shift above 0 and a smoothing from 0 on")
    counts = csr_array(counts, dtype=np.float64, copy=True)
    counts.eliminate_zeros()
    words, contexts = np.asarray(counts.sum(1)), np.asarray(counts.sum(0))
    contexts = np.where(contexts > 0, contexts, 0) ** smoothing * (contexts > 0)
    words, contexts = _logs(words), _logs(contexts / max(contexts.sum(), 1e-300))
    values = np.log2(counts.data)
    values -= np.repeat(words, np.diff(counts.indptr))  # p(w,c)/p(w) is the count over the row's sum
    values -= contexts[counts.indices] + np.log2(shift)
    counts.data = np.maximum(values, 0)
    counts.eliminate_zeros()
    return counts


def _logs(values: np.ndarray) -> np.ndarray:
    return np.log2(values, out=np.zeros(len(values)), where=values > 0)


def hellinger_rows(counts: csr_array) -> csr_array:
    """The square roots of each row's shares: Euclidean distances between rows are then Hellinger's, times √2."""
    sums = np.asarray(counts.sum(1), np.float64)
    return csr_array(diags_array(np.where(sums > 0, 1 / np.where(sums > 0, sums, 1), 0)) @ counts).sqrt()
