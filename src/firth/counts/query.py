"""A word, a phrase, or words with a star (`colo*r`, `the * bank`) as positions in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from unicodedata import normalize

import numpy as np

from firth.counts.index import CHUNK, Index
from firth.errors import FirthError
from firth.text import split

_STAR = re.compile(r"(?<!\\)\*")
_FEW = 20_000  # words compared with one that is not there
_LONGEST = 64  # characters of a word that others are compared with


@dataclass(frozen=True, eq=False)
class Query:
    """Words in a row; each is a set of names, None standing for any word."""

    text: str
    slots: tuple[np.ndarray | None, ...]

    def __len__(self) -> int:
        return len(self.slots)


def parse(index: Index, text: str) -> Query:
    """What a user typed, as names of this index; a star is any characters, alone any word, and \\* is a star."""
    slots: list[np.ndarray | None] = []
    for piece in text.split():
        if _STAR.search(piece):
            slots.append(None if set(piece) == {"*"} else _starred(index, piece))
        else:
            slots += [_one(index, word) for word in split.whole(piece.replace("\\*", "*"), index.rule)]
    if all(slot is None for slot in slots):
        raise FirthError(f"{text!r} names no word", do='give a word, a phrase, or a beginning such as "color*"')
    return Query(text, tuple(slots))


def _one(index: Index, word: str) -> np.ndarray:
    number = index.names.find(word.casefold() if index.ignore_case else word)
    return np.array([] if number is None else [number], np.int64)


def _starred(index: Index, piece: str) -> np.ndarray:
    piece = piece.casefold() if index.ignore_case else piece
    parts = [part.replace("\\*", "*") for part in _STAR.split(piece)]
    return index.names.matching(parts[0], r"[^\n]*".join(map(re.escape, parts)))


def hits(index: Index, query: Query) -> Iterator[np.ndarray]:
    """The positions at which it begins, ascending, many at a time; it never crosses documents."""
    totals = [np.inf if slot is None else int(index.names.counts[slot].sum()) for slot in query.slots]
    if not all(totals):
        return
    rarest = int(np.argmin(totals))
    for found in _positions(index, query.slots[rarest]):
        starts = found.astype(np.int64) - rarest
        starts = starts[(starts >= 0) & (starts + len(query) <= len(index.ids))]
        for ahead, slot in enumerate(query.slots):
            if ahead != rarest and slot is not None:
                names = index.named(index.ids[starts + ahead])
                starts = starts[names == slot[0] if len(slot) == 1 else np.isin(names, slot)]
        if len(query) > 1:
            starts = starts[index.document_of(starts) == index.document_of(starts + len(query) - 1)]
        starts = starts[index.keeps(starts)]
        if len(starts):
            yield starts


def _positions(index: Index, names: np.ndarray) -> Iterator[np.ndarray]:
    """Where any of these names stands, ascending."""
    ids = np.flatnonzero(np.isin(index.fold, names)) if index.ignore_case else names
    lists = [index.postings[index.first[i] : index.first[i + 1]] for i in ids]
    found = lists[0] if len(lists) == 1 else np.sort(np.concatenate(lists))
    for low in range(0, len(found), CHUNK):
        yield found[low : low + CHUNK]


def require(index: Index, text: str) -> Query:
    """The query; an error that offers the nearest spellings if a word of it occurs nowhere."""
    query = parse(index, text)
    if next(hits(index, query), None) is not None:
        return query
    missing = [n for n, slot in enumerate(query.slots) if slot is not None and not len(slot)]
    words = [] if "*" in text else split.whole(text, index.rule)
    if not missing or not words:
        raise FirthError(f"{text!r} does not occur", where=index.text, do="try another spelling, or fewer words")
    near = nearest(index, words[missing[0]])
    do = f"did you mean {', '.join(map(repr, near))}?" if near else "try another spelling, or a star: wor*"
    raise FirthError(f"{words[missing[0]]!r} does not occur", where=index.text, do=do)


def nearest(index: Index, word: str, count: int = 3) -> list[str]:
    """The same word in another normal form, the commonest words one letter away or of other case, else similar ones."""
    if len(word) > _LONGEST:
        return []
    names, word = index.names, word.casefold() if index.ignore_case else word
    found: set[int] = set()
    for at in range(len(word) + 1):
        before, after = re.escape(word[:at]), word[at:]
        found.update(names.matching(word[:at], f"{before}[^\n]?{re.escape(after)}").tolist())
        if after:
            found.update(names.matching(word[:at], f"{before}[^\n]?{re.escape(after[1:])}").tolist())
        if len(after) > 1:
            found.update(names.matching(word[:at], before + re.escape(after[1] + after[0] + after[2:])).tolist())
    for other in (word.lower(), word.capitalize(), word.upper()):
        found.update(n for n in [names.find(other)] if n is not None)
    same = {n for form in ("NFC", "NFD") for n in [names.find(normalize(form, word))] if n is not None}
    if found := found | same:
        ordered = sorted(found, key=lambda n: (n not in same, -int(names.counts[n]), n))
        return [names.word(n) for n in ordered[:count]]
    alike = names.beginning(word[:2])
    alike = alike[np.argsort(-names.counts[alike], kind="stable")[:_FEW]]
    return get_close_matches(word, [names.word(n) for n in alike], n=count)
