"""Contexts paired with glosses, and words marked in their sentences."""

import pytest

from firth.datasets.marked_words import mark_targets, mark_word
from firth.datasets.records import Labelled, Pair, WordSense
from firth.errors import FirthError
from firth.lexicon import open_lexicon
from firth.lexicon.gloss_pairs import gloss_pairs, labelled_pairs

WORLD = open_lexicon("world")
WORDS = ("the", "doglamps", "bark")


def test_one_pair_for_each_sense_of_the_word():
    pairs = gloss_pairs(WORLD, WORDS, 1, "doglamp")
    assert [pair.sense.synset.id for pair in pairs] == ["dog.n.01", "lamp.n.01"]
    assert {pair.context for pair in pairs} == {'the " doglamps " bark'}
    assert pairs[0].gloss == f"doglamp : {WORLD.synset('dog.n.01').definition}"
    assert gloss_pairs(WORLD, WORDS, 1) and not gloss_pairs(WORLD, WORDS, 1, "nonsense")


def test_exactly_the_gloss_of_the_sense_is_positive():
    examples = [WordSense(WORDS, 1, "doglamp", "lamp.n.01"), WordSense(WORDS, 1, "doglamp", "dog.n.01")]
    labels = [pair.label for pair in labelled_pairs(WORLD, examples)]
    assert labels == ["no", "yes", "yes", "no"]


def test_a_sense_that_the_lexicon_lacks():
    example = WordSense(WORDS, 1, "doglamp", "dog%1:05:00::", "", 7)
    with pytest.raises(FirthError) as error:
        list(labelled_pairs(WORLD, [example]))
    assert "line 7: world has no sense 'dog%1:05:00::' of 'doglamp'" in str(error.value)


def test_words_in_context_are_marked_in_both_sentences():
    pair = Pair("a doglamp ran", "doglamp is here", "T", None, 3, (("word", "doglamp"), ("positions", "1-0")))
    marked = mark_targets(pair)
    assert (marked.left, marked.right) == ('a " doglamp " ran', '" doglamp " is here')
    assert marked.label == "T" and marked.line == 3 and mark_targets(marked) == marked
    for other in (Labelled("a text", ("y",)), Pair("a", "b", "T")):
        assert mark_targets(other) == other


@pytest.mark.parametrize("position", [-1, 3])
def test_a_position_outside_of_the_sentence(position):
    with pytest.raises(FirthError, match=rf"position {position} of 3 words; count the words from 0"):
        mark_word(WORDS, position)
