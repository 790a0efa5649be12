"""BERT's `vocab.txt`: a token to a line, its number the line's; `##` goes on with a word (WordPiece)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from firth.errors import FirthError
from firth.text.files.lines import Written, in_order, lines_of, settings_beside, special_tokens
from firth.text.pipeline import INSIDE, LONGEST_WORD, steps
from firth.text.tokenizer import Tokenizer

NAME = "vocab.txt"
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_UNKNOWN = "[UNK]"


def read(path: Path) -> Tokenizer:
    """The tokenizer BERT makes of the vocabulary; lower-casing as the settings beside it say, else by its content."""
    vocabulary = _vocabulary(path)
    lower = settings_beside(path).get("do_lower_case")
    if lower is None:
        lower = not any(token != token.lower() for token in vocabulary if not _is_marked(token))
    accents = settings_beside(path).get("strip_accents")
    return Tokenizer(json.dumps(_file(vocabulary, bool(lower), accents), ensure_ascii=False), path)


def _vocabulary(path: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for i, token in enumerate(lines_of(path)):
        if not token.strip():
            raise FirthError("an empty line; every line must be a token", where=f"{path}:{i + 1}")
        if found.setdefault(token, i) != i:
            what = f"{token!r} stands on line {found[token] + 1} already"
            raise FirthError(what, where=f"{path}:{i + 1}", do="every token must be there once")
    if _UNKNOWN not in found:
        raise FirthError(
            f"not a BERT vocabulary: no line {_UNKNOWN}", where=path, do="add that line, or fetch it again"
        )
    return found


def _is_marked(token: str) -> bool:
    """[PAD], [unused7] and the like: not letters of text."""
    return token.startswith("[") and token.endswith("]")


def _file(vocabulary: dict[str, int], lower: bool, accents: bool | None) -> dict[str, Any]:
    clean = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": accents, "lowercase": lower}
    inner = {"continuing_subword_prefix": INSIDE, "max_input_chars_per_word": LONGEST_WORD, "unk_token": _UNKNOWN}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special_tokens(vocabulary, _SPECIAL),
        "normalizer": {"type": "BertNormalizer", **clean},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": INSIDE, "cleanup": False},
        "model": {"type": "WordPiece", **inner, "vocab": vocabulary},
    }


def convert(tokenizer: Tokenizer) -> Written:
    """`vocab.txt` and its settings, and what BERT's own code will do otherwise."""
    file = json.loads(tokenizer.to_json())
    model, config = file["model"], tokenizer.config
    if model["type"] != "WordPiece" or model["continuing_subword_prefix"] != INSIDE or model["unk_token"] != _UNKNOWN:
        raise FirthError(f"a {tokenizer.kind} tokenizer is not BERT's kind", do="export a wordpiece tokenizer")
    if config and (config.normal != "none" or config.lower == "turkish"):
        what = f"BERT cannot normalise by normal={config.normal}, lower={config.lower}"
        raise FirthError(what, do="train with normal=none and lower=no or yes")
    tokens = in_order(tokenizer.vocabulary())
    if any("\n" in token or not token.strip() or token.endswith("\r") for token in tokens):
        raise FirthError("a token has a line end in it, which vocab.txt cannot hold", do="remove that token")
    settings, notes = _settings(file, config is not None and config.lower == "yes")
    vocabulary, about = "".join(f"{token}\n" for token in tokens), json.dumps(settings, indent=2) + "\n"
    return Written({NAME: vocabulary.encode(), "tokenizer_config.json": about.encode()}, notes)


def _settings(file: dict[str, Any], lower: bool) -> tuple[dict[str, Any], list[str]]:
    made = {"tokenizer_class": "BertTokenizer"}
    theirs = [step for step in steps(file["normalizer"], "normalizers") if step["type"] == "BertNormalizer"]
    if theirs and (file["pre_tokenizer"] or {}).get("type") == "BertPreTokenizer":
        kept = theirs[0]
        return {**made, "do_lower_case": kept["lowercase"], "strip_accents": kept["strip_accents"]}, []
    note = "each word is cut as in firth, but BERT finds words by its own rule: it cuts at every mark (don ' t)"
    return {**made, "do_lower_case": lower, "strip_accents": False}, [note]
