"""Correction on texts of the world: planted errors are found, clean text stays as it is."""

import random

import pytest

from firth.data.world import World
from firth.errors import FirthError
from firth.uses.correcting import correct
from firth.uses.lexicon import WORD, Lexicon, lexicon

CLEAN = list(World().documents(12, start=7000))


def slipped(text, seed):
    """The text with one slip in a long word: the word, as typed, and where."""
    draw = random.Random(seed)
    word = draw.choice([word for word in WORD.findall(text) if len(word) > 4])
    at = draw.randrange(1, len(word) - 2)
    kinds = [
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + "q" + word[at:],
        word[:at] + "q" + word[at + 1 :],
    ]
    typed = next(kind for kind in draw.sample(kinds, 4) if kind != word)
    start = text.index(word)
    return text[:start] + typed + text[start + len(word) :], word, typed, start


def test_clean_text_stays_as_it_is(world):
    for text in CLEAN:
        found = correct(world, text)
        assert (found.text, found.changes) == (text, ())


def test_planted_errors_are_found(world):
    right = 0
    for seed, text in enumerate(CLEAN):
        spoiled, word, typed, start = slipped(text, seed)
        found = correct(world, spoiled)
        right += found.text == text
        for change in found.changes:
            assert spoiled[change.at :].startswith(change.typed) and 0 < change.sure <= 1.0 + 1e-9
        if found.text == text:
            (change,) = found.changes
            assert (change.typed, change.meant, change.at) == (typed, word, start) and change.sure > 0.5
    assert right >= 11  # of 12


def test_several_errors_and_white_space_between_sentences(world):
    first, second = CLEAN[0], CLEAN[1]
    spoiled = f"{slipped(first, 1)[0]}\n\n  {slipped(second, 2)[0]}\n"
    found = correct(world, spoiled)
    assert found.text == f"{first}\n\n  {second}\n" and len(found.changes) == 2


def test_two_slips_need_two_edits(world):
    word = next(word for word in WORD.findall(CLEAN[0]) if len(word) > 5)
    spoiled = CLEAN[0].replace(word, word[:2] + "q" + word[2:4] + "q" + word[4:], 1)
    assert correct(world, spoiled).text == spoiled
    assert correct(world, spoiled, distance=2).text == CLEAN[0]


def test_capitals_stay(world):
    word = next(word for word in WORD.findall(CLEAN[0]) if len(word) > 4 and word.islower())
    typed = word[:2] + "q" + word[2:]
    for change in (str.upper, str.capitalize):
        known = Lexicon({word: 5})
        found = correct(world, CLEAN[0].replace(word, change(typed), 1), known=known, rate=0.5)
        assert found.text == CLEAN[0].replace(word, change(word), 1)


def test_only_the_words_of_a_set_are_exchanged(world):
    text = next(text for text in CLEAN if " is " in text)
    spoiled = text.replace(" is ", " are ", 1)
    found = correct(world, spoiled, choices=[("is", "are")])
    assert found.text == text and [(c.typed, c.meant) for c in found.changes] == [("are", "is")]
    typo = spoiled.replace(WORD.findall(text)[-2], "qqq", 1)
    assert "qqq" in correct(world, typo, choices=[("is", "are")]).text
    assert correct(world, text, choices=[("is", "are")]).changes == ()


def test_whole_words_have_unknown_ones_mended(words):
    spoiled, *_ = slipped(CLEAN[2], 3)
    assert correct(words, spoiled).text == CLEAN[2]


def test_empty_text_and_text_without_words(world):
    for text in ("", "  ", "1234 ... !", "\n"):
        assert correct(world, text).text == text


def test_impossible_settings_are_refused(world):
    for bad in ({"rate": 0.0}, {"rate": 1.0}, {"distance": 3}):
        with pytest.raises(FirthError, match="a rate must lie between 0 and 1, a distance is 1 or 2"):
            correct(world, "a", **bad)


# --- the words ----------------------------------------------------------------------------------------------------


def test_known_words_are_those_of_the_training_text_and_kept_in_the_cache(world, tmp_path, monkeypatch):
    found = lexicon(world, 1, tmp_path)
    (kept,) = (tmp_path / "words").iterdir()
    assert not [path for path in world.run.path.rglob("*") if "words" in path.name]
    monkeypatch.setattr("firth.uses.lexicon._counted", None)  # not counted again
    again = lexicon(world, 1, tmp_path)
    assert again.counts == found.counts and found.counts["the"] > 100
    kept.write_bytes(b"{")
    with pytest.raises(TypeError):
        lexicon(world, 1, tmp_path)  # a damaged file is made anew


def test_near_words_are_the_nearest_and_most_frequent_in_their_usual_forms():
    known = Lexicon({"may": 5, "May": 5, "MAY": 1, "day": 20, "mayor": 3, "once": 1}, least=2)
    assert known.near("mai", 1, 10) == [("may", 1), ("May", 1)]
    assert known.near("maay", 2, 1) == [("may", 1), ("May", 1)]
    assert known.near("maay", 2, 9) == [("may", 1), ("May", 1), ("day", 2)]  # mayor: 3
    assert known.near("may", 1, 10) == [("day", 1)]
    assert known.near("onc", 1, 10) == []


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
