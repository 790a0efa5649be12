"""Text into words, into candidates for subwords, and into sentences."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from firth.errors import FirthError
from firth.text import patterns

# --- words --------------------------------------------------------------------------------------------

_WHOLE = {"words": patterns.WORDS, "whitespace": patterns.WHITESPACE, "tabs": patterns.TABS}
_PARTS = {"words": patterns.PARTS, "whitespace": patterns.WHITESPACE_PARTS}


def words(text: str) -> list[str]:
    """Words, numbers and marks, each by itself; ideographs and kana one by one; white space is dropped."""
    return whole(text, "words")


def whole(text: str, split: str) -> list[str]:
    """The words of the text by a rule (words, whitespace, tabs); white space around them is dropped."""
    return _compiled(_WHOLE[split]).findall(text)


def parts(text: str, split: str) -> list[str]:
    """Stretches that no subword crosses; together they are the text; none is longer than 65 characters."""
    return _compiled(_rule_of_parts(split)).findall(text)


def whole_splitter(split: str) -> dict[str, Any]:
    """`whole` as a step of a tokenizer file."""
    if split == "whitespace":
        return {"type": "WhitespaceSplit"}  # the same, and faster than an expression
    return _splitter(_WHOLE[split], "Removed", True)


def parts_splitter(split: str) -> dict[str, Any]:
    """`parts` as a step of a tokenizer file."""
    return _splitter(_rule_of_parts(split), "Isolated", False)


def _rule_of_parts(split: str) -> str:
    if split not in _PARTS:
        raise FirthError(f"tokenizer.split = {split}: only whole words are split so", do="set tokenizer.model=word")
    return _PARTS[split]


def _splitter(pattern: str, behavior: str, invert: bool) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# --- sentences ----------------------------------------------------------------------------------------

# English, German, French, Spanish, Italian, Turkish and their neighbours, without the full stop. Those
# written with a capital count only so: Sen. is a senator, but Turkish "sen" is "you".
_CAPITALS = """Mr Mrs Ms Dr Prof Rev Hon St Ste Gen Col Sgt Capt Lt Gov Sen Rep Pres Messrs Mme Mlle Mgr Sr
    Sra Srta Dra Jr Hr Fr Frl Dipl Ing Sig Dott Avv Av Doç Yrd Alb Bşk Jan Feb Mar Apr Jun Jul Aug Sep Sept
    Oct Nov Dec Dept Inc Ltd Corp Co Bros Mt Ft Ave Blvd Rd"""
_SMALL = "vs cf viz al approx ca bzw evtl ggf inkl zzgl vgl sog bspw resp bd hrsg ebd örn bkz yy çev"
_NUMBERING = "no nos nr fig figs abb art p pp s vol vols ch sec eq tab kap núm núms pág págs"
_CAPITAL_WORDS, _SMALL_WORDS = frozenset(_CAPITALS.split()), frozenset(_SMALL.split())
_BEFORE_NUMBERS = frozenset(_NUMBERING.split())
_ENDING = frozenset(("a.m", "p.m"))  # spelled like initials, but they do close sentences

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_CLOSERS = "\"'”’»)\\]"
_STOP = re.compile(rf"(?P<mark>[.!?…؟۔।॥]+)[{_CLOSERS}]*(?=\s)|[。！？｡]+[」』）〉》”’]*")
_LAST = re.compile(r"[^\s\"'“‘«„(\[—–]*$")  # the word before a stop, without its opening marks
_INITIAL = re.compile(r"(?:\w\.-?)*\w")  # J, J.R, U.S, z.B
_OPENERS = " \t\r\n\"'“‘«„([—–-"


def sentences(text: str) -> list[str]:
    """The sentences without the white space around them; joined, they are the text but for white space."""
    found: list[str] = []
    for paragraph in _PARAGRAPH.split(text):
        start = 0
        for stop in _STOP.finditer(paragraph):
            if stop["mark"] is None or _ends(paragraph, start, stop):
                found.append(paragraph[start : stop.end()].strip())
                start = stop.end()
        found.append(paragraph[start:].strip())
    return [sentence for sentence in found if sentence]


def _ends(text: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a sentence that starts at `start` ends with this stop."""
    after = _first(text, stop.end())
    if after.islower():
        return False
    if stop["mark"] != ".":
        return True
    # Only the last characters matter; without the bound a text without ends would be read anew at every stop.
    before = text[max(start, stop.start() - 40) : stop.start()]
    word = _LAST.search(before)[0]
    return not _abbreviates(word, after, alone=before.strip() == word)


def _abbreviates(word: str, after: str, *, alone: bool) -> bool:
    """Whether the full stop after the word marks an abbreviation, an initial or the number of an item."""
    small = word.lower()
    if small in _ENDING:
        return False
    if word in _CAPITAL_WORDS or small in _SMALL_WORDS or (small in _BEFORE_NUMBERS and after.isdigit()):
        return True
    if word.isdigit():
        return alone
    return bool(_INITIAL.fullmatch(word)) and (len(word) > 1 or word.isupper())


def _first(text: str, start: int) -> str:
    """The first character of the next word, or nothing."""
    while start < len(text) and text[start] in _OPENERS:
        start += 1
    return text[start : start + 1]
