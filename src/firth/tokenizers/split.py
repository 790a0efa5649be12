"""Word tokenisation, pre-tokenisation for subword models, and sentence splitting."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from firth.errors import FirthError
from firth.tokenizers import regexes

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


# --- words and pre-tokens --------------------------------------------------------------------------------------------

_WORD_RULES = {"words": regexes.WORDS, "whitespace": regexes.WHITESPACE, "tabs": regexes.TABS}
_PRETOKEN_RULES = {"words": regexes.PRETOKENS, "whitespace": regexes.WHITESPACE_PRETOKENS}


def split_words(text: str, split: str = "words") -> list[str]:
    """Word tokenisation by a rule (words, whitespace, tabs); white space is dropped.

    words: words, numbers and punctuation marks are tokens; ideographs and kana one by one.
    """
    return _compiled(_WORD_RULES[split]).findall(text)


def split_pretokens(text: str, split: str) -> list[str]:
    """Pre-tokenisation by a rule (words, whitespace): no subword crosses a pre-token.

    Joined, the pre-tokens are the text; none is longer than 65 characters.
    """
    return _compiled(_pretoken_rule(split)).findall(text)


def words_step(split: str) -> dict[str, Any]:
    """`split_words` as a pre-tokenizer step of a `tokenizer.json`."""
    if split == "whitespace":
        return {"type": "WhitespaceSplit"}  # the same, and faster than a regular expression
    return _split_step(_WORD_RULES[split], "Removed", True)


def pretokens_step(split: str) -> dict[str, Any]:
    """`split_pretokens` as a pre-tokenizer step of a `tokenizer.json`."""
    return _split_step(_pretoken_rule(split), "Isolated", False)


def _pretoken_rule(split: str) -> str:
    if split not in _PRETOKEN_RULES:
        raise FirthError(f"tokenizer.split = {split} works with word tokenizers only", do="set tokenizer.model=word")
    return _PRETOKEN_RULES[split]


def _split_step(pattern: str, behavior: str, invert: bool) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# --- sentences ----------------------------------------------------------------------------------------

# Abbreviations of English, German, French, Spanish, Italian, Turkish and related languages, without the full stop.
# Capitalised ones are case-sensitive: Sen. is a senator, but Turkish "sen" is "you".
_CAPITALISED = """Mr Mrs Ms Dr Prof Rev Hon St Ste Gen Col Sgt Capt Lt Gov Sen Rep Pres Messrs Mme Mlle Mgr Sr
    Sra Srta Dra Jr Hr Fr Frl Dipl Ing Sig Dott Avv Av Doç Yrd Alb Bşk Jan Feb Mar Apr Jun Jul Aug Sep Sept
    Oct Nov Dec Dept Inc Ltd Corp Co Bros Mt Ft Ave Blvd Rd"""
_LOWERCASE = "vs cf viz al approx ca bzw evtl ggf inkl zzgl vgl sog bspw resp bd hrsg ebd örn bkz yy çev"
_NUMBERING = "no nos nr fig figs abb art p pp s vol vols ch sec eq tab kap núm núms pág págs"
_CAPITALISED_WORDS, _LOWERCASE_WORDS = frozenset(_CAPITALISED.split()), frozenset(_LOWERCASE.split())
_BEFORE_NUMBERS = frozenset(_NUMBERING.split())
_ENDING = frozenset(("a.m", "p.m"))  # look like initials, but end sentences

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_CLOSING = "\"'”’»)\\]"
_STOP = re.compile(rf"(?P<mark>[.!?…؟۔।॥]+)[{_CLOSING}]*(?=\s)|[。！？｡]+[」』）〉》”’]*")
_LAST_WORD = re.compile(r"[^\s\"'“‘«„(\[—–]*$")  # the word before a full stop, without opening punctuation
_INITIAL = re.compile(r"(?:\w\.-?)*\w")  # J, J.R, U.S, z.B
_OPENING = " \t\r\n\"'“‘«„([—–-"


def split_sentences(text: str) -> list[str]:
    """Rule-based sentence splitting; the sentences are stripped, and joined they are the text up to white space."""
    sentences: list[str] = []
    for paragraph in _PARAGRAPH.split(text):
        start = 0
        for stop in _STOP.finditer(paragraph):
            if stop["mark"] is None or _is_sentence_end(paragraph, start, stop):
                sentences.append(paragraph[start : stop.end()].strip())
                start = stop.end()
        sentences.append(paragraph[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_sentence_end(text: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a sentence that starts at `start` ends with this punctuation mark."""
    after = _next_character(text, stop.end())
    if after.islower():
        return False
    if stop["mark"] != ".":
        return True
    # The bound avoids quadratic time in texts without sentence ends; only the last characters matter.
    before = text[max(start, stop.start() - 40) : stop.start()]
    word = _LAST_WORD.search(before)[0]
    return not _is_abbreviation(word, after, alone=before.strip() == word)


def _is_abbreviation(word: str, after: str, *, alone: bool) -> bool:
    """Whether the full stop after the word marks an abbreviation, an initial or a list number."""
    lower = word.lower()
    if lower in _ENDING:
        return False
    if word in _CAPITALISED_WORDS or lower in _LOWERCASE_WORDS or (lower in _BEFORE_NUMBERS and after.isdigit()):
        return True
    if word.isdigit():
        return alone
    return bool(_INITIAL.fullmatch(word)) and (len(word) > 1 or word.isupper())


def _next_character(text: str, start: int) -> str:
    """The first character of the next word, or an empty string."""
    while start < len(text) and text[start] in _OPENING:
        start += 1
    return text[start : start + 1]
