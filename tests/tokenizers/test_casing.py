"""The casing class of a word, in scripts with and without case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.tokenizers.casing import CASINGS, casing_class


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lower", "the e.g. ß ısı don't"),
        ("title", "The A İstanbul Straße Éa"),
        ("upper", "THE U.S. ÇA"),
        ("mixed", "iPhone McDonald O'Neil"),
        ("caseless", "日本 한국 שלום हिन्दी"),
        ("number", "3.14 1996-08-30 ١٩"),
        ("with digits", "B2B 1990s"),
        ("no letters", "... — 👍"),
    ],
)
def test_a_word_of_each_class(name, words):
    assert {CASINGS[casing_class(word)] for word in words.split()} == {name}


@given(st.text())
def test_every_word_has_a_class_and_padding_none(word):
    assert 0 < casing_class(word) < len(CASINGS)
