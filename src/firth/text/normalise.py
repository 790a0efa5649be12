"""One spelling for what looks the same: Unicode normal forms and lower case, in Python and as the Rust library's part."""

from __future__ import annotations

import unicodedata
from typing import Any

# Before lower-casing. Turkish: I with a dot, in one character or two, becomes i, and a plain I the dotless ı.
_TURKISH = (("I\u0307", "i"), ("İ", "i"), ("I", "ı"))
# Python alone looks at the context of Σ (a final one becomes ς); the Rust library goes by character.
_BEFORE = {"no": (), "yes": (("Σ", "σ"),), "turkish": (*_TURKISH, ("Σ", "σ"))}


def normalise(text: str, normal: str, lower: str) -> str:
    """The text in the normal form (none, nfc, nfkc) and then in lower case (no, yes, turkish)."""
    if normal != "none":
        text = unicodedata.normalize(normal.upper(), text)
    if lower == "no":
        return text
    for old, new in _BEFORE[lower]:
        text = text.replace(old, new)
    return text.lower()


def normaliser(normal: str, lower: str) -> list[dict[str, Any]]:
    """The same as steps of a tokenizer file."""
    steps: list[dict[str, Any]] = [] if normal == "none" else [{"type": normal.upper()}]
    if lower == "no":
        return steps
    steps += [_replace(old, new) for old, new in _BEFORE[lower]]
    return [*steps, {"type": "Lowercase"}]


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}
