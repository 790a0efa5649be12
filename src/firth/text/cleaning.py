"""Documents through a row of filters: what passes comes out, what is dropped is counted and sampled.

A filter is a value with a name and one method: `start` gives a check for one reading of the documents, and a check
gives back the passage (perhaps changed) or None to drop it. What a check remembers dies with the reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, Literal, NamedTuple, Protocol, get_args

from firth.errors import FirthError, unknown
from firth.text.normalise import normalise
from firth.text.split import words as split_words

SHOWN = 200  # characters of a sample
SENTENCE_MARKS = frozenset(".!?…؟۔।॥。！？｡")
Lower = Literal["no", "yes", "turkish"]


@dataclass(frozen=True)
class Wording:
    """What counts as a word, for lists, shares and lengths: how text is cut, and which letters are the same."""

    cut: Callable[[str], list[str]] = split_words
    lower: Lower = "yes"

    def __post_init__(self) -> None:
        if self.lower not in get_args(Lower):
            raise unknown("lower case", self.lower, get_args(Lower))

    def pieces(self, text: str) -> list[str]:
        """The words and marks in one spelling."""
        return self.cut(self.fold(text))

    def words(self, text: str) -> list[str]:
        """The words in one spelling, marks left out."""
        return list(filter(is_word, self.pieces(text)))

    def fold(self, text: str) -> str:
        """The text in one spelling of case and apostrophes."""
        return normalise(text, "none", self.lower).replace("’", "'")


def is_word(piece: str) -> bool:
    """Whether a piece is a word or a number and not a mark."""
    return piece[0].isalnum()


def is_of_phrases(piece: str) -> bool:
    """Whether a piece matters where phrases are looked for: words do, and the marks between sentences."""
    return is_word(piece) or piece[0] in SENTENCE_MARKS


@dataclass(frozen=True)
class Passage:
    """A document on its way through the filters, and where it came from."""

    text: str
    place: str
    wording: Wording

    @cached_property
    def pieces(self) -> list[str]:
        """Its words and marks, found once for all filters."""
        return self.wording.pieces(self.text)

    @cached_property
    def words(self) -> list[str]:
        """Its words."""
        return list(filter(is_word, self.pieces))

    @cached_property
    def phrases(self) -> list[str]:
        """Its words, and the marks between its sentences."""
        return list(filter(is_of_phrases, self.pieces))


Check = Callable[[Passage], Passage | None]


class Filter(Protocol):
    """What `clean` asks of a filter."""

    @property
    def name(self) -> str: ...
    def start(self, wording: Wording) -> Check: ...


class Sample(NamedTuple):
    """The beginning of a dropped document, and where it stood."""

    place: str
    text: str


@dataclass
class Tally:
    """What one filter dropped: how many, the first few of them, and as many of the others, drawn by lot."""

    name: str
    few: int = 3
    seed: int = 1
    dropped: int = 0
    first: list[Sample] = field(default_factory=list)
    others: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lot = Random(self.seed)

    def count(self, passage: Passage) -> None:
        """One more; every document after the first few has the same chance to be among the others."""
        self.dropped += 1
        late = self.dropped - self.few  # 1 for the first that the lot decides about
        if late <= 0:
            self.first.append(_sample(passage))
        elif len(self.others) < self.few:
            self.others.append(_sample(passage))
        elif (at := self._lot.randrange(late)) < self.few:
            self.others[at] = _sample(passage)

    @property
    def samples(self) -> list[Sample]:
        """All samples."""
        return self.first + self.others


def _sample(passage: Passage) -> Sample:
    text = " ".join(passage.text[: 2 * SHOWN].split())
    return Sample(passage.place, text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


class Cleaned:
    """The documents that pass all filters, read anew by every `iter`; the counts are those of the last reading."""

    def __init__(
        self, documents: Iterable[Any], filters: Iterable[Filter], wording: Wording, few: int, seed: int
    ) -> None:
        self._documents, self._filters, self._wording = documents, tuple(filters), wording
        self._few, self._seed = few, seed
        self._reset()

    def _reset(self) -> None:
        self.seen = self.kept = 0
        self.tallies = [Tally(step.name, self._few, self._seed) for step in self._filters]

    def __iter__(self) -> Iterator[str]:
        """The texts that are kept, in their order."""
        self._reset()
        steps = list(zip((step.start(self._wording) for step in self._filters), self.tallies, strict=True))
        for passage in self._passages():
            self.seen += 1
            if (kept := _through(steps, passage)) is not None:
                self.kept += 1
                yield kept.text

    def _passages(self) -> Iterator[Passage]:
        for number, document in enumerate(self._documents, 1):
            place, text = document if isinstance(document, tuple) else (f"document {number}", document)
            if not isinstance(text, str):
                raise FirthError(f"a {type(text).__name__}, not a string", where=place, do="give texts")
            yield Passage(text, place, self._wording)

    def report(self) -> dict[str, Any]:
        """The counts and samples as JSON values."""
        filters = [
            {"name": t.name, "dropped": t.dropped, "samples": [sample._asdict() for sample in t.samples]}
            for t in self.tallies
        ]
        return {"seen": self.seen, "kept": self.kept, "filters": filters}


def _through(steps: Iterable[tuple[Check, Tally]], passage: Passage) -> Passage | None:
    """The passage as the last filter leaves it, or None if one drops it (and counts it)."""
    for check, tally in steps:
        after = check(passage)
        if after is None:
            tally.count(passage)
            return None
        passage = after
    return passage


def clean(
    documents: Iterable[str] | Iterable[tuple[str, str]],
    filters: Iterable[Filter],
    *,
    wording: Wording | None = None,
    samples: int = 3,
    seed: int = 1,
) -> Cleaned:
    """The texts, or (place, text) pairs, that pass the filters in their order; nothing is read before it is asked for.

    >>> from firth.text.filters import Words
    >>> cleaned = clean(["one two three", "one"], [Words(least=2)])
    >>> list(cleaned), cleaned.tallies[0].dropped
    (['one two three'], 1)
    """
    return Cleaned(documents, filters, wording or Wording(), samples, seed)
