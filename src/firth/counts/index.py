"""An opened index: what stands where in a text, in numbers; a view of it may leave out documents or ignore case."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth.config.schema import Text
from firth.counts import building
from firth.counts.lexicon import Lexicon
from firth.counts.stamps import fingerprint
from firth.counts.texts import Texts, keep_texts, open_texts
from firth.data.cache import default_cache
from firth.errors import FirthError, unknown
from firth.runs import files
from firth.text import split

FORMAT = 1
CHUNK = 1 << 20  # words or hits looked at in one go
_LISTED, _COMPARED = 20, 20_000  # values of a column


@dataclass(frozen=True)
class Column:
    """What is known of each document: `values[of[document]]`."""

    values: tuple[str, ...]
    of: np.ndarray

    @cached_property
    def ranks(self) -> np.ndarray:
        """The place of each value in the alphabet."""
        ranks = np.empty(len(self.values), np.int64)
        ranks[sorted(range(len(self.values)), key=self.values.__getitem__)] = np.arange(len(self.values))
        return ranks


@dataclass(frozen=True, eq=False)
class Index:
    """The words of a text by number. With `ignore_case` numbers are of case-folded words: `names`."""

    place: Path
    text: str  # what it was made from
    rule: str
    ids: np.ndarray  # (words,)
    postings: np.ndarray  # (words,) positions, by word, ascending
    first: np.ndarray  # (different words + 1,) where the postings of each begin
    lexicon: Lexicon
    folded: Lexicon
    fold: np.ndarray  # from a word's number to that of its folded form
    marks: np.ndarray  # the byte at which every 32nd word begins
    documents: np.ndarray  # (documents + 1,) first words
    bytes: np.ndarray  # (documents + 1,) first bytes
    content: np.ndarray  # the text itself
    columns: dict[str, Column]
    ignore_case: bool = False
    chosen: np.ndarray | None = None  # which documents count; None: all

    # --- views ---

    def folding(self) -> Index:
        """The same, upper and lower case being one."""
        return replace(self, ignore_case=True)

    def where(self, column: str, value: str, *, other: bool = False) -> Index:
        """Only the documents with this value in a column, or with `other` only the rest."""
        if column not in self.columns:
            raise unknown("column", column, self.columns, where=self.text)
        found = self.columns[column]
        if value not in found.values:
            raise _unknown_value(column, value, found.values, self.text)
        same = found.of == found.values.index(value)
        chosen = ~same if other else same
        chosen = chosen if self.chosen is None else chosen & self.chosen
        if not chosen.any():
            raise FirthError(f"no document is left for {column} = {value}", where=self.text)
        return replace(self, chosen=chosen, text=f"{self.text}, {column} {'≠' if other else '='} {value}")

    # --- words ---

    @property
    def names(self) -> Lexicon:
        """The words as this view numbers them."""
        return self.folded if self.ignore_case else self.lexicon

    def named(self, ids: np.ndarray) -> np.ndarray:
        """Word ids as this view numbers them."""
        return self.fold[ids] if self.ignore_case else ids

    @cached_property
    def size(self) -> int:
        """How many words there are."""
        return len(self.ids) if self.chosen is None else int(np.diff(self.documents)[self.chosen].sum())

    @cached_property
    def counts(self) -> np.ndarray:
        """How often each name occurs."""
        if self.chosen is None:
            return np.asarray(self.names.counts)
        counts = np.zeros(len(self.names), np.int64)
        for ids in self.stream():
            counts += np.bincount(self.named(ids), minlength=len(counts))
        return counts

    def stream(self) -> Iterator[np.ndarray]:
        """The words in their order, as ids, many at a time."""
        for low in range(0, len(self.ids), CHUNK):
            ids = self.ids[low : low + CHUNK]
            yield ids if self.chosen is None else ids[self.keeps(np.arange(low, low + len(ids)))]

    # --- places ---

    def document_of(self, positions: np.ndarray) -> np.ndarray:
        """The document of each position."""
        return np.searchsorted(self.documents, positions, side="right") - 1

    def keeps(self, positions: np.ndarray) -> np.ndarray:
        """Whether the document of each position counts."""
        if self.chosen is None:
            return np.ones(len(positions), bool)
        return self.chosen[self.document_of(positions)]

    def rank(self, positions: np.ndarray) -> np.ndarray:
        """How many words that count stand before each position."""
        if self.chosen is None:
            return positions
        document = self.document_of(positions)
        return self._before[document] + positions - self.documents[document]

    @cached_property
    def _before(self) -> np.ndarray:
        lengths = np.diff(self.documents) * self.chosen
        return np.cumsum(lengths) - lengths

    def span(self, position: int, length: int = 1) -> tuple[int, int]:
        """The bytes of the text from which to which so many words stand."""
        return self._span(position)[0], self._span(position + length - 1)[1]

    def _span(self, position: int) -> tuple[int, int]:
        mark, ahead = divmod(position, building.STEP)
        start = int(self.marks[mark])
        stop = int(self.marks[mark + 1]) if mark + 1 < len(self.marks) else int(self.bytes[-1])
        text, at = self.cut(start, stop), 0
        for word in split.whole(text, self.rule)[: ahead + 1]:
            at = text.index(word, at) + len(word)  # only blanks stand between
        end = start + len(text[:at].encode())
        return end - len(word.encode()), end

    def cut(self, start: int, stop: int) -> str:
        """The text between two bytes; a character cut through is left out."""
        return self.content[start:stop].tobytes().decode(errors="ignore")


def _unknown_value(column: str, value: str, known: tuple[str, ...], where: str) -> FirthError:
    """The error for a value that no document has; of very many values it lists some, and says so."""
    near = get_close_matches(value, known[:_COMPARED], n=1, cutoff=0.5)
    if near or len(known) <= _LISTED:
        return unknown(f"value of {column}", value, near or known, where=where)
    do = f"known: {', '.join(known[:_LISTED])} and {len(known) - _LISTED:,} others"
    return FirthError(f"unknown value of {column} {value!r}", where=where, do=do)


def index(
    text: str | Sequence[str] = "python-docs", *, column: str = "", split: str = "words", ignore_case: bool = False
) -> Index:
    """The index of a text by name (files, folders, built-ins; with `column` a table), made once and kept."""
    found = open_index(open_texts(text, Text(), column=column), split=split)
    return found.folding() if ignore_case else found


def index_of(documents: Any, *, split: str = "words") -> Index:
    """The index of any iterable of strings, one per document."""
    return open_index(keep_texts(documents), split=split)


def open_index(
    texts: Texts,
    *,
    split: str = "words",
    cache: Path | None = None,
    limits: building.Limits | None = None,
    told: Callable[[int], None] = lambda done: None,
) -> Index:
    """The index of these texts from the cache, or made now."""
    if split not in ("words", "whitespace"):
        raise unknown("rule to split words", split, ("words", "whitespace"))
    root = (cache or default_cache()) / "counts"
    key = json.dumps([FORMAT, fingerprint(texts, root), texts.columns, split])
    place = root / files.digest(key.encode())[:32]
    if not (place / "about.json").exists():
        _make(place, texts, split, limits or building.Limits(), told)
    return _open(place, texts.describe())


def _make(place: Path, texts: Texts, rule: str, limits: building.Limits, told: Callable[[int], None]) -> None:
    """Build beside, sync, rename."""
    _sweep(place)
    beside = place.with_name(f".{place.name}.{os.getpid()}.{threading.get_ident()}")
    files.make_folder(beside)
    try:
        with files.explained(place):
            building.build(beside, texts, rule, limits, told)
            for path in (*beside.iterdir(), beside):
                files.sync_folder(path)
            try:
                files.rename(beside, place)
            except OSError:  # something is there: what another process made meanwhile, or the rest of a broken one
                if not (place / "about.json").exists():
                    files.remove_folder(place)
                    files.rename(beside, place)
    finally:
        files.remove_folder(beside)


def _sweep(place: Path) -> None:
    """Remove what killed processes left of the same index: it can be gigabytes."""
    for path in place.parent.glob(f".{place.name}.*"):
        process = re.fullmatch(r".*\.(\d+)\.\d+", path.name)
        if process and not _alive(int(process[1])):
            files.remove_folder(path)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def _open(place: Path, shown: str) -> Index:
    try:
        about = json.loads((place / "about.json").read_text(encoding="utf-8"))
        arrays = {name: np.load(place / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
        lexicon = Lexicon(place, "words")
        columns = {
            name: Column(tuple(values), np.load(place / f"column-{i}.npy", mmap_mode="r"))
            for i, (name, values) in enumerate(about["columns"].items())
        }
        content = np.memmap(place / "text.txt", np.uint8, "r")
        first = np.concatenate([[0], np.cumsum(lexicon.counts)])
        lengths = {len(arrays["ids"]), len(arrays["postings"]), about["words"], int(first[-1])}
        if (
            len(lengths) > 1
            or len(content) != arrays["bytes"][-1]
            or len(arrays["documents"]) != about["documents"] + 1
        ):
            raise ValueError("its files do not belong together")
        folded = Lexicon(place, "folded")
        return Index(place, shown, about["split"], first=first, lexicon=lexicon, folded=folded, content=content,
                     columns=columns, **arrays)  # fmt: skip
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"damaged index ({error})"
        raise FirthError(what, where=place, do="delete this folder; it is made anew") from None


_ARRAYS = ("ids", "postings", "fold", "marks", "documents", "bytes")
