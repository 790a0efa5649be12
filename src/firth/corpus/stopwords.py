"""Stop words and other word lists: read from a file or taken from word frequencies, matched in and removed from text.

An entry may be a multi-word phrase ("New York"); no match crosses a sentence boundary. Sentence-final punctuation may
belong to the entry ("St. Louis"), and is then optional in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from firth.arguments import read_file
from firth.corpus.cleaning import WordTokenizer, is_phrase_token, is_word
from firth.errors import FirthError

NORMALISE_CACHE = 1 << 16  # normalised words that are cached
MAX_TYPES = 2_000_000  # word types held while counting; above this, those seen once are dropped
_TRAILING_SPACE = re.compile(r"[^\S\n]+$", re.MULTILINE)


def read_word_list(path: str | Path) -> tuple[str, ...]:
    """The entries of a word list file, one per line; empty lines are ignored."""
    try:
        content = read_file(Path(path), "give a text file with one word per line").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise FirthError("the word list is not UTF-8 text", where=f"{path}:{line}", do="save it as UTF-8") from None
    entries = tuple(entry for line in content.splitlines() if (entry := line.strip()))
    if not entries:
        raise FirthError("the word list is empty", where=path, do="write one word per line")
    return entries


def most_common_words(
    documents: Iterable[str], count: int, word_tokenizer: WordTokenizer | None = None
) -> tuple[str, ...]:
    """The most frequent words of the documents, most frequent first."""
    if count < 1:
        raise FirthError(f"{count} stop words are too few", do="give a number of at least 1, or a file")
    word_tokenizer, counts = word_tokenizer or WordTokenizer(), Counter()
    for document in documents:
        counts.update(word_tokenizer.words(document))
        if len(counts) > MAX_TYPES:
            counts = Counter({word: frequency for word, frequency in counts.items() if frequency > 1})
    return tuple(sorted(counts, key=lambda word: (-counts[word], word))[:count])


class PhraseMatcher:
    """Matches the entries of a word list, tokenized like the texts (`Document.phrase_tokens`)."""

    def __init__(self, entries: Sequence[str], word_tokenizer: WordTokenizer) -> None:
        self.word_tokenizer, self.normalise = word_tokenizer, lru_cache(NORMALISE_CACHE)(word_tokenizer.normalise)
        self._phrases_by_first_token: dict[str, list[list[str]]] = {}
        for entry in entries:
            tokens = list(filter(is_phrase_token, word_tokenizer.tokenize(entry)))
            positions = [position for position, token in enumerate(tokens) if is_word(token)]
            if not positions:
                raise FirthError(f"the word list's entry {entry!r} has no word in it", do="remove it from the list")
            phrases = self._phrases_by_first_token.setdefault(tokens[positions[0]], [])
            for form in (tokens[positions[0] : positions[-1] + 1], list(filter(is_word, tokens))):
                phrases += [form] if form not in phrases else []
        for phrases in self._phrases_by_first_token.values():
            phrases.sort(key=len, reverse=True)

    def matches(self, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
        """The (start, end) token spans of entries: the longest match at each position, without overlaps."""
        previous_end = 0
        for start, end in self._iter_matches(tokens):
            if start >= previous_end:
                previous_end = end
                yield start, end

    def _iter_matches(self, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
        """All spans of entries, overlapping ones too, by start, longer ones first."""
        for start, token in enumerate(tokens):
            for phrase in self._phrases_by_first_token.get(token, ()):
                if tokens[start : start + len(phrase)] == phrase:
                    yield start, start + len(phrase)

    def matched_entries(self, tokens: Sequence[str]) -> set[tuple[str, ...]]:
        """The words of every entry that occurs, also inside another entry."""
        return {tuple(filter(is_word, tokens[start:end])) for start, end in self._iter_matches(tokens)}

    def matched_fraction(self, tokens: Sequence[str]) -> float:
        """The fraction of the words that belong to entries; 0 if there are no words."""
        matched = sum(sum(map(is_word, tokens[start:end])) for start, end in self.matches(tokens))
        return matched / max(1, sum(map(is_word, tokens)))


def remove_phrases(text: str, matcher: PhraseMatcher) -> str:
    """The text without the matched entries and the whitespace they leave; newlines stay."""
    spans = list(_spans(text, matcher.word_tokenizer))
    tokens = [matcher.normalise(text[start:end]) for start, end in spans]
    parts, at = [], 0
    for first, last in matcher.matches(tokens):
        for offset, (start, end) in enumerate(spans[first:last]):
            within = offset > 0 and "\n" not in text[at:start] and text[at:start].isspace()
            parts.append("" if within else text[at:start])
            at = _skip_spaces(text, end) if not start or text[start - 1].isspace() else end
    if not parts:
        return text
    return _TRAILING_SPACE.sub("", "".join(parts) + text[at:]).strip()


def _spans(text: str, word_tokenizer: WordTokenizer) -> Iterator[tuple[int, int]]:
    """The character spans of the words and sentence-final punctuation."""
    at = 0
    for token in word_tokenizer.split(text):
        start = text.find(token, at)
        if start >= 0:  # a segmenter may return a token in another spelling
            at = start + len(token)
            if is_phrase_token(token):
                yield start, at


def _skip_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace() and text[at] != "\n":
        at += 1
    return at
