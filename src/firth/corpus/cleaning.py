"""Corpus cleaning: a pipeline of document filters, with counts and samples of what each filter drops.

A filter is a value with a name and one method: `start` returns a check for one pass over the documents, and a check
returns the document (perhaps changed) or None to drop it. The state of a check lasts for one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, Literal, NamedTuple, Protocol, get_args

from firth.errors import FirthError, unknown
from firth.tokenizers.split import normalise, split_words

SAMPLE_LENGTH = 200  # characters of a sample
SENTENCE_MARKS = frozenset(".!?…؟۔।॥。！？｡")
Lowercase = Literal["no", "yes", "turkish"]


@dataclass(frozen=True)
class WordTokenizer:
    """Word tokenization for word lists, fractions and lengths: how text is split, and how case is normalised."""

    split: Callable[[str], list[str]] = split_words
    lowercase: Lowercase = "yes"

    def __post_init__(self) -> None:
        if self.lowercase not in get_args(Lowercase):
            raise unknown("lower case", self.lowercase, get_args(Lowercase))

    def tokenize(self, text: str) -> list[str]:
        """The normalised words and punctuation tokens."""
        return self.split(self.normalise(text))

    def words(self, text: str) -> list[str]:
        """The normalised words, without punctuation."""
        return list(filter(is_word, self.tokenize(text)))

    def normalise(self, text: str) -> str:
        """The text with case and apostrophes normalised."""
        return normalise(text, "none", self.lowercase).replace("’", "'")


def is_word(token: str) -> bool:
    """Whether a token is a word or a number, not punctuation."""
    return token[0].isalnum()


def is_phrase_token(token: str) -> bool:
    """Whether a token matters for phrase matching: words and sentence-final punctuation do."""
    return is_word(token) or token[0] in SENTENCE_MARKS


@dataclass(frozen=True)
class Document:
    """A document in the filter pipeline, and where it came from."""

    text: str
    place: str
    word_tokenizer: WordTokenizer

    @cached_property
    def tokens(self) -> list[str]:
        """Its words and punctuation, tokenized once for all filters."""
        return self.word_tokenizer.tokenize(self.text)

    @cached_property
    def words(self) -> list[str]:
        """Its words."""
        return list(filter(is_word, self.tokens))

    @cached_property
    def phrase_tokens(self) -> list[str]:
        """Its words and sentence-final punctuation."""
        return list(filter(is_phrase_token, self.tokens))


Check = Callable[[Document], Document | None]


class Filter(Protocol):
    """The interface of a document filter."""

    @property
    def name(self) -> str:
        """Its name in the table of dropped documents."""

    def start(self, word_tokenizer: WordTokenizer) -> Check:
        """A function for one pass over the documents: it returns a document, perhaps changed, or None to drop it."""


class Sample(NamedTuple):
    """The beginning of a dropped document, and where it came from."""

    place: str
    text: str


@dataclass
class FilterStats:
    """What one filter dropped: the count, the first few documents, and a random sample of the rest (a reservoir)."""

    name: str
    max_samples: int = 3
    seed: int = 1
    dropped: int = 0
    first: list[Sample] = field(default_factory=list)
    reservoir: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = Random(self.seed)

    def count(self, document: Document) -> None:
        """Count a dropped document; all documents after the first few are equally likely to be in the reservoir."""
        self.dropped += 1
        rank = self.dropped - self.max_samples  # 1 for the first document that is sampled
        if rank <= 0:
            self.first.append(_sample(document))
        elif len(self.reservoir) < self.max_samples:
            self.reservoir.append(_sample(document))
        elif (slot := self._rng.randrange(rank)) < self.max_samples:
            self.reservoir[slot] = _sample(document)

    @property
    def samples(self) -> list[Sample]:
        """The first documents and the reservoir."""
        return self.first + self.reservoir


def _sample(document: Document) -> Sample:
    text = " ".join(document.text[: 2 * SAMPLE_LENGTH].split())
    return Sample(document.place, text if len(text) <= SAMPLE_LENGTH else text[: SAMPLE_LENGTH - 1] + "…")


class FilteredDocuments:
    """The documents that pass all filters; each `iter` is a new pass, and the counts are those of the last pass."""

    def __init__(
        self,
        documents: Iterable[Any],
        filters: Iterable[Filter],
        word_tokenizer: WordTokenizer,
        max_samples: int,
        seed: int,
    ) -> None:
        self._documents, self._filters, self._word_tokenizer = documents, tuple(filters), word_tokenizer
        self._max_samples, self._seed = max_samples, seed
        self._reset()

    def _reset(self) -> None:
        self.seen = self.kept = 0
        self.filter_stats = [FilterStats(step.name, self._max_samples, self._seed) for step in self._filters]

    def __iter__(self) -> Iterator[str]:
        """The texts of the documents that pass, in order."""
        self._reset()
        steps = list(zip((step.start(self._word_tokenizer) for step in self._filters), self.filter_stats, strict=True))
        for document in self._iter_documents():
            self.seen += 1
            if (result := _apply_filters(steps, document)) is not None:
                self.kept += 1
                yield result.text

    def _iter_documents(self) -> Iterator[Document]:
        for number, document in enumerate(self._documents, 1):
            place, text = document if isinstance(document, tuple) else (f"document {number}", document)
            if not isinstance(text, str):
                raise FirthError(f"a {type(text).__name__}, not a string", where=place, do="give texts as str")
            yield Document(text, place, self._word_tokenizer)

    def report(self) -> dict[str, Any]:
        """The counts and samples as JSON values."""
        filters = [
            {"name": stats.name, "dropped": stats.dropped, "samples": [sample._asdict() for sample in stats.samples]}
            for stats in self.filter_stats
        ]
        return {"seen": self.seen, "kept": self.kept, "filters": filters}


def _apply_filters(steps: Iterable[tuple[Check, FilterStats]], document: Document) -> Document | None:
    """The document after the last filter, or None if a filter drops it (which is counted)."""
    for check, stats in steps:
        result = check(document)
        if result is None:
            stats.count(document)
            return None
        document = result
    return document


def clean(
    documents: Iterable[str] | Iterable[tuple[str, str]],
    filters: Iterable[Filter],
    *,
    word_tokenizer: WordTokenizer | None = None,
    samples: int = 3,
    seed: int = 1,
) -> FilteredDocuments:
    """Filter texts, or (place, text) pairs, lazily by each filter in order.

    >>> from firth.corpus.filters import WordCountFilter
    >>> cleaned = clean(["one two three", "one"], [WordCountFilter(min_words=2)])
    >>> list(cleaned), cleaned.filter_stats[0].dropped
    (['one two three'], 1)
    """
    return FilteredDocuments(documents, filters, word_tokenizer or WordTokenizer(), samples, seed)
