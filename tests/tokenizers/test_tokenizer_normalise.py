"""Unicode normal forms and lowercasing: as in the library, and right for Turkish."""

from __future__ import annotations

import json
import unicodedata
from functools import cache

import pytest
from hypothesis import given, settings
from tokenizer_samples import settled_texts

import tokenizers
from firth.tokenizers.split import normalise, normaliser_steps

FORMS, LOWERCASE = ("none", "nfc", "nfkc"), ("no", "yes", "turkish")


@cache
def library(form: str, lowercase: str) -> tokenizers.normalizers.Normalizer:
    model = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    file = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "pre_tokenizer": None,
        "post_processor": None, "decoder": None, "model": model,
        "normalizer": {"type": "Sequence", "normalizers": normaliser_steps(form, lowercase)},
    }  # fmt: skip
    return tokenizers.Tokenizer.from_str(json.dumps(file)).normalizer


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lowercase", LOWERCASE)
@given(text=settled_texts())
@settings(max_examples=50, deadline=None)
def test_python_and_the_library_agree(form, lowercase, text):
    assert normalise(text, form, lowercase) == library(form, lowercase).normalize_str(text)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lowercase", LOWERCASE)
def test_they_agree_on_every_old_character(form, lowercase):
    old = unicodedata.ucd_3_2_0
    text = "a".join(c for c in map(chr, range(0x110000)) if old.category(c) not in ("Cn", "Cs"))
    assert normalise(text, form, lowercase) == library(form, lowercase).normalize_str(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IĞDIR", "ığdır"),
        ("İZMİR", "izmir"),
        ("i\u0307zmir", "izmir"),
        ("I\u0307ZMI\u0307R", "izmir"),
        ("Işık", "ışık"),
        ("ılık iyi", "ılık iyi"),
        ("ÇĞÖŞÜ", "çğöşü"),
        ("ΣΑΣ", "σασ"),
    ],
)
def test_turkish(text, expected):
    for form in FORMS:
        assert normalise(text, form, "turkish") == expected


def test_turkish_lower_case_leaves_no_stray_dot():
    assert "\u0307" not in normalise("İI\u0307", "none", "turkish")


def test_plain_lower_case_is_unicodes():
    assert normalise("IĞDIR İ", "none", "yes") == "iğdir i\u0307"


def test_normal_forms():
    assert normalise("e\u0301 ﬁ", "nfc", "no") == "é ﬁ"
    assert normalise("e\u0301 ﬁ Ⅳ", "nfkc", "no") == "é fi IV"
    assert normalise("e\u0301 ﬁ", "none", "no") == "e\u0301 ﬁ"
