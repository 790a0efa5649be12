"""GPT-2's `vocab.json` and `merges.txt`: byte-level BPE, each byte written as a printable character."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from firth.errors import FirthError
from firth.tokenizers.components import MODELS, byte_alphabet, flatten_steps
from firth.tokenizers.formats.vocabulary_lines import (
    ExportedFiles,
    added_tokens_of,
    read_json,
    read_lines,
    read_tokenizer_config,
    tokens_by_id,
)
from firth.tokenizers.special_tokens import all_names
from firth.tokenizers.tokenizer import Tokenizer

VOCABULARY, MERGES = "vocab.json", "merges.txt"
_VERSION = "#version"


def read(path: Path) -> Tokenizer:
    """Read the tokenizer from either file; both must be in one folder."""
    vocabulary, merges = path.with_name(VOCABULARY), path.with_name(MERGES)
    for needed, other in ((vocabulary, MERGES), (merges, VOCABULARY)):
        if not needed.is_file():
            what = f"{needed.name} is missing beside {other}"
            raise FirthError(what, where=path.parent, do="GPT-2's format needs both files in one folder")
    token_ids = _vocabulary(vocabulary)
    pairs = _merges(merges, token_ids)
    add_prefix_space = bool(read_tokenizer_config(path).get("add_prefix_space", False))
    return Tokenizer(json.dumps(_tokenizer_json(token_ids, pairs, add_prefix_space), ensure_ascii=False), path)


def _vocabulary(path: Path) -> dict[str, int]:
    vocabulary = read_json(path)
    for token, i in vocabulary.items():
        if type(i) is not int or i < 0:
            raise FirthError(f"the id of {token!r} is {i!r}", where=path, do="ids must be 0, 1, 2 …")
    if len(set(vocabulary.values())) < len(vocabulary):
        raise FirthError("two tokens have the same id", where=path, do="fetch the file again")
    missing = [byte for byte, character in enumerate(byte_alphabet()) if character not in vocabulary]
    if missing:
        what = f"not a byte-level vocabulary: {len(missing)} of 256 bytes are missing, first 0x{missing[0]:02X}"
        raise FirthError(what, where=path, do="only byte-level files, as GPT-2's and RoBERTa's, can be read")
    return vocabulary


def _merges(path: Path, vocabulary: dict[str, int]) -> list[list[str]]:
    lines: dict[tuple[str, str], int] = {}
    for line, text in enumerate(read_lines(path), 1):
        if (line == 1 and text.startswith(_VERSION)) or not text:
            continue
        pair = tuple(text.split(" "))
        if len(pair) != 2 or not all(pair):
            raise FirthError(f"not two tokens: {text[:40]!r}", where=f"{path}:{line}", do="fetch the file again")
        for token in (*pair, "".join(pair)):
            if token not in vocabulary:
                what = f"the merge {text!r} needs {token!r}, which {VOCABULARY} does not have"
                raise FirthError(what, where=f"{path}:{line}", do="take both files from the same model")
        if lines.setdefault(pair, line) != line:
            raise FirthError(f"the merge {text!r} is already on line {lines[pair]}", where=f"{path}:{line}")
    return [list(pair) for pair in lines]


def _tokenizer_json(vocabulary: dict[str, int], merges: list[list[str]], add_prefix_space: bool) -> dict[str, Any]:
    names = [name for name in all_names() if name in vocabulary]
    bytes_ = {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": False, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens_of(vocabulary, names),
        "normalizer": None,
        "pre_tokenizer": bytes_,
        "post_processor": None,
        "decoder": bytes_,
        "model": {**MODELS["byte-bpe"], "vocab": vocabulary, "merges": merges},
    }


def convert(tokenizer: Tokenizer) -> ExportedFiles:
    """Both files, and a warning where GPT-2's own code differs."""
    file = json.loads(tokenizer.to_json())
    model, pre_steps = file["model"], flatten_steps(file["pre_tokenizer"], "pretokenizers")
    plain = not any(model.get(name) for name in ("continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"))
    if tokenizer.kind not in ("byte", "byte-bpe") or not plain:
        raise FirthError(f"a {tokenizer.kind} tokenizer is not GPT-2's kind", do="export a byte-bpe tokenizer")
    if file["normalizer"] is not None:
        raise FirthError(
            "GPT-2's files cannot hold a normalisation", do="train with unicode_form=none and lowercase=no"
        )
    vocabulary = {token: i for i, token in enumerate(tokens_by_id(tokenizer.vocabulary()))}
    pairs = (pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"])
    lines = [f"{_VERSION}: 0.2", *(f"{left} {right}" for left, right in pairs)]
    vocabulary_json = json.dumps(vocabulary, ensure_ascii=False) + "\n"
    contents = {VOCABULARY: vocabulary_json.encode(), MERGES: ("\n".join(lines) + "\n").encode()}
    same = len(pre_steps) == 1 and pre_steps[0].get("use_regex") and not pre_steps[0].get("add_prefix_space")
    warning = "words are tokenised as in firth, but GPT-2 pre-tokenises by its own rule: punctuation, digits, line ends"
    return ExportedFiles(contents, [] if same else [warning])
