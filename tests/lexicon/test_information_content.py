"""Information content and the measures that use it, against a table of all probabilities and nltk."""

from __future__ import annotations

import math
from itertools import product
from types import SimpleNamespace

import nltk
import pytest
from miniature_wordnet import write_database
from nltk.corpus.reader.wordnet import WordNetCorpusReader

from firth.errors import FirthError
from firth.lexicon import MEASURES, information_content, open_lexicon, synset_similarity, word_similarity

COUNTS = {"dog": 6, "dogs": 2, "cat": 3, "trees": 4, "bank": 5, "run": 2, "walking": 1, "the": 100}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_database(tmp_path_factory.mktemp("nltk") / "corpora" / "wordnet")


@pytest.fixture(scope="module")
def lexicon(folder):
    return open_lexicon(folder)


def test_the_probability_of_a_synset_is_that_of_all_below_it(lexicon):
    content = information_content(lexicon, COUNTS, smoothing=0.0)
    assert content.words == 23  # not those that are neither noun nor verb
    own = {"a tame animal that barks": 8, "a tame animal that purrs": 3, "a tall plant with a trunk": 4,
           "the land beside a river": 2.5, "a house that keeps money": 2.5}  # fmt: skip
    nouns = list(lexicon.all_synsets("n"))
    for synset in nouns:
        below = [other for other in nouns if synset.id in lexicon.hypernym_distances(other.id)]
        count = sum(own.get(other.definition, 0) for other in below)
        assert content[synset.id] == pytest.approx(-math.log(count / 20) if count else math.inf)


def test_a_synset_with_two_paths_to_the_root_counts_once(lexicon):
    content = information_content(lexicon, {"parrot": 1}, smoothing=0.0)
    values = {
        name: content[lexicon.synset(name).id] for name in ("parrot.n.01", "pet.n.01", "animal.n.01", "entity.n.01")
    }
    assert set(values.values()) == {0.0}


def test_smoothing_gives_every_synset_a_finite_content(lexicon):
    content = information_content(lexicon, {"dog": 3})
    for pos in "nv":
        for synset in lexicon.all_synsets(pos):
            assert 0 <= content[synset.id] < math.inf
            assert all(content[above.id] <= content[synset.id] for above in lexicon.hypernyms(synset))


def test_measures_are_those_of_nltk(lexicon, folder, monkeypatch):
    """On a tree without second paths, where nltk counts every hypernym once too."""
    monkeypatch.setattr(nltk.data, "path", [str(folder.parent.parent)])
    with pytest.warns():
        net = WordNetCorpusReader(nltk.data.FileSystemPathPointer(str(folder)), None)
    counts = {"dog": 6, "puppy": 2, "cat": 3, "tree": 4, "plant": 1}
    text = [word for word, count in counts.items() for _ in range(count)]
    theirs = net.ic(SimpleNamespace(words=lambda: text), smoothing=0.0)
    ours = information_content(lexicon, counts, smoothing=0.0)
    for a, b in product(counts, counts):
        left, right = net.synsets(a, "n")[0], net.synsets(b, "n")[0]
        assert word_similarity(lexicon, a, b, "resnik", ours).value == pytest.approx(left.res_similarity(right, theirs))
        assert word_similarity(lexicon, a, b, "lin", ours).value == pytest.approx(left.lin_similarity(right, theirs))
        if a != b:
            expected = left.jcn_similarity(right, theirs)
            assert word_similarity(lexicon, a, b, "jiang-conrath", ours).value == pytest.approx(expected)


def test_a_synset_and_itself(lexicon):
    content = information_content(lexicon, COUNTS)
    dog = lexicon.synset("dog.n.01")
    values = {measure: synset_similarity(lexicon, dog, dog, measure, content) for measure in MEASURES}
    assert values["path"] == values["wu-palmer"] == values["lin"] == 1 and values["jiang-conrath"] == math.inf
    assert values["resnik"] == content[dog.id]
    hot, cold = lexicon.synset("hot.a.01"), lexicon.synset("cold.a.01")
    assert [synset_similarity(lexicon, hot, cold, measure, content) for measure in MEASURES] == [None] * 6


def test_what_is_missing_is_said(lexicon):
    with pytest.raises(FirthError, match="lin needs information content; give a text to count, with --text"):
        word_similarity(lexicon, "dog", "cat", "lin")
    with pytest.raises(FirthError, match="unknown measure 'wup'"):
        word_similarity(lexicon, "dog", "cat", "wup")
    with pytest.raises(FirthError, match="no word of the text is a noun or verb of WordNet"):
        information_content(lexicon, {"hund": 3})
