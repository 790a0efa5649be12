"""Sparse matrices of documents and words: one-hot, bag of words, term-document, tf-idf; PPMI and Hellinger weighting.

Texts are `ids` (int32, documents concatenated, negative for out-of-vocabulary words) and `starts` (int64, with the
end), as `Vocabulary.encode` returns them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, diags_array

from firth.errors import FirthError, unknown


def one_hot(ids: np.ndarray, vocabulary_size: int) -> csr_array:
    """One-hot encoding: a row for each token with a one in the column of its word; a zero row for an OOV word."""
    ids = _check_ids(ids, vocabulary_size)
    starts = np.concatenate([[0], np.cumsum(ids >= 0)])
    known = ids[ids >= 0]
    return csr_array((np.ones(len(known), np.int64), known, starts), shape=(len(ids), vocabulary_size))


def bag_of_words(ids: np.ndarray, starts: np.ndarray, vocabulary_size: int) -> csr_array:
    """The document-term matrix: how often each word occurs in each document (int64)."""
    ids = _check_ids(ids, vocabulary_size)
    known = np.concatenate([[0], np.cumsum(ids >= 0)])[np.asarray(starts)]
    ids = ids[ids >= 0].copy()  # the matrix sorts it in place
    bags = csr_array((np.ones(len(ids), np.int64), ids, known), shape=(len(known) - 1, vocabulary_size))
    bags.sum_duplicates()
    return bags


def term_document(ids: np.ndarray, starts: np.ndarray, vocabulary_size: int) -> csr_array:
    """The term-document matrix: the transposed bags of words."""
    return bag_of_words(ids, starts, vocabulary_size).T.tocsr()


def _check_ids(ids: np.ndarray, vocabulary_size: int) -> np.ndarray:
    ids = np.asarray(ids)
    if len(ids) and ids.max() >= vocabulary_size:
        what = f"the token id {ids.max()} in a vocabulary of {vocabulary_size} words"
        raise FirthError(what, do="encode the text with this vocabulary")
    return ids


# --- tf-idf ---------------------------------------------------------------------------------------------------------

Variant = Literal["log10", "smooth"]


def _log10(documents: int, document_frequency: np.ndarray) -> np.ndarray:
    """log₁₀(N/df); 0 for a word in no document."""
    return np.log10(documents / np.maximum(document_frequency, 1)) * (document_frequency > 0)


def _smooth(documents: int, document_frequency: np.ndarray) -> np.ndarray:
    """ln((1 + N)/(1 + df)) + 1: as if one more document had every word; words of all documents keep some weight."""
    return np.log((1 + documents) / (1 + document_frequency)) + 1


IDF_VARIANTS = {"log10": _log10, "smooth": _smooth}
NORMALISED = {"log10": False, "smooth": True}


@dataclass(frozen=True, eq=False)
class TfIdf:
    """Fitted tf-idf weights, applicable to other documents."""

    idf: np.ndarray  # (words,) float64: inverse document frequency
    normalise: bool  # L2-normalise the rows

    def transform(self, bags: csr_array) -> csr_array:
        """The document-term matrix weighted: counts times idf."""
        weighted = csr_array(bags, dtype=np.float64, copy=True)
        weighted.data *= self.idf[weighted.indices]
        if self.normalise:
            norms = np.sqrt(np.asarray(weighted.power(2).sum(1)))
            weighted.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(weighted.indptr))
        return weighted


def fit_tfidf(bags: csr_array, variant: Variant = "log10") -> TfIdf:
    """Fit idf to a document-term matrix; `log10` is the textbook's, `smooth` scikit-learn's (L2-normalised rows)."""
    if variant not in IDF_VARIANTS:
        raise unknown("tf-idf variant", variant, IDF_VARIANTS)
    document_frequency = np.bincount(bags.indices[bags.data > 0], minlength=bags.shape[1])
    return TfIdf(IDF_VARIANTS[variant](bags.shape[0], document_frequency), NORMALISED[variant])


def tfidf(bags: csr_array, variant: Variant = "log10") -> csr_array:
    """Fit tf-idf to the documents and weight them by it (fit_transform)."""
    return fit_tfidf(bags, variant).transform(bags)


# --- association measures -------------------------------------------------------------------------------------------


def ppmi(counts: csr_array, *, shift: float = 1.0, context_smoothing: float = 1.0) -> csr_array:
    """Shifted positive pointwise mutual information (PPMI) in bits, max(log₂ p(w,c)/(p(w)·p(c)) − log₂ shift, 0).

    p(c) is proportional to count^context_smoothing; ¾ reduces the bias towards rare contexts (Levy, Goldberg and Dagan
    2015)."""
    if shift <= 0 or context_smoothing < 0:
        what = f"shift {shift}, context_smoothing {context_smoothing}"
        raise FirthError(what, do="give a shift above 0 and a context_smoothing of 0 or more")
    counts = csr_array(counts, dtype=np.float64, copy=True)
    counts.eliminate_zeros()
    words, contexts = np.asarray(counts.sum(1)), np.asarray(counts.sum(0))
    contexts = np.where(contexts > 0, contexts, 0) ** context_smoothing * (contexts > 0)
    words, contexts = _log2_or_zero(words), _log2_or_zero(contexts / max(contexts.sum(), 1e-300))
    values = np.log2(counts.data)
    values -= np.repeat(words, np.diff(counts.indptr))  # p(w,c)/p(w) = count / row sum
    values -= contexts[counts.indices] + np.log2(shift)
    counts.data = np.maximum(values, 0)
    counts.eliminate_zeros()
    return counts


def _log2_or_zero(values: np.ndarray) -> np.ndarray:
    return np.log2(values, out=np.zeros(len(values)), where=values > 0)


def hellinger_transform(counts: csr_array) -> csr_array:
    """The square roots of each row's probabilities: Euclidean distances of rows are Hellinger distances times √2."""
    sums = np.asarray(counts.sum(1), np.float64)
    return csr_array(diags_array(np.where(sums > 0, 1 / np.where(sums > 0, sums, 1), 0)) @ counts).sqrt()
