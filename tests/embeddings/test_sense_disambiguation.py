"""Disambiguation by vectors, on vectors in which the contexts of two senses are two directions."""

from __future__ import annotations

import numpy as np
import pytest

from firth.datasets.records import WordSense
from firth.embeddings.pseudo_words import METHODS, choose_pairs, measure_pseudo_words
from firth.embeddings.sense_disambiguation import GlossVectors, SenseVectors
from firth.embeddings.senses import InductionOptions
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.lexicon import open_lexicon
from firth.types import generator

FIELDS = {"water": ("river", "boat", "fish", "wave"), "money": ("coin", "loan", "cash", "purse")}
WIDTH = 12


def vectors():
    """Words of a field share a direction; all others are random."""
    rng = generator(0, "test")
    directions = {name: rng.normal(size=WIDTH) for name in FIELDS}
    words = [word for members in FIELDS.values() for word in members]
    rows = [directions[name] + 0.3 * rng.normal(size=WIDTH) for name, members in FIELDS.items() for _ in members]
    others = ["bank", "door", "lamp", "the", "in"]
    rows += [rng.normal(size=WIDTH) for _ in others]
    return WordVectors([*words, *others], np.array(rows, np.float32), counts=np.full(len(rows), 50))


def sentences(count, seed=1):
    """`bank` and `door` among words of one field each."""
    rng = generator(seed, "sentences")
    for number in range(count):
        word, field = (("bank", "water"), ("door", "money"))[number % 2]
        yield [*rng.choice(FIELDS[field], 3).tolist(), word, *rng.choice(FIELDS[field], 2).tolist()]


def labelled(count, seed=1):
    for words in sentences(count, seed):
        position = 3
        yield WordSense(tuple(words), position, "bankdoor", words[position])


def test_senses_of_labelled_contexts_are_found_again():
    by_vectors = SenseVectors(vectors(), labelled(40))
    assert all(by_vectors.choose(record) for record in labelled(60, seed=2))
    ranked = by_vectors.rank(next(labelled(1)))
    assert [sense for sense, _ in ranked] == ["bank", "door"] and sum(p for _, p in ranked) == pytest.approx(1)
    assert by_vectors.choose(WordSense(("a", "lamp"), 1, "lamp", "lamp")) is None
    with pytest.raises(FirthError, match="no labelled examples"):
        SenseVectors(vectors(), [])


def test_without_a_context_the_prior_decides():
    examples = {sense: [record for record in labelled(30) if record.sense == sense] for sense in ("bank", "door")}
    by_vectors = SenseVectors(vectors(), [*examples["bank"][:10], *examples["door"][:2]])
    ranked = by_vectors.rank(WordSense(("bankdoor",), 0, "bankdoor", ""))
    assert ranked[0][0] == "bank" and ranked[0][1] == pytest.approx(10 / 12)


def test_glosses_are_compared_with_the_context():
    """The world's words: the gloss of boat (a small vessel, rowed or sailed), that of bear (a large wild animal …)."""
    words = ["vessel", "rowed", "sailed", "oars", "wild", "animal", "fur", "forest"]
    rows = np.array([[1, 0]] * 4 + [[0, 1]] * 4, np.float32)
    store, lexicon = WordVectors(words, rows, counts=np.full(len(words), 9)), open_lexicon("world")
    glosses = GlossVectors(store, lexicon)
    for context, first in ((("oars",), "boat.n.01"), (("forest",), "bear.n.01")):
        ranked = {name: glosses.rank((*context, name), 1)[0] for name in ("boat", "bear")}
        other = "bear" if first.startswith("boat") else "boat"
        assert ranked[first.partition(".")[0]].score > 0.9 > 0.1 > ranked[other].score


def test_induced_senses_tell_the_words_of_a_pseudo_word_apart():
    options = InductionOptions(max_senses=2, seed=3)
    result = measure_pseudo_words(vectors(), sentences(200), [("bank", "door")], options)
    (row,) = result.rows
    assert row.senses == 2 and row.contexts == 100 and set(result.means) == set(METHODS)
    assert result.means["induced"] == result.means["labelled"] == 1.0 > result.means["majority"]
    assert result.means["majority"] == max(row.right[2], 0) / row.contexts
    assert result == measure_pseudo_words(vectors(), sentences(200), [("bank", "door")], options)
    assert result.to_dict()["rows"][0]["pair"] == ("bank", "door")


def test_words_in_the_same_contexts_cannot_be_told_apart():
    def mixed():
        rng = generator(4, "mixed")
        for words in sentences(400):
            words[3] = ("bank", "door")[int(rng.integers(2))]
            yield words

    result = measure_pseudo_words(vectors(), mixed(), [("bank", "door")], InductionOptions(max_senses=2))
    assert 0.35 < result.means["induced"] < 0.65


def test_rare_pairs_are_left_out():
    with pytest.raises(FirthError, match="no pair of words with 10 contexts each; give more text, or other pairs"):
        measure_pseudo_words(vectors(), sentences(8), [("bank", "door")])


def test_random_pairs_are_disjoint_and_of_frequent_words():
    words = [f"word{chr(97 + n)}{chr(97 + m)}" for n in range(10) for m in range(10)] + ["x", "12"]
    store = WordVectors(words, np.ones((len(words), 3), np.float32), counts=np.arange(len(words), 0, -1))
    pairs = choose_pairs(store, 20, seed=1)
    assert pairs == choose_pairs(store, 20, seed=1) != choose_pairs(store, 20, seed=2)
    used = [word for pair in pairs for word in pair]
    assert len(pairs) == 20 and len(set(used)) == 40 and not {"x", "12"} & set(used)
