"""SentencePiece `.model` files, read as a `tokenizer.json`."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from firth.arguments import read_file
from firth.tokenizers.sentencepiece import MODEL_KEY, load_processor, to_json
from firth.tokenizers.sentencepiece.model_proto import (
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    WHITESPACE,
    ModelProto,
    Piece,
)
from firth.tokenizers.tokenizer import Tokenizer


def read(path: Path) -> Tokenizer:
    """Read the tokenizer; it encodes every text as SentencePiece does."""
    return read_model(read_file(path), path)


def read_model(model: bytes, where: object) -> Tokenizer:
    """The tokenizer of a `.model` file's content."""
    load_processor(model, where)  # checks it
    file = tokenizer_json(ModelProto.parse(model, where))
    file["model"][MODEL_KEY] = to_json(model)
    return Tokenizer(json.dumps(file, ensure_ascii=False), where)


def tokenizer_json(proto: ModelProto) -> dict[str, Any]:
    """The nearest `tokenizer.json` for programs that know the Rust library only."""
    unknown = next(piece.text for piece in proto.pieces if piece.type == UNKNOWN)
    special = (UNKNOWN, CONTROL, USER_DEFINED)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(i, p) for i, p in enumerate(proto.pieces) if p.type in special],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(proto)},
        "pre_tokenizer": _METASPACE if proto.model_type == "word" else None,
        "post_processor": None,
        "decoder": _decoder(proto),
        "model": _model(proto, unknown),
    }


_METASPACE = {"type": "Metaspace", "replacement": WHITESPACE, "prepend_scheme": "never", "split": True}


def _added_token(i: int, piece: Piece) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": i, "content": piece.text, **flags, "special": piece.type != USER_DEFINED}


def _normalizers(proto: ModelProto) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    if proto.precompiled_charsmap:
        charsmap = base64.b64encode(proto.precompiled_charsmap).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
    if proto.remove_extra_whitespaces:
        steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
        steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    if proto.add_dummy_prefix and not proto.treat_whitespace_as_suffix:
        steps.append({"type": "Prepend", "prepend": " "})
    return [*steps, _replace(" ", WHITESPACE)] if proto.escape_whitespaces else steps


def _decoder(proto: ModelProto) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [_replace(WHITESPACE, " ")] if proto.escape_whitespaces else []
    steps += [{"type": "ByteFallback"}, {"type": "Fuse"}]
    if proto.add_dummy_prefix:
        if proto.treat_whitespace_as_suffix:  # the library's Strip fails at the end of an empty text
            steps.append({"type": "Replace", "pattern": {"Regex": " $"}, "content": ""})
        else:
            steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _model(proto: ModelProto, unknown: str) -> dict[str, Any]:
    vocabulary = {piece.text: i for i, piece in enumerate(proto.pieces)}
    if proto.model_type == "word":
        return {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown}
    fallback = {"byte_fallback": proto.byte_fallback}
    if proto.model_type == "unigram":
        scores = [[piece.text, piece.score] for piece in proto.pieces]
        return {"type": "Unigram", "unk_id": vocabulary[unknown], "vocab": scores, **fallback}
    merges = _merges(proto, vocabulary) if proto.model_type == "bpe" else []
    plain = {"dropout": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "ignore_merges": False}
    options = {"unk_token": unknown, "fuse_unk": True, **fallback}
    return {"type": "BPE", **plain, **options, "vocab": vocabulary, "merges": merges}


def _merges(proto: ModelProto, vocabulary: dict[str, int]) -> list[list[str]]:
    """Every pair of pieces that makes a third, the best scores first."""
    order = sorted((piece for piece in proto.pieces if piece.type == NORMAL), key=lambda piece: -piece.score)
    pairs = ([piece.text[:n], piece.text[n:]] for piece in order for n in range(1, len(piece.text)))
    return [pair for pair in pairs if pair[0] in vocabulary and pair[1] in vocabulary]
