"""Disambiguation by glosses: overlaps worked out by hand, and accuracies against counts of the choices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniature_wordnet import write_database

from firth.datasets.records import WordSense
from firth.datasets.world import World
from firth.datasets.world.gold import records
from firth.errors import FirthError
from firth.lexicon import open_lexicon
from firth.lexicon.lesk import FUNCTION_WORDS, METHODS, Target, overlap, rank_senses
from firth.lexicon.sense_evaluation import by_lexicon, evaluate_senses, is_sense, most_frequent_sense, random_baseline


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory):
    return open_lexicon(write_database(tmp_path_factory.mktemp("wordnet") / "dict"))


def best(lexicon, sentence, word, method="lesk"):
    words = sentence.split()
    return rank_senses(lexicon, Target(words, words.index(word)), method)[0].sense.synset.definition


@pytest.mark.parametrize(
    ("sentence", "word", "definition"),
    [
        ("we sat beside the river on the bank", "bank", "the land beside a river"),
        ("she keeps the money in a bank", "bank", "a house that keeps money"),
        ("the banks lend money", "banks", "a house that keeps money"),
        ("a bank", "bank", "a house that keeps money"),  # no overlap: the most frequent sense
    ],
)
def test_simplified_lesk(lexicon, sentence, word, definition):
    assert best(lexicon, sentence, word) == definition


def test_scores_are_the_words_shared_with_gloss_and_examples(lexicon):
    ranked = rank_senses(lexicon, Target(["they", "sat", "beside", "the", "river", "bank"], 5))
    assert [(each.sense.synset.definition, each.score) for each in ranked] == [
        ("the land beside a river", 3.0), ("a house that keeps money", 0.0), ("put money away", 0.0),
    ]  # fmt: skip


def test_the_most_frequent_sense_is_by_counts(lexicon):
    ranked = rank_senses(lexicon, Target(["bank"], 0), "most-frequent")
    assert [each.score for each in ranked] == [5 / 8, 3 / 8, 0.0]
    assert [each.score for each in rank_senses(lexicon, Target(["run"], 0), "most-frequent")] == [0.0]
    assert rank_senses(lexicon, Target(["table"], 0), "most-frequent") == []


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("a tame animal that barks", "a tame animal that purrs", 4),  # tame animal
        ("the bank of the river", "bank of the river", 16),  # bank of the river: function words inside count
        ("red dog", "dog red", 2),  # two phrases of one word
        ("of the", "of the", 0),
        ("cat", "dog", 0),
        ("dog dog", "dog", 1),
    ],
)
def test_overlaps_are_squared_lengths_of_shared_phrases(left, right, expected):
    assert overlap(tuple(left.split()), tuple(right.split())) == expected


GLOSS = st.lists(st.sampled_from(["dog", "cat", "red", "the", "of"]), max_size=7).map(tuple)


@given(GLOSS, GLOSS)
def test_an_overlap_is_symmetric_in_size_and_bounded(left, right):
    """By a plain search of all phrases, longest first."""

    def phrases(words):
        for size in range(len(words), 0, -1):
            for start in range(len(words) - size + 1):
                phrase = words[start : start + size]
                if phrase[0] not in FUNCTION_WORDS and phrase[-1] not in FUNCTION_WORDS and "" not in phrase:
                    yield size, start, phrase

    one, other, total = list(left), list(right), 0
    while True:
        found = next(
            ((size, i, j) for size, i, a in phrases(one) for n, j, b in phrases(other) if n == size and a == b), None
        )
        if found is None:
            break
        size, i, j = found
        total += size * size
        one[i : i + size], other[j : j + size] = [""], [""]
    assert overlap(left, right) == total <= len(left) * len(right)


def test_extended_gloss_overlaps_use_related_synsets(lexicon):
    def scores(other):
        ranked = rank_senses(lexicon, Target(["bank", other], 0), "extended-lesk")
        return {each.sense.synset.definition: each.score for each in ranked}

    # Paris is "a city by a river", its hypernym "a large town"; both nouns have the hypernym "whatever is".
    assert scores("Paris") == {"the land beside a river": 1.0, "a house that keeps money": 0.0, "put money away": 0.0}
    # The hypernym of city is "whatever is" too: the word that is no function word counts.
    assert scores("city") == {"the land beside a river": 1.0, "a house that keeps money": 1.0, "put money away": 0.0}
    with pytest.raises(FirthError, match="unknown method 'leks'"):
        rank_senses(lexicon, Target(["bank"], 0), "leks")


# --- evaluation -------------------------------------------------------------------------------------------------------


def test_accuracy_counts_words_without_a_choice_as_wrong(lexicon):
    found = [
        WordSense(("a", "bank"), 1, "bank", "bank.n.01"),
        WordSense(("the", "river", "bank"), 2, "bank", "slope.n.01"),
        WordSense(("a", "table"), 1, "table", "table.n.01"),
        WordSense(("a", "dog"), 1, "dog", "dog%1:00:00::"),
    ]
    lesk, frequent = evaluate_senses(
        found, {"lesk": by_lexicon(lexicon, "lesk"), "most-frequent": by_lexicon(lexicon, "most-frequent")}
    )
    assert (lesk.score.value, lesk.answered, lesk.words) == (0.75, 3, 4)
    assert frequent.score.value == 0.5 and frequent.interval.low <= 0.5 <= frequent.interval.high
    assert random_baseline(lexicon, found).score.value == pytest.approx((1 / 3 + 1 / 3 + 0 + 1) / 4)
    trained = most_frequent_sense([found[1], found[1], found[0]])
    assert [trained(record) for record in found] == [False, True, None, None]
    with pytest.raises(FirthError, match="no words with senses"):
        evaluate_senses([], {})


def test_a_sense_has_several_names(lexicon):
    (sense,) = lexicon.senses("searing")
    for name in ("searing.s.01", "torrid.s.01", "searing%5:00:00:hot:00", sense.synset.id):
        assert is_sense(lexicon, sense, name)
    assert not is_sense(lexicon, sense, "hot.a.01")


def test_the_world_is_a_lexicon_with_its_pseudo_words():
    lexicon = open_lexicon("world")
    for record in records(World(), "senses", 30):
        senses = lexicon.senses(record.words[record.position])
        assert {sense.word for sense in senses} == {record.word} and len(senses) == 2
        assert sum(is_sense(lexicon, sense, record.sense) for sense in senses) == 1
        assert record.definition in {sense.synset.definition for sense in senses}
    assert lexicon.relation("wolves", "dogs") == "co-hyponym" and lexicon.relation("Oslo", "city") == "hypernym"
    assert lexicon.relation("drew", "draw") == "form" and lexicon.antonyms("pushed") == ("pull",)
    for pos in "nvar":
        for synset in lexicon.all_synsets(pos):
            assert lexicon.synset(lexicon.sense_name(synset)) == synset


def test_every_method_is_scored_on_the_world():
    found = list(records(World(), "senses", 10))
    lexicon = open_lexicon("world")
    results = evaluate_senses(found, {method: by_lexicon(lexicon, method) for method in METHODS}, "world-senses")
    assert all(result.answered == result.words == len(found) for result in results)
