"""WordNet through both packages: values computed by hand, and the packages' own where they are comparable."""

from __future__ import annotations

import math
from itertools import product

import nltk
import numpy as np
import pytest
import wn
import wn.similarity
from hypothesis import given, settings
from hypothesis import strategies as st
from lexicon_samples import write_database, write_lmf
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.corpus.util import LazyCorpusLoader

from firth.embeddings import wordnet
from firth.embeddings.word_vectors import WordVectors
from firth.embeddings.wordnet import WordNet, open_wordnet, wordnet_pairs
from firth.errors import FirthError

NOUNS = ("entity", "animal", "dog", "hound", "puppy", "guide_dog", "cat", "plant", "tree", "city", "paris")


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """Neither package has any data."""
    monkeypatch.setattr(wn.config, "_data_directory", tmp_path / "wn")
    monkeypatch.setattr(wn.config, "_dbpath", tmp_path / "wn" / "wn.db")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk")])
    monkeypatch.setattr(nltk.corpus, "wordnet", LazyCorpusLoader("wordnet", WordNetCorpusReader, None))
    return tmp_path


@pytest.fixture
def with_wn(empty):
    (empty / "wn").mkdir()
    wn.add(write_lmf(empty / "tiny.xml"), progress_handler=None)
    return empty


@pytest.fixture
def with_nltk(empty):
    write_database(empty / "nltk" / "corpora" / "wordnet")
    return empty


@pytest.fixture(params=["with_wn", "with_nltk"])
def net(request):
    request.getfixturevalue(request.param)
    with pytest.warns() if request.param == "with_nltk" else _nothing():  # nltk: no other languages
        return open_wordnet()


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        ("dog", "hound", "synonym"),
        ("dog", "dogs", "form"),
        ("Dogs", "dog", "form"),
        ("hot", "cold", "antonym"),
        ("cold", "hot", "antonym"),
        ("dog", "animal", "hypernym"),
        ("puppy", "entity", "hypernym"),
        ("beast", "puppy", "hyponym"),
        ("Paris", "city", "hypernym"),
        ("dog", "cat", "co-hyponym"),
        ("walking", "runs", "co-hyponym"),
        ("puppy", "guide_dog", "co-hyponym"),
        ("move", "think", ""),
        ("dog", "tree", ""),
        ("dog", "table", ""),
        ("table", "chair", ""),
    ],
)
def test_lexical_relations(net, a, b, relation):
    assert net.relation(a, b) == relation


@pytest.mark.parametrize(
    ("a", "b", "path", "wu_palmer"),
    [
        ("dog", "dog", 1, 1),
        ("dog", "hound", 1, 1),
        ("dog", "cat", 1 / 3, 4 / 6),
        ("puppy", "cat", 1 / 4, 4 / 7),
        ("puppy", "tree", 1 / 6, 2 / 7),
        ("dog", "entity", 1 / 3, 2 / 4),
        ("run", "walk", 1 / 3, 4 / 6),  # their hypernym is directly below the root of verbs
        ("run", "think", 1 / 4, 2 / 5),
        ("hot", "cold", 0, 0),
        ("dog", "run", 0, 0),
        ("dog", "table", 0, 0),
    ],
)
def test_similarities(net, a, b, path, wu_palmer):
    assert net.path_similarity(a, b) == net.path_similarity(b, a) == pytest.approx(path)
    assert net.wup_similarity(a, b) == net.wup_similarity(b, a) == pytest.approx(wu_palmer)


def test_the_closure_counts_distances(net):
    (puppy,) = net.synsets("puppy")
    expected = {frozenset(names): distance for names, distance in
                ((("puppy",), 0), (("dog", "hound"), 1), (("animal", "beast"), 2), (("entity",), 3))}  # fmt: skip
    names = (lambda s: s.lemmas()) if net.name == "tiny:1" else (lambda s: s.lemma_names())
    closure = net.hypernym_closure(puppy)
    assert {frozenset(names(synset)): distance for synset, distance in closure.items()} == expected
    assert net.depth(puppy) == 4


def test_similarities_of_nouns_are_those_of_the_packages(with_wn, with_nltk):
    with pytest.warns():  # nltk: no other languages
        theirs = nltk.corpus.wordnet.synsets("dog") and nltk.corpus.wordnet
    nets = open_wordnet("tiny:1"), open_wordnet("nltk")
    own = wn.Wordnet("tiny:1")
    for a, b in product(NOUNS, NOUNS):
        left, right = theirs.synsets(a)[0], theirs.synsets(b)[0]
        wn_left, wn_right = (own.synsets(word.replace("_", " "))[0] for word in (a, b))
        for net in nets:
            assert net.path_similarity(a, b) == pytest.approx(left.path_similarity(right))
            assert net.wup_similarity(a, b) == pytest.approx(left.wup_similarity(right))
            assert net.wup_similarity(a, b) == pytest.approx(wn.similarity.wup(wn_left, wn_right))


