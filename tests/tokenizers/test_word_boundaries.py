"""The bytes that tokens add to a text, and word boundaries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth import Tokenizer
from firth.config.schema import Tokenizer as Config
from firth.tokenizers.word_boundaries import completed_word, ends_in_word, split_partial_word, token_spelling

TEXTS = ["The café is open; don't wait.", "the cat sat on the mat\nand saw 3 cats", "我喜欢 books — and ünïts"] * 3


def tokenizer(model):
    return Tokenizer.train(Config(model=model, vocabulary_size=400), TEXTS)


@pytest.mark.parametrize("model", ["byte", "byte-bpe", "char", "bpe", "unigram", "word", "wordpiece"])
def test_what_tokens_add_is_the_text(model):
    """White space between words apart, where the tokenizer itself loses it."""
    trained = tokenizer(model)
    spelling = token_spelling(trained)
    for text in TEXTS[:3]:
        first, *rest = trained.encode(text)
        joined = spelling.initial.tokens[first] + b"".join(spelling.inside.tokens[token] for token in rest)
        if model in ("word", "wordpiece"):
            assert joined.decode().replace(" ", "") == "".join(text.split())
        else:
            assert joined.decode() == text
    assert all(spelling.inside.tokens[n] == b"" for n in trained.special.ids)


def test_tokens_that_continue_a_word():
    trained = tokenizer("byte-bpe")
    continues = token_spelling(trained).inside.continues_word
    for piece, expected in (("a", True), ("Ġ", False), (".", False), ("Ã", True), ("[END]", False)):
        assert continues[trained.token_to_id(piece)] == expected, piece


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
    assert split_partial_word(text) == parts


@given(st.text())
def test_stopping_loses_nothing(text):
    assert "".join(split_partial_word(text)) == text


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
    assert completed_word(begun, text) == word


def test_in_a_word_or_not():
    assert (
        ends_in_word("the")
        and ends_in_word("né")
        and not ends_in_word("")
        and not ends_in_word("the ")
        and not ends_in_word("我")
    )
