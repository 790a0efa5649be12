"""Spelling correction on texts of the world: planted errors are corrected, clean text stays as it is."""

import random

import pytest

from firth.datasets.world import World
from firth.errors import FirthError
from firth.workflows.correction import correct
from firth.workflows.word_counts import WORD, Lexicon, training_lexicon

CLEAN = list(World().documents(12, start=7000))


def with_typo(text, seed):
    """The text with one typo in a long word, the word, as typed, and its offset."""
    rng = random.Random(seed)
    word = rng.choice([word for word in WORD.findall(text) if len(word) > 4])
    at = rng.randrange(1, len(word) - 2)
    kinds = [
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + "q" + word[at:],
        word[:at] + "q" + word[at + 1 :],
    ]
    typed = next(kind for kind in rng.sample(kinds, 4) if kind != word)
    start = text.index(word)
    return text[:start] + typed + text[start + len(word) :], word, typed, start


def test_clean_text_stays_as_it_is(world):
    for text in CLEAN:
        corrected = correct(world, text)
        assert (corrected.text, corrected.corrections) == (text, ())


def test_planted_errors_are_corrected(world):
    correct_count = 0
    for seed, text in enumerate(CLEAN):
        noisy, word, typed, start = with_typo(text, seed)
        corrected = correct(world, noisy)
        correct_count += corrected.text == text
        for correction in corrected.corrections:
            assert noisy[correction.start :].startswith(correction.typed) and 0 < correction.probability <= 1.0 + 1e-9
        if corrected.text == text:
            (correction,) = corrected.corrections
            assert (correction.typed, correction.intended, correction.start) == (
                typed,
                word,
                start,
            ) and correction.probability > 0.5
    assert correct_count >= 11  # of 12


def test_several_errors_and_white_space_between_sentences(world):
    first, second = CLEAN[0], CLEAN[1]
    noisy = f"{with_typo(first, 1)[0]}\n\n  {with_typo(second, 2)[0]}\n"
    corrected = correct(world, noisy)
    assert corrected.text == f"{first}\n\n  {second}\n" and len(corrected.corrections) == 2


def test_two_edits_need_distance_two(world):
    word = next(word for word in WORD.findall(CLEAN[0]) if len(word) > 5)
    noisy = CLEAN[0].replace(word, word[:2] + "q" + word[2:4] + "q" + word[4:], 1)
    assert correct(world, noisy).text == noisy
    assert correct(world, noisy, max_distance=2).text == CLEAN[0]


def test_capitalisation_is_kept(world):
    word = next(word for word in WORD.findall(CLEAN[0]) if len(word) > 4 and word.islower())
    typed = word[:2] + "q" + word[2:]
    for change_case in (str.upper, str.capitalize):
        lexicon = Lexicon({word: 5})
        corrected = correct(world, CLEAN[0].replace(word, change_case(typed), 1), lexicon=lexicon, error_rate=0.5)
        assert corrected.text == CLEAN[0].replace(word, change_case(word), 1)


def test_only_the_words_of_a_confusion_set_are_replaced(world):
    text = next(text for text in CLEAN if " is " in text)
    noisy = text.replace(" is ", " are ", 1)
    corrected = correct(world, noisy, confusion_sets=[("is", "are")])
    assert corrected.text == text and [(c.typed, c.intended) for c in corrected.corrections] == [("are", "is")]
    typo = noisy.replace(WORD.findall(text)[-2], "qqq", 1)
    assert "qqq" in correct(world, typo, confusion_sets=[("is", "are")]).text
    assert correct(world, text, confusion_sets=[("is", "are")]).corrections == ()


def test_a_word_level_model_corrects_out_of_vocabulary_words(words):
    noisy, *_ = with_typo(CLEAN[2], 3)
    assert correct(words, noisy).text == CLEAN[2]


def test_empty_text_and_text_without_words(world):
    for text in ("", "  ", "1234 ... !", "\n"):
        assert correct(world, text).text == text


def test_invalid_settings_are_an_error(world):
    for bad in ({"error_rate": 0.0}, {"error_rate": 1.0}, {"max_distance": 3}):
        with pytest.raises(
            FirthError, match="the error rate must lie between 0 and 1, and the distance must be 1 or 2"
        ):
            correct(world, "a", **bad)


# --- the lexicon ----------------------------------------------------------------------------------------------------


def test_the_lexicon_is_that_of_the_training_text_and_cached(world, tmp_path, monkeypatch):
    lexicon = training_lexicon(world, 1, tmp_path)
    (cached,) = (tmp_path / "words").iterdir()
    assert not [path for path in world.run.path.rglob("*") if "words" in path.name]
    monkeypatch.setattr("firth.workflows.word_counts._count_words", None)  # not counted again
    again = training_lexicon(world, 1, tmp_path)
    assert again.counts == lexicon.counts and lexicon.counts["the"] > 100
    cached.write_bytes(b"{")
    with pytest.raises(TypeError):
        training_lexicon(world, 1, tmp_path)  # a damaged file is recomputed


def test_candidates_are_the_nearest_and_most_frequent_in_their_frequent_forms():
    lexicon = Lexicon({"may": 5, "May": 5, "MAY": 1, "day": 20, "mayor": 3, "once": 1}, min_count=2)
    assert lexicon.candidates("mai", 1, 10) == [("may", 1), ("May", 1)]
    assert lexicon.candidates("maay", 2, 1) == [("may", 1), ("May", 1)]
    assert lexicon.candidates("maay", 2, 9) == [("may", 1), ("May", 1), ("day", 2)]  # mayor: 3
    assert lexicon.candidates("may", 1, 10) == [("day", 1)]
    assert lexicon.candidates("onc", 1, 10) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't stop", ["don't", "stop"]),
        ("well-known", ["well", "known"]),
        ("a1 x_y b2c é", ["é"]),
        ("'tis 'so'", ["tis", "so"]),
    ],
)
def test_words_are_letters(text, words):
    assert WORD.findall(text) == words
