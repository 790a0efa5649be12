"""WordVectors against plain definitions and gensim; nearest neighbours in blocks against a full sort."""

import gensim
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.embeddings import nearest_neighbours
from firth.embeddings.subwords import Subwords
from firth.embeddings.word_table import LINEAR_SEARCHES, WordTable
from firth.embeddings.word_vectors import Neighbour, WordVectors
from firth.errors import FirthError


def made(size=200, width=12, seed=0, **more):
    random = np.random.default_rng(seed)
    return WordVectors([f"w{number}" for number in range(size)], random.normal(size=(size, width)), **more)


@pytest.fixture(scope="module")
def store():
    return made()


@pytest.fixture(scope="module")
def peer(store):
    peer = gensim.models.KeyedVectors(store.width)
    peer.add_vectors(list(store.words), store.vectors)
    return peer


def pairs(found):
    return [word for word, _ in found], [score for _, score in found]


def assert_same(found, expected):
    assert pairs(found)[0] == pairs(expected)[0]
    assert pairs(found)[1] == pytest.approx(pairs(expected)[1], abs=1e-5)


# --- queries, against gensim ---


@pytest.mark.parametrize(
    "positive, negative", [(["w3"], []), (["w3", "w9"], ["w5"]), (["w1", "w2", "w4"], ["w7", "w8"])]
)
def test_most_similar_is_gensims(store, peer, positive, negative):
    assert_same(store.most_similar(positive, negative), peer.most_similar(positive, negative))
    expected = peer.most_similar_cosmul(positive, negative)
    assert_same(store.most_similar(positive, negative, method="multiplicative"), expected)


def test_similarity_and_the_odd_one_out_are_gensims(store, peer):
    assert store.similarity("w3", "w8") == pytest.approx(peer.similarity("w3", "w8"), abs=1e-6)
    for first in range(0, 190, 5):
        words = [f"w{number}" for number in range(first, first + 5)]
        assert store.doesnt_match(words) == peer.doesnt_match(words)


def test_cosines_by_hand():
    vectors = np.array([[1, 0], [3, 4], [0, -2]], np.float32)
    store = WordVectors(["a", "b", "c"], vectors)
    assert store.similarity("a", "b") == pytest.approx(0.6)
    assert store.similarity("b", "c") == pytest.approx(-0.8)
    assert store.most_similar("a") == [Neighbour("b", pytest.approx(0.6)), Neighbour("c", 0.0)]


def test_an_analogy_by_hand():
    vectors = np.array([[1, 1, 0], [1, 0, 1], [-1, 1, 0], [-1, 0, 1], [0, 0, 1]], np.float32)
    store = WordVectors(["king", "queen", "man", "woman", "she"], vectors)
    for method in ("additive", "multiplicative"):
        assert store.analogy("man", "woman", "king", method=method)[0].word == "queen"


def test_query_words_are_never_answers_not_even_duplicates():
    store = WordVectors(["a", "b", "a", "c"], np.array([[1, 0], [1, 1], [1, 0], [0, 1]]))
    assert [word for word, _ in store.most_similar("a")] == ["b", "c"]
    assert store.index("a") == 0


def test_the_vocabulary_is_restricted(store, peer):
    assert_same(store.most_similar("w3", restrict_vocab=50), peer.most_similar("w3", restrict_vocab=50))
    words = ["w100", "w3", "w7", "w20"]
    found = store.most_similar("w3", restrict_vocab=words)
    assert sorted(word for word, _ in found) == ["w100", "w20", "w7"]
    assert all(score == pytest.approx(store.similarity("w3", word), abs=1e-6) for word, score in found)
    assert store.most_similar("w3", restrict_vocab=0) == store.most_similar("w3", topn=0) == []


def test_a_query_may_be_a_vector(store):
    assert store.most_similar([store.vector("w5")], topn=1)[0].word == "w5"
    assert store.most_similar(store.vector("w5"), topn=1)[0].word == "w5"
    with pytest.raises(FirthError, match="shape"):
        store.most_similar([np.zeros(3, np.float32)])


# --- the vectors themselves ---


def test_unit_vectors_have_norm_one_and_zeros_stay_zeros():
    vectors = np.vstack([np.zeros(4), np.eye(4) * 3, np.full(4, 1e25)]).astype(np.float32)
    store = WordVectors(list("abcdef"), vectors)
    assert np.linalg.norm(store.unit_vectors[1:], axis=1) == pytest.approx(1)
    assert not store.unit_vectors[0].any()
    assert store.similarity("a", "b") == 0 and store.most_similar("a", topn=1)[0].score == 0


def test_kinds_of_vectors():
    context = np.random.default_rng(1).normal(size=(200, 12)).astype(np.float32)
    store = made(context=context)
    assert store.kind("word") is store
    assert np.array_equal(store.kind("context").vectors, context)
    assert np.array_equal(store.kind("sum").vectors, store.vectors + context)
    both = store.kind("concatenated")
    assert both.width == 24 and np.array_equal(both.vectors[:, 12:], context)
    with pytest.raises(FirthError, match="no context vectors"):
        made().kind("sum")
    with pytest.raises(FirthError, match="did you mean 'context'"):
        store.kind("contexts")


