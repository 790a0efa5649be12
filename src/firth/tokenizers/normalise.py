"""Text normalisation: Unicode normal forms (NFC, NFKC) and lowercasing, in Python and as `tokenizer.json` steps.

The two agree on every character that both know; the Rust library normalises by an older version of Unicode than
Python, and lowercases by a newer one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

# Replacements before lowercasing. Turkish: a dotted I, in one code point or two, becomes i, and a plain I the dotless
# ı; i with a combining dot is what software without Turkish rules makes of İ. Each rule replaces one character, since
# the library gives a longer match the offset of its last character. Σ: Python lowercases a final one to ς, the
# library does not.
_TURKISH = (("I(?=\u0307)", "i"), ("İ", "i"), ("I", "ı"), ("(?<=i)\u0307", ""))
_REPLACEMENTS = {"no": (), "yes": (("Σ", "σ"),), "turkish": (*_TURKISH, ("Σ", "σ"))}


def normalise(text: str, unicode_form: str, lowercase: str) -> str:
    """The text in a Unicode normal form (none, nfc, nfkc), then lowercased (no, yes, turkish)."""
    if unicode_form != "none":
        text = unicodedata.normalize(unicode_form.upper(), text)
    if lowercase == "no":
        return text
    for pattern, replacement in _REPLACEMENTS[lowercase]:
        text = re.sub(pattern, replacement, text)
    return text.lower()


def normaliser_steps(unicode_form: str, lowercase: str) -> list[dict[str, Any]]:
    """`normalise` as normaliser steps of a `tokenizer.json`."""
    steps: list[dict[str, Any]] = [] if unicode_form == "none" else [{"type": unicode_form.upper()}]
    if lowercase == "no":
        return steps
    steps += [replace_step(pattern, replacement) for pattern, replacement in _REPLACEMENTS[lowercase]]
    return [*steps, {"type": "Lowercase"}]


def replace_step(pattern: str, replacement: str) -> dict[str, Any]:
    """A normaliser or decoder step of a `tokenizer.json` that replaces every match of a regular expression."""
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": replacement}
