"""What fuzzing found in tokenizer files: each would have ended the process, or left the Rust library as a panic."""

from __future__ import annotations

import base64
import json
import os

import pytest

from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError
from firth.tokenizers import Tokenizer, formats

NOTHING = {"added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None}
WORDS = {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"}


def file(**parts) -> str:
    return json.dumps({"version": "1.0", "truncation": None, "padding": None, **NOTHING, "model": WORDS, **parts})


def backtracking(place: str) -> str:
    pattern = {"pattern": {"Regex": "(a+)+$"}}
    if place == "normalizer":
        return file(normalizer={"type": "Replace", **pattern, "content": "x"})
    return file(pre_tokenizer={"type": "Split", **pattern, "behavior": "Isolated", "invert": False})


@pytest.mark.parametrize(
    "parts",
    [
        {"model": {**WORDS, "vocab": {"a": 0, "[UNK]": 1 << 24}}},
        {"added_tokens": [{"id": (1 << 32) - 1, "content": "b", "special": True}]},
    ],
)
def test_a_huge_id_takes_no_memory(parts):
    with pytest.raises(FirthError, match=r"a token has the id [0-9]+; ids go up to 8,388,608: number them anew"):
        Tokenizer.from_json(file(**parts))


@pytest.mark.parametrize("charsmap", [None, "", "A", "!", 5, base64.b64encode(b"\xff\0\0\0").decode()])
@pytest.mark.parametrize("nested", [False, True])
def test_a_damaged_table_of_replacements_is_no_panic(charsmap, nested):
    step = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    normalizer = {"type": "Sequence", "normalizers": [step]} if nested else step
    with pytest.raises(FirthError, match="table of replacements"):
        Tokenizer.from_json(file(normalizer=normalizer))


@pytest.mark.parametrize("place", ["normalizer", "pre_tokenizer"])
def test_a_regular_expression_with_much_backtracking_is_given_up(place):
    tokenizer = Tokenizer.from_json(backtracking(place))
    assert tokenizer.encode("aa") in ([0], [1])
    for use in (tokenizer.encode, tokenizer.encode_with_offsets, tokenizer.pre_tokenize):
        with pytest.raises(FirthError, match="a regular expression of this tokenizer takes too long"):
            use("a" * 40 + "!")


def test_a_vocabulary_without_its_unknown_token_is_an_error():
    tokenizer = Tokenizer.from_json(file(model={**WORDS, "vocab": {"a": 0}}))
    with pytest.raises(FirthError, match=r"this tokenizer cannot encode this text: .*; use another tokenizer"):
        tokenizer.encode("b")


@pytest.mark.parametrize(
    "content", ["[]", "1", "{}", '{"model": 1}', '{"model": []}', "[" * 9999, "", '{"normalizer": 1}']
)
def test_what_is_no_tokenizer_is_one_line(content):
    with pytest.raises(FirthError, match=r"not a tokenizer file; give a tokenizer.json"):
        Tokenizer.from_json(content)


def test_devices_and_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "tokenizer.json")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for read in (Tokenizer.load, formats.read):
        for path in (tmp_path / "tokenizer.json", tmp_path / "zero"):
            with pytest.raises(FirthError, match="a device or a pipe, not a file; put its content into a file first"):
                read(path)
    with pytest.raises(FirthError, match="a device or a pipe"):
        Tokenizer.train(Config(file=str(tmp_path / "zero")), [])


def test_a_panic_for_lack_of_memory_is_a_memory_error(monkeypatch):
    panic = type("PanicException", (BaseException,), {})("ThreadPoolBuildError: Resource temporarily unavailable")
    monkeypatch.setattr("firth.tokenizers.trainer._repeated", lambda counts: (_ for _ in ()).throw(panic))
    with pytest.raises(MemoryError):
        Tokenizer.train(Config(model="bpe", vocabulary_size=60), ["a b c ab abc"])
