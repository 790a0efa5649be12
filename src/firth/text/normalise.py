"""One spelling for what looks alike: Unicode normal forms and lower case, in Python and as steps of a file.

The two agree on every character that both know; the Rust library's normal forms are of an older Unicode
than Python's, and its lower case is of a newer one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

# Before lower-casing. Turkish: a dotted I, in one character or two, becomes i, and a plain I the dotless ı;
# an i with a dot of its own is what software without Turkish made of İ. One character for one, since the
# library gives a longer match the place of its last character alone. Σ: Python makes ς of a final one, the
# library does not.
_TURKISH = (("I(?=\u0307)", "i"), ("İ", "i"), ("I", "ı"), ("(?<=i)\u0307", ""))
_BEFORE = {"no": (), "yes": (("Σ", "σ"),), "turkish": (*_TURKISH, ("Σ", "σ"))}


def normalise(text: str, normal: str, lower: str) -> str:
    """The text in the normal form (none, nfc, nfkc) and then in lower case (no, yes, turkish)."""
    if normal != "none":
        text = unicodedata.normalize(normal.upper(), text)
    if lower == "no":
        return text
    for pattern, new in _BEFORE[lower]:
        text = re.sub(pattern, new, text)
    return text.lower()


def normaliser(normal: str, lower: str) -> list[dict[str, Any]]:
    """The same as steps of a tokenizer file."""
    steps: list[dict[str, Any]] = [] if normal == "none" else [{"type": normal.upper()}]
    if lower == "no":
        return steps
    steps += [replacing(pattern, new) for pattern, new in _BEFORE[lower]]
    return [*steps, {"type": "Lowercase"}]


def replacing(pattern: str, new: str) -> dict[str, Any]:
    """A step, of a file's normaliser or decoder, that puts `new` for every match."""
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": new}
