"""Search against sums written out, rank_bm25 and scikit-learn, and against judgements counted by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from sklearn.feature_extraction.text import TfidfVectorizer

from firth.data.formats.relevance import collect
from firth.data.records import Judgement, Passage
from firth.errors import FirthError
from firth.vectors.search import HOW, SearchIndex, Searching, build_index, evaluate_search, terms
from firth.vectors.store import WordVectors

TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12), min_size=1, max_size=12)
QUERY = st.lists(st.sampled_from("abcdefghz"), min_size=1, max_size=6)
FRUIT = WordVectors(
    ["apple", "pear", "hammer", "saw", "the", "fruit", "tool"],
    np.array([[1, 0.1, 0], [1, 0.2, 0], [0, 1, 0], [0.1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0.1]], np.float32),
)


def passages(texts):
    return [Passage(str(n), " ".join(text)) for n, text in enumerate(texts)]


def slow_bm25(texts, query, k1, b):
    """The sum as it is written in books."""
    average, found = sum(map(len, texts)) / len(texts), []
    for text in texts:
        score = 0.0
        for word in query:
            n, tf = sum(word in other for other in texts), text.count(word)
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            score += 0 if not tf else idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(text) / average))
        found.append(score)
    return found


@settings(max_examples=40, deadline=None)
@given(TEXTS, QUERY, st.sampled_from([0.0, 1.2, 2.0]), st.sampled_from([0.0, 0.5, 1.0]))
def test_bm25_is_the_sum_written_out(texts, query, k1, b):
    index = build_index(passages(texts), searching=Searching(k1=k1, b=b))
    assert np.allclose(index.scores(" ".join(query)), slow_bm25(texts, query, k1, b))


def test_bm25_is_that_of_rank_bm25_where_no_word_is_in_half_of_the_texts():
    random = np.random.default_rng(0)
    texts = [[f"w{n}" for n in random.integers(0, 60, random.integers(5, 15))] for _ in range(40)]
    peer = BM25Okapi(texts, k1=1.5, b=0.75)
    index = build_index(passages(texts), searching=Searching(k1=1.5, b=0.75, idf="robertson"))
    for _ in range(10):
        query = [f"w{n}" for n in random.integers(0, 70, 5)]
        assert np.allclose(index.scores(" ".join(query)), peer.get_scores(query))


@settings(max_examples=30, deadline=None)
@given(TEXTS, QUERY)
def test_tfidf_is_scikit_learns(texts, query):
    index = build_index(passages(texts))
    peer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\S+").fit([" ".join(text) for text in texts])
    documents, asked = peer.transform([" ".join(text) for text in texts]), peer.transform([" ".join(query)])
    assert np.allclose(index.scores(" ".join(query), "tfidf"), (documents @ asked.T).toarray().ravel())


def test_vectors_find_what_words_do_not():
    documents = [Passage("1", "the hammer and the saw"), Passage("2", "an apple, a pear", "Orchard")]
    index = build_index(documents, FRUIT)
    assert index.search("fruit") == []
    found = index.search("fruit", how="vectors")
    assert (found[0].id, found[0].title) == ("2", "Orchard")
    assert index.search("tool", how="blend")[0].id == "1"
    assert index.search("tool saw", 1, "bm25")[0].id == "1"


@pytest.mark.parametrize("common", ["removed", "kept"])
@pytest.mark.parametrize("weighting", ["idf", "none"])
def test_mean_vectors_are_weighted_means(weighting, common):
    texts = [["apple", "saw", "saw"], ["pear", "the", "apple"], ["nothing"]]
    index = build_index(passages(texts), FRUIT, Searching(weighting=weighting, common=common))

    def mean(words):
        total = np.zeros(3)
        for word in words:
            n = sum(word in text for text in texts)
            idf = math.log(4 / (1 + n)) + 1 if weighting == "idf" else 1
            row = FRUIT.vector(word) if word in FRUIT else np.zeros(3)
            total += idf * row / (np.linalg.norm(row) or 1)
        return total / (np.linalg.norm(total) or 1)

    centre = (mean(texts[0]) + mean(texts[1])) / 2 if common == "removed" else np.zeros(3)
    asked, rows = mean(["apple", "tool"]) - centre, [mean(text) - centre for text in texts[:2]]
    expected = [row @ asked / np.linalg.norm(row) / np.linalg.norm(asked) for row in rows] + [0]
    assert np.allclose(index.scores("Apple tool?", "vectors"), expected, atol=1e-6)


def test_the_blend_has_both_ends():
    texts = [["apple", "saw"], ["pear", "the", "apple"], ["hammer"]]
    for share, how in ((1.0, "bm25"), (0.0, "vectors")):
        index = build_index(passages(texts), FRUIT, Searching(share=share))
        one, other = index.scores("apple tool", "blend"), index.scores("apple tool", how)
        assert np.argsort(-one, kind="stable").tolist() == np.argsort(-other, kind="stable").tolist()
        assert (one.min(), one.max()) == (0, 1)


@pytest.mark.parametrize("vectors", [None, FRUIT])
def test_an_index_comes_back_from_its_file(tmp_path, vectors):
    index = build_index(passages([["apple", "saw"], ["pear", "ünï"]]), vectors, Searching(k1=2.0))
    index.save(path := tmp_path / "docs.index")
    again = SearchIndex.load(path, vectors)
    assert (again.ids, again.terms, again.searching) == (index.ids, index.terms, index.searching)
    for how in HOW if vectors else ("bm25", "tfidf"):
        assert again.search("fruit saw ünï", how=how) == index.search("fruit saw ünï", how=how)
    without = SearchIndex.load(path)
    assert without.search("saw") == index.search("saw")
    if vectors:
        assert without.search("tool", how="vectors") == []  # no document has the word, and no store was given


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


def test_what_cannot_be_asked():
    with pytest.raises(FirthError, match="no words in the documents"):
        build_index([Passage("1", "...")])
    index = build_index(passages([["a"]]))
    with pytest.raises(FirthError, match="no word vectors"):
        index.search("a", how="vectors")
    with pytest.raises(FirthError, match="unknown way to search 'bm52'"):
        index.search("a", how="bm52")
    with pytest.raises(FirthError, match="b = 2"):
        Searching(b=2)
    assert terms("The U-boat's 3 guns, 東京!") == ["the", "u-boat's", "3", "guns", "東", "京"]


def test_rankings_are_judged():
    documents = [Passage("1", "cat dog"), Passage("2", "cat"), Passage("3", "dog dog dog"), Passage("4", "fish")]
    queries = [Passage("a", "cat"), Passage("b", "fish"), Passage("c", "dog")]
    judged = [Judgement("a", "1", 1), Judgement("b", "4", 3), Judgement("b", "1", 0), Judgement("c", "2", 0)]
    found = evaluate_search(build_index(documents), collect(documents, queries, judged), k=2, deep=1)
    values = {score.name: score.value for score in found.scores}
    # "a" finds document 2, which is shorter, before 1; "b" finds 4 first; "c" has no relevant document
    assert values == {
        "nDCG@2": pytest.approx((1 / math.log2(3) + 1) / 2),
        "MAP": 0.75,
        "recall@1": 0.5,
        "precision@2": 0.5,
    }
    assert (found.asked, found.answered) == (3, 2)
    assert "how:bm25|k1:1.2" in found.scores[0].signature
