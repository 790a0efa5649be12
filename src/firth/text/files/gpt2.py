"""GPT-2's `vocab.json` and `merges.txt`: byte-pair encoding over bytes, each byte a printable character."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from firth.errors import FirthError
from firth.text.files.lines import Written, in_order, json_of, lines_of, settings_beside, special_tokens
from firth.text.pipeline import MODELS, byte_alphabet, steps
from firth.text.special import every_name
from firth.text.tokenizer import Tokenizer

VOCABULARY, MERGES = "vocab.json", "merges.txt"
_VERSION = "#version"


def read(path: Path) -> Tokenizer:
    """The tokenizer of the folder of either file."""
    vocabulary, merges = path.with_name(VOCABULARY), path.with_name(MERGES)
    for needed, other in ((vocabulary, MERGES), (merges, VOCABULARY)):
        if not needed.is_file():
            what = f"{needed.name} is missing beside {other}"
            raise FirthError(what, where=path.parent, do="GPT-2's format needs both files in one folder")
    known = _vocabulary(vocabulary)
    pairs = _merges(merges, known)
    prefix = bool(settings_beside(path).get("add_prefix_space", False))
    return Tokenizer(json.dumps(_file(known, pairs, prefix), ensure_ascii=False), path)


def _vocabulary(path: Path) -> dict[str, int]:
    found = json_of(path)
    for token, i in found.items():
        if type(i) is not int or i < 0:
            raise FirthError(f"the number of {token!r} is {i!r}", where=path, do="numbers must be 0, 1, 2 …")
    if len(set(found.values())) < len(found):
        raise FirthError("two tokens have the same number", where=path, do="fetch the file again")
    lacking = [byte for byte, sign in enumerate(byte_alphabet()) if sign not in found]
    if lacking:
        what = f"not a vocabulary over bytes: {len(lacking)} of 256 bytes are missing, first 0x{lacking[0]:02X}"
        raise FirthError(what, where=path, do="only byte-level files, as GPT-2's and RoBERTa's, can be read")
    return found


def _merges(path: Path, known: dict[str, int]) -> list[list[str]]:
    found: dict[tuple[str, str], int] = {}
    for line, text in enumerate(lines_of(path), 1):
        if (line == 1 and text.startswith(_VERSION)) or not text:
            continue
        pair = tuple(text.split(" "))
        if len(pair) != 2 or not all(pair):
            raise FirthError(f"not two tokens: {text[:40]!r}", where=f"{path}:{line}", do="fetch the file again")
        for token in (*pair, "".join(pair)):
            if token not in known:
                what = f"the merge {text!r} needs {token!r}, which {VOCABULARY} does not have"
                raise FirthError(what, where=f"{path}:{line}", do="take both files from the same model")
        if found.setdefault(pair, line) != line:
            raise FirthError(f"the merge {text!r} stands on line {found[pair]} already", where=f"{path}:{line}")
    return [list(pair) for pair in found]


def _file(vocabulary: dict[str, int], merges: list[list[str]], prefix: bool) -> dict[str, Any]:
    names = [name for name in every_name() if name in vocabulary]
    bytes_ = {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": False, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special_tokens(vocabulary, names),
        "normalizer": None,
        "pre_tokenizer": bytes_,
        "post_processor": None,
        "decoder": bytes_,
        "model": {**MODELS["byte-bpe"], "vocab": vocabulary, "merges": merges},
    }


def convert(tokenizer: Tokenizer) -> Written:
    """Both files, and what GPT-2's own code will do otherwise."""
    file = json.loads(tokenizer.to_json())
    model, cuts = file["model"], steps(file["pre_tokenizer"], "pretokenizers")
    plain = not any(model.get(name) for name in ("continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"))
    if tokenizer.kind not in ("byte", "byte-bpe") or not plain:
        raise FirthError(f"a {tokenizer.kind} tokenizer is not GPT-2's kind", do="export a byte-bpe tokenizer")
    if file["normalizer"] is not None:
        raise FirthError("GPT-2's files cannot hold a normalisation", do="train with normal=none and lower=no")
    vocabulary = {token: i for i, token in enumerate(in_order(tokenizer.vocabulary()))}
    pairs = (pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"])
    lines = [f"{_VERSION}: 0.2", *(f"{left} {right}" for left, right in pairs)]
    known = json.dumps(vocabulary, ensure_ascii=False) + "\n"
    contents = {VOCABULARY: known.encode(), MERGES: ("\n".join(lines) + "\n").encode()}
    own = len(cuts) == 1 and cuts[0].get("use_regex") and not cuts[0].get("add_prefix_space")
    note = "each word is cut as in firth, but GPT-2 finds words by its own rule: it differs at marks, digits, line ends"
    return Written(contents, [] if own else [note])
