"""The special tokens around a text or a pair of texts, as the post-processor of a tokenizer.json adds them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from firth.config import schema
from firth.errors import FirthError
from firth.tokenizers.special_tokens import special_tokens_around
from firth.tokenizers.tokenizer import Tokenizer

_NAMED = {"BertProcessing": "cls-first", "RobertaProcessing": "double-sep"}


def read_layout(tokenizer: Tokenizer, default: schema.Layout, where: object) -> schema.Layout:
    """The layout that the tokenizer's post-processor has; the model family's, where it has none."""
    processor = _find_template(json.loads(tokenizer.to_json()).get("post_processor"))
    if not processor:
        return default
    if processor["type"] in _NAMED:
        return _NAMED[processor["type"]]
    parts = {kind: _special_ids(processor, kind) for kind in ("single", "pair")}
    for layout in (default, *get_args(schema.Layout)):
        first, between, last = special_tokens_around(layout, tokenizer.special)
        if parts == {"single": [first, last], "pair": [first, between, last]}:
            return layout
    text = " ".join(next(iter(token.values()))["id"] for token in processor["single"])
    what = f"the tokenizer makes of a text A: {text[:60]}; of a pair too, firth supports other special tokens only"
    raise FirthError(what, where=where, do=f"the layouts are {', '.join(get_args(schema.Layout))}")


def _find_template(processor: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The part that adds special tokens, if any."""
    if not processor or processor["type"] == "ByteLevel":
        return None
    if processor["type"] == "Sequence":
        return next(filter(None, map(_find_template, processor["processors"])), None)
    return processor


def _special_ids(processor: Mapping[str, Any], kind: str) -> list[list[int]]:
    """The ids before, between and after the texts of a template."""
    parts: list[list[int]] = [[]]
    pieces: Sequence[Mapping[str, Any]] = processor[kind]
    for piece in pieces:
        if "SpecialToken" in piece:
            parts[-1] += processor["special_tokens"][piece["SpecialToken"]["id"]]["ids"]
        else:
            parts.append([])
    return parts
