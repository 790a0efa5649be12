"""What tokens add to a text, and where words end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth import Tokenizer
from firth.config.schema import Tokenizer as Config
from firth.text.spelling import finished, in_word, spelling, stopped

TEXTS = ["The café is open; don't wait.", "the cat sat on the mat\nand saw 3 cats", "我喜欢 books — and ünïts"] * 3


def tokenizer(model):
    return Tokenizer.train(Config(model=model, size=400), TEXTS)


@pytest.mark.parametrize("model", ["byte", "byte-bpe", "char", "bpe", "unigram", "word", "wordpiece"])
def test_what_tokens_add_is_the_text(model):
    """White space between words apart, where the tokenizer itself loses it."""
    made = tokenizer(model)
    found = spelling(made)
    for text in TEXTS[:3]:
        first, *rest = made.ids(text)
        joined = found.first.texts[first] + b"".join(found.inside.texts[token] for token in rest)
        if model in ("word", "wordpiece"):
            assert joined.decode().replace(" ", "") == "".join(text.split())
        else:
            assert joined.decode() == text
    assert all(found.inside.texts[n] == b"" for n in made.special.ids)


def test_tokens_that_go_on_with_a_word():
    made = tokenizer("byte-bpe")
    letters = spelling(made).inside.letters
    for piece, goes_on in (("a", True), ("Ġ", False), (".", False), ("Ã", True), ("[END]", False)):
        assert letters[made.id_of(piece)] == goes_on, piece


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("the c", ("the", " c")),
        ("the ", ("the", " ")),
        ("the", ("", "the")),
        ("", ("", "")),
        ("x\n", ("x\n", "")),
        ("end.", ("end.", "")),
        ("(se", ("(", "se")),
        ("a  b", ("a ", " b")),
        ("我喜", ("我喜", "")),
    ],
)
def test_where_a_text_stops(text, parts):
    assert stopped(text) == parts


@given(st.text())
def test_stopping_loses_nothing(text):
    assert "".join(stopped(text)) == text


@pytest.mark.parametrize(
    ("begun", "text", "word"),
    [
        (" c", " cat", None),  # more letters may follow
        (" c", " cat.", " cat"),
        (" c", " c ", " c"),
        ("", " (", " ("),  # a mark is a word by itself
        ("", " the", None),
        ("", " the cat", " the"),
        ("", "  ", None),
        (" ", " 我", " 我"),
    ],
)
def test_when_a_word_is_finished(begun, text, word):
    assert finished(begun, text) == word


def test_in_a_word_or_not():
    assert in_word("the") and in_word("né") and not in_word("") and not in_word("the ") and not in_word("我")
