"""Document retrieval: lexical (BM25, tf-idf), dense (averaged word vectors) and hybrid search, with ranked and scored
hits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from firth.datasets.readers.relevance import Collection
from firth.datasets.records import Passage
from firth.embeddings import array_bundle
from firth.embeddings.document_term import TfIdf, fit_tfidf
from firth.embeddings.lookup import Result, digest, l2_normalise
from firth.errors import FirthError, unknown
from firth.metrics import ranking
from firth.metrics.score import Score, signature
from firth.runs.weights import require_finite
from firth.tokenizers.split import split_words

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

    from firth.embeddings.word_vectors import WordVectors

KIND = "a search index"
Method = Literal["bm25", "tfidf", "vectors", "blend"]


@dataclass(frozen=True)
class SearchOptions:
    """Options of the term weighting and of the document vectors."""

    k1: float = 1.2  # BM25's term-frequency saturation
    b: float = 0.75  # BM25's length normalisation: 0 none, 1 full
    idf: Literal["lucene", "robertson"] = "lucene"  # lucene: never negative
    weighting: Literal["idf", "none"] = "idf"  # of the words in a document vector
    mean_vector: Literal["removed", "kept"] = "removed"  # whether the mean of all document vectors is subtracted
    bm25_weight: float = 0.7  # of BM25 in hybrid search (blend); the rest is the vectors'

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1 or not 0 <= self.bm25_weight <= 1:
            what = f"k1 = {self.k1}, b = {self.b}, bm25_weight = {self.bm25_weight}"
            raise FirthError(what, where="search", do="give k1 of 0 or more, b and bm25_weight between 0 and 1")


class Hit(NamedTuple):
    """A retrieved document."""

    id: str
    score: float
    title: str


def extract_terms(text: str) -> list[str]:
    """The index terms of a text: lowercase words, without punctuation."""
    return [word for word in split_words(text.lower()) if any(map(str.isalnum, word))]


@dataclass(frozen=True, eq=False)
class SearchIndex:
    """An inverted index; its terms have vectors if `vectors` (terms, width) is not empty."""

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    terms: tuple[str, ...]
    first: np.ndarray  # (terms + 1,) where each term's postings begin
    documents: np.ndarray  # the documents of each term's postings, ascending
    counts: np.ndarray  # the term frequency in each
    vectors: np.ndarray  # (terms, width) float32; zeros for a term without one
    options: SearchOptions
    word_vectors: WordVectors | None = None  # for query words that no document has

    # --- term weights and document vectors ---

    @cached_property
    def term_ids(self) -> dict[str, int]:
        """The id of each term."""
        return {term: n for n, term in enumerate(self.terms)}

    @cached_property
    def term_counts(self) -> csr_matrix:
        """The term-document matrix of counts."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.counts, self.documents, self.first), (len(self.terms), len(self.ids)), np.float64)

    @cached_property
    def document_frequency(self) -> np.ndarray:
        """The number of documents that have each term."""
        return np.diff(self.first).astype(np.float64)

    @cached_property
    def bm25(self) -> csr_matrix:
        """BM25 weights (terms, documents): what one occurrence of a term in a query adds to a document's score."""
        weights, df = self.term_counts.copy(), self.document_frequency
        lengths = np.asarray(self.term_counts.sum(0)).ravel()
        k1, b = self.options.k1, self.options.b
        saturation = k1 * (1.0 - b + b * lengths / max(lengths.mean(), 1e-12))
        weights.data = weights.data * (k1 + 1.0) / (weights.data + saturation[weights.indices])
        odds = (len(self.ids) - df + 0.5) / (df + 0.5)
        idf = np.log1p(odds) if self.options.idf == "lucene" else np.log(odds)
        return _scale_rows(weights, idf)

    @cached_property
    def tfidf_weights(self) -> TfIdf:
        """Tf-idf with smoothed document frequencies; document vectors are weighted by its idf too."""
        return fit_tfidf(self.term_counts.T.tocsr(), "smooth")

    @cached_property
    def tfidf(self) -> csr_array:
        """(1 + ln count) times idf, each document L2-normalised (terms, documents)."""
        bags = self.term_counts.T.tocsr()
        bags.data = 1.0 + np.log(bags.data)
        return self.tfidf_weights.transform(bags).T.tocsr()

    @cached_property
    def _raw_document_vectors(self) -> np.ndarray:
        weights = self.tfidf_weights.idf if self.options.weighting == "idf" else np.ones(len(self.terms))
        return l2_normalise(_scale_rows(self.term_counts, weights).T @ self.vectors)

    @cached_property
    def mean_vector(self) -> np.ndarray:
        """The mean of all nonzero document vectors, which is subtracted from them; zero if it is kept."""
        rows = self._raw_document_vectors[self._raw_document_vectors.any(1)]
        removed = self.options.mean_vector == "removed" and len(rows)
        return rows.mean(0) if removed else np.zeros(rows.shape[1], np.float32)

    @cached_property
    def document_vectors(self) -> np.ndarray:
        """The documents' averaged word vectors, L2-normalised (documents, width)."""
        return self._centered(self._raw_document_vectors)

    def _centered(self, rows: np.ndarray) -> np.ndarray:
        return l2_normalise(np.where(rows.any(1)[:, None], rows - self.mean_vector, np.float32(0)))

    # --- queries ---

    def scores(self, query: str, method: Method = "bm25") -> np.ndarray:
        """The score of every document (documents,); lexical scores are 0 for a document without a query term."""
        if method not in METHODS:
            raise unknown("search method", method, METHODS)
        if method in ("vectors", "blend") and not self.vectors.size:
            raise FirthError("the index has no word vectors", do="build it with vectors, or search with bm25")
        counts: dict[str, int] = {}
        for term in extract_terms(query):
            counts[term] = counts.get(term, 0) + 1
        return METHODS[method](self, counts)

    def search(self, query: str, count: int = 10, method: Method = "bm25") -> list[Hit]:
        """The top documents by descending score, without those of score 0; ties in the order of the collection."""
        scores = self.scores(query, method)
        top = _top_documents(scores, max(count, 0))
        return [Hit(self.ids[n], float(scores[n]), self.titles[n]) for n in top if scores[n] != 0]

    def _bm25_scores(self, query: Mapping[str, int]) -> np.ndarray:
        weights, scores = self.bm25, np.zeros(len(self.ids))
        for term, count in query.items():
            term_id = self.term_ids.get(term)
            if term_id is not None:
                postings = slice(weights.indptr[term_id], weights.indptr[term_id + 1])
                np.add.at(scores, weights.indices[postings], count * weights.data[postings])
        return scores

    def _tfidf_scores(self, query: Mapping[str, int]) -> np.ndarray:
        known = {self.term_ids[term]: count for term, count in query.items() if term in self.term_ids}
        term_ids, counts = np.array(list(known), np.int64), np.array(list(known.values()), np.float64)
        weights = (1.0 + np.log(counts)) * self.tfidf_weights.idf[term_ids]
        return self.tfidf[term_ids].T @ (weights / (np.linalg.norm(weights) or 1.0))

    def _vector_scores(self, query: Mapping[str, int]) -> np.ndarray:
        total, max_idf = np.zeros(self.vectors.shape[1]), np.log(1.0 + len(self.ids)) + 1.0
        for term, count in query.items():
            term_id, weight = self.term_ids.get(term), 1.0
            if self.options.weighting == "idf":
                weight = max_idf if term_id is None else self.tfidf_weights.idf[term_id]
            if term_id is not None:
                total += count * weight * self.vectors[term_id]
            elif self.word_vectors is not None and term in self.word_vectors:
                total += count * weight * l2_normalise(self.word_vectors.vector(term)[None])[0]
        return (self.document_vectors @ self._centered(l2_normalise(total[None]))[0]).astype(np.float64)

    def _blend_scores(self, query: Mapping[str, int]) -> np.ndarray:
        """Hybrid search: the weighted sum of BM25 and vector scores, each min-max normalised over the documents."""
        weight = self.options.bm25_weight
        return weight * _min_max(self._bm25_scores(query)) + (1.0 - weight) * _min_max(self._vector_scores(query))

    # --- files ---

    def save(self, path: str | Path) -> None:
        """Write one safetensors file."""
        arrays = {name: getattr(self, name) for name in ("first", "documents", "counts", "vectors")}
        names = {name: list(getattr(self, name)) for name in ("ids", "titles", "terms")}
        array_bundle.write(path, KIND, {**names, "options": asdict(self.options)}, arrays)

    @classmethod
    def load(cls, path: str | Path, word_vectors: WordVectors | None = None) -> SearchIndex:
        """Read a file of `save`; `word_vectors` are for query words that no document has."""
        metadata, arrays = array_bundle.read(path, KIND)
        try:
            names = {name: tuple(metadata[name]) for name in ("ids", "titles", "terms")}
            options = SearchOptions(**metadata["options"])
            index = cls(**names, **arrays, options=options, word_vectors=word_vectors)
        except (TypeError, KeyError):
            raise FirthError(f"not a file with {KIND}", where=path, do="build it again") from None
        index._check(path)
        if word_vectors is not None and index.vectors.size and index.vectors.shape[1] != word_vectors.width:
            what = f"the index has vectors of width {index.vectors.shape[1]}, these have width {word_vectors.width}"
            raise FirthError(what, where=path, do="give the vectors it was built with, or build it again")
        return index

    def _check(self, path: str | Path) -> None:
        """Refuse arrays and names that do not fit together."""
        try:
            sizes = (len(self.terms), len(self.ids))
            array_bundle.sparse_rows(self.counts, self.documents, self.first, sizes)
            texts = all(isinstance(text, str) for text in (*self.ids, *self.titles, *self.terms))
            if not texts or len(self.titles) != sizes[1] or self.counts.dtype.kind != "i" or self.vectors.ndim != 2:
                raise ValueError
            if self.vectors.size and len(self.vectors) != sizes[0]:
                raise ValueError
        except ValueError:
            what = "the arrays of the index do not fit together"
            raise FirthError(what, where=path, do="build it again") from None
        require_finite({"vectors": self.vectors}, Path(path))