def test_a_lexicon_of_another_language_has_no_english_endings(empty):
    (empty / "wn").mkdir()
    wn.add(write_lmf(empty / "tiny.xml", language="fr"), progress_handler=None)
    net = open_wordnet()
    assert net.synsets("dog") and not net.synsets("dogs")


def test_english_comes_first(with_wn):
    wn.add(write_lmf(with_wn / "other.xml", language="fr", name="autre"), progress_handler=None)
    assert open_wordnet().name == "tiny:1" and open_wordnet("autre:1").name == "autre:1"


# --- missing packages and data ----------------------------------------------------------------------------------------


def test_without_data_the_error_says_what_to_install(empty):
    with pytest.raises(FirthError, match=r"no WordNet is installed; pip install 'firth\[wordnet\]' and then .* nltk"):
        open_wordnet()
    assert not (empty / "wn").exists()  # looking for it creates nothing


def test_without_packages_too(empty, monkeypatch):
    monkeypatch.setattr(wordnet, "find_spec", lambda name: None)
    with pytest.raises(FirthError, match="no WordNet is installed"):
        open_wordnet()


def test_an_unknown_lexicon_is_named(with_wn):
    with pytest.raises(FirthError, match=r"unknown lexicon 'tiny:2'; did you mean 'tiny:1'\?"):
        open_wordnet("tiny:2")


def test_incomplete_data_of_nltk(with_nltk):
    (with_nltk / "nltk" / "corpora" / "wordnet" / "index.noun").unlink()
    with pytest.warns(), pytest.raises(FirthError, match="nltk's WordNet is damaged or incomplete"):
        open_wordnet()


# --- random taxonomies ------------------------------------------------------------------------------------------------


class FakeReader:
    """A reader of a taxonomy of numbers, given as the list of hypernyms of each; a word is its number."""

    name = "fake"

    def __init__(self, parents, pos="n"):
        self.parents, self.part_of_speech = parents, pos

    def lemmas(self, word):
        return [word]

    def synsets(self, word):
        return [int(word)] if word.isdigit() and int(word) < len(self.parents) else []

    def hypernyms(self, synset):
        return self.parents[synset]

    def pos(self, synset):
        return self.part_of_speech

    def antonyms(self, lemma):
        return []


NETS = st.integers(1, 9).flatmap(
    lambda size: st.tuples(*(st.sets(st.integers(0, max(0, n - 1)), max_size=3 if n else 0) for n in range(size)))
)


@settings(max_examples=60, deadline=None)
@given(NETS)
def test_distances_and_depths_are_those_of_a_table_of_all_paths(parents):
    net, size = WordNet(FakeReader([sorted(hypernyms) for hypernyms in parents])), len(parents)
    shortest = np.full((size, size), math.inf)
    longest = np.full((size, size), -math.inf)
    for child in range(size):  # hypernyms have smaller numbers, so their rows are finished
        shortest[child, child] = longest[child, child] = 0
        for parent in parents[child]:
            shortest[child] = np.minimum(shortest[child], shortest[parent] + 1)
            longest[child] = np.maximum(longest[child], longest[parent] + 1)
    for a, b in product(range(size), repeat=2):
        assert net.hypernym_closure(a).get(b, math.inf) == shortest[a, b]
        path = shortest[a] + shortest[b]
        depth = longest.max(1) + 1
        assert net.path_similarity(str(a), str(b)) == pytest.approx(1 / (1 + path.min()))
        expected = max((2 * depth[t] / (path[t] + 2 * depth[t]) for t in range(size) if path[t] < math.inf), default=0)
        assert net.wup_similarity(str(a), str(b)) == pytest.approx(expected)


def test_a_cycle_ends():
    net = WordNet(FakeReader([[1], [0], [0]], "v"))
    assert set(net.hypernym_closure(2)) == {0, 1, 2}
    assert 0 < net.wup_similarity("1", "2") <= 1 and net.relation("2", "1") == "hypernym"


# --- as a test set ----------------------------------------------------------------------------------------------------


def test_pairs_are_balanced_over_similarity_and_the_same_for_a_seed(with_wn):
    net = open_wordnet()
    words = ["dog", "cat", "puppy", "tree", "plant", "animal", "run", "walk", "think", "table", "x1", "hot"]
    store = WordVectors(words, np.eye(len(words), dtype=np.float32))
    pairs = wordnet_pairs(net, store, count=20, seed=3)
    assert pairs == wordnet_pairs(net, store, count=20, seed=3)
    assert {word for pair in pairs for word in pair[:2]} <= set(words[:9])
    assert all(pair.left != pair.right and pair.score == net.wup_similarity(pair.left, pair.right) for pair in pairs)
    bins = [min(int(pair.score * 10), 9) for pair in pairs]
    assert bins == sorted(bins) and max(map(bins.count, bins)) <= 2
    assert len({pair[:2] for pair in pairs}) == len(pairs)


def test_words_of_another_language_make_no_pairs(with_wn):
    store = WordVectors(["hund", "katze"], np.eye(2, dtype=np.float32))
    with pytest.raises(FirthError, match="0 of the frequent words are nouns or verbs of tiny:1"):
        wordnet_pairs(open_wordnet(), store)
