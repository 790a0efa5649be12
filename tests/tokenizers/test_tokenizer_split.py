"""Word tokenisation, pre-tokenisation and sentence splitting."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer_samples import texts

import tokenizers
from firth.tokenizers.regexes import IDEOGRAPHS, PUNCTUATION, SPACE
from firth.tokenizers.split import pretokens_step, split_pretokens, split_sentences, split_words, words_step

SPLITS = ("words", "whitespace")
WAYS = [(split_words, words_step), (split_pretokens, pretokens_step)]


def library(step: dict) -> tokenizers.pre_tokenizers.PreTokenizer:
    model = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    file = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "post_processor": None, "decoder": None, "model": model,
        "pre_tokenizer": step,
    }  # fmt: skip
    return tokenizers.Tokenizer.from_str(json.dumps(file)).pre_tokenizer


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("python", "step"), WAYS)
@given(text=texts())
@settings(max_examples=80, deadline=None)
def test_python_and_the_library_agree(split, python, step, text):
    assert python(text, split) == [piece for piece, _ in library(step(split)).pre_tokenize_str(text)]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("python", "step"), WAYS)
def test_they_agree_at_every_boundary_of_a_class(split, python, step):
    named = {ord(c) + near for c in SPACE + PUNCTUATION + IDEOGRAPHS for near in (-1, 0, 1)}
    chosen = (*range(0x500), *sorted(named & {*range(0x500, 0xD800), *range(0xE000, 0x110000)}))
    text = "".join(f"a{chr(c)}b {chr(c)}{chr(c)} " for c in chosen)
    assert python(text, split) == [piece for piece, _ in library(step(split)).pre_tokenize_str(text)]


@given(texts())
def test_words_lose_only_white_space(text):
    for split in SPLITS:
        assert "".join(split_words(text, split)) == re.sub(f"[{SPACE}]", "", text)


@given(texts())
def test_pretokens_lose_nothing_and_are_bounded(text):
    for split in SPLITS:
        pretokens = split_pretokens(text, split)
        assert "".join(pretokens) == text
        assert max(map(len, pretokens), default=0) <= 65


@given(texts())
def test_whitespace_splits_as_python_does(text):
    text = re.sub("[\x1c-\x1f]", "", text)  # Python alone takes these separators for white space
    assert split_words(text, "whitespace") == text.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Hello, world!", ["Hello", ",", "world", "!"]),
        ("I don't know.", ["I", "don't", "know", "."]),
        ("'tis the dogs' bone", ["'", "tis", "the", "dogs", "'", "bone"]),
        ("a well-known rock'n'roll co-op-", ["a", "well-known", "rock'n'roll", "co-op", "-"]),
        ("l’homme aujourd’hui", ["l’homme", "aujourd’hui"]),
        ("3.14 or 1,000,000.", ["3.14", "or", "1,000,000", "."]),
        ("x2 snake_case", ["x2", "snake_case"]),
        ("wait... what--no", ["wait", "...", "what", "--", "no"]),
        ("東京です。カラー", ["東", "京", "で", "す", "。", "カ", "ラ", "ー"]),
        ("한국어 말", ["한국어", "말"]),
        ("हिन्दी में।", ["हिन्दी", "में", "।"]),
        ("İstanbul'da", ["İstanbul'da"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("می‌خواهم؟", ["می‌خواهم", "؟"]),
        ("👍🏽👩‍👩‍👧!", ["👍🏽", "👩‍👩‍👧", "!"]),
        ("[END]", ["[", "END", "]"]),
    ],
)
def test_words(text, expected):
    assert split_words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The river's end", ["The", " river", "'s", " end"]),
        ("a  b\n\n    c", ["a", " ", " b", "\n\n", "   ", " c"]),
        ("f(x) == 12", ["f", "(", "x", ")", " ==", " 12"]),
        ("日本語です。", ["日本語です", "。"]),
    ],
)
def test_pretokens(text, expected):
    assert split_pretokens(text, "words") == expected


def test_no_pretoken_is_spelled_like_a_special_token():
    assert split_pretokens("x [END] [MASK]y[PAD", "whitespace") == ["x", " [", "END]", " [", "MASK]y[PAD"]


@pytest.mark.parametrize("unit", ["a", "a-", " ", "[", "東", "Mr. "])
def test_a_megabyte_without_a_break(unit):
    text = unit * (10**6 // len(unit.encode()))
    started = time.process_time()  # not of the clock: other processes may take the cores
    for split in SPLITS:
        assert "".join(split_pretokens(text, split)) == text
        split_words(text, split)
    split_sentences(text)
    assert time.process_time() - started < 20


# --- sentences ----------------------------------------------------------------------------------------

CASES = [
    ["The mill stood still.", "Nobody came."],
    ["Is it late?", "It is!", "Then go."],
    ["Dr. Smith met Mrs. Jones on St. James Street.", "They talked."],
    ["J. R. Firth wrote it in 1957.", "It is still read."],
    ["See e.g. the first part, i.e. the mill.", "Then go on."],
    ["The price is 3.14 dollars.", "No. 5 costs 2.50."],
    ["See Fig. 3 and vol. 12 for more.", "They are good."],
    ["He came at 5 p.m.", "She left."],
    ["The U.S. Army came.", "It stayed."],
    ["“Where is he?” she asked.", "Nobody knew."],
    ['He said: "It is over."', "Then he left."],
    ["(It was late.)", "We went home."],
    ["Well... perhaps.", "Who knows..."],
    ["He waited…", "Nothing came."],
    ["What?!", "Never!"],
    ["1. Open the box.", "2. Close it."],
    ["He was 42.", "She was 40."],
    ["Visit example.com for more.", "It is free."],
    ["Das ist z.B. gut, d.h. nicht schlecht.", "Dr. Weiß kommt bzw. geht."],
    ["M. Dupont est là.", "C'est ce qu'il est.", "Il part."],
    ["¿Dónde está?", "Está en la Sra. López.", "¡Vamos!"],
    ["Prof. Dr. Ayşe geldi.", "Bkz. sayfa 5.", "Bunu yapan sen.", "Sonra gitti."],
    ["İstanbul'a gitti.", "Işık söndü."],
    ["Он пришёл.", "Она ушла?", "Да!"],
]


@pytest.mark.parametrize("expected", CASES)
def test_sentences(expected):
    assert split_sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("no stop at all", ["no stop at all"]),
        ("A title\n\nThe text begins.", ["A title", "The text begins."]),
        ("One line\ngoes on here. And\nhere.", ["One line\ngoes on here.", "And\nhere."]),
        ("今日は。「元気？」はい！そう", ["今日は。", "「元気？」", "はい！", "そう"]),
        ("他来了。她走了！", ["他来了。", "她走了！"]),
        ("वह आया। वह गई।", ["वह आया।", "वह गई।"]),
        ("هل جاء؟ نعم.", ["هل جاء؟", "نعم."]),
    ],
)
def test_sentences_of_other_shapes(text, expected):
    assert split_sentences(text) == expected


SHARDS = ["Mr.", "a", "B", ".", "?", "…", '"', " ", "\n", "\n\n", "。", "」", "1", "\x1c"]


@given(st.lists(st.sampled_from(SHARDS)).map("".join))
def test_sentences_lose_only_white_space(text):
    result = split_sentences(text)
    assert "".join("".join(result).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in result)