METHODS = {
    "bm25": SearchIndex._bm25_scores,
    "tfidf": SearchIndex._tfidf_scores,
    "vectors": SearchIndex._vector_scores,
    "blend": SearchIndex._blend_scores,
}


def _scale_rows(matrix: csr_matrix, weights: np.ndarray) -> csr_matrix:
    """The matrix with each row multiplied by its weight."""
    scaled = matrix.copy()
    scaled.data = scaled.data * np.repeat(weights, np.diff(scaled.indptr))
    return scaled


def _top_documents(scores: np.ndarray, k: int) -> np.ndarray:
    """The indices of the k highest scores, descending; ties by index."""
    candidates = np.flatnonzero(scores > 0)  # few documents have a query term: only these are sorted
    if len(candidates) < k:
        candidates = np.arange(len(scores))
    values = scores[candidates]
    if 0 < k < len(values):
        reached = values >= np.partition(values, len(values) - k)[len(values) - k]
        candidates, values = candidates[reached], values[reached]
    return candidates[np.argsort(-values, kind="stable")[:k]]


def _min_max(values: np.ndarray) -> np.ndarray:
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


def build_index(
    documents: Iterable[Passage], vectors: WordVectors | None = None, options: SearchOptions | None = None
) -> SearchIndex:
    """The inverted index of the titles and texts of documents."""
    from scipy.sparse import csr_matrix

    ids, titles, term_ids, postings_documents, postings_terms = [], [], {}, [], []
    for document in documents:
        title = "" if document.text.startswith(document.title) else document.title  # Cranfield's texts repeat theirs
        terms = extract_terms(f"{title} {document.text}")
        postings_documents += [len(ids)] * len(terms)
        postings_terms += [term_ids.setdefault(term, len(term_ids)) for term in terms]
        ids.append(document.id)
        titles.append(document.title)
    if not term_ids:
        raise FirthError("no words in the documents", do="give documents with text")
    ones, postings = np.ones(len(postings_terms), np.int32), (postings_terms, postings_documents)
    counts = csr_matrix((ones, postings), (len(term_ids), len(ids)))
    counts.sum_duplicates()
    width = 0 if vectors is None else vectors.vectors.shape[1]
    rows = np.zeros((len(term_ids) if width else 0, width), np.float32)
    for term, term_id in term_ids.items() if width else ():
        if term in vectors:
            rows[term_id] = vectors.vector(term)
    return SearchIndex(
        ids=tuple(ids),
        titles=tuple(titles),
        terms=tuple(term_ids),
        first=counts.indptr.astype(np.int64),
        documents=counts.indices.astype(np.int32),
        counts=counts.data,
        vectors=l2_normalise(rows),
        options=options or SearchOptions(),
        word_vectors=vectors,
    )


