"""Lists of words: read from a file or learnt from text, found in a text's words, and taken out of a text.

An entry may be several words long ("New York"), but no phrase goes on beyond the end of a sentence. A mark that would
end one may belong to the entry ("St. Louis"), and may then be missing in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from firth.errors import FirthError
from firth.text.cleaning import Wording, is_of_phrases, is_word

MEMORY = 1 << 16  # spellings of words remembered
MANY = 2_000_000  # different words held while counting; then those met once are forgotten
_LINE_TAIL = re.compile(r"[^\S\n]+$", re.MULTILINE)


def read_list(path: str | Path) -> tuple[str, ...]:
    """The entries of a file, one a line; empty lines do not count."""
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        do = "give a text file with one word a line"
        raise FirthError(f"cannot read the list: {error.strerror}", where=path, do=do) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise FirthError("the list is not UTF-8 text", where=f"{path}:{line}", do="save it as UTF-8") from None
    entries = tuple(entry for line in content.splitlines() if (entry := line.strip()))
    if not entries:
        raise FirthError("the list is empty", where=path, do="write one word a line")
    return entries


def common_words(documents: Iterable[str], count: int, wording: Wording | None = None) -> tuple[str, ...]:
    """The commonest words of the documents, the commonest first."""
    if count < 1:
        raise FirthError(f"{count} stop words are too few to learn", do="give a number from 1, or a file")
    wording, counts = wording or Wording(), Counter()
    for document in documents:
        counts.update(wording.words(document))
        if len(counts) > MANY:
            counts = Counter({word: times for word, times in counts.items() if times > 1})
    return tuple(sorted(counts, key=lambda word: (-counts[word], word))[:count])


class PhraseTable:
    """The entries of a list, cut as the texts are: words and sentence marks (`Passage.phrases`)."""

    def __init__(self, entries: Sequence[str], wording: Wording) -> None:
        self.wording, self.fold = wording, lru_cache(MEMORY)(wording.fold)
        self._from: dict[str, list[list[str]]] = {}
        for entry in entries:
            pieces = list(filter(is_of_phrases, wording.pieces(entry)))
            places = [place for place, piece in enumerate(pieces) if is_word(piece)]
            if not places:
                raise FirthError(f"the list's entry {entry!r} has no word in it", do="take it out of the list")
            phrases = self._from.setdefault(pieces[places[0]], [])
            for form in (pieces[places[0] : places[-1] + 1], list(filter(is_word, pieces))):
                phrases += [form] if form not in phrases else []
        for phrases in self._from.values():
            phrases.sort(key=len, reverse=True)

    def matches(self, pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Where entries stand among the pieces, the longest at each place, none over another: (start, end)."""
        free = 0
        for start, end in self._all(pieces):
            if start >= free:
                free = end
                yield start, end

    def _all(self, pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Where entries stand, by start, longer ones first."""
        for start, piece in enumerate(pieces):
            for phrase in self._from.get(piece, ()):
                if pieces[start : start + len(phrase)] == phrase:
                    yield start, start + len(phrase)

    def different(self, pieces: Sequence[str]) -> set[tuple[str, ...]]:
        """The words of every entry that stands among the pieces, also within another."""
        return {tuple(filter(is_word, pieces[start:end])) for start, end in self._all(pieces)}

    def share(self, pieces: Sequence[str]) -> float:
        """The share of the words that belong to entries; 0 if there are no words."""
        listed = sum(sum(map(is_word, pieces[start:end])) for start, end in self.matches(pieces))
        return listed / max(1, sum(map(is_word, pieces)))


def without(text: str, table: PhraseTable) -> str:
    """The text less the entries of the table and the blanks they leave; line ends stay."""
    spans = list(_spans(text, table.wording))
    pieces = [table.fold(text[start:end]) for start, end in spans]
    kept, at = [], 0
    for first, last in table.matches(pieces):
        for place, (start, end) in enumerate(spans[first:last]):
            within = place > 0 and "\n" not in text[at:start] and text[at:start].isspace()
            kept.append("" if within else text[at:start])
            at = _after_blanks(text, end) if not start or text[start - 1].isspace() else end
    if not kept:
        return text
    return _LINE_TAIL.sub("", "".join(kept) + text[at:]).strip()


def _spans(text: str, wording: Wording) -> Iterator[tuple[int, int]]:
    """Where the words and sentence marks stand in the text."""
    at = 0
    for piece in wording.cut(text):
        start = text.find(piece, at)
        if start >= 0:  # a segmenter may give a piece in another spelling
            at = start + len(piece)
            if is_of_phrases(piece):
                yield start, at


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace() and text[at] != "\n":
        at += 1
    return at
