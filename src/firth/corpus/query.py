"""Corpus queries: a word, a phrase, or words with the wildcard * (`colo*r`, `the * bank`), and their hits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from unicodedata import normalize

import numpy as np

from firth.corpus.corpus_index import CHUNK, Index
from firth.errors import FirthError
from firth.tokenizers import split

_WILDCARD = re.compile(r"(?<!\\)\*")
_MAX_CANDIDATES = 20_000  # words compared with a misspelt one
_MAX_LENGTH = 64  # characters of a misspelt word that others are compared with


@dataclass(frozen=True, eq=False)
class Query:
    """A sequence of slots; each is an array of type ids, or None for any word."""

    text: str
    slots: tuple[np.ndarray | None, ...]

    def __len__(self) -> int:
        return len(self.slots)


def parse_query(index: Index, text: str) -> Query:
    """Parse a query into type ids of this index; * matches any characters, alone any word, and \\* a literal star."""
    slots: list[np.ndarray | None] = []
    for pattern in text.split():
        if _WILDCARD.search(pattern):
            slots.append(None if set(pattern) == {"*"} else _match_wildcard(index, pattern))
        else:
            words = split.split_words(pattern.replace("\\*", "*"), index.split_rule)
            slots += [_match_word(index, word) for word in words]
    if all(slot is None for slot in slots):
        raise FirthError(f"{text!r} names no word", do='give a word, a phrase, or a prefix such as "color*"')
    return Query(text, tuple(slots))


def _match_word(index: Index, word: str) -> np.ndarray:
    type_id = index.types.find(word.casefold() if index.ignore_case else word)
    return np.array([] if type_id is None else [type_id], np.int64)


def _match_wildcard(index: Index, pattern: str) -> np.ndarray:
    pattern = pattern.casefold() if index.ignore_case else pattern
    first, *inside, last = [part.replace("\\*", "*") for part in _WILDCARD.split(pattern)]
    # atomic: the first place of a part between two stars is as good as any, so that time grows with the length only
    places = "".join(rf"(?>[^\n]*?{re.escape(part)})" for part in inside)
    return index.types.match(first, rf"{re.escape(first)}{places}[^\n]*{re.escape(last)}")


def find_hits(index: Index, query: Query) -> Iterator[np.ndarray]:
    """The start positions of the hits, ascending, in chunks; a hit never crosses a document boundary."""
    totals = [np.inf if slot is None else int(index.types.counts[slot].sum()) for slot in query.slots]
    if not all(totals):
        return
    rarest = int(np.argmin(totals))
    for positions in _find_positions(index, query.slots[rarest]):
        starts = positions.astype(np.int64) - rarest
        starts = starts[(starts >= 0) & (starts + len(query) <= len(index.ids))]
        for offset, slot in enumerate(query.slots):
            if offset != rarest and slot is not None:
                type_ids = index.type_ids(index.ids[starts + offset])
                starts = starts[type_ids == slot[0] if len(slot) == 1 else np.isin(type_ids, slot)]
        if len(query) > 1:
            starts = starts[index.document_of(starts) == index.document_of(starts + len(query) - 1)]
        starts = starts[index.is_selected(starts)]
        if len(starts):
            yield starts


def _find_positions(index: Index, type_ids: np.ndarray) -> Iterator[np.ndarray]:
    """The positions of any of these types, ascending, in chunks."""
    ids = np.flatnonzero(np.isin(index.folded_ids, type_ids)) if index.ignore_case else type_ids
    lists = [index.postings[index.posting_offsets[i] : index.posting_offsets[i + 1]] for i in ids]
    positions = lists[0] if len(lists) == 1 else np.sort(np.concatenate(lists))
    for low in range(0, len(positions), CHUNK):
        yield positions[low : low + CHUNK]


def require_hits(index: Index, text: str) -> Query:
    """The parsed query; without any hit, an error that suggests other spellings of a word that does not occur."""
    query = parse_query(index, text)
    if next(find_hits(index, query), None) is not None:
        return query
    missing = [n for n, slot in enumerate(query.slots) if slot is not None and not len(slot)]
    words = [] if "*" in text else split.split_words(text, index.split_rule)
    if not missing or not words:
        raise FirthError(f"{text!r} does not occur", where=index.source, do="try another spelling, or fewer words")
    suggestions = suggest_spellings(index, words[missing[0]])
    do = "try another spelling, or a star: wor*"
    if suggestions:
        do = f"did you mean {', '.join(map(repr, suggestions))}?"
    raise FirthError(f"{words[missing[0]]!r} does not occur", where=index.source, do=do)


def suggest_spellings(index: Index, word: str, count: int = 3) -> list[str]:
    """The word in another Unicode form, frequent words at edit distance 1 or of other case, else similar ones."""
    if len(word) > _MAX_LENGTH:
        return []
    types, word = index.types, word.casefold() if index.ignore_case else word
    candidates: set[int] = set()
    for at in range(len(word) + 1):
        before, after = re.escape(word[:at]), word[at:]
        candidates.update(types.match(word[:at], f"{before}[^\n]?{re.escape(after)}").tolist())
        if after:
            candidates.update(types.match(word[:at], f"{before}[^\n]?{re.escape(after[1:])}").tolist())
        if len(after) > 1:
            candidates.update(types.match(word[:at], before + re.escape(after[1] + after[0] + after[2:])).tolist())
    for cased in (word.lower(), word.capitalize(), word.upper()):
        candidates.update(n for n in [types.find(cased)] if n is not None)
    equivalent = {n for form in ("NFC", "NFD") for n in [types.find(normalize(form, word))] if n is not None}
    if candidates := candidates | equivalent:
        ordered = sorted(candidates, key=lambda n: (n not in equivalent, -int(types.counts[n]), n))
        return [types.word(n) for n in ordered[:count]]
    similar = types.with_prefix(word[:2])
    similar = similar[np.argsort(-types.counts[similar], kind="stable")[:_MAX_CANDIDATES]]
    return get_close_matches(word, [types.word(n) for n in similar], n=count)