def evaluate_search(
    index: SearchIndex,
    collection: Collection,
    method: Method = "bm25",
    k: int = 10,
    recall_k: int = 100,
    name: str = "search",
) -> Result:
    """nDCG@k, MAP, recall@recall_k and precision@k, averaged over the queries that have a relevant document."""
    queries = [query for query in collection.queries.values() if collection.relevant(query.id)]
    values: dict[str, list[float | None]] = {}
    for query in queries:
        scores = index.scores(query.text, method)
        ranked = [index.ids[n] for n in np.argsort(-scores, kind="stable")]
        for metric, value in _query_metrics(ranked, collection.relevant(query.id), k, recall_k).items():
            values.setdefault(metric, []).append(value)
    signed = signature(_signature_parts(index, queries, method, name))
    names = {"nDCG": f"nDCG@{k}", "MAP": "MAP", "recall": f"recall@{recall_k}", "precision": f"precision@{k}"}
    scores = [Score(label, ranking.mean(values.get(metric, [])), signed) for metric, label in names.items()]
    return Result(name, f"search by {method}", tuple(scores), len(collection.queries), len(queries))


def _query_metrics(
    ranked: Sequence[str], relevant: Mapping[str, int], k: int, recall_k: int
) -> dict[str, float | None]:
    return {
        "nDCG": ranking.ndcg(ranked, relevant, k),
        "MAP": ranking.average_precision(ranked, relevant),
        "recall": ranking.recall_at_k(ranked, relevant, recall_k),
        "precision": ranking.precision_at_k(ranked, relevant, k),
    }


def _signature_parts(index: SearchIndex, queries: Sequence[Passage], method: Method, name: str) -> dict[str, object]:
    options = index.options
    weights = {
        "bm25": {"k1": options.k1, "b": options.b, "idf": options.idf},
        "tfidf": {"tf": "1+ln"},
        "vectors": {
            "weighting": options.weighting,
            "mean_vector": options.mean_vector,
            "width": index.vectors.shape[1],
        },
    }
    weights["blend"] = {**weights["bm25"], **weights["vectors"], "bm25_weight": options.bm25_weight}
    data = {"set": name, "data": digest([*index.ids, *(query[:2] for query in queries)]), "documents": len(index.ids)}
    return {**data, "method": method, **weights[method], "gain": "linear"}
