"""BERT's `vocab.txt` (WordPiece): one token per line, its id the line number from 0; `##` continues a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from firth.errors import FirthError
from firth.tokenizers.components import CONTINUATION_PREFIX, MAX_WORD_LENGTH, flatten_steps
from firth.tokenizers.formats.vocabulary_lines import (
    ExportedFiles,
    added_tokens_of,
    read_lines,
    read_tokenizer_config,
    tokens_by_id,
)
from firth.tokenizers.tokenizer import Tokenizer

NAME = "vocab.txt"
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_UNKNOWN = "[UNK]"


def read(path: Path) -> Tokenizer:
    """Read BERT's tokenizer; lowercasing as in `tokenizer_config.json` beside it, else judged by the vocabulary."""
    vocabulary = _vocabulary(path)
    lowercase = read_tokenizer_config(path).get("do_lower_case")
    if lowercase is None:
        lowercase = not any(token != token.lower() for token in vocabulary if not _is_bracketed(token))
    strip_accents = read_tokenizer_config(path).get("strip_accents")
    return Tokenizer(json.dumps(_tokenizer_json(vocabulary, bool(lowercase), strip_accents), ensure_ascii=False), path)


def _vocabulary(path: Path) -> dict[str, int]:
    vocabulary: dict[str, int] = {}
    for i, token in enumerate(read_lines(path)):
        if not token.strip():
            raise FirthError("an empty line; every line must be a token", where=f"{path}:{i + 1}")
        if vocabulary.setdefault(token, i) != i:
            what = f"{token!r} is already on line {vocabulary[token] + 1}"
            raise FirthError(what, where=f"{path}:{i + 1}", do="every token must be there once")
    if _UNKNOWN not in vocabulary:
        raise FirthError(
            f"not a BERT vocabulary: no line {_UNKNOWN}", where=path, do="add that line, or fetch it again"
        )
    return vocabulary


def _is_bracketed(token: str) -> bool:
    """Whether it is [PAD], [unused7] or the like, whose case does not matter."""
    return token.startswith("[") and token.endswith("]")


def _tokenizer_json(vocabulary: dict[str, int], lowercase: bool, strip_accents: bool | None) -> dict[str, Any]:
    clean = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": strip_accents, "lowercase": lowercase}
    inner = {
        "continuing_subword_prefix": CONTINUATION_PREFIX,
        "max_input_chars_per_word": MAX_WORD_LENGTH,
        "unk_token": _UNKNOWN,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens_of(vocabulary, _SPECIAL),
        "normalizer": {"type": "BertNormalizer", **clean},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": CONTINUATION_PREFIX, "cleanup": False},
        "model": {"type": "WordPiece", **inner, "vocab": vocabulary},
    }


def convert(tokenizer: Tokenizer) -> ExportedFiles:
    """`vocab.txt` and `tokenizer_config.json`, and a warning where BERT's own code differs."""
    file = json.loads(tokenizer.to_json())
    model, config = file["model"], tokenizer.config
    if (
        model["type"] != "WordPiece"
        or model["continuing_subword_prefix"] != CONTINUATION_PREFIX
        or model["unk_token"] != _UNKNOWN
    ):
        raise FirthError(f"a {tokenizer.kind} tokenizer is not BERT's kind", do="export a wordpiece tokenizer")
    if config and (config.unicode_form != "none" or config.lowercase == "turkish"):
        what = f"BERT cannot normalise with unicode_form={config.unicode_form}, lowercase={config.lowercase}"
        raise FirthError(what, do="train with unicode_form=none and lowercase=no or yes")
    tokens = tokens_by_id(tokenizer.vocabulary())
    if any("\n" in token or not token.strip() or token.endswith("\r") for token in tokens):
        raise FirthError("a token has a line end in it, which vocab.txt cannot hold", do="remove that token")
    settings, warnings = _settings(file, config is not None and config.lowercase == "yes")
    vocabulary, config_json = "".join(f"{token}\n" for token in tokens), json.dumps(settings, indent=2) + "\n"
    return ExportedFiles({NAME: vocabulary.encode(), "tokenizer_config.json": config_json.encode()}, warnings)


def _settings(file: dict[str, Any], lowercase: bool) -> tuple[dict[str, Any], list[str]]:
    settings = {"tokenizer_class": "BertTokenizer"}
    bert = [step for step in flatten_steps(file["normalizer"], "normalizers") if step["type"] == "BertNormalizer"]
    if bert and (file["pre_tokenizer"] or {}).get("type") == "BertPreTokenizer":
        step = bert[0]
        return {**settings, "do_lower_case": step["lowercase"], "strip_accents": step["strip_accents"]}, []
    warning = "words are tokenised as in firth, but BERT pre-tokenises by its own rule, at all punctuation (don ' t)"
    return {**settings, "do_lower_case": lowercase, "strip_accents": False}, [warning]
