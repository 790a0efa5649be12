"""The filters of `clean`: each a frozen value, so that a row of them can be kept, compared and used again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from firth.errors import FirthError, unknown
from firth.text.cleaning import Check, Passage, Wording
from firth.text.language import Identifier
from firth.text.lists import PhraseTable, without
from firth.text.patterns import MARKS, SPACE

_CUTS = 8  # a line is cut into words so often at most
_ASCII_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_NOT_ASCII = re.compile(r"[^\0-\x7f]+")
_NO_LETTER = re.compile(rf"[\d_{SPACE}{MARKS}]+")


def _keep_if(test: Callable[[Passage], bool]) -> Check:
    return lambda passage: passage if test(passage) else None


def _check_limits(what: str, least: float, most: float | None) -> None:
    if least < 0 or (most is not None and most < least):
        raise FirthError(f"no number lies between {least:g} and {most}", where=what, do="give least <= most")


def _check_share(what: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise FirthError(f"{share:g} is no share", where=what, do="give a number from 0 to 1")


def _limits(least: float, most: float | None) -> str:
    return f"{least:g} or more" if most is None else f"{least:g} to {most:g}"


# --- the shape of the text ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Characters:
    """Keeps texts with so many characters."""

    least: int = 0
    most: int | None = None

    def __post_init__(self) -> None:
        _check_limits("characters", self.least, self.most)

    @property
    def name(self) -> str:
        return f"characters: {_limits(self.least, self.most)}"

    def start(self, wording: Wording) -> Check:
        most = float("inf") if self.most is None else self.most
        return _keep_if(lambda passage: self.least <= len(passage.text) <= most)


@dataclass(frozen=True)
class Words:
    """Keeps texts with so many words; marks are none."""

    least: int = 0
    most: int | None = None

    def __post_init__(self) -> None:
        _check_limits("words", self.least, self.most)

    @property
    def name(self) -> str:
        return f"words: {_limits(self.least, self.most)}"

    def start(self, wording: Wording) -> Check:
        most = float("inf") if self.most is None else self.most
        return _keep_if(lambda passage: self.least <= len(passage.words) <= most)


@dataclass(frozen=True)
class Letters:
    """Keeps texts in which at least this share of the characters (white space not counted) are letters."""

    least: float

    def __post_init__(self) -> None:
        _check_share("letters", self.least)

    @property
    def name(self) -> str:
        return f"share of letters: {_limits(self.least, None)}"

    def start(self, wording: Wording) -> Check:
        return _keep_if(lambda passage: letter_share(passage.text) >= self.least)


def letter_share(text: str) -> float:
    """The share of letters among the characters that are not white space; 0 if there are none."""
    written = len("".join(text.split()))
    letters = len(text.encode("ascii", "ignore").translate(None, _ASCII_NO_LETTERS))  # most characters, quickly
    letters += len(_NO_LETTER.sub("", "".join(_NOT_ASCII.findall(text))))
    return letters / written if written else 0.0


# --- language and content -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InLanguage:
    """Keeps texts that are in one of the languages, with some confidence and at least this."""

    languages: tuple[str, ...]
    identifier: Identifier
    least: float = 0.5

    def __post_init__(self) -> None:
        _check_share("confidence", self.least)
        for language in self.languages:
            if language not in self.identifier.languages:
                raise unknown("language", language, self.identifier.languages)

    @property
    def name(self) -> str:
        return f"language: {' or '.join(self.languages)}"

    def start(self, wording: Wording) -> Check:
        return _keep_if(self._is_in)

    def _is_in(self, passage: Passage) -> bool:
        language, confidence = self.identifier.identify(passage.text)
        return language in self.languages and confidence > 0 and confidence >= self.least


@dataclass(frozen=True)
class HasWords:
    """Keeps texts with at least so many different entries of a list: a topic."""

    entries: tuple[str, ...]
    least: int = 1

    @property
    def name(self) -> str:
        return f"listed words: {self.least} or more"

    def start(self, wording: Wording) -> Check:
        table = PhraseTable(self.entries, wording)
        return _keep_if(lambda passage: len(table.different(passage.phrases)) >= self.least)


@dataclass(frozen=True)
class LacksWords:
    """Drops texts with any entry of a list."""

    entries: tuple[str, ...]

    @property
    def name(self) -> str:
        return "listed words: none"

    def start(self, wording: Wording) -> Check:
        table = PhraseTable(self.entries, wording)
        return _keep_if(lambda passage: next(table.matches(passage.phrases), None) is None)


@dataclass(frozen=True)
class StopWordShare:
    """Keeps texts in which the share of stop words among the words is within limits: running text has many."""

    entries: tuple[str, ...]
    least: float = 0.0
    most: float = 1.0

    def __post_init__(self) -> None:
        _check_share("stop words", self.least)
        _check_share("stop words", self.most)
        _check_limits("stop words", self.least, self.most)

    @property
    def name(self) -> str:
        return f"share of stop words: {_limits(self.least, self.most)}"

    def start(self, wording: Wording) -> Check:
        table = PhraseTable(self.entries, wording)
        return _keep_if(lambda passage: self.least <= table.share(passage.phrases) <= self.most)


# --- changing the text --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WithoutWords:
    """Takes the entries of a list out of the text; a text of which no word is left is dropped."""

    entries: tuple[str, ...]

    @property
    def name(self) -> str:
        return "words but stop words: 1 or more"

    def start(self, wording: Wording) -> Check:
        table = PhraseTable(self.entries, wording)

        def check(passage: Passage) -> Passage | None:
            after = Passage(without(passage.text, table), passage.place, wording)
            return after if after.words else None

        return check


@dataclass(frozen=True)
class Spaced:
    """Writes the text with blanks between its words and marks, as the wording cuts it; it drops nothing."""

    name: str = "segmented"

    def start(self, wording: Wording) -> Check:
        def spaced(line: str) -> str:
            # A word may be cut further when it stands alone: until nothing changes, so that twice is as once.
            for _ in range(_CUTS):
                before, line = line, " ".join(wording.cut(line))
                if line == before:
                    break
            return line

        def check(passage: Passage) -> Passage:
            return Passage("\n".join(map(spaced, passage.text.split("\n"))), passage.place, wording)

        return check


# --- duplicates ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NotSeen:
    """Drops texts that are, to the letter, one that came before; eight bytes of a hash are kept of each."""

    name: str = "exact duplicates"

    def start(self, wording: Wording) -> Check:
        seen: set[bytes] = set()

        def is_new(passage: Passage) -> bool:
            before = len(seen)
            seen.add(blake2b(passage.text.encode(errors="surrogatepass"), digest_size=8).digest())
            return len(seen) > before

        return _keep_if(is_new)


@dataclass(frozen=True)
class NotNear:
    """Drops texts whose runs of words are nearly those of one that came before; see `firth.text.duplicates`."""

    threshold: float = 0.8  # of the estimated Jaccard similarity
    shingle: int = 5  # words in a run
    hashes: int = 128  # places of a signature: four times as many halve the error of the estimate
    seed: int = 1

    def __post_init__(self) -> None:
        self._seen()

    @property
    def name(self) -> str:
        return f"near-duplicates: {self.threshold:g} or more"

    def _seen(self):
        from firth.text.duplicates import Seen, Signer

        return Seen(self.threshold, Signer(self.shingle, self.hashes, self.seed))

    def start(self, wording: Wording) -> Check:
        seen = self._seen()
        return _keep_if(lambda passage: seen.add(passage.words or [passage.text]))
