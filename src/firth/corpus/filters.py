"""Document filters: length, letters, language, word lists, stop words, word segmentation, exact and near duplicates.

Each is a frozen value, so that a pipeline of them can be stored, compared and reused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from firth.corpus.cleaning import Check, Document, WordTokenizer
from firth.corpus.language_id import LanguageIdentifier, default_identifier
from firth.corpus.stopwords import PhraseMatcher, remove_phrases
from firth.errors import FirthError, unknown
from firth.tokenizers.regexes import PUNCTUATION, SPACE

MAX_SEGMENTATION_PASSES = 8  # over one line
_ASCII_NON_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_NON_ASCII = re.compile(r"[^\0-\x7f]+")
_NON_LETTERS = re.compile(rf"[\d_{SPACE}{PUNCTUATION}]+")


def _keep_if(test: Callable[[Document], bool]) -> Check:
    return lambda document: document if test(document) else None


def _check_limits(what: str, minimum: float, maximum: float | None) -> None:
    if minimum < 0 or (maximum is not None and maximum < minimum):
        do = "give a minimum of at least 0 and a maximum that is not below it"
        raise FirthError(f"no number lies between {minimum:g} and {maximum}", where=what, do=do)


def _check_fraction(what: str, fraction: float) -> None:
    if not 0 <= fraction <= 1:
        raise FirthError(f"{fraction:g} is not a fraction", where=what, do="give a number from 0 to 1")


def _format_limits(minimum: float, maximum: float | None) -> str:
    return f"{minimum:g} or more" if maximum is None else f"{minimum:g} to {maximum:g}"


# --- length and letters -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CharacterCountFilter:
    """Keeps texts whose number of characters is within limits."""

    min_characters: int = 0
    max_characters: int | None = None

    def __post_init__(self) -> None:
        _check_limits("characters", self.min_characters, self.max_characters)

    @property
    def name(self) -> str:
        return f"characters: {_format_limits(self.min_characters, self.max_characters)}"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        maximum = float("inf") if self.max_characters is None else self.max_characters
        return _keep_if(lambda document: self.min_characters <= len(document.text) <= maximum)


@dataclass(frozen=True)
class WordCountFilter:
    """Keeps texts whose number of words is within limits; punctuation is not counted."""

    min_words: int = 0
    max_words: int | None = None

    def __post_init__(self) -> None:
        _check_limits("words", self.min_words, self.max_words)

    @property
    def name(self) -> str:
        return f"words: {_format_limits(self.min_words, self.max_words)}"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        maximum = float("inf") if self.max_words is None else self.max_words
        return _keep_if(lambda document: self.min_words <= len(document.words) <= maximum)


@dataclass(frozen=True)
class LetterFractionFilter:
    """Keeps texts in which at least this fraction of the characters (whitespace not counted) are letters."""

    min_fraction: float

    def __post_init__(self) -> None:
        _check_fraction("letters", self.min_fraction)

    @property
    def name(self) -> str:
        return f"fraction of letters: {_format_limits(self.min_fraction, None)}"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        return _keep_if(lambda document: letter_fraction(document.text) >= self.min_fraction)


def letter_fraction(text: str) -> float:
    """The fraction of letters among the characters that are not whitespace; 0 if there are none."""
    characters = len("".join(text.split()))
    letters = len(text.encode("ascii", "ignore").translate(None, _ASCII_NON_LETTERS))  # fast path for ASCII
    letters += len(_NON_LETTERS.sub("", "".join(_NON_ASCII.findall(text))))
    return letters / characters if characters else 0.0


# --- language and content -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LanguageFilter:
    """Keeps texts identified as one of the languages, with a confidence above 0 and at least the minimum."""

    languages: tuple[str, ...]
    identifier: LanguageIdentifier | None = None  # None: py3langid's pretrained one
    min_confidence: float = 0.5

    def __post_init__(self) -> None:
        _check_fraction("confidence", self.min_confidence)
        if self.identifier is None:
            object.__setattr__(self, "identifier", default_identifier())
        for language in self.languages:
            if language not in self.identifier.languages:
                raise unknown("language", language, self.identifier.languages)

    @property
    def name(self) -> str:
        return f"language: {' or '.join(self.languages)}"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        return _keep_if(self._is_in)

    def _is_in(self, document: Document) -> bool:
        language, confidence = self.identifier.identify(document.text)
        return language in self.languages and confidence > 0 and confidence >= self.min_confidence


@dataclass(frozen=True)
class RequiredWordsFilter:
    """Keeps texts with at least `min_count` different entries of a word list, such as the words of a topic."""

    entries: tuple[str, ...]
    min_count: int = 1

    @property
    def name(self) -> str:
        return f"required words: {self.min_count} or more"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        matcher = PhraseMatcher(self.entries, word_tokenizer)
        return _keep_if(lambda document: len(matcher.matched_entries(document.phrase_tokens)) >= self.min_count)


@dataclass(frozen=True)
class BlockedWordsFilter:
    """Drops texts with any entry of a word list (a blocklist)."""

    entries: tuple[str, ...]

    @property
    def name(self) -> str:
        return "blocked words: none"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        matcher = PhraseMatcher(self.entries, word_tokenizer)
        return _keep_if(lambda document: next(matcher.matches(document.phrase_tokens), None) is None)


@dataclass(frozen=True)
class StopWordFractionFilter:
    """Keeps texts in which the fraction of stop words among the words is within limits: running text has many."""

    entries: tuple[str, ...]
    min_fraction: float = 0.0
    max_fraction: float = 1.0

    def __post_init__(self) -> None:
        _check_fraction("stop words", self.min_fraction)
        _check_fraction("stop words", self.max_fraction)
        _check_limits("stop words", self.min_fraction, self.max_fraction)

    @property
    def name(self) -> str:
        return f"fraction of stop words: {_format_limits(self.min_fraction, self.max_fraction)}"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        matcher = PhraseMatcher(self.entries, word_tokenizer)

        def is_within(document: Document) -> bool:
            return self.min_fraction <= matcher.matched_fraction(document.phrase_tokens) <= self.max_fraction

        return _keep_if(is_within)


# --- changing the text --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StopWordRemover:
    """Removes the entries of a word list from the text; drops a text of which no word is left."""

    entries: tuple[str, ...]

    @property
    def name(self) -> str:
        return "words other than stop words: 1 or more"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        matcher = PhraseMatcher(self.entries, word_tokenizer)

        def check(document: Document) -> Document | None:
            result = Document(remove_phrases(document.text, matcher), document.place, word_tokenizer)
            return result if result.words else None

        return check


@dataclass(frozen=True)
class WordSegmenter:
    """Word segmentation: puts spaces between the tokens of the word tokenizer; drops nothing."""

    name: str = "segmented"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        def segment(line: str) -> str:
            # A segmenter may split a word further in isolation: repeated to a fixed point, so that it is idempotent.
            for _ in range(MAX_SEGMENTATION_PASSES):
                previous, line = line, " ".join(word_tokenizer.split(line))
                if line == previous:
                    break
            return line

        def check(document: Document) -> Document:
            return Document("\n".join(map(segment, document.text.split("\n"))), document.place, word_tokenizer)

        return check


# --- duplicates ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExactDeduplicator:
    """Exact deduplication: drops texts identical to an earlier one, by a 64-bit hash of each."""

    name: str = "exact duplicates"

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        seen: set[bytes] = set()

        def is_new(document: Document) -> bool:
            previous = len(seen)
            seen.add(blake2b(document.text.encode(errors="surrogatepass"), digest_size=8).digest())
            return len(seen) > previous

        return _keep_if(is_new)


@dataclass(frozen=True)
class NearDeduplicator:
    """Near-duplicate removal by MinHash LSH: drops texts similar to an earlier one; see `datasets.near_duplicates`."""

    threshold: float = 0.8  # of the estimated Jaccard similarity
    shingle_size: int = 5  # words in a shingle (word n-gram)
    num_hashes: int = 128  # length of a signature: four times as many halve the error of the estimate
    seed: int = 1

    def __post_init__(self) -> None:
        self._make_index()

    @property
    def name(self) -> str:
        return f"near-duplicates: {self.threshold:g} or more"

    def _make_index(self):
        from firth.datasets.near_duplicates import MinHasher, MinHashLSH

        return MinHashLSH(self.threshold, MinHasher(self.shingle_size, self.num_hashes, self.seed))

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        index = self._make_index()
        return _keep_if(lambda document: index.add(document.words or [document.text]))