def test_oov_words_have_vectors_through_their_subwords():
    buckets = np.random.default_rng(2).normal(size=(50, 12)).astype(np.float32)
    store = made(subwords=Subwords(buckets, 3, 4))
    expected = buckets[store.subwords.bucket_ids("new")].mean(axis=0)
    assert store.vector("new") == pytest.approx(expected, abs=1e-6)
    assert store.matrix(["new", "w1"]).shape == (2, 12)
    assert len(store.most_similar("new")) == 10
    with pytest.raises(FirthError, match="has no vector"):
        made(subwords=Subwords(buckets, 5, 6)).vector("ab")  # <ab> is too short for any n-gram


@pytest.mark.parametrize(
    "words, vectors, more, message",
    [
        ([], np.empty((0, 3)), {}, "no words"),
        (["a"], np.empty((1, 0)), {}, "width 0"),
        (["a"], np.ones((2, 3)), {}, "for 1 words"),
        (["a"], np.ones(3), {}, "for 1 words"),
        (["a"], np.ones((1, 3)), {"counts": [1, 2]}, "2 counts for 1 words"),
        (["a"], np.ones((1, 3)), {"context": np.ones((2, 3))}, "context vectors"),
        (["a", ""], np.ones((2, 3)), {}, "an empty word"),
        (["a", "b\nc"], np.ones((2, 3)), {}, "newline"),
    ],
)
def test_what_are_no_word_vectors(words, vectors, more, message):
    with pytest.raises(FirthError, match=message):
        WordVectors(words, vectors, **more)


def test_bad_queries(store):
    for query, message in [
        (lambda: store.index("W3"), "did you mean 'w3'"),
        (lambda: store.vector("w1999"), "'w199'"),
        (lambda: store.most_similar([]), "no word to compare with"),
        (lambda: store.most_similar("w1", method="add"), "unknown similarity method 'add'; did you mean 'additive'"),
        (lambda: store.doesnt_match(["w1"]), "fewer than two"),
        (lambda: store.approximate_index("hnwsw"), "did you mean 'hnsw'"),
    ]:
        with pytest.raises(FirthError, match=message) as caught:
            query()
        assert "\n" not in str(caught.value)


def test_nan_is_named():
    vectors = np.ones((3, 2), np.float32)
    vectors[1, 1] = np.nan
    with pytest.raises(FirthError, match="'b' has NaN"):
        WordVectors(["a", "b", "c"], vectors).most_similar("a")


# --- words ---


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1), min_size=1))
def test_words_are_a_list_of_words(words):
    table = WordTable.of(words)
    assert list(table) == words and len(table) == len(words) and table == words
    assert [table[index] for index in range(len(words))] == words
    assert table[-1] == words[-1] and table[1:3] == words[1:3]
    for _ in range(2 * LINEAR_SEARCHES):  # with and without a dictionary
        assert all(table.find(word) == words.index(word) for word in words[:3])
        assert table.find(max(words) + "x") == -1 and table.find("") == -1 and table.find("a\nb") == -1


def test_invalid_utf8_is_replaced():
    assert list(WordTable(b"caf\xc3\nb\xff\nc\n")) == ["caf�", "b�", "c"]


# --- nearest neighbours ---


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 70), st.integers(1, 17), st.integers(0, 99))
def test_nearest_in_blocks_is_a_full_sort(size, count_queries, count, block, seed):
    random = np.random.default_rng(seed)
    rows = random.integers(-2, 3, size=(size, 3)).astype(np.float32)  # many ties
    queries = random.integers(-2, 3, size=(count_queries, 3)).astype(np.float32)
    found = nearest_neighbours.nearest(rows, queries, count, block)
    scores = queries @ rows.T
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    assert np.array_equal(found.indices, expected)
    assert np.array_equal(found.scores, np.take_along_axis(scores, expected, 1))


def test_many_queries_are_searched_in_groups(store, monkeypatch):
    unit = store.unit_vectors
    whole = nearest_neighbours.nearest(unit, unit, 5)
    monkeypatch.setattr(nearest_neighbours, "MAX_SCORES", 64)
    grouped = nearest_neighbours.nearest(unit, unit, 5, block=32)
    assert np.array_equal(whole.indices, grouped.indices) and grouped.scores == pytest.approx(whole.scores, abs=1e-6)


def test_norms_make_cosines(store):
    queries = store.unit_vectors[:3]
    found = nearest_neighbours.nearest(store.vectors, queries, 4, norms=store.norms)
    assert np.array_equal(found.indices, nearest_neighbours.nearest(store.unit_vectors, queries, 4).indices)


@pytest.mark.parametrize("method", ["ivf", "hnsw"])
def test_an_index_finds_most_of_the_neighbours(method):
    if method == "hnsw":
        pytest.importorskip("usearch")
    random = np.random.default_rng(0)
    topics = random.normal(size=(100, 20))
    rows = topics[random.integers(0, 100, 4000)] + random.normal(size=(4000, 20))
    store = WordVectors([f"w{n}" for n in range(4000)], rows)
    index = store.approximate_index(method)
    exact = nearest_neighbours.nearest(store.unit_vectors, store.unit_vectors[:100], 10)
    approximate = index.nearest(store.unit_vectors[:100], 10)
    recall = [len(set(a) & set(b)) / 10 for a, b in zip(exact.indices, approximate.indices, strict=True)]
    assert np.mean(recall) > 0.9
    assert np.mean(approximate.scores[:, 0] > 0.9999) > 0.9  # itself
    assert store.most_similar("w7", topn=3, index=index)[0].word != "w7"


def test_an_index_of_few_rows_finds_them_all():
    store = made(5)
    found = store.approximate_index().nearest(store.unit_vectors[0], 9)
    assert found.indices.shape == (1, 5) and set(found.indices[0]) == {0, 1, 2, 3, 4}
