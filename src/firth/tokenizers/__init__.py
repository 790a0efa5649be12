"""Tokenizers: normalisation, pre-tokenisation, subword vocabularies and their training, formats of other programs.

Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Encoding": "tokenizer",
    "OovEncoding": "tokenizer",
    "SpecialTokens": "special_tokens",
    "Tokenizer": "tokenizer",
    "describe": "description",
    "segmenter": "word_segmentation",
    "split_sentences": "split",
    "split_words": "split",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
