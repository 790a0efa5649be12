"""N-gram features: scikit-learn's counts and tf-idf, counting by hand, selection, files, hashing."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from firth.config.schema import HashedNgramFeatures, NgramFeatures, Tokenizer
from firth.datasets.text_dataset import make_tokenizer
from firth.errors import FirthError
from firth.linear.ngram_vocabulary import HashedNgrams, NgramVocabulary, count_matrix
from firth.linear.pair_features import PairVectorizer
from firth.linear.vectorizer import Vectorizer

TEXTS = ["the cat sat on the mat", "a cat", "", "the dog sat on the dog and the dog", "on the cat the cat sat"]
OTHERS = ["the cat sat on a zebra", "unheard of", "the the the cat", ""]
CONFIG = Tokenizer(model="word", vocabulary_size=10_000, lowercase="yes")


def tokenizer(texts=TEXTS, **changes):
    return make_tokenizer(Tokenizer(**{**vars(CONFIG), **changes}), texts)


def by_name(vectorizer, matrix):
    """Column names and columns, by name."""
    names = [vectorizer.name(column) for column in range(matrix.shape[1])]
    order = np.argsort(names)
    return [names[at] for at in order], matrix.toarray()[:, order]


def flat(sequences):
    units = np.array([unit for each in sequences for unit in each], np.int64)
    return units, np.cumsum([0, *map(len, sequences)]).astype(np.int64)


# --- n-grams --------------------------------------------------------------------------------------------------------

SEQUENCES = st.lists(st.lists(st.integers(-1, 3), max_size=7), min_size=1, max_size=5)


@settings(deadline=None, max_examples=60)
@given(SEQUENCES, SEQUENCES, st.integers(1, 4), st.integers(1, 3))
def test_counts_are_those_of_counting_by_hand(sequences, others, longest, shortest):
    def ngrams(sequence):
        spans = (
            tuple(sequence[at : at + size])
            for size in range(shortest, longest + 1)
            for at in range(len(sequence) - size + 1)
        )
        return Counter(span for span in spans if min(span) >= 0)

    vocabulary = NgramVocabulary.fit(*flat(sequences), 4, longest, shortest)
    known = {tuple(vocabulary.spell(column)): column for column in range(vocabulary.size)}
    assert set(known) == {span for each in sequences for span in ngrams(each)}
    for given_sequences in (sequences, others):
        matrix = count_matrix(vocabulary, *flat(given_sequences)).toarray()
        for row, sequence in zip(matrix, given_sequences, strict=True):
            expected = {known[span]: count for span, count in ngrams(sequence).items() if span in known}
            assert {column: row[column] for column in np.flatnonzero(row)} == expected


@settings(deadline=None, max_examples=40)
@given(SEQUENCES, st.integers(1, 3), st.randoms(use_true_random=False))
def test_selected_columns_are_the_same_columns(sequences, longest, random):
    vocabulary = NgramVocabulary.fit(*flat(sequences), 4, longest)
    kept = np.array([random.random() < 0.4 for _ in range(vocabulary.size)], bool)
    selected = vocabulary.select(kept)
    selected.check()
    expected = count_matrix(vocabulary, *flat(sequences)).toarray()[:, kept]
    assert np.array_equal(count_matrix(selected, *flat(sequences)).toarray(), expected)
    assert [selected.spell(column) for column in range(selected.size)] == [
        vocabulary.spell(int(column)) for column in np.flatnonzero(kept)
    ]


def test_hashed_ngrams_are_the_same_wherever_they_are():
    ngrams = HashedNgrams(1 << 20, 3)
    first, second = count_matrix(ngrams, *flat([[1, 2, 3], [9, 1, 2, 3, -1, 1]])).toarray()
    assert first.sum() == 6 and second.sum() == 10  # 4 + 3 + 2 n-grams of 9 1 2 3, and one of the last 1
    assert (second >= first).all()


# --- scikit-learn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("weighting", ["counts", "binary", "tf-idf"])
def test_word_ngrams_are_those_of_scikit_learn(weighting, least):
    kind = TfidfVectorizer if weighting == "tf-idf" else CountVectorizer
    theirs = kind(ngram_range=(1, 2), token_pattern=r"\w+", min_df=least, binary=weighting == "binary")
    vectorizer, matrix = Vectorizer.fit(TEXTS, tokenizer(), NgramFeatures(2, weighting=weighting, min_documents=least))
    expected = theirs.fit_transform(TEXTS)
    names, ours = by_name(vectorizer, matrix)
    assert names == sorted(theirs.get_feature_names_out())
    order = np.argsort(theirs.get_feature_names_out())
    assert np.allclose(ours, expected.toarray()[:, order], atol=1e-6)
    assert np.allclose(
        by_name(vectorizer, vectorizer.transform(OTHERS))[1], theirs.transform(OTHERS).toarray()[:, order]
    )
    assert np.array_equal(vectorizer.documents, (matrix.toarray() != 0).sum(0))


def test_character_ngrams_are_those_of_scikit_learn():
    texts = ["Straße İzmir 😀 naïve", "the naïve cat", ""]
    theirs = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False)
    vectorizer, matrix = Vectorizer.fit(
        texts, tokenizer(texts, lowercase="no"), NgramFeatures(0, min_n=2, max_n=4, weighting="counts")
    )
    expected = theirs.fit_transform(texts).toarray()
    assert matrix.shape == expected.shape
    assert sorted(map(tuple, matrix.toarray().T)) == sorted(map(tuple, expected.T))
    names = {vectorizer.name(column) for column in range(matrix.shape[1])}
    assert {"na*", "*ïve", "*aï*", "*😀", "cat*"} <= names


# --- unknown words, files -------------------------------------------------------------------------------------------


def test_unknown_words_are_in_no_word_ngram_but_their_characters_count():
    rare = tokenizer(min_count=2)  # mat, and, a are rare
    vectorizer, _ = Vectorizer.fit(TEXTS, rare, NgramFeatures(2, min_n=3, max_n=3))
    found = [feature.name for feature in vectorizer.find("The mat the dogs")]
    assert "the" in found and "mat" not in found and "the mat" not in found and {"ma*", "*dog*", "*at"} <= {*found}
    assert vectorizer.transform(["", "xyzzy qqq"]).nnz == 0


@pytest.mark.parametrize(
    "config",
    [NgramFeatures(2, 2, 3, "tf-idf", 2), NgramFeatures(0, 1, 3, "counts"), HashedNgramFeatures(2, 2, 3, buckets=997)],
)
@pytest.mark.parametrize("kind", [Vectorizer, PairVectorizer])
def test_files_keep_everything(kind, config):
    inputs, others = TEXTS, OTHERS
    if kind is PairVectorizer:
        inputs, others = list(zip(TEXTS, TEXTS[::-1], strict=True)), list(zip(OTHERS, TEXTS, strict=False))
    words = tokenizer()
    vectorizer, _ = kind.fit(inputs, words, config)
    again = kind.from_arrays(vectorizer.arrays(), vectorizer.about(), words, config)
    assert (again.transform(others) != vectorizer.transform(others)).nnz == 0
    assert [again.find(each) for each in others] == [vectorizer.find(each) for each in others]
    broken = {**vectorizer.arrays(), "documents": vectorizer.documents[1:]}
    with pytest.raises(ValueError):
        kind.from_arrays(broken, vectorizer.about(), words, config)


def test_hashed_features_have_names_in_a_text_only():
    vectorizer, _ = Vectorizer.fit(TEXTS, tokenizer(), HashedNgramFeatures(1, buckets=1 << 20))
    (cat,) = vectorizer.find("cat xyzzy")
    assert cat.name == "cat" and vectorizer.transform(["cat"]).indices.tolist() == [cat.column]
    with pytest.raises(FirthError, match="hashed features have no names"):
        vectorizer.name(cat.column)


def test_features_of_a_pair():
    vectorizer, matrix = PairVectorizer.fit(
        [("a cat sat", "a cat ran"), ("x", "y")], tokenizer(["a cat sat ran x y"]), NgramFeatures(1)
    )
    named = dict(zip(map(vectorizer.name, range(matrix.shape[1])), matrix.toarray()[0], strict=True))
    assert named["left: sat"] == named["right: ran"] == named["both: cat"] == 1 and not named["both: sat"]
    assert named["cosine of words"] == pytest.approx(2 / 3) and named["Jaccard of words"] == pytest.approx(0.5)
    assert named["length ratio of words"] == 0 and named["left in right of words"] == pytest.approx(2 / 3)
    found = {feature.name for feature in vectorizer.find(("a cat sat", "a cat ran"))}
    assert {name for name, value in named.items() if value} <= found


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (NgramFeatures(0), "neither word n-grams nor character n-grams"),
        (NgramFeatures(1, 4, 2), "character n-grams of 4 to 2 characters"),
        (NgramFeatures(1, 0, 3), "character n-grams of 0 to 3 characters"),
        (NgramFeatures(1, min_documents=99), "the training texts have no features"),
    ],
)
def test_settings_without_features_are_refused(config, message):
    with pytest.raises(FirthError, match=message):
        Vectorizer.fit(TEXTS, tokenizer(), config)
