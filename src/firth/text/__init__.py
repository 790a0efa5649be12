"""Text to tokens: normalise, split, tokenizers and their files. The names are loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Accounting": "tokenizer",
    "Cleaned": "cleaning",
    "Encoding": "tokenizer",
    "Languages": "language",
    "Special": "special",
    "Tokenizer": "tokenizer",
    "Wording": "cleaning",
    "clean": "cleaning",
    "common_words": "lists",
    "describe": "about",
    "read_list": "lists",
    "segmenter": "segment",
    "sentences": "split",
    "words": "split",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
