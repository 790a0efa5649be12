"""Normal forms and lower case: ours is the library's, and Turkish is right."""

from __future__ import annotations

import json
import unicodedata
from functools import cache

import pytest
import tokenizers
from hypothesis import given, settings
from text_samples import settled_texts

from firth.text.normalise import normalise, normaliser

NORMAL, LOWER = ("none", "nfc", "nfkc"), ("no", "yes", "turkish")


@cache
def library(normal: str, lower: str) -> tokenizers.normalizers.Normalizer:
    model = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    file = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "pre_tokenizer": None,
        "post_processor": None, "decoder": None, "model": model,
        "normalizer": {"type": "Sequence", "normalizers": normaliser(normal, lower)},
    }  # fmt: skip
    return tokenizers.Tokenizer.from_str(json.dumps(file)).normalizer


@pytest.mark.parametrize("normal", NORMAL)
@pytest.mark.parametrize("lower", LOWER)
@given(text=settled_texts())
@settings(max_examples=50, deadline=None)
def test_python_and_the_library_agree(normal, lower, text):
    assert normalise(text, normal, lower) == library(normal, lower).normalize_str(text)


@pytest.mark.parametrize("normal", NORMAL)
@pytest.mark.parametrize("lower", LOWER)
def test_they_agree_on_every_old_character(normal, lower):
    old = unicodedata.ucd_3_2_0
    text = "a".join(c for c in map(chr, range(0x110000)) if old.category(c) not in ("Cn", "Cs"))
    assert normalise(text, normal, lower) == library(normal, lower).normalize_str(text)


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
    for normal in NORMAL:
        assert normalise(text, normal, "turkish") == expected


def test_turkish_lower_case_leaves_no_stray_dot():
    assert "\u0307" not in normalise("İI\u0307", "none", "turkish")


def test_plain_lower_case_is_unicodes():
    assert normalise("IĞDIR İ", "none", "yes") == "iğdir i\u0307"


def test_normal_forms():
    assert normalise("e\u0301 ﬁ", "nfc", "no") == "é ﬁ"
    assert normalise("e\u0301 ﬁ Ⅳ", "nfkc", "no") == "é fi IV"
    assert normalise("e\u0301 ﬁ", "none", "no") == "e\u0301 ﬁ"
