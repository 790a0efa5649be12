"""Search against sums written out, rank_bm25 and scikit-learn; rankings against judgements counted by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from sklearn.feature_extraction.text import TfidfVectorizer

from firth.datasets.readers.relevance import collect
from firth.datasets.records import Judgement, Passage
from firth.embeddings.search import METHODS, SearchIndex, SearchOptions, build_index, evaluate_search, extract_terms
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError

TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12), min_size=1, max_size=12)
QUERY = st.lists(st.sampled_from("abcdefghz"), min_size=1, max_size=6)
FRUIT = WordVectors(
    ["apple", "pear", "hammer", "saw", "the", "fruit", "tool"],
    np.array([[1, 0.1, 0], [1, 0.2, 0], [0, 1, 0], [0.1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0.1]], np.float32),
)


def passages(texts):
    return [Passage(str(n), " ".join(text)) for n, text in enumerate(texts)]


def reference_bm25(texts, query, k1, b):
    """The formula, term by term."""
    average, scores = sum(map(len, texts)) / len(texts), []
    for text in texts:
        score = 0.0
        for word in query:
            n, tf = sum(word in other for other in texts), text.count(word)
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            score += 0 if not tf else idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(text) / average))
        scores.append(score)
    return scores


@settings(max_examples=40, deadline=None)
@given(TEXTS, QUERY, st.sampled_from([0.0, 1.2, 2.0]), st.sampled_from([0.0, 0.5, 1.0]))
def test_bm25_is_the_sum_written_out(texts, query, k1, b):
    index = build_index(passages(texts), options=SearchOptions(k1=k1, b=b))
    assert np.allclose(index.scores(" ".join(query)), reference_bm25(texts, query, k1, b))


def test_bm25_is_that_of_rank_bm25_where_no_word_is_in_half_of_the_texts():
    random = np.random.default_rng(0)
    texts = [[f"w{n}" for n in random.integers(0, 60, random.integers(5, 15))] for _ in range(40)]
    peer = BM25Okapi(texts, k1=1.5, b=0.75)
    index = build_index(passages(texts), options=SearchOptions(k1=1.5, b=0.75, idf="robertson"))
    for _ in range(10):
        query = [f"w{n}" for n in random.integers(0, 70, 5)]
        assert np.allclose(index.scores(" ".join(query)), peer.get_scores(query))


@settings(max_examples=30, deadline=None)
@given(TEXTS, QUERY)
def test_tfidf_is_scikit_learns(texts, query):
    index = build_index(passages(texts))
    peer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\S+").fit([" ".join(text) for text in texts])
    documents, queries = peer.transform([" ".join(text) for text in texts]), peer.transform([" ".join(query)])
    assert np.allclose(index.scores(" ".join(query), "tfidf"), (documents @ queries.T).toarray().ravel())


@settings(max_examples=100, deadline=None)
@given(TEXTS, QUERY, st.sampled_from(["lucene", "robertson"]), st.integers(0, 14))
def test_hits_are_the_first_of_a_full_stable_sort(texts, query, idf, count):
    """Ties stay in the order of the collection; with robertson's idf scores may be negative."""
    index = build_index(passages(texts), options=SearchOptions(idf=idf))
    scores = index.scores(" ".join(query))
    order = np.argsort(-scores, kind="stable")[:count]
    assert [hit.id for hit in index.search(" ".join(query), count)] == [str(n) for n in order if scores[n] != 0]


def test_vectors_find_what_words_do_not():
    documents = [Passage("1", "the hammer and the saw"), Passage("2", "an apple, a pear", "Orchard")]
    index = build_index(documents, FRUIT)
    assert index.search("fruit") == []
    hits = index.search("fruit", method="vectors")
    assert (hits[0].id, hits[0].title) == ("2", "Orchard")
    assert index.search("tool", method="blend")[0].id == "1"
    assert index.search("tool saw", 1, "bm25")[0].id == "1"


@pytest.mark.parametrize("mean_vector", ["removed", "kept"])
@pytest.mark.parametrize("weighting", ["idf", "none"])
def test_document_vectors_are_weighted_means(weighting, mean_vector):
    texts = [["apple", "saw", "saw"], ["pear", "the", "apple"], ["nothing"]]
    index = build_index(passages(texts), FRUIT, SearchOptions(weighting=weighting, mean_vector=mean_vector))

    def mean(words):
        total = np.zeros(3)
        for word in words:
            n = sum(word in text for text in texts)
            idf = math.log(4 / (1 + n)) + 1 if weighting == "idf" else 1
            row = FRUIT.vector(word) if word in FRUIT else np.zeros(3)
            total += idf * row / (np.linalg.norm(row) or 1)
        return total / (np.linalg.norm(total) or 1)

    centre = (mean(texts[0]) + mean(texts[1])) / 2 if mean_vector == "removed" else np.zeros(3)
    query, rows = mean(["apple", "tool"]) - centre, [mean(text) - centre for text in texts[:2]]
    expected = [row @ query / np.linalg.norm(row) / np.linalg.norm(query) for row in rows] + [0]
    assert np.allclose(index.scores("Apple tool?", "vectors"), expected, atol=1e-6)


