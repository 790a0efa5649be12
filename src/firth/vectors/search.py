"""Searching documents: by words (BM25, tf-idf), by mean vectors, or by both; answers are ranked and have scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from firth.counts.matrix import TfIdf, learn_tfidf
from firth.data.formats.relevance import Collection
from firth.data.records import Passage
from firth.errors import FirthError, unknown
from firth.metrics import ranking
from firth.metrics.score import Score, signature
from firth.text.split import words as split_words
from firth.vectors import bundle
from firth.vectors.asking import Result, digest, unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

    from firth.vectors.store import WordVectors

KIND = "a search index"
How = Literal["bm25", "tfidf", "vectors", "blend"]


@dataclass(frozen=True)
class Searching:
    """How documents are weighed."""

    k1: float = 1.2  # how soon further occurrences of a word stop to count
    b: float = 0.75  # how much long documents are held back: 0 not at all, 1 in full
    idf: Literal["lucene", "robertson"] = "lucene"  # lucene: never negative
    weighting: Literal["idf", "none"] = "idf"  # of words in a mean vector
    common: Literal["removed", "kept"] = "removed"  # what the mean vectors of all documents have in common
    share: float = 0.7  # of BM25 in the blend; the rest is of the vectors

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1 or not 0 <= self.share <= 1:
            what = f"k1 = {self.k1}, b = {self.b}, share = {self.share}"
            raise FirthError(what, where="search", do="k1 is 0 or more, b and share lie between 0 and 1")


class Hit(NamedTuple):
    """A document that answers."""

    id: str
    score: float
    title: str


def terms(text: str) -> list[str]:
    """The words of a text as they are looked up: lower case, without marks."""
    return [word for word in split_words(text.lower()) if any(map(str.isalnum, word))]


@dataclass(frozen=True, eq=False)
class SearchIndex:
    """Documents by their words; those words have vectors where `vectors` (terms, width) is not empty."""

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    terms: tuple[str, ...]
    first: np.ndarray  # (terms + 1,) where each term's documents begin
    documents: np.ndarray  # the documents of each term, ascending
    counts: np.ndarray  # how often it stands in each
    vectors: np.ndarray  # (terms, width) float32; zeros for a term without one
    searching: Searching
    store: WordVectors | None = None  # for words of queries that no document has

    # --- weights ---

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each term."""
        return {term: n for n, term in enumerate(self.terms)}

    @cached_property
    def matrix(self) -> csr_matrix:
        """The counts (terms, documents)."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.counts, self.documents, self.first), (len(self.terms), len(self.ids)), np.float64)

    @cached_property
    def frequency(self) -> np.ndarray:
        """In how many documents each term stands."""
        return np.diff(self.first).astype(np.float64)

    @cached_property
    def bm25(self) -> csr_matrix:
        """What one occurrence of a term in a query adds to a document's score (terms, documents)."""
        found, n = self.matrix.copy(), self.frequency
        lengths = np.asarray(self.matrix.sum(0)).ravel()
        k1, b = self.searching.k1, self.searching.b
        held = k1 * (1.0 - b + b * lengths / max(lengths.mean(), 1e-12))
        found.data = found.data * (k1 + 1.0) / (found.data + held[found.indices])
        odds = (len(self.ids) - n + 0.5) / (n + 0.5)
        idf = np.log1p(odds) if self.searching.idf == "lucene" else np.log(odds)
        return _scaled(found, idf)

    @cached_property
    def weights(self) -> TfIdf:
        """Of tf-idf with smoothed document frequencies; means of vectors are weighted by its idf too."""
        return learn_tfidf(self.matrix.T.tocsr(), "smooth")

    @cached_property
    def tfidf(self) -> csr_array:
        """(1 + ln count) times idf, each document of length 1 (terms, documents)."""
        bags = self.matrix.T.tocsr()
        bags.data = 1.0 + np.log(bags.data)
        return self.weights.weigh(bags).T.tocsr()

    @cached_property
    def _directions(self) -> np.ndarray:
        weights = self.weights.idf if self.searching.weighting == "idf" else np.ones(len(self.terms))
        return unit(_scaled(self.matrix, weights).T @ self.vectors)

    @cached_property
    def centre(self) -> np.ndarray:
        """What is taken off mean vectors: the mean over the documents that have one, or nothing."""
        rows = self._directions[self._directions.any(1)]
        return rows.mean(0) if self.searching.common == "removed" and len(rows) else np.zeros(rows.shape[1], np.float32)

    @cached_property
    def means(self) -> np.ndarray:
        """The documents' mean vectors, of length 1 (documents, width)."""
        return self._centred(self._directions)

    def _centred(self, rows: np.ndarray) -> np.ndarray:
        return unit(np.where(rows.any(1)[:, None], rows - self.centre, np.float32(0)))

    # --- asking ---

    def scores(self, query: str, how: How = "bm25") -> np.ndarray:
        """The score of every document (documents,); by words, one without a word of the query has 0."""
        if how not in HOW:
            raise unknown("way to search", how, HOW)
        if how in ("vectors", "blend") and not self.vectors.size:
            raise FirthError("the index has no word vectors", do="make it with vectors, or search with bm25")
        counted: dict[str, int] = {}
        for term in terms(query):
            counted[term] = counted.get(term, 0) + 1
        return HOW[how](self, counted)

    def search(self, query: str, count: int = 10, how: How = "bm25") -> list[Hit]:
        """The best documents, the best first; equal ones in the order of the collection, none whose score is 0."""
        scores = self.scores(query, how)
        order = np.argsort(-scores, kind="stable")[: max(count, 0)]
        return [Hit(self.ids[n], float(scores[n]), self.titles[n]) for n in order if scores[n] != 0]

    def _known(self, query: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
        """The places of those terms that a document has, and how often each is asked."""
        known = {self.places[term]: count for term, count in query.items() if term in self.places}
        return np.array(list(known), np.int64), np.array(list(known.values()), np.float64)

    def _by_bm25(self, query: Mapping[str, int]) -> np.ndarray:
        places, counts = self._known(query)
        return self.bm25[places].T @ counts

    def _by_tfidf(self, query: Mapping[str, int]) -> np.ndarray:
        places, counts = self._known(query)
        values = (1.0 + np.log(counts)) * self.weights.idf[places]
        return self.tfidf[places].T @ (values / (np.linalg.norm(values) or 1.0))

    def _by_vectors(self, query: Mapping[str, int]) -> np.ndarray:
        total, unseen = np.zeros(self.vectors.shape[1]), np.log(1.0 + len(self.ids)) + 1.0
        for term, count in query.items():
            place = self.places.get(term)
            weight = 1.0 if self.searching.weighting == "none" else unseen if place is None else self.weights.idf[place]
            if place is not None:
                total += count * weight * self.vectors[place]
            elif self.store is not None and term in self.store:
                total += count * weight * unit(self.store.vector(term)[None])[0]
        return (self.means @ self._centred(unit(total[None]))[0]).astype(np.float64)

    def _blended(self, query: Mapping[str, int]) -> np.ndarray:
        """Both, each from 0 to 1 over the documents."""
        share = self.searching.share
        return share * _spread(self._by_bm25(query)) + (1.0 - share) * _spread(self._by_vectors(query))

    # --- files ---

    def save(self, path: str | Path) -> None:
        """Write it to one file, which nothing in it can execute."""
        arrays = {name: getattr(self, name) for name in ("first", "documents", "counts", "vectors")}
        names = {name: list(getattr(self, name)) for name in ("ids", "titles", "terms")}
        bundle.write(path, KIND, {**names, "searching": asdict(self.searching)}, arrays)

    @classmethod
    def load(cls, path: str | Path, store: WordVectors | None = None) -> SearchIndex:
        """Read it back; with `store`, words of queries that no document has get their vectors from there."""
        note, arrays = bundle.read(path, KIND)
        try:
            names = {name: tuple(note[name]) for name in ("ids", "titles", "terms")}
            found = cls(**names, **arrays, searching=Searching(**note["searching"]), store=store)
        except (TypeError, KeyError):
            raise FirthError(f"not a file with {KIND}", where=path, do="make it again") from None
        if len(found.first) != len(found.terms) + 1 or found.first[-1] != len(found.documents):
            raise FirthError("the parts of the index do not fit together", where=path, do="make it again")
        if store is not None and found.vectors.size and found.vectors.shape[1] != store.width:
            what = f"the index has vectors of width {found.vectors.shape[1]}, and these are of {store.width}"
            raise FirthError(what, where=path, do="give those it was made with, or make it again")
        return found


HOW = {
    "bm25": SearchIndex._by_bm25,
    "tfidf": SearchIndex._by_tfidf,
    "vectors": SearchIndex._by_vectors,
    "blend": SearchIndex._blended,
}


def _scaled(matrix: csr_matrix, weights: np.ndarray) -> csr_matrix:
    """The matrix, each row times its weight."""
    found = matrix.copy()
    found.data = found.data * np.repeat(weights, np.diff(found.indptr))
    return found


def _spread(values: np.ndarray) -> np.ndarray:
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


def build_index(
    documents: Iterable[Passage], vectors: WordVectors | None = None, searching: Searching | None = None
) -> SearchIndex:
    """The index of documents by the words of their titles and texts."""
    from scipy.sparse import csr_matrix

    ids, titles, places, owner, which = [], [], {}, [], []
    for document in documents:
        title = "" if document.text.startswith(document.title) else document.title  # Cranfield's texts repeat theirs
        found = terms(f"{title} {document.text}")
        owner += [len(ids)] * len(found)
        which += [places.setdefault(term, len(places)) for term in found]
        ids.append(document.id)
        titles.append(document.title)
    if not places:
        raise FirthError("no words in the documents", do="give documents with text")
    counts = csr_matrix((np.ones(len(which), np.int32), (which, owner)), (len(places), len(ids)))
    counts.sum_duplicates()
    width = 0 if vectors is None else vectors.vectors.shape[1]
    rows = np.zeros((len(places) if width else 0, width), np.float32)
    for term, place in places.items() if width else ():
        if term in vectors:
            rows[place] = vectors.vector(term)
    arrays = (counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data)
    return SearchIndex(
        tuple(ids), tuple(titles), tuple(places), *arrays, unit(rows), searching or Searching(), store=vectors
    )


def evaluate_search(
    index: SearchIndex, collection: Collection, how: How = "bm25", k: int = 10, deep: int = 100, name: str = "search"
) -> Result:
    """nDCG@k, MAP (over all documents), recall@deep and precision@k, means over queries with a relevant document."""
    asked = [query for query in collection.queries.values() if collection.relevant(query.id)]
    found: dict[str, list[float | None]] = {}
    for query in asked:
        scores = index.scores(query.text, how)
        ranked = [index.ids[n] for n in np.argsort(-scores, kind="stable")]
        for measure, value in _measured(ranked, collection.relevant(query.id), k, deep).items():
            found.setdefault(measure, []).append(value)
    told = signature(_told(index, asked, how, name))
    measures = ("nDCG", "MAP", "recall", "precision")
    labels = (f"nDCG@{k}", "MAP", f"recall@{deep}", f"precision@{k}")
    scores = [Score(label, ranking.mean(found.get(m, [])), told) for m, label in zip(measures, labels, strict=True)]
    return Result(name, f"search by {how}", tuple(scores), len(collection.queries), len(asked))


def _measured(ranked: Sequence[str], relevant: Mapping[str, int], k: int, deep: int) -> dict[str, float | None]:
    return {
        "nDCG": ranking.ndcg(ranked, relevant, k),
        "MAP": ranking.average_precision(ranked, relevant),
        "recall": ranking.recall_at(ranked, relevant, deep),
        "precision": ranking.precision_at(ranked, relevant, k),
    }


def _told(index: SearchIndex, asked: Sequence[Passage], how: How, name: str) -> dict[str, object]:
    used = index.searching
    weights = {
        "bm25": {"k1": used.k1, "b": used.b, "idf": used.idf},
        "tfidf": {"tf": "1+ln"},
        "vectors": {"weighting": used.weighting, "common": used.common, "width": index.vectors.shape[1]},
    }
    weights["blend"] = {**weights["bm25"], **weights["vectors"], "share": used.share}
    data = digest([*index.ids, *(query[:2] for query in asked)])
    return {"set": name, "data": data, "documents": len(index.ids), "how": how, **weights[how], "gain": "linear"}
