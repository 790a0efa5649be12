"""The corpus index: an inverted index (postings) of tokens; a view of it may select documents or ignore case."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth.config.schema import Text
from firth.corpus import index_builder
from firth.corpus.documents import Corpus, cache_corpus, open_corpus
from firth.corpus.fingerprints import fingerprint
from firth.corpus.sorted_words import Lexicon
from firth.datasets.token_cache import default_cache
from firth.errors import FirthError, unknown
from firth.runs import atomic_files
from firth.tokenizers import split

FORMAT = 2
CHUNK = 1 << 20  # tokens or hits processed at once
_MAX_LISTED, _MAX_COMPARED = 20, 20_000  # values of a column, in an error


@dataclass(frozen=True)
class Column:
    """A metadata column: the value of a document is `values[codes[document]]`."""

    values: tuple[str, ...]
    codes: np.ndarray

    @cached_property
    def ranks(self) -> np.ndarray:
        """The rank of each value in alphabetical order."""
        ranks = np.empty(len(self.values), np.int64)
        ranks[sorted(range(len(self.values)), key=self.values.__getitem__)] = np.arange(len(self.values))
        return ranks


@dataclass(frozen=True, eq=False)
class Index:
    """The tokens of a corpus as ids, with postings. With `ignore_case` the word types (`types`) are case-folded."""

    folder: Path
    source: str  # description of the corpus
    split_rule: str
    ids: np.ndarray  # (tokens,)
    postings: np.ndarray  # (tokens,) positions, by word, ascending
    posting_offsets: np.ndarray  # (words + 1,) where the postings of each word start
    lexicon: Lexicon
    folded_lexicon: Lexicon
    folded_ids: np.ndarray  # from a word's id to the id of its case-folded form
    sampled_byte_offsets: np.ndarray  # of every 32nd token
    document_starts: np.ndarray  # (documents + 1,) first tokens
    document_bytes: np.ndarray  # (documents + 1,) first bytes
    text_bytes: np.ndarray  # the text in UTF-8
    columns: dict[str, Column]
    ignore_case: bool = False
    document_mask: np.ndarray | None = None  # (documents,) which are selected; None: all

    # --- views ---

    def fold_case(self) -> Index:
        """A view that ignores case."""
        return replace(self, ignore_case=True)

    def where(self, column: str, value: str, *, negate: bool = False) -> Index:
        """A view of the documents with this value in a metadata column, or with `negate` of all others."""
        if column not in self.columns:
            raise unknown("column", column, self.columns, where=self.source)
        metadata = self.columns[column]
        if value not in metadata.values:
            raise _unknown_value(column, value, metadata.values, self.source)
        equal = metadata.codes == metadata.values.index(value)
        mask = ~equal if negate else equal
        mask = mask if self.document_mask is None else mask & self.document_mask
        if not mask.any():
            raise FirthError(f"no document is left for {column} = {value}", where=self.source)
        source = f"{self.source}, {column} {'≠' if negate else '='} {value}"
        return replace(self, document_mask=mask, source=source)

    # --- word types and tokens ---

    @property
    def types(self) -> Lexicon:
        """The word types of this view."""
        return self.folded_lexicon if self.ignore_case else self.lexicon

    def type_ids(self, ids: np.ndarray) -> np.ndarray:
        """From word ids to the type ids of this view."""
        return self.folded_ids[ids] if self.ignore_case else ids

    @cached_property
    def size(self) -> int:
        """The corpus size in tokens."""
        if self.document_mask is None:
            return len(self.ids)
        return int(np.diff(self.document_starts)[self.document_mask].sum())

    @cached_property
    def counts(self) -> np.ndarray:
        """The frequency of each type."""
        if self.document_mask is None:
            return np.asarray(self.types.counts)
        counts = np.zeros(len(self.types), np.int64)
        for ids in self.iter_ids():
            counts += np.bincount(self.type_ids(ids), minlength=len(counts))
        return counts

    def iter_ids(self) -> Iterator[np.ndarray]:
        """The word ids of the tokens in order, in chunks."""
        for low in range(0, len(self.ids), CHUNK):
            ids = self.ids[low : low + CHUNK]
            yield ids if self.document_mask is None else ids[self.is_selected(np.arange(low, low + len(ids)))]

    # --- positions ---

    def document_of(self, positions: np.ndarray) -> np.ndarray:
        """The document of each position."""
        return np.searchsorted(self.document_starts, positions, side="right") - 1

    def is_selected(self, positions: np.ndarray) -> np.ndarray:
        """Whether the document of each position is selected."""
        if self.document_mask is None:
            return np.ones(len(positions), bool)
        return self.document_mask[self.document_of(positions)]

    def view_positions(self, positions: np.ndarray) -> np.ndarray:
        """The positions counted in the selected documents only."""
        if self.document_mask is None:
            return positions
        document = self.document_of(positions)
        return self._view_starts[document] + positions - self.document_starts[document]

    @cached_property
    def _view_starts(self) -> np.ndarray:
        lengths = np.diff(self.document_starts) * self.document_mask
        return np.cumsum(lengths) - lengths

    def span(self, position: int, length: int = 1) -> tuple[int, int]:
        """The byte span of `length` tokens from a position on."""
        return self._token_span(position)[0], self._token_span(position + length - 1)[1]

    def _token_span(self, position: int) -> tuple[int, int]:
        sample, ahead = divmod(position, index_builder.STEP)
        offsets = self.sampled_byte_offsets
        start = int(offsets[sample])
        stop = int(offsets[sample + 1]) if sample + 1 < len(offsets) else int(self.document_bytes[-1])
        text, at = self.decode(start, stop), 0
        for word in split.split_words(text, self.split_rule)[: ahead + 1]:
            at = text.index(word, at) + len(word)  # only whitespace stands between
        end = start + len(text[:at].encode())
        return end - len(word.encode()), end

    def decode(self, start: int, stop: int) -> str:
        """The text of a byte span; incomplete characters at its ends are left out."""
        return self.text_bytes[start:stop].tobytes().decode(errors="ignore")


def _unknown_value(column: str, value: str, known: tuple[str, ...], where: str) -> FirthError:
    """The error for a value that no document has; it lists at most a few of very many known values."""
    near = get_close_matches(value, known[:_MAX_COMPARED], n=1, cutoff=0.5)
    if near or len(known) <= _MAX_LISTED:
        return unknown(f"value of {column}", value, near or known, where=where)
    do = f"known: {', '.join(known[:_MAX_LISTED])} and {len(known) - _MAX_LISTED:,} others"
    return FirthError(f"unknown value of {column} {value!r}", where=where, do=do)


def index(
    text: str | Sequence[str] = "python-docs", *, column: str = "", split: str = "words", ignore_case: bool = False
) -> Index:
    """The index of a text by name (files, folders, built-ins; with `column` a table), built once and cached."""
    opened = open_index(open_corpus(text, Text(), column=column), split=split)
    return opened.fold_case() if ignore_case else opened


def index_documents(documents: Any, *, split: str = "words") -> Index:
    """The index of any iterable of strings, one per document."""
    return open_index(cache_corpus(documents), split=split)


def open_index(
    corpus: Corpus,
    *,
    split: str = "words",
    cache: Path | None = None,
    limits: index_builder.Limits | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Index:
    """The index of a corpus from the cache, or built now."""
    if split not in ("words", "whitespace"):
        raise unknown("rule to split words", split, ("words", "whitespace"))
    root = (cache or default_cache()) / "corpus"
    key = json.dumps([FORMAT, fingerprint(corpus, root), corpus.columns, split])
    folder = root / atomic_files.digest(key.encode())[:32]
    if not (folder / "about.json").exists():
        _build(folder, corpus, split, limits or index_builder.Limits(), on_progress)
    return _load(folder, corpus.describe())


def _build(
    folder: Path, corpus: Corpus, rule: str, limits: index_builder.Limits, on_progress: Callable[[int], None]
) -> None:
    """Build in a temporary folder beside, sync, rename."""
    with atomic_files.building(folder) as temporary, atomic_files.explain_errors(folder):
        index_builder.build(temporary, corpus, rule, limits, on_progress)
        for path in (*temporary.iterdir(), temporary):
            atomic_files.sync_folder(path)
        try:
            atomic_files.rename(temporary, folder)
        except OSError:  # it exists: built by another process meanwhile, or the rest of a damaged one
            if not (folder / "about.json").exists():
                atomic_files.remove_folder(folder)
                atomic_files.rename(temporary, folder)


# files, by the fields of `Index`
_ARRAYS = ("ids", "postings", "folded_ids", "sampled_byte_offsets", "document_starts", "document_bytes")


def _load(folder: Path, source: str) -> Index:
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
        lexicon = Lexicon(folder, "words")
        columns = {
            name: Column(tuple(values), np.load(folder / f"column-{i}.npy", mmap_mode="r"))
            for i, (name, values) in enumerate(about["columns"].items())
        }
        text_bytes = np.memmap(folder / "text.txt", np.uint8, "r")
        posting_offsets = np.concatenate([[0], np.cumsum(lexicon.counts)])
        lengths = {len(arrays["ids"]), len(arrays["postings"]), about["words"], int(posting_offsets[-1])}
        if (
            len(lengths) > 1
            or len(text_bytes) != arrays["document_bytes"][-1]
            or len(arrays["document_starts"]) != about["documents"] + 1
        ):
            raise ValueError("its files do not match each other")
        return Index(
            folder,
            source,
            about["split"],
            posting_offsets=posting_offsets,
            lexicon=lexicon,
            folded_lexicon=Lexicon(folder, "folded"),
            text_bytes=text_bytes,
            columns=columns,
            **arrays,
        )
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"damaged index ({error})"
        raise FirthError(what, where=folder, do="delete this folder; it is built again") from None