def test_the_blend_has_both_ends():
    texts = [["apple", "saw"], ["pear", "the", "apple"], ["hammer"]]
    for weight, method in ((1.0, "bm25"), (0.0, "vectors")):
        index = build_index(passages(texts), FRUIT, SearchOptions(bm25_weight=weight))
        blend, pure = index.scores("apple tool", "blend"), index.scores("apple tool", method)
        assert np.argsort(-blend, kind="stable").tolist() == np.argsort(-pure, kind="stable").tolist()
        assert (blend.min(), blend.max()) == (0, 1)


@pytest.mark.parametrize("vectors", [None, FRUIT])
def test_an_index_comes_back_from_its_file(tmp_path, vectors):
    index = build_index(passages([["apple", "saw"], ["pear", "ünï"]]), vectors, SearchOptions(k1=2.0))
    index.save(path := tmp_path / "docs.index")
    again = SearchIndex.load(path, vectors)
    assert (again.ids, again.terms, again.options) == (index.ids, index.terms, index.options)
    for method in METHODS if vectors else ("bm25", "tfidf"):
        assert again.search("fruit saw ünï", method=method) == index.search("fruit saw ünï", method=method)
    without = SearchIndex.load(path)
    assert without.search("saw") == index.search("saw")
    if vectors:
        assert without.search("tool", method="vectors") == []  # no document has the word, and there are no word vectors


@pytest.mark.parametrize("damage", ["cut", "other", "missing", "empty", "kind"])
def test_a_bad_index_file_is_one_clear_error(tmp_path, damage):
    path = tmp_path / "docs.index"
    build_index(passages([["a", "b"]])).save(path)
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        kind = data.replace(b"a search index", b"another index!")
        path.write_bytes({"cut": data[:-3], "other": b"w2v 3 4\n" * 9, "empty": b"", "kind": kind}[damage])
    with pytest.raises(FirthError, match=r"docs\.index: (not a file|cannot read)"):
        SearchIndex.load(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"documents": [0, 1 << 30, 0, 1]},
        {"documents": [-1, 0, 0, 1]},
        {"first": [0, 1 << 40, 0, 0]},
        {"first": [0, 2, 1, 4]},
        {"counts": [1]},
        {"vectors": [[1.0]]},
        {"vectors": [[float("nan")]] * 3},
    ],
)
def test_arrays_that_lead_out_of_others_are_refused(tmp_path, arrays):
    """With a checksum that agrees."""
    index = build_index(passages([["apple", "saw"], ["apple", "pear"]]))
    changed = {name: np.array(array, getattr(index, name).dtype) for name, array in arrays.items()}
    replace(index, **changed).save(path := tmp_path / "docs.index")
    with pytest.raises(FirthError, match=r"do not fit together|NaN or infinite"):
        SearchIndex.load(path)


def test_bad_queries_and_options():
    with pytest.raises(FirthError, match="no words in the documents"):
        build_index([Passage("1", "...")])
    index = build_index(passages([["a"]]))
    with pytest.raises(FirthError, match="no word vectors"):
        index.search("a", method="vectors")
    with pytest.raises(FirthError, match="unknown search method 'bm52'"):
        index.search("a", method="bm52")
    with pytest.raises(FirthError, match="b = 2"):
        SearchOptions(b=2)
    assert extract_terms("The U-boat's 3 guns, 東京!") == ["the", "u-boat's", "3", "guns", "東", "京"]


def test_rankings_are_evaluated():
    documents = [Passage("1", "cat dog"), Passage("2", "cat"), Passage("3", "dog dog dog"), Passage("4", "fish")]
    queries = [Passage("a", "cat"), Passage("b", "fish"), Passage("c", "dog")]
    judged = [Judgement("a", "1", 1), Judgement("b", "4", 3), Judgement("b", "1", 0), Judgement("c", "2", 0)]
    result = evaluate_search(build_index(documents), collect(documents, queries, judged), k=2, recall_k=1)
    values = {score.name: score.value for score in result.scores}
    # "a" finds document 2, which is shorter, before 1; "b" finds 4 first; "c" has no relevant document
    assert values == {
        "nDCG@2": pytest.approx((1 / math.log2(3) + 1) / 2),
        "MAP": 0.75,
        "recall@1": 0.5,
        "precision@2": 0.5,
    }
    assert (result.total, result.answered) == (3, 2)
    assert "method:bm25|k1:1.2" in result.scores[0].signature
